package refresh

import (
	"fmt"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/zone"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// A Freshness says how new a table is.
type Freshness struct {
	// The newest partition that was fetched after its end; in a Whole table, its newest day.
	Newest *civil.Date `json:"newest_complete,omitempty"`
	// The end of the period after Newest, or of the first period; zero when there are no periods.
	Awaited time.Time  `json:"awaited_since,omitzero"`
	Success *time.Time `json:"last_success,omitempty"` // the last fetch recorded, or run without an error
}

// FreshnessOf derives a job's freshness from the records of its table and from past runs. A run in
// which nothing was due and nothing failed counts as a success.
func FreshnessOf(job string, r Rules, done ledger.Records, past ledger.Past) Freshness {
	var f Freshness
	for partition, e := range done {
		if e.State == ledger.Publishing {
			continue
		}
		f.succeeded(e.Fetched)
		if r.Period != Whole && f.Newest != nil && !partition.After(*f.Newest) {
			continue
		}
		if newest, whole := r.complete(partition, e); whole {
			f.Newest = &newest
		}
	}
	if at := past.SuccessOf(job); at != nil {
		f.succeeded(*at)
	}
	period := r.Period
	if period == Whole {
		period = Day
	}
	next := period.Start(r.Start)
	if f.Newest != nil {
		next = period.Next(*f.Newest)
	}
	f.Awaited = zone.Start(period.Next(next), r.Location)
	return f
}

// complete reports whether a record was made after its period had ended, and returns the day to
// show for it.
func (r Rules) complete(partition civil.Date, e ledger.Record) (civil.Date, bool) {
	if r.Period == Whole {
		return civil.DateOf(e.Fetched.In(r.Location)).AddDays(-1), true
	}
	return partition, r.Snapshots || !e.Fetched.Before(r.end(partition, 0))
}

// succeeded notes a success, if it is newer than the last one.
func (f *Freshness) succeeded(at time.Time) {
	if f.Success == nil || at.After(*f.Success) {
		f.Success = &at
	}
}

// Stale returns why a table is older than maxAge, or "" when it isn't. The age of a period counts
// from its end: with 26h, yesterday is missed from 02:00 tomorrow, and a table of months isn't
// stale on the 20th.
func (f Freshness) Stale(now time.Time, maxAge time.Duration) string {
	if late := now.Sub(f.Awaited); late > maxAge && !f.Awaited.IsZero() {
		have := "none is recorded"
		if f.Newest != nil {
			have = fmt.Sprintf("the newest recorded is %s", f.Newest)
		}
		return fmt.Sprintf("the next period ended %v ago, and %s", late.Round(time.Minute), have)
	}
	if f.Success != nil && now.Sub(*f.Success) > maxAge {
		return fmt.Sprintf("the last success was %v ago", now.Sub(*f.Success).Round(time.Minute))
	}
	return ""
}
