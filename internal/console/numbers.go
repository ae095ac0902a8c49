package console

import (
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/console/chart"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// A number is what one metric of a partition is, and what it was a day ago. Texts are exact
// decimals.
type number struct {
	Is, Was     string // empty: there is no number
	Moved       bool   // Was is another number, or none
	Rebaselined bool   // the number of a day ago meant something else, and isn't compared
	Other       bool   // Is means something else than the numbers of the newest partitions, and isn't drawn beside them
}

// hole tells whether there is no number to be drawn.
func (n number) hole() bool { return n.Is == "" || n.Other }

// earlierContents maps partitions to what they had at an earlier time. Partitions that haven't
// changed since are absent.
type earlierContents map[civil.Date]struct {
	ledger.Record      // zero: there was none
	rebaselined   bool // the partition's numbers mean something else by now
}

// earlierOf returns what partitions had at a time, from the history of those that have changed
// since.
func earlierOf(changed tableHistory, at time.Time) earlierContents {
	had := earlierContents{}
	for _, e := range changed.records {
		one := had[e.Partition]
		if e.Brought().Before(at) {
			one.Record = e // records ascend, so that the newest one stays
		}
		had[e.Partition] = one
	}
	for _, c := range changed.rebaselined {
		if one := had[c.Partition]; !c.Now.Before(at) {
			one.rebaselined = true
			had[c.Partition] = one
		}
	}
	return had
}

// numberOf returns a number of a partition, with what it was earlier.
func (had earlierContents) numberOf(e refresh.Entry, name string) number {
	n := number{Is: valueOf(e.Record, name), Other: e.Condition == refresh.Mixed}
	before, changed := had[e.Partition]
	if !changed {
		n.Was = n.Is
		return n
	}
	if n.Rebaselined = before.rebaselined; !n.Rebaselined {
		n.Was = valueOf(before.Record, name)
		n.Moved = !same(n.Is, n.Was)
	}
	return n
}

// valueOf returns a number of a record; empty when it has none.
func valueOf(e ledger.Record, name string) string {
	switch {
	case e.Seq == 0 || e.State == ledger.Publishing:
		return ""
	case name == refresh.RowCount:
		return refresh.Decimal(new(big.Rat).SetInt64(e.Rows))
	}
	return e.Sums[name]
}

// same tells whether two texts are the same number, or the same text.
func same(a, b string) bool {
	x, first := new(big.Rat).SetString(a)
	y, second := new(big.Rat).SetString(b)
	return a == b || first && second && x.Cmp(y) == 0
}

// namesOf returns the names of numbers: the row count, then the metrics that entries have sums of,
// ascending.
func namesOf(all []refresh.Entry) []string {
	names := map[string]bool{}
	for _, e := range all {
		for name := range e.Record.Sums {
			names[name] = true
		}
	}
	return append([]string{refresh.RowCount}, slices.Sorted(maps.Keys(names))...)
}

// A picture is a chart of one number, and what it shows in words.
type picture struct {
	Name       string
	Chart      chart.Picture
	From, To   string // the first and the last partition
	Low, High  string // what the lower and the upper edge of the chart stand for
	Holes      int    // partitions without a number, or with one of another meaning
	Moved      int    // partitions with another number than a day ago
	Open       int    // partitions that aren't final
	Partitions int
}

// pictureOf draws one number of all entries, which must be in the order of their partitions.
func pictureOf(all []refresh.Entry, had earlierContents, name string) picture {
	p := picture{Name: name, Partitions: len(all)}
	bars := make([]chart.Bar, 0, len(all))
	for _, e := range all {
		n := had.numberOf(e, name)
		b := chart.Bar{Value: float(n.Is), Before: float(n.Was), Hole: n.hole(), New: n.Was == "",
			Open: e.Finality.State != refresh.Final && e.Finality.State != ""}
		switch {
		case b.Hole:
			p.Holes++
		case n.Moved:
			p.Moved++
		}
		if b.Open && !b.Hole {
			p.Open++
		}
		bars = append(bars, b)
	}
	p.Chart = chart.Draw(bars)
	p.Low, p.High = amount(new(big.Rat).SetFloat64(p.Chart.Low).FloatString(2)),
		amount(new(big.Rat).SetFloat64(p.Chart.High).FloatString(2))
	if len(all) > 0 {
		p.From, p.To = day(all[0].Partition), day(all[len(all)-1].Partition)
	}
	return p
}

// float returns a number that is near enough for a picture; 0 when the text is no number.
func float(text string) float64 {
	n, ok := new(big.Rat).SetString(text)
	if !ok {
		return 0
	}
	f, _ := n.Float64()
	return f
}

// amount writes a decimal for people: with a space before every three digits, and with two decimals
// when it has more and isn't small.
func amount(text string) string {
	n, ok := new(big.Rat).SetString(text)
	if !ok {
		return text
	}
	digits, _ := n.FloatPrec()
	if digits > 2 && (n.Cmp(big.NewRat(1, 1)) >= 0 || n.Cmp(big.NewRat(-1, 1)) <= 0) {
		digits = 2
	}
	whole, rest, decimals := strings.Cut(n.FloatString(digits), ".")
	if decimals {
		rest = "." + rest
	}
	return grouped(whole) + rest
}
