package refresh

import (
	"slices"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// A Watch is a cell of partitions whose final ones are to be compared with the service's totals.
type Watch struct {
	Cell   DriftCheck   // without a time
	Finals []civil.Date // ascending
}

// Watch chooses what a run looks at. Of cells of so many days on a fixed grid it is the one with
// the final partition that nobody has compared with the service for longest, by a check or by a
// fetch. No cell is checked twice on one day of the report, nor between two ticks of the schedule.
// A check that failed counts for the order, so that a cell that can't be checked keeps no other
// from its turn, and it may be tried again. The answer is false when there is nothing to look at.
func (r Rules) Watch(now time.Time, days int, done ledger.Records, checks DriftChecks) (chosen Watch, any bool) {
	if r.Period == Whole || days < 1 {
		return Watch{}, false
	}
	n := max(1, days/daysOf[r.Period])
	cells := map[int]Watch{}
	for partition, e := range done {
		if r.watches(now, e) {
			i := floorDiv(r.Period.Index(partition), n)
			finals := append(cells[i].Finals, partition)
			cells[i] = Watch{DriftCheck{From: r.Period.At(i * n), Until: r.Period.At((i + 1) * n)}, finals}
		}
	}
	var first time.Time // when the chosen cell was tried last
	for _, w := range cells {
		seen, tried := w.since(done, checks)
		if !r.again(seen, now) {
			continue
		}
		if !any || tried.Before(first) || tried.Equal(first) && w.Cell.From.Before(chosen.Cell.From) {
			chosen, first, any = w, tried, true
		}
	}
	slices.SortFunc(chosen.Finals, civil.Date.Compare)
	return chosen, any
}

// daysOf are the days of a period, by Period, as far as it matters how many of them a cell has.
var daysOf = [...]int{Day: 1, Week: 7, Month: 30, Quarter: 90, Year: 365}

// watches tells whether what is stored under a record is final, and belongs to the table still.
// Rows that were kept over an empty answer aren't what the service says, and what is due is fetched
// anyway; a partition that a check found to have moved stays watched until it is fetched.
func (r Rules) watches(now time.Time, e ledger.Record) bool {
	if r.Period.Index(e.Partition) < r.Period.Index(r.Start) || e.State == ledger.Kept ||
		r.FinalityOf(now, e).State != Final {
		return false
	}
	reason, due := r.due(now, e.Partition, e, true)
	return !due || reason == Drifted
}

// since tells since when nobody has compared one of the finals with the service, and when that was
// tried last.
func (w Watch) since(done ledger.Records, checks DriftChecks) (seen, tried time.Time) {
	for i, partition := range w.Finals {
		compared := done[partition].Fetched
		begun := compared
		for _, l := range checks {
			if l.covers(partition) {
				begun = later(begun, l.At)
				if !l.Failed {
					compared = later(compared, l.At)
				}
			}
		}
		if i == 0 || compared.Before(seen) {
			seen = compared
		}
		if i == 0 || begun.Before(tried) {
			tried = begun
		}
	}
	return seen, tried
}

// again tells whether it is time to compare what was compared at seen.
func (r Rules) again(seen, now time.Time) bool {
	another := civil.DateOf(seen.In(r.Location)).Before(civil.DateOf(now.In(r.Location)))
	return another && (r.IgnoreSchedule || Fired(r.Schedule, seen, now))
}
