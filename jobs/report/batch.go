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

// A batch holds recorded partitions that were made of the same kept answers, with the same columns,
// so that one conversion makes all of them again. One answer may cover several partitions in a row,
// and one partition may be made of several answers, each for some of the apps.
type batch struct {
	keys    []string        // of the answers; none: they weren't kept
	records []ledger.Record // ascending
}

// batchesOf groups records into batches. There is one record for each partition. Those without kept
// answers form the last batch.
func batchesOf(records []ledger.Record) []batch {
	slices.SortFunc(records, func(a, b ledger.Record) int { return a.Partition.Compare(b.Partition) })
	var list []batch
	var unkept batch
	at := map[string]int{}
	for _, e := range records {
		if len(e.Raw) == 0 {
			unkept.records = append(unkept.records, e)
			continue
		}
		name := e.Shape + "\n" + strings.Join(e.Raw, "\n")
		i, known := at[name]
		if !known {
			i = len(list)
			at[name] = i
			list = append(list, batch{keys: e.Raw})
		}
		list[i].records = append(list[i].records, e)
	}
	if len(unkept.records) > 0 {
		list = append(list, unkept)
	}
	return list
}

// only returns the batch with only those of its partitions that are still due in a window.
func (e batch) only(w refresh.Window) batch {
	e.records = slices.DeleteFunc(slices.Clone(e.records),
		func(r ledger.Record) bool { return w.Reason(r.Partition) == "" })
	return e
}

// A replayUnit is the work of one unit of a replay: the batches that begin in one cell of the grid,
// and the window of all their partitions.
type replayUnit struct {
	window  refresh.Window
	batches []batch
}

// replayUnits divides batches into units. base has the current records, which the new ones will
// follow.
func replayUnits(rules refresh.Rules, list []batch, base ledger.Records) []replayUnit {
	by := map[civil.Date]*replayUnit{}
	for _, e := range list {
		cell := rules.Cell(e.records[0].Partition)
		if by[cell] == nil {
			by[cell] = &replayUnit{window: refresh.Window{Period: rules.Period, Cell: cell}}
		}
		by[cell].batches = append(by[cell].batches, e)
		for _, r := range e.records {
			by[cell].window.Due = append(by[cell].window.Due, refresh.Due{
				Partition: r.Partition, Reason: refresh.Replayed, Seq: base[r.Partition].Seq,
			})
		}
	}
	var out []replayUnit
	for _, cell := range slices.SortedFunc(maps.Keys(by), civil.Date.Compare) {
		slices.SortFunc(by[cell].window.Due, func(a, b refresh.Due) int { return a.Partition.Compare(b.Partition) })
		out = append(out, *by[cell])
	}
	return out
}

// mostSpans is how many contiguous rows of partitions a message names.
const mostSpans = 8

// spans names the batch's partitions for people: contiguous ones by their first and last.
func (e batch) spans(period refresh.Period) string {
	var rows [][]civil.Date
	for i, r := range e.records {
		if i == 0 || period.Next(e.records[i-1].Partition) != r.Partition {
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
