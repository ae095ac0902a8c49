package refresh

import (
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/zone"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// The service is asked again about what is doubtful after so many days, the last number as often as
// it takes, and mostAsked times in all.
var pauses = []int{1, 2, 4, 7}

const mostAsked = 8

// emptyAnswers are how many days after the first must answer that a suspected partition has no rows
// until that is believed.
const emptyAnswers = 3

// beside is how many periods on each side of one without rows are looked at.
const beside = 14

// Suspected gives the partitions without rows whose neighbours on each side all have some. The
// service may have lost them: all_revenue is known to answer without rows where ad_revenue has
// some.
func Suspected(p Period, done ledger.Records) map[civil.Date]bool {
	if p == Whole {
		return nil
	}
	suspected := map[civil.Date]bool{}
	side := func(partition civil.Date, step int) bool {
		for n := 1; n <= beside; n++ {
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

// doubtful tells whether the service is to be asked again about a partition that is as old as it
// needs to be.
func (r Rules) doubtful(e ledger.Record) bool {
	if e.State == ledger.Empty {
		return r.Suspected[e.Partition] && e.Same < emptyAnswers
	}
	return e.Differs() && !e.Stands() && e.Asked < mostAsked
}

// askAgain says from when a doubtful partition is due.
func (r Rules) askAgain(since time.Time, e ledger.Record) (Reason, time.Time) {
	if !r.doubtful(e) {
		return "", since
	}
	pause := 1
	if e.State != ledger.Empty {
		pause = pauses[min(e.Asked, len(pauses)-1)]
	}
	return Doubtful, zone.Start(civil.DateOf(e.Fetched.In(r.Location)).AddDays(pause), r.Location)
}
