package refresh

import (
	"slices"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// A Watch is a cell whose final partitions are to be compared with the service's totals.
type Watch struct {
	Cell   DriftCheck   // without a time
	Finals []civil.Date // ascending
}

// Watch chooses the cell whose final partitions a run compares with the service's totals. Cells
// have so many days and lie on a fixed grid. It returns false when there is nothing to compare.
//   - It chooses the cell with the final partition that hasn't been compared with the service, by a
//     check or by a fetch, for the longest time.
//   - No cell is checked twice on one day of the report, nor between two ticks of the schedule.
//   - A failed check counts for the order, so that a cell that can't be checked doesn't hold up the
//     others. It doesn't count as a check otherwise, so that the cell may be tried again.
func (r Rules) Watch(now time.Time, days int, done ledger.Records, checks DriftChecks) (chosen Watch, ok bool) {
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
	var earliest time.Time // when the chosen cell was tried last
	for _, w := range cells {
		compared, tried := w.since(done, checks)
		if !r.timeToCompare(compared, now) {
			continue
		}
		if !ok || tried.Before(earliest) || tried.Equal(earliest) && w.Cell.From.Before(chosen.Cell.From) {
			chosen, earliest, ok = w, tried, true
		}
	}
	slices.SortFunc(chosen.Finals, civil.Date.Compare)
	return chosen, ok
}

// daysOf are the approximate days of a period, which are exact enough for the lengths of cells.
var daysOf = [...]int{Day: 1, Week: 7, Month: 30, Quarter: 90, Year: 365}

// watches reports whether what is stored under a record is final, still belongs to the table, and
// can be compared. Rows that were kept over an empty answer can't, because the service doesn't have
// them. A partition that is due isn't compared, because it is fetched anyway, unless it is due
// because a check found that it has moved.
func (r Rules) watches(now time.Time, e ledger.Record) bool {
	if r.Period.Index(e.Partition) < r.Period.Index(r.Start) || e.State == ledger.Kept ||
		r.FinalityOf(now, e).State != Final {
		return false
	}
	reason, due := r.due(now, e.Partition, e, true)
	return !due || reason == Drifted
}

// since returns the oldest time at which one of the finals was last compared with the service, and
// the oldest time at which this was last tried.
func (w Watch) since(done ledger.Records, checks DriftChecks) (compared, tried time.Time) {
	for i, partition := range w.Finals {
		checked := done[partition].Fetched
		begun := checked
		for _, c := range checks {
			if c.covers(partition) {
				begun = later(begun, c.At)
				if !c.Failed {
					checked = later(checked, c.At)
				}
			}
		}
		if i == 0 || checked.Before(compared) {
			compared = checked
		}
		if i == 0 || begun.Before(tried) {
			tried = begun
		}
	}
	return compared, tried
}

// timeToCompare reports whether to compare again what was last compared at a time: on a later day
// of the report, and after a tick of the schedule.
func (r Rules) timeToCompare(compared, now time.Time) bool {
	another := civil.DateOf(compared.In(r.Location)).Before(civil.DateOf(now.In(r.Location)))
	return another && (r.IgnoreSchedule || Fired(r.Schedule, compared, now))
}
