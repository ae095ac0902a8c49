package text

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/guptarohit/asciigraph"
)

// A PlotPoint is the number of one period.
type PlotPoint struct {
	Name  string // of the period, such as 2026-01-31
	Value float64
	Hole  bool // the period has no number, which is something else than 0
	Open  bool // the number may still change
	Break bool // the point stands for all periods that are left out between those beside it
}

const (
	mostPoints = 60 // how many points are drawn at most, each in a column
	plotHeight = 6  // lines of a plot
)

// Plot draws the last points from left to right, with a line below that marks what is missing and
// what may still change. It fits 80 columns.
func Plot(w io.Writer, title string, points []PlotPoint) {
	points = points[max(0, len(points)-mostPoints):]
	if len(points) > 0 && points[0].Break {
		points = points[1:]
	}
	// The values, with NaN where nothing is drawn, and the marks below them.
	values := make([]float64, 0, len(points))
	marks, holes, open, breaks := make([]rune, 0, len(points)), 0, 0, 0
	low, high := 0.0, 0.0
	for _, p := range points {
		switch {
		case p.Break:
			values, marks = append(values, math.NaN()), append(marks, '|')
			breaks++
			continue
		case p.Hole:
			values, marks = append(values, math.NaN()), append(marks, '×')
			holes++
			continue
		case p.Open:
			marks = append(marks, '~')
			open++
		default:
			marks = append(marks, ' ')
		}
		values = append(values, p.Value)
		low, high = min(low, p.Value), max(high, p.Value)
	}
	if len(values) == holes+breaks {
		fmt.Fprintf(w, "  %s: no numbers\n", title)
		return
	}
	if len(values) == 1 {
		values, marks = append(values, values[0]), append(marks, ' ') // a line has two ends
	}
	// The plot, and under it the marks and what they mean.
	drawn := asciigraph.Plot(values, asciigraph.Height(plotHeight), asciigraph.LowerBound(low),
		asciigraph.UpperBound(high), asciigraph.Precision(plotPrecision(high)), asciigraph.Offset(3))
	fmt.Fprintf(w, "  %s, %s to %s\n", title, points[0].Name, points[len(points)-1].Name)
	margin := 0
	for line := range strings.Lines(drawn) {
		line = strings.TrimRight(line, " \n")
		if at := strings.IndexAny(line, "┤┼"); at >= 0 {
			margin = max(margin, len([]rune(line[:at]))) // the first point is drawn on the axis
		}
		fmt.Fprintln(w, "  "+line)
	}
	if holes+open+breaks > 0 {
		fmt.Fprintln(w, "  "+strings.Repeat(" ", margin)+strings.TrimRight(string(marks), " "))
		fmt.Fprintln(w, "  "+strings.Repeat(" ", margin)+plotLegend(holes, open, breaks))
	}
}

// plotLegend returns a line that says what the marks mean, and how many there are of each.
func plotLegend(holes, open, breaks int) string {
	var parts []string
	if breaks > 0 {
		parts = append(parts, fmt.Sprintf("| left out: %d", breaks))
	}
	if holes > 0 {
		parts = append(parts, fmt.Sprintf("× missing: %d", holes))
	}
	if open > 0 {
		parts = append(parts, fmt.Sprintf("~ may still change: %d", open))
	}
	return strings.Join(parts, "   ")
}

// plotPrecision returns how many decimals the numbers at the axis have.
func plotPrecision(high float64) uint {
	switch {
	case high >= 100:
		return 0
	case high >= 1:
		return 1
	}
	return 3
}
