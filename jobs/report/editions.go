package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// An edition is recorded partitions that were made of the same kept answers, with the same columns, so that one conversion makes
// all of them again. Answers cover rows of partitions, and several pieces by app make one partition.
type edition struct {
	keys []string        // of the answers; none: they weren't kept
	of   []ledger.Record // ascending
}

// editionsOf groups records, of one partition each. Those without answers are one edition, the last.
func editionsOf(records []ledger.Record) []edition {
	slices.SortFunc(records, func(a, b ledger.Record) int { return a.Partition.Compare(b.Partition) })
	var list []edition
	var unkept edition
	at := map[string]int{}
	for _, e := range records {
		if len(e.Raw) == 0 {
			unkept.of = append(unkept.of, e)
			continue
		}
		name := e.Shape + "\n" + strings.Join(e.Raw, "\n")
		i, known := at[name]
		if !known {
			i = len(list)
			at[name] = i
			list = append(list, edition{keys: e.Raw})
		}
		list[i].of = append(list[i].of, e)
	}
	if len(unkept.of) > 0 {
		list = append(list, unkept)
	}
	return list
}

// only is the edition with those of its partitions that are still due in a window.
func (e edition) only(w refresh.Window) edition {
	e.of = slices.DeleteFunc(slices.Clone(e.of), func(r ledger.Record) bool { return w.Reason(r.Partition) == "" })
	return e
}

// A pile is what one unit makes again: the editions that begin in one cell of the grid, and the window of all their partitions.
type pile struct {
	window   refresh.Window
	editions []edition
}

// piles cuts editions into units. base has the records that hold, on top of which what is made will be recorded.
func piles(rules refresh.Rules, list []edition, base ledger.Records) []pile {
	by := map[civil.Date]*pile{}
	for _, e := range list {
		cell := rules.Cell(e.of[0].Partition)
		if by[cell] == nil {
			by[cell] = &pile{window: refresh.Window{Period: rules.Period, Cell: cell}}
		}
		by[cell].editions = append(by[cell].editions, e)
		for _, r := range e.of {
			by[cell].window.Due = append(by[cell].window.Due, refresh.Due{
				Partition: r.Partition, Reason: refresh.Replayed, Seq: base[r.Partition].Seq,
			})
		}
	}
	var out []pile
	for _, cell := range slices.SortedFunc(maps.Keys(by), civil.Date.Compare) {
		slices.SortFunc(by[cell].window.Due, func(a, b refresh.Due) int { return a.Partition.Compare(b.Partition) })
		out = append(out, *by[cell])
	}
	return out
}

// mostSpans is how many rows of partitions a message names.
const mostSpans = 8

// spans names the edition's partitions for people, contiguous ones by their first and last.
func (e edition) spans(period refresh.Period) string {
	var rows [][]civil.Date
	for i, r := range e.of {
		if i == 0 || period.Next(e.of[i-1].Partition) != r.Partition {
			rows = append(rows, nil)
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], r.Partition)
	}
	var names []string
	for _, row := range rows[:min(len(rows), mostSpans)] {
		names = append(names, span(row))
	}
	text := strings.Join(names, ", ")
	if more := len(rows) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more rows of partitions", more)
	}
	return text
}
