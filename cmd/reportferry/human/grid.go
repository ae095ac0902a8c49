package human

import (
	"fmt"
	"io"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/reportferry/reportferry/internal/terminal"
)

// A Grid is a table for people: rows of text under headings, in columns as wide as their widest cell. Right and Most go by
// column and may be shorter than the rows.
type Grid struct {
	Heads []string
	Rows  [][]string
	Right []bool // true for columns of numbers, whose ends are aligned
	Most  []int  // the width after which a cell is cut; 0 for none
}

// Write writes the grid. Line ends and tabs in a cell are shown as marks, because one row is one line.
func (g Grid) Write(w io.Writer) {
	widths := make([]int, len(g.Heads))
	lines := append([][]string{g.Heads}, g.Rows...)
	for r, cells := range lines {
		shown := make([]string, len(cells))
		for i, c := range cells {
			shown[i] = terminal.Line(strings.NewReplacer("\r\n", "⏎", "\n", "⏎", "\r", "⏎", "\t", " ").Replace(c))
			if i < len(g.Most) && g.Most[i] > 0 {
				shown[i] = runewidth.Truncate(shown[i], g.Most[i], "…")
			}
			widths[i] = max(widths[i], runewidth.StringWidth(shown[i]))
		}
		lines[r] = shown
	}
	for _, cells := range lines {
		var b strings.Builder
		for i, c := range cells {
			gap := strings.Repeat(" ", widths[i]-runewidth.StringWidth(c))
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
