// Package refresh decides which partitions of a table are to be fetched, and why, from the clock,
// the refresh rules and what the ledger holds. Without it missed nights, backfills, late data and
// repairs would each need code of their own. All of it is pure: nothing here reads a bucket, asks
// the service or looks at the clock.
//
// A partition goes through these states; each arrow back is a Reason in the plan:
//
//	            fetched while unfinished, or within the lookback
//	           ┌──────────────── restating ◀──────────────┐
//	           ▼                                          │
//	missing ─ due ─ fetched ─▶ recorded ─ lookback over ──┴─ horizons over ─▶ final
//	           ▲                  │
//	           └──────────────────┘  interrupted, new sink, changed outside, rebaseline, missing columns
//
// Plan cuts what is due into windows on a fixed grid. Finality says whether the service may still
// change what was fetched. Gaps, FreshnessOf and RestOf use the same rules the other way round:
// they say what is missing, how old the table is, and what it lacks though nothing is due.
package refresh

import (
	"fmt"
	"time"

	"cloud.google.com/go/civil"
	"github.com/robfig/cron/v3"

	"github.com/reportferry/reportferry/internal/zone"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// Rules say which partitions a table should have and when they are to be fetched again.
type Rules struct {
	Period   Period
	Page     int        // periods in a cell of the grid, at least 1
	Start    civil.Date // a day of the first period that is fetched when it has no record
	Through  civil.Date // a day of the last period; zero means the newest one. A Whole table ignores it
	Today    bool       // fetch the unfinished period too
	Lookback int        // days after its end in which the service restates a period
	Horizons []int      // days after a period's end from which a cohort metric of it is final, ascending
	// FinalAfter has, by column, the days after a period's end from which the service doesn't
	// change the column, or Never.
	FinalAfter map[string]int
	Location   *time.Location  // the report's time zone: where a day begins and ends
	Schedule   cron.Schedule   // nil fires always
	Targets    []ledger.Target // of the job

	// Stale says why partitions of a shape must be fetched again, by the shape's ID. They are due
	// even before Start, unless Through says that a range was asked for.
	Stale map[string]ledger.Stale

	LaterColumns bool // a partition that only lacks columns isn't due

	// Changed are the partitions for which a target holds something else than what was put: see
	// partition.Table.FindChanged. Before Start they aren't due, because a bucket's own lifecycle
	// rules may have deleted old parts.
	Changed map[civil.Date]bool

	// Stored has the condition, Deleted or Replaced, of partitions that a target doesn't hold as
	// recorded. It is nil when no target was asked.
	Stored map[civil.Date]Condition

	// Oldest is the oldest partition that any target keeps: the tables of all targets delete older
	// ones because of their age. It is zero when they keep all, or none was asked.
	Oldest civil.Date

	// Moved are final partitions whose totals differed from the recorded ones, with the moment when
	// that was seen. They are due until they are fetched after that moment, but not before Start.
	Moved map[civil.Date]time.Time

	// Suspected are partitions without rows, although the periods on each side of them have some:
	// see Suspected.
	Suspected map[civil.Date]bool

	// MovedButLeft are partitions that have moved like those in Moved, in a job that leaves them as
	// recorded.
	MovedButLeft map[civil.Date]time.Time

	Snapshots      bool     // partitions are made during their period, and never afterwards
	Only           []Reason // the reasons for which partitions are due; nil means any
	IgnoreSchedule bool     // partitions are due without a tick of the schedule
	IgnoreLedger   bool     // every partition is due, whatever is recorded
}

// Days returns the days that the service is asked for when a row of consecutive partitions is
// fetched: from is included, and until is excluded. A period is asked for with all of its days,
// even when it is unfinished. A Whole table asks for all days from Start to the newest that may be
// fetched.
func (r Rules) Days(now time.Time, row []civil.Date) (from, until civil.Date) {
	if r.Period == Whole {
		return r.Start, r.newest(now).AddDays(1)
	}
	return row[0], r.Period.Next(row[len(row)-1])
}

// newest returns the newest day that may be fetched at all: today, or yesterday.
func (r Rules) newest(now time.Time) civil.Date {
	today := civil.DateOf(now.In(r.Location))
	if r.Today {
		return today
	}
	return today.AddDays(-1)
}

// bounds returns the numbers of the first and the newest period that may be fetched at all. There
// is none when first > last.
func (r Rules) bounds(now time.Time) (first, last int) {
	if r.Period == Whole && r.Start.After(r.newest(now)) {
		return 0, -1
	}
	if r.Period == Whole {
		return 0, 0
	}
	last = r.Period.Index(civil.DateOf(now.In(r.Location)))
	if !r.Today {
		last--
	}
	if r.Through.IsValid() {
		last = min(last, r.Period.Index(r.Through))
	}
	return r.Period.Index(r.Start), last
}

// Cell returns the first day of the cell of the grid that a partition lies in.
func (r Rules) Cell(partition civil.Date) civil.Date { return r.cell(r.Period.Index(partition)) }

// Block returns the first day of the block of cells that a partition lies in. One request for
// totals covers a block, which has as many cells as fit into a quarter, but at least one. The first
// block begins with the cell of the partition first.
func (r Rules) Block(partition, first civil.Date) civil.Date {
	if r.Period == Whole {
		return partition
	}
	days := r.Page * daysOf[r.Period]
	periods := r.Page * max(1, quarterDays/days)
	begin := r.Page * floorDiv(r.Period.Index(first), r.Page)
	return r.Period.At(begin + periods*floorDiv(r.Period.Index(partition)-begin, periods))
}

// quarterDays are the days of the longest quarter. Totals of so many days are an answer of a few
// kilobytes.
const quarterDays = 92

// cell returns the first day of the cell that the period with this number lies in.
func (r Rules) cell(index int) civil.Date { return r.Period.At(r.Page * floorDiv(index, r.Page)) }

// Number returns the number of a window's cell on the table's grid, which every process counts in
// the same way.
func (r Rules) Number(w Window) int { return floorDiv(r.Period.Index(w.Cell), r.Page) }

// end returns the moment so many days after the end of a partition's period.
func (r Rules) end(partition civil.Date, days int) time.Time {
	return zone.Start(r.Period.Next(partition).AddDays(days), r.Location)
}

// ParseSchedule reads a five-field cron expression (or a descriptor such as @daily) in an IANA time
// zone. For an empty expression it returns nil, which fires always. The zone is for cron alone: it
// says when to look, never what a day is.
func ParseSchedule(expr, zone string) (cron.Schedule, error) {
	if expr == "" {
		return nil, nil
	}
	if zone == "" {
		zone = "UTC"
	}
	s, err := cron.ParseStandard("CRON_TZ=" + zone + " " + expr)
	if err != nil {
		return nil, fmt.Errorf("schedule %q in zone %s: %w", expr, zone, err)
	}
	return s, nil
}

// Fired reports whether the schedule has fired after since and not later than now.
func Fired(s cron.Schedule, since, now time.Time) bool {
	if s == nil {
		return !now.Before(since)
	}
	next := s.Next(since)
	return !next.IsZero() && !next.After(now)
}
