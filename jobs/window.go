package jobs

import (
	"cloud.google.com/go/civil"
)

// A Reason says why a partition is to be fetched.
type Reason string

// The reasons.
const (
	Missing     Reason = "missing"         // no record of it
	Unfinished  Reason = "unfinished"      // last fetched before its period ended
	Lookback    Reason = "lookback"        // last fetched while the service could still restate it
	Horizon     Reason = "cohort horizon"  // last fetched before a cohort metric was final
	Interrupted Reason = "interrupted"     // a put began, and how it ended is not recorded
	Unsunk      Reason = "new sink"        // a sink of the job has no receipt for it
	Rebased     Reason = "rebaseline"      // recorded when the config gave its numbers another meaning
	NewColumns  Reason = "missing columns" // recorded when the table had fewer columns
	Forced      Reason = "forced"          // asked for again, whatever the ledger holds
)

// A Window is one cell of the fixed grid with those of its partitions that are to be fetched. One request covers a
// contiguous row of them.
type Window struct {
	Period Period
	Cell   civil.Date // first day of the cell, the same for every process: it names the claim
	Due    []Due      // ascending
}

// Due is a partition to fetch.
type Due struct {
	Partition civil.Date `json:"partition"`
	Reason    Reason     `json:"reason"`
	Seq       int        `json:"-"` // of the record the plan was made from; a newer one means another process did it meanwhile
}

// Name names the unit that does the window, and its claim: the cell's first day.
func (w Window) Name() string { return cellName(w.Period, w.Cell) }

func cellName(p Period, cell civil.Date) string {
	if p == Whole {
		return "all"
	}
	return cell.String()
}

// Runs cuts the window into its contiguous rows of partitions, each one request.
func (w Window) Runs() [][]civil.Date {
	var runs [][]civil.Date
	for i, d := range w.Due {
		if i == 0 || w.Period.Next(w.Due[i-1].Partition) != d.Partition {
			runs = append(runs, nil)
		}
		last := len(runs) - 1
		runs[last] = append(runs[last], d.Partition)
	}
	return runs
}

// Without is the window without the partitions that drop names.
func (w Window) Without(drop func(Due) bool) Window {
	kept := Window{Period: w.Period, Cell: w.Cell}
	for _, d := range w.Due {
		if !drop(d) {
			kept.Due = append(kept.Due, d)
		}
	}
	return kept
}
