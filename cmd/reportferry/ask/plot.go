package ask

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/table"
)

// mostPlots is how many metrics are drawn at most.
const mostPlots = 3

// plot draws the first metrics by date. For a metric that can't be summed over the other dimensions
// it writes a line that says so instead.
func (a answer) plot(w io.Writer) error {
	columns := a.columns()
	date := slices.IndexFunc(columns, func(c table.Column) bool {
		return c.Dimension &&
			(c.Type.IsDate() || c.Type.IsTime())
	})
	if date < 0 {
		return errors.New("--plot: none of the dimensions is a date; add day")
	}
	if a.path == "" {
		return nil
	}
	drawn := 0
	for i, c := range columns {
		if c.Dimension || drawn == mostPlots {
			continue
		}
		drawn++
		if over := notSummed(c.Name, columns, date); over != "" {
			fmt.Fprintf(w, "  %s isn't drawn: it can't be summed over %s\n", c.Name, over)
			continue
		}
		sums := map[string]float64{}
		err := a.eachRow(func(cells []string) error {
			if n, err := strconv.ParseFloat(cells[i], 64); err == nil { // a blank cell is left out
				sums[cells[date]] += n
			}
			return nil
		})
		if err != nil {
			return err
		}
		fmt.Fprintln(w)
		text.Plot(w, c.Name, series(sums, columns[date].Type))
	}
	return nil
}

// notSummed returns a dimension other than the date over which the metric can't be summed, or an
// empty string when there is none.
func notSummed(name string, columns []table.Column, date int) string {
	f, known := metricField(name)
	for i, c := range columns {
		if c.Dimension && i != date && (!known || !f.AdditiveOver(c.Name)) {
			return c.Name
		}
	}
	return ""
}

// series returns a point for each sum, in the order of their dates. A missing day between two
// others becomes a hole.
func series(sums map[string]float64, typ catalog.Type) (points []text.PlotPoint) {
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		if n := len(points); n > 0 && typ == catalog.Day {
			last, err := civil.ParseDate(points[n-1].Name)
			day, failed := civil.ParseDate(name)
			for gap := last.AddDays(1); err == nil && failed == nil && gap.Before(day); gap = gap.AddDays(1) {
				points = append(points, text.PlotPoint{Name: gap.String(), Hole: true})
			}
		}
		points = append(points, text.PlotPoint{Name: name, Value: sums[name]})
	}
	return points
}
