package refresh

import (
	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// A Reason says why a partition is to be fetched.
type Reason string

// The reasons.
const (
	Missing     Reason = "missing"        // the partition has no record
	Unfinished  Reason = "unfinished"     // last fetched before its period ended
	Lookback    Reason = "lookback"       // last fetched while the service could still restate it
	Horizon     Reason = "cohort horizon" // last fetched before a cohort metric was final
	Interrupted Reason = "interrupted"    // a put began, and how it ended is not recorded
	NewSink     Reason = "new sink"       // a sink of the job has no receipt for it
	// Its rows differ from the totals, or it has none although the periods beside it have some.
	Doubtful   Reason = "doubtful"
	Rebased    Reason = "rebaseline"      // recorded when its numbers had another meaning by the config
	NewColumns Reason = "missing columns" // recorded when the table had fewer columns
	Dropped    Reason = "dropped columns" // it has columns that the config takes out of every partition, or renames
	Changed    Reason = "changed outside" // a sink holds something else than what was put, or nothing
	Drifted    Reason = "drift"           // it was final, and the service's totals have changed nevertheless
	Forced     Reason = "forced"          // asked for again, whatever the ledger holds
	Replayed   Reason = "replay"          // made again from stored raw answers, as a person asked
)

// A Window is one cell of the fixed grid with those of its partitions that are to be fetched. One
// request covers consecutive ones.
type Window struct {
	Period Period
	Cell   civil.Date // first day of the cell, the same for every process
	Due    []Due      // ascending

	// Base are the records of the partitions, read after the window was leased and before the
	// fetch. The ledger accepts a new record only on top of the one in Base, even if another unit
	// of the process has read newer ones meanwhile.
	Base ledger.Records
}

// Due is a partition to fetch.
type Due struct {
	Partition civil.Date `json:"partition"`
	Reason    Reason     `json:"reason"`
	Seq       int        `json:"-"` // of the record that the plan was made from; a newer one is another process's work
}

// Reason returns why a partition of the window is fetched, or "" when it isn't due.
func (w Window) Reason(partition civil.Date) Reason {
	for _, d := range w.Due {
		if d.Partition == partition {
			return d.Reason
		}
	}
	return ""
}

// Name returns the name of the unit that fetches the window: the first day of its cell.
func (w Window) Name() string { return cellName(w.Period, w.Cell) }

// cellName returns the name of a cell, by which units and failures refer to it.
func cellName(p Period, cell civil.Date) string {
	if p == Whole {
		return "all"
	}
	return cell.String()
}

// Runs cuts the window into runs of consecutive partitions. Each run is one request.
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

// StillDue returns the window without the partitions that have newer records than those that the
// plan was made from. Its Base has the records of the others.
func (w Window) StillDue(recorded func(civil.Date) (ledger.Record, bool)) Window {
	w = w.Without(func(d Due) bool {
		e, known := recorded(d.Partition)
		return known && e.Seq > d.Seq && e.State != ledger.Publishing
	})
	w.Base = ledger.Records{}
	for _, d := range w.Due {
		if e, known := recorded(d.Partition); known {
			w.Base[d.Partition] = e
		}
	}
	return w
}

// Without returns the window without the partitions that drop chooses.
func (w Window) Without(drop func(Due) bool) Window {
	kept := Window{Period: w.Period, Cell: w.Cell, Base: w.Base}
	for _, d := range w.Due {
		if !drop(d) {
			kept.Due = append(kept.Due, d)
		}
	}
	return kept
}
