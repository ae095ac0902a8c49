package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/reportferry/reportferry/internal/terminal"
)

// A grid is rows of text under headings, for people: columns as wide as their widest cell.
type grid struct {
	heads []string
	right []bool // by column: numbers, whose ends are aligned
	rows  [][]string
	most  []int // by column: characters after which a cell is cut; 0: none. May be shorter
}

// write writes the grid. What would break a line is shown as a mark, for one row is one line.
func (g grid) write(w io.Writer) {
	widths := make([]int, len(g.heads))
	lines := append([][]string{g.heads}, g.rows...)
	for r, cells := range lines {
		shown := make([]string, len(cells))
		for i, c := range cells {
			shown[i] = terminal.Line(strings.NewReplacer("\r\n", "⏎", "\n", "⏎", "\r", "⏎", "\t", " ").Replace(c))
			if i < len(g.most) && g.most[i] > 0 {
				shown[i] = runewidth.Truncate(shown[i], g.most[i], "…")
			}
			widths[i] = max(widths[i], runewidth.StringWidth(shown[i]))
		}
		lines[r] = shown
	}
	for _, cells := range lines {
		var b strings.Builder
		for i, c := range cells {
			gap := strings.Repeat(" ", widths[i]-runewidth.StringWidth(c))
			if g.right[i] {
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
