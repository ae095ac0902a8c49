package refresh

import (
	"slices"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/zone"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// Plan says which windows to do now, and why, from the clock, the rules and the records. Windows
// ascend, and so do the partitions in them. A partition is in one window at most.
func Plan(now time.Time, r Rules, done ledger.Records) []Window {
	var windows []Window
	start, last := r.bounds(now)
	for i := r.firstOpen(now, start, done); i <= last; i++ {
		partition := r.Period.At(i)
		e, recorded := done[partition]
		if i < start && !recorded {
			continue
		}
		reason, due := r.due(now, partition, e, recorded)
		if !due || i < start && (reason == Changed || reason == Drifted) || r.Only != nil &&
			!slices.Contains(r.Only, reason) {
			continue
		}
		cell := r.cell(i)
		if n := len(windows); n == 0 || windows[n-1].Cell != cell {
			windows = append(windows, Window{Period: r.Period, Cell: cell})
		}
		w := &windows[len(windows)-1]
		w.Due = append(w.Due, Due{Partition: partition, Reason: reason, Seq: e.Seq})
	}
	return windows
}

// firstOpen is the number of the oldest period to look at: that of Start, or an older one whose
// record isn't final. Otherwise a Start that moves with the days would leave partitions behind
// before their last restatement, or half published.
func (r Rules) firstOpen(now time.Time, start int, done ledger.Records) int {
	if r.Through.IsValid() || r.Period == Whole {
		return start
	}
	first := start
	for partition, e := range done {
		i := r.Period.Index(partition)
		if i >= first {
			continue
		}
		if reason, _ := r.wanted(now, partition, e, true); reason != "" && reason != Changed && reason != Drifted ||
			r.drops(e) {
			first = i
		}
	}
	return first
}

// due decides about one partition that has begun, and that has ended unless the rules ask for
// today. What is only to lose columns has that reason, which needs nothing of the service.
func (r Rules) due(now time.Time, partition civil.Date, e ledger.Record, recorded bool) (Reason, bool) {
	if r.IgnoreLedger {
		return Forced, true
	}
	if reason, due := r.fetched(now, partition, e, recorded); due || !r.drops(e) {
		return reason, due
	}
	return Dropped, r.IgnoreSchedule || r.firedFrom(r.ready(now, partition), now)
}

// drops tells whether a record's rows have columns that the table is to lose.
func (r Rules) drops(e ledger.Record) bool { return r.Stale[e.Shape].Drops && e.Rows > 0 }

// fetched decides about what the service is asked for.
func (r Rules) fetched(now time.Time, partition civil.Date, e ledger.Record, recorded bool) (Reason, bool) {
	reason, since := r.wanted(now, partition, e, recorded)
	if reason == "" || since.After(now) {
		return "", false
	}
	if r.IgnoreSchedule {
		return reason, true
	}
	if recorded && since.Equal(e.Fetched) { // the fetch may have been that very tick's
		return reason, Fired(r.Schedule, since, now)
	}
	return reason, r.firedFrom(since, now)
}

// firedFrom is Fired with a tick at that very moment included, such as the one of midnight that
// ends a day.
func (r Rules) firedFrom(moment, now time.Time) bool { return Fired(r.Schedule, moment.Add(-1), now) }

// wanted says why a partition should be fetched, and since when: it is due once the schedule has
// fired after that moment. Without a reason it is as it should be.
func (r Rules) wanted(now time.Time, partition civil.Date, e ledger.Record, recorded bool) (Reason, time.Time) {
	stale, isStale := r.stale(e)
	if recorded && e.State != ledger.Publishing && !isStale && r.longSettled(partition, e.Fetched) &&
		e.Reached(r.Targets) && !r.Changed[partition] &&
		!r.doubtful(e) && !e.Fetched.Before(r.Moved[partition]) {
		return "", time.Time{}
	}
	ready := r.ready(now, partition)
	switch {
	case !recorded:
		return Missing, ready
	case e.State == ledger.Publishing:
		return Interrupted, ready
	case isStale && e.State == ledger.Kept: // the answer was empty: try once more at each tick
		return stale, later(ready, e.Fetched)
	case isStale:
		return stale, ready
	case !e.Reached(r.Targets):
		return Unsunk, ready
	case r.Changed[partition]:
		return Changed, ready
	case e.Fetched.Before(r.Moved[partition]):
		return Drifted, r.Moved[partition]
	}
	return r.restated(now, ready, partition, e)
}

// stale says why the shape of a record makes its partition due. One without rows lacks no column.
func (r Rules) stale(e ledger.Record) (Reason, bool) {
	switch how := r.Stale[e.Shape]; {
	case how.Rebased:
		return Rebased, true
	case len(how.Lacks) > 0 && e.Rows > 0 && !r.LaterColumns:
		return NewColumns, true
	}
	return "", false
}

// ready is the moment from which a partition can be fetched: its end, or its beginning while it is
// unfinished.
func (r Rules) ready(now time.Time, partition civil.Date) time.Time {
	switch {
	case r.Period != Whole:
		if end := r.end(partition, 0); !end.After(now) {
			return end
		}
		return zone.Start(partition, r.Location)
	case r.Today:
		return zone.Start(r.Start, r.Location)
	}
	return zone.Start(r.Start.AddDays(1), r.Location)
}

// restated says why a recorded partition should be fetched once more. What counts is its age when
// it was last fetched, not its age now: after missed nights the last restatement would otherwise be
// lost.
func (r Rules) restated(now, ready time.Time, partition civil.Date, e ledger.Record) (Reason, time.Time) {
	since := later(ready, e.Fetched)
	switch {
	case r.Period == Whole && r.newest(e.Fetched).Before(r.newest(now)):
		return Unfinished, since
	case r.Period == Whole && r.Lookback > 0: // its newest days are always inside
		return Lookback, since
	case r.Period == Whole:
		return "", since
	case !e.Fetched.Before(r.end(partition, r.settled())):
		return r.askAgain(since, e)
	case e.Fetched.Before(r.end(partition, 0)):
		return Unfinished, since
	case e.Fetched.Before(r.end(partition, r.Lookback)):
		return Lookback, since
	}
	for _, days := range r.Horizons {
		if final := r.end(partition, days); e.Fetched.Before(final) {
			return Horizon, final // one fetch after several horizons makes all of them final
		}
	}
	return r.askAgain(since, e)
}

// settled is how many days after its end a period is restated no more.
func (r Rules) settled() int {
	if n := len(r.Horizons); n > 0 {
		return max(r.Lookback, r.Horizons[n-1])
	}
	return r.Lookback
}

// longSettled tells, without a look at the clocks of a zone, that a fetch was made days after the
// last restatement: the common case of a long table. No zone is two days from UTC.
func (r Rules) longSettled(partition civil.Date, fetched time.Time) bool {
	if r.Period == Whole {
		return false
	}
	days := daysOf[r.Period]
	if r.Period != Day {
		days += days / 10 // of a leap year, a long month or quarter
	}
	return fetched.Sub(partition.In(time.UTC)) >= time.Duration(days+2+r.settled())*24*time.Hour
}

// InLookback tells whether the service may still restate a partition at that time, so that its last
// fetch is still to come.
func (r Rules) InLookback(now time.Time, partition civil.Date) bool {
	return now.Before(r.end(partition, r.Lookback))
}

// Ripened tells whether a column has become final since a record was fetched, so that only another
// fetch brings it.
func (r Rules) Ripened(now time.Time, e ledger.Record) bool {
	passed := func(days int) bool {
		end := r.end(e.Partition, days)
		return e.Fetched.Before(end) && !now.Before(end)
	}
	return slices.ContainsFunc(r.Horizons, passed) ||
		len(r.Finality(e.Partition, now).Columns) > len(r.Finality(e.Partition, e.Fetched).Columns)
}

// Settled tells whether a partition's record is final: a fetch of it now would only repeat it.
func (r Rules) Settled(now time.Time, e ledger.Record) bool {
	reason, _ := r.wanted(now, e.Partition, e, true)
	return reason == ""
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
