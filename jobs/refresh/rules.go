// Package refresh decides which partitions of a table are to be fetched, and why, from the clock, the refresh rules and
// what the ledger holds. Without it missed nights, backfills, late data and repairs would each need code of their own. All
// of it is pure: nothing here reads a bucket, asks the service or looks at the clock.
package refresh

import (
	"fmt"
	"time"

	"cloud.google.com/go/civil"
	"github.com/robfig/cron/v3"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// Rules say which partitions a table should have and when they are to be fetched again.
type Rules struct {
	Period   Period
	Page     int             // periods in a cell of the grid, at least 1
	Start    civil.Date      // the period that holds it is the first one that is fetched when it has no record
	Through  civil.Date      // the period that holds it is the last one; zero: the newest. Nothing to Whole
	Today    bool            // the unfinished period too
	Lookback int             // days after its end in which the service restates a period
	Horizons []int           // days after a period's end from which a cohort metric of it is final, ascending
	Location *time.Location  // of the report: where a day begins and ends
	Schedule cron.Schedule   // nil: fires always
	Targets  []ledger.Target // of the job

	// Stale says, by the ID of its shape, why a partition must be fetched again. Like every other recorded partition that
	// isn't final, it is due before Start too, unless Through says that a range was asked for.
	Stale map[string]ledger.Stale

	LaterColumns bool // what only lacks columns isn't due

	// Changed are the partitions of which a target holds something else than what was put: see Table.Look. Before Start they
	// aren't due: old parts are what a bucket's own rules delete.
	Changed map[civil.Date]bool

	Snapshots      bool     // partitions are made while their period goes on, and never afterwards
	Only           []Reason // nil: whatever the reason
	IgnoreSchedule bool
	IgnoreLedger   bool
}

// Days gives the days that a contiguous row of partitions holds: from, included, to until, excluded. They are what the
// service is asked for. Whole holds all days from Start to the newest that may be fetched; a period holds all of its
// days, also when it is unfinished.
func (r Rules) Days(now time.Time, row []civil.Date) (from, until civil.Date) {
	if r.Period == Whole {
		return r.Start, r.newest(now).AddDays(1)
	}
	return row[0], r.Period.Next(row[len(row)-1])
}

// newest is the newest day that may be fetched at all: today, or the last one that is over.
func (r Rules) newest(now time.Time) civil.Date {
	today := civil.DateOf(now.In(r.Location))
	if r.Today {
		return today
	}
	return today.AddDays(-1)
}

// bounds are the numbers of the first and the newest period that may be fetched at all; none when first > last.
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

// cell is the first day of the cell of the grid that holds the period with that number.
func (r Rules) cell(index int) civil.Date { return r.Period.At(r.Page * floorDiv(index, r.Page)) }

// end is when a partition's period is over, and so many days later.
func (r Rules) end(partition civil.Date, days int) time.Time {
	return dayStart(r.Period.Next(partition).AddDays(days), r.Location)
}

// dayStart is the first moment of a day. Where clocks are put forward at midnight that is not 00:00, which time.Date
// may take for an hour of the day before; where they are put back to it, there are two.
func dayStart(d civil.Date, loc *time.Location) time.Time {
	t := d.In(loc)
	since, until := t.ZoneBounds()
	if civil.DateOf(t).Before(d) {
		return until
	}
	if before := since.Add(-time.Second); !since.IsZero() && civil.DateOf(before) == d {
		_, offset := before.Zone()
		return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.FixedZone("", offset)).In(loc)
	}
	return t
}

// ParseSchedule reads a five-field cron expression (or a descriptor such as @daily) in an IANA time zone. An empty
// expression gives nil, which fires always. The zone is for cron alone: it says when to look, never what a day is.
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

// Fired tells whether the schedule has fired after since and not later than now.
func Fired(s cron.Schedule, since, now time.Time) bool {
	if s == nil {
		return !now.Before(since)
	}
	next := s.Next(since)
	return !next.IsZero() && !next.After(now)
}
