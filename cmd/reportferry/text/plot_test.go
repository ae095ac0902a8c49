package text

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func plotPoints(values ...float64) (all []PlotPoint) {
	for i, v := range values {
		all = append(all, PlotPoint{Name: fmt.Sprintf("2026-01-%02d", i+1), Value: v})
	}
	return all
}

func TestPlot(t *testing.T) {
	all := plotPoints(100, 120, 0, 80, 200, 150, 90)
	all[2].Hole, all[5].Open, all[6].Open = true, true, true
	var b strings.Builder
	Plot(&b, "rows", all)
	want := `  rows, 2026-01-01 to 2026-01-07
   200 ┤   ╭╮
   167 ┤   │╰╮
   133 ┤╭╴ │ │
   100 ┼╯  │ ╰
    67 ┤  ╶╯
    33 ┤
     0 ┤
         ×  ~~
       × missing: 1   ~ may still change: 2
`
	if b.String() != want {
		t.Errorf("drawn is\n%s", &b)
	}
}

// A hole is never drawn as 0, and however much there is to draw, 80 columns are enough.
func TestPlotFits(t *testing.T) {
	for _, all := range [][]PlotPoint{plotPoints(), plotPoints(5), plotPoints(0, 0), plotPoints(-3, 4),
		plotPoints(make([]float64, 400)...), plotPoints(1e12, 2e12, 3e-9)} {
		for i := range all {
			all[i].Open = i%3 == 0
		}
		var b strings.Builder
		Plot(&b, "all_revenue_total_d30", all)
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(line); n > 81 || strings.Contains(line, "NaN") {
				t.Errorf("%d columns: %s", n, line)
			}
		}
	}
	pieces := plotPoints(3, 3, 0, 7, 7)
	pieces[2].Break = true
	var broken strings.Builder
	Plot(&broken, "rows", pieces)
	want := `  rows, 2026-01-01 to 2026-01-05
   7.0 ┤  ╶─
   5.8 ┤
   4.7 ┤
   3.5 ┼─╴
   2.3 ┤
   1.2 ┤
   0.0 ┤
         |
       | left out: 1
`
	if broken.String() != want {
		t.Errorf("a break is drawn as\n%s", &broken)
	}
	broken.Reset()
	Plot(&broken, "rows", pieces[2:]) // of which nothing is shown before the break
	if !strings.HasPrefix(broken.String(), "  rows, 2026-01-04 to 2026-01-05\n") ||
		strings.Contains(broken.String(), "left out") {
		t.Errorf("what follows a break is drawn as\n%s", &broken)
	}
	holes := plotPoints(7, 7, 7)
	holes[1].Hole = true
	var b strings.Builder
	Plot(&b, "rows", holes)
	if !strings.Contains(b.String(), "× missing: 1") {
		t.Errorf("a hole is drawn as\n%s", &b)
	}
}
