package report_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// tableOf is the nights as a table of Markdown.
func tableOf(nights []night) string {
	var b strings.Builder
	b.WriteString("| tables | tasks | requests alone | ended | ratio | first task ended | plan | calls | of the " +
		"busiest task | on months, a window | " +
		"held | nothing due: time | calls | of the busiest task | ledger: objects | KiB | simulated in |\n|" +
		strings.Repeat("---|", 17) + "\n")
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
	for _, n := range nights {
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %.2f | %s | %.2f s | %s | %s | %.1f | %d | %.2f s | %s | %s | %s | "+
			"%s | %s |\n", grouped(n.tables), n.tasks,
			seconds(n.bound), seconds(n.ended), n.ratio(), seconds(n.first), n.planned.Seconds(), grouped(n.calls),
			grouped(n.busiest),
			float64(n.months)/float64(n.windows), n.held, n.idle.Seconds(), grouped(n.idles), grouped(n.idlest),
			grouped(n.objects), grouped(n.kib),
			n.simulated.Round(100*time.Millisecond))
	}
	return b.String()
}

func (n night) ratio() float64 { return n.ended.Seconds() / n.bound.Seconds() }

// grouped writes a number with commas between its thousands.
func grouped[N int | int64](n N) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// A panel is one of the pictures that a plot has side by side: a number of each night over the
// tables, a line for each count of tasks.
type panel struct {
	title string
	of    func(night) float64
	bound func(night) float64 // drawn thin beside it; nil: there is none
}

var panels = []panel{
	{"seconds to the end of the night", func(n night) float64 { return n.ended.Seconds() },
		func(n night) float64 { return n.bound.Seconds() }},
	{"bucket calls of the busiest task", func(n night) float64 { return float64(n.busiest) }, nil},
	{"calls of a task where nothing is due", func(n night) float64 { return float64(n.idles) / float64(n.tasks) }, nil},
}

const (
	panelWide, panelHigh = 250.0, 190.0
	panelLeft, panelTop  = 52.0, 54.0
	panelStep            = 312.0
)

// plotOf draws the nights. All axes are logarithmic: what grows with the tables rises by as much as
// it goes to the right.
func plotOf(nights []night) string {
	var b strings.Builder
	wide, high := int(panelLeft+panelStep*float64(len(panels)-1)+panelWide+28), int(panelTop+panelHigh+80)
	fmt.Fprintf(&b,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-labelledby="t" font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif">
<title id="t">A night of an agency, over the number of its tables, by 1, 20 and 500 tasks</title>
<style>
 text{fill:#424a53;font-size:12px}.h{font-size:13px;font-weight:600}.g{stroke:#d0d7de;stroke-width:1}.r{fill:#fff}
 path{fill:none;stroke-width:2.5}.b{stroke-width:1;stroke-dasharray:4 3}
 .c0{stroke:#0969da}.c1{stroke:#bc4c00}.c2{stroke:#1a7f37}circle.c0{fill:#0969da}circle.c1{fill:#bc4c00}circle.c2{fill:#1a7f37}
 @media (prefers-color-scheme:dark){text{fill:#b7c0ca}.g{stroke:#3d444d}.r{fill:#0d1117}
 .c0{stroke:#58a6ff}.c1{stroke:#f0883e}.c2{stroke:#56d364}circle.c0{fill:#58a6ff}circle.c1{fill:#f0883e}circle.c2{fill:#56d364}}
</style>
<rect class="r" width="%d" height="%d" rx="8"/>
`, wide, high, wide, high)
	tasks := distinct(nights, func(n night) int { return n.tasks })
	for i, count := range tasks {
		x := panelLeft + 110*float64(i)
		fmt.Fprintf(&b, `<path class="c%d" d="M%g %dh22"/><text x="%g" y="%d">%s</text>`+"\n", i, x, high-16, x+28,
			high-12, plural(count, "task"))
	}
	fmt.Fprintf(&b,
		`<path class="b c0" d="M%g %dh22"/><text x="%g" y="%d">dashed: what the requests take alone</text>`+"\n",
		panelLeft+330, high-16, panelLeft+358, high-12)
	for i, p := range panels {
		p.draw(&b, nights, tasks, panelLeft+panelStep*float64(i))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (p panel) draw(b *strings.Builder, nights []night, tasks []int, left float64) {
	tables := distinct(nights, func(n night) int { return n.tables })
	low, high := math.Inf(1), math.Inf(-1) // powers of ten
	for _, n := range nights {
		values := []float64{p.of(n)}
		if p.bound != nil {
			values = append(values, p.bound(n))
		}
		for _, v := range values {
			low, high = min(low, math.Floor(math.Log10(v))), max(high, math.Ceil(math.Log10(v)))
		}
	}
	first, last := math.Log10(float64(tables[0])), math.Log10(float64(tables[len(tables)-1]))
	x := func(tables int) float64 {
		return left + panelWide*(math.Log10(float64(tables))-first)/max(last-first, 1e-9)
	}
	y := func(v float64) float64 { return panelTop + panelHigh*(high-math.Log10(v))/max(high-low, 1) }
	fmt.Fprintf(b, `<text class="h" x="%g" y="28">%s</text>`+"\n", left-36, p.title)
	for power := low; power <= high; power++ {
		v := math.Pow(10, power)
		label := fmt.Sprintf("%g", v)
		if v >= 1 {
			label = grouped(int(v))
		}
		fmt.Fprintf(b, `<path class="g" d="M%.1f %.1fh%g"/><text x="%.1f" y="%.1f" text-anchor="end">%s</text>`+"\n",
			left, y(v), panelWide, left-6, y(v)+4, label)
	}
	for _, n := range tables {
		fmt.Fprintf(b, `<path class="g" d="M%.1f %gv%g"/><text x="%.1f" y="%g" text-anchor="middle">%s</text>`+"\n",
			x(n), panelTop, panelHigh, x(n), panelTop+panelHigh+18, grouped(n))
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%g" text-anchor="middle">tables</text>`+"\n", left+panelWide/2,
		panelTop+panelHigh+36)
	for i, count := range tasks {
		of := slices.DeleteFunc(slices.Clone(nights), func(n night) bool { return n.tasks != count })
		if p.bound != nil {
			fmt.Fprintf(b, `<path class="b c%d" d="%s"/>`+"\n", i%3, trace(of, x, y, p.bound))
		}
		fmt.Fprintf(b, `<path class="c%d" d="%s"/>`+"\n", i%3, trace(of, x, y, p.of))
		for _, n := range of {
			fmt.Fprintf(b, `<circle class="c%d" cx="%.1f" cy="%.1f" r="3.5"/>`+"\n", i%3, x(n.tables), y(p.of(n)))
		}
	}
}

func trace(nights []night, x func(int) float64, y func(float64) float64, of func(night) float64) string {
	var b strings.Builder
	for i, n := range nights {
		fmt.Fprintf(&b, "%c%.1f %.1f", "ML"[min(i, 1)], x(n.tables), y(of(n)))
	}
	return b.String()
}

func distinct(nights []night, of func(night) int) (values []int) {
	for _, n := range nights {
		values = append(values, of(n))
	}
	slices.Sort(values)
	return slices.Compact(values)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return grouped(n) + " " + what + "s"
}
