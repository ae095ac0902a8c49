package refresh

import (
	"slices"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/zone"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// Plan returns which windows to fetch now, and why, from the time, the rules and the records.
// Windows ascend, and so do the partitions in them. A partition is in one window at most.
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

// firstOpen returns the number of the oldest period to look at: that of Start, or an older one
// whose record isn't final. Otherwise a Start that moves with the days would leave partitions
// behind before their last restatement, or half published.
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

// due returns why a partition is to be fetched now, and whether it is. The partition has begun, and
// has ended unless the rules ask for today. The reason is Dropped if the partition is only to lose
// columns, for which the service needn't be asked.
func (r Rules) due(now time.Time, partition civil.Date, e ledger.Record, recorded bool) (Reason, bool) {
	if r.IgnoreLedger {
		return Forced, true
	}
	if reason, due := r.dueForFetch(now, partition, e, recorded); due || !r.drops(e) {
		return reason, due
	}
	return Dropped, r.IgnoreSchedule || r.firedFrom(r.ready(now, partition), now)
}

// drops reports whether a record's rows have columns that the table is to lose.
func (r Rules) drops(e ledger.Record) bool { return r.Stale[e.Shape].Drops && e.Rows > 0 }

// dueForFetch does what due does for all reasons that need an answer of the service.
func (r Rules) dueForFetch(now time.Time, partition civil.Date, e ledger.Record, recorded bool) (Reason, bool) {
	reason, since := r.wanted(now, partition, e, recorded)
	if reason == "" || since.After(now) {
		return "", false
	}
	if r.IgnoreSchedule {
		return reason, true
	}
	if recorded && since.Equal(e.Fetched) { // a tick at this moment may have caused that fetch
		return reason, Fired(r.Schedule, since, now)
	}
	return reason, r.firedFrom(since, now)
}

// firedFrom is like Fired, but counts a tick at that very moment, too, such as one at the midnight
// that ends a day.
func (r Rules) firedFrom(moment, now time.Time) bool { return Fired(r.Schedule, moment.Add(-1), now) }

// wanted returns why a partition should be fetched, and since when: it is due once the schedule has
// fired after that moment. It returns no reason for a partition that is as it should be.
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
		return NewSink, ready
	case r.Changed[partition]:
		return Changed, ready
	case e.Fetched.Before(r.Moved[partition]):
		return Drifted, r.Moved[partition]
	}
	return r.restated(now, ready, partition, e)
}

// stale returns why the shape of a record makes its partition due, and whether it does. A partition
// without rows doesn't lack columns.
func (r Rules) stale(e ledger.Record) (Reason, bool) {
	switch how := r.Stale[e.Shape]; {
	case how.Rebased:
		return Rebased, true
	case len(how.Lacks) > 0 && e.Rows > 0 && !r.LaterColumns:
		return NewColumns, true
	}
	return "", false
}

// ready returns the moment from which a partition can be fetched: its end, or its beginning while
// it is unfinished.
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

// restated returns why a recorded partition should be fetched once more, and since when. It looks
// at the partition's age when it was last fetched, not its age now: after missed nights the last
// restatement would otherwise be lost.
func (r Rules) restated(now, ready time.Time, partition civil.Date, e ledger.Record) (Reason, time.Time) {
	since := later(ready, e.Fetched)
	switch {
	case r.Period == Whole && r.newest(e.Fetched).Before(r.newest(now)):
		return Unfinished, since
	case r.Period == Whole && r.Lookback > 0: // its newest days are always within the lookback
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

// settled returns the number of days after its end from which a period isn't restated any more.
func (r Rules) settled() int {
	if n := len(r.Horizons); n > 0 {
		return max(r.Lookback, r.Horizons[n-1])
	}
	return r.Lookback
}

// longSettled reports whether a fetch was made days after the last restatement, which is the common
// case in a long table. It does so without calculations with time zones: no zone is two days from
// UTC.
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

// InLookback reports whether the service may still restate a partition at that time, so that its
// last fetch is still to come.
func (r Rules) InLookback(now time.Time, partition civil.Date) bool {
	return now.Before(r.end(partition, r.Lookback))
}

// Ripened reports whether a column has become final since a record was fetched, so that only
// another fetch brings its final values.
func (r Rules) Ripened(now time.Time, e ledger.Record) bool {
	passed := func(days int) bool {
		end := r.end(e.Partition, days)
		return e.Fetched.Before(end) && !now.Before(end)
	}
	return slices.ContainsFunc(r.Horizons, passed) ||
		len(r.Finality(e.Partition, now).Columns) > len(r.Finality(e.Partition, e.Fetched).Columns)
}

// Settled reports whether a partition's record is final: a fetch now would only repeat it.
func (r Rules) Settled(now time.Time, e ledger.Record) bool {
	reason, _ := r.wanted(now, e.Partition, e, true)
	return reason == ""
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
