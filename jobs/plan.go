package jobs

import (
	"time"

	"cloud.google.com/go/civil"
	"github.com/robfig/cron/v3"
)

// Rules say which partitions a table should have and when they are to be fetched again.
type Rules struct {
	Period   Period
	Page     int            // periods in a cell of the grid, at least 1
	Start    civil.Date     // the period that holds it is the first one
	Through  civil.Date     // the period that holds it is the last one; zero: the newest
	Today    bool           // the unfinished period too
	Lookback int            // days after its end in which the service restates a period
	Location *time.Location // of the report: where a day begins and ends
	Schedule cron.Schedule  // nil: fires always
	Sinks    []string       // names of the job's targets

	IgnoreSchedule bool
	IgnoreLedger   bool
}

// Ledgered is what the ledger holds of a table.
type Ledgered map[civil.Date]Entry

// PlanWindows is pure: which windows to do now, and why, from the clock, the refresh rules and what the ledger holds.
// Windows and the partitions in them ascend. A partition is in at most one window.
func PlanWindows(now time.Time, r Rules, done Ledgered) []Window {
	var windows []Window
	last := r.lastIndex(now)
	for i := r.Period.Index(r.Start); i <= last; i++ {
		partition := r.Period.At(i)
		reason, due := r.due(now, partition, done)
		if !due {
			continue
		}
		cell := r.Period.At(r.Page * floorDiv(i, r.Page))
		if n := len(windows); n == 0 || windows[n-1].Cell != cell {
			windows = append(windows, Window{Period: r.Period, Cell: cell})
		}
		w := &windows[len(windows)-1]
		w.Due = append(w.Due, Due{Partition: partition, Reason: reason, Seq: done[partition].Seq})
	}
	return windows
}

// lastIndex is the number of the newest period that may be fetched at all.
func (r Rules) lastIndex(now time.Time) int {
	last := r.Period.Index(civil.DateOf(now.In(r.Location)))
	if !r.Today {
		last--
	}
	if r.Through.IsValid() {
		last = min(last, r.Period.Index(r.Through))
	}
	return last
}

// due decides for one partition that has begun, and has ended unless the rules ask for today.
func (r Rules) due(now time.Time, partition civil.Date, done Ledgered) (Reason, bool) {
	if r.IgnoreLedger {
		return Forced, true
	}
	end := r.Period.Next(partition).In(r.Location)
	reason, since := Missing, end
	if end.After(now) {
		since = partition.In(r.Location)
	}
	if e, recorded := done[partition]; recorded && e.State == Publishing {
		reason = Interrupted
	} else if recorded {
		if !e.reached(r.Sinks) {
			return Unsunk, r.IgnoreSchedule || Fired(r.Schedule, since, now)
		}
		// What counts is how old the partition was when it was last fetched, not how old it is now: after missed
		// nights the last restatement would be lost otherwise.
		if !e.Fetched.Before(end.AddDate(0, 0, r.Lookback)) {
			return "", false
		}
		reason = Lookback
		if e.Fetched.Before(end) {
			reason = Unfinished
		}
		if e.Fetched.After(since) {
			since = e.Fetched
		}
	}
	return reason, r.IgnoreSchedule || Fired(r.Schedule, since, now)
}
