package refresh

import (
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/zone"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// pauses are the days after which the service is asked again about a partition whose rows differ
// from the totals; the last one is repeated.
var pauses = []int{1, 2, 4, 7}

// mostAsked is on how many days the service is asked again about such a partition.
const mostAsked = 8

// emptyAnswers is on how many days after the first the service must answer that a suspected
// partition has no rows, before that is believed.
const emptyAnswers = 3

// neighbours is how many periods, at most, Suspected compares on each side of a partition.
const neighbours = 14

// Suspected returns the partitions without rows whose neighbours on both sides all have some. The
// service may have lost their rows: all_revenue is known to answer without rows where ad_revenue
// has some.
func Suspected(p Period, done ledger.Records) map[civil.Date]bool {
	if p == Whole {
		return nil
	}
	suspected := map[civil.Date]bool{}
	// side tells whether the periods on one side all have rows, as far as they are recorded.
	side := func(partition civil.Date, step int) bool {
		for n := 1; n <= neighbours; n++ {
			e, recorded := done[p.At(p.Index(partition)+n*step)]
			if !recorded || e.Rows == 0 {
				return !recorded && n > 1
			}
		}
		return true
	}
	for partition, e := range done {
		if e.State == ledger.Empty && side(partition, -1) && side(partition, 1) {
			suspected[partition] = true
		}
	}
	return suspected
}

// doubtful reports whether the service is to be asked again about a partition whose regular
// restatements are over: because it is suspected, or because its rows differ from the totals.
func (r Rules) doubtful(e ledger.Record) bool {
	if e.State == ledger.Empty {
		return r.Suspected[e.Partition] && e.Same < emptyAnswers
	}
	return e.Differs() && !e.Stands() && e.Asked < mostAsked
}

// askAgain returns the reason Doubtful and since when a partition is due, if it is doubtful.
func (r Rules) askAgain(since time.Time, e ledger.Record) (Reason, time.Time) {
	if !r.doubtful(e) {
		return "", since
	}
	pause := 1 // days
	if e.State != ledger.Empty {
		pause = pauses[min(e.Asked, len(pauses)-1)]
	}
	return Doubtful, zone.Start(civil.DateOf(e.Fetched.In(r.Location)).AddDays(pause), r.Location)
}
