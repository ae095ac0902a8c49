package text

import (
	"fmt"
	"io"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/reportferry/reportferry/internal/terminal"
)

// A Grid is a table for people: rows of text under headings, in columns as wide as their widest
// cell. Right and Most have an element for each column; missing ones count as zero.
type Grid struct {
	Heads []string
	Rows  [][]string
	Right []bool // true for columns of numbers, whose ends are aligned
	Most  []int  // the width, in columns, after which a cell is cut; 0: no limit
	Alone int    // a first cell wider than this isn't cut but put on a line of its own; 0: no limit
	Width int    // the width of a line: the last cell is cut to fit into it; 0: no limit
}

// Write writes the grid. Line ends in a cell are shown as marks and tabs as blanks, because one row
// is one line.
func (g Grid) Write(w io.Writer) {
	// The cells as they are shown, and the widths of the columns.
	widths := make([]int, len(g.Heads))
	lines := append([][]string{g.Heads}, g.Rows...)
	for r, cells := range lines {
		shown := make([]string, len(cells))
		for i, c := range cells {
			shown[i] = OneLine(c)
			if i < len(g.Most) && g.Most[i] > 0 {
				shown[i] = runewidth.Truncate(shown[i], g.Most[i], "…")
			}
			if n := runewidth.StringWidth(shown[i]); i > 0 || g.Alone == 0 || n <= g.Alone {
				widths[i] = max(widths[i], n)
			}
		}
		lines[r] = shown
	}
	// The lines. A row of one wide cell stands alone, as does a wide first cell.
	for _, cells := range lines {
		if len(cells) == 1 && runewidth.StringWidth(cells[0]) > widths[0] {
			fmt.Fprintln(w, cells[0])
			continue
		}
		var b strings.Builder
		for i, c := range cells {
			if i == 0 && runewidth.StringWidth(c) > widths[0] {
				fmt.Fprintln(w, c)
				c = ""
			}
			if used := runewidth.StringWidth(b.String()) + 2; i == len(cells)-1 && g.Width > used {
				c = runewidth.Truncate(c, g.Width-used, "…")
			}
			gap := strings.Repeat(" ", max(0, widths[i]-runewidth.StringWidth(c)))
			if i < len(g.Right) && g.Right[i] {
				c, gap = gap+c, ""
			}
			if i > 0 {
				b.WriteString("  ")
			}
			b.WriteString(c + gap)
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}

// OneLine returns a text that others have written in a form that takes one line, whatever it holds.
func OneLine(text string) string {
	return terminal.Line(strings.NewReplacer("\r\n", "⏎", "\n", "⏎", "\r", "⏎", "\t", " ").Replace(text))
}
