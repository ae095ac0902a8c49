package status

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// cohorts say how a table's rows compare with the service's totals of cohort metrics, which drift
// in the service itself.
type cohorts struct {
	compared int     // partitions that were compared with a total
	near     int     // partitions that differ, and are reconciled all the same
	apart    int     // partitions that aren't reconciled, for cohort metrics alone
	most     float64 // by which share of a total one of them differs at most
}

// cohortsOf counts how the records of a table compare with the service's totals.
func cohortsOf(done ledger.Records) (c cohorts) {
	for _, e := range done {
		switch {
		case e.Control == nil || e.Control.State == ledger.Unchecked:
			continue
		case e.Control.State == ledger.Reconciled:
			c.near += min(len(e.Control.Differences), 1)
		case len(e.Control.Differences) > 0 && !slices.ContainsFunc(e.Control.Differences,
			func(d ledger.Difference) bool { return d.Of != ledger.OfCohort }):
			c.apart++
			for _, d := range e.Control.Differences {
				c.most = max(c.most, share(d))
			}
		}
		c.compared++
	}
	return c
}

// share returns how far the rows are from the total, as a share of the total; 1 where there is
// none.
func share(d ledger.Difference) float64 {
	rows, ok := new(big.Rat).SetString(d.Rows)
	total, has := new(big.Rat).SetString(d.Total)
	if !ok || !has || total.Sign() == 0 {
		return 1
	}
	off, _ := rows.Sub(rows, total).Quo(rows, total).Float64()
	return math.Abs(off)
}

// fewestApart is how many partitions have to differ before that is taken for a property of the
// table.
const fewestApart = 5

// mostDiffer tells whether so many of the table's totals differ that this is a property of the
// table.
func (c cohorts) mostDiffer() bool { return c.apart >= fewestApart && 2*c.apart > c.compared }

// advice says how to allow the differences that the totals have had so far.
func (c cohorts) advice() string {
	return fmt.Sprintf("the service's totals of its cohort metrics differ by up to %.1f%%; reconcile: {cohorts: "+
		"%d%%} takes that as it is, and to fetch them again",
		100*c.most, min(100, int(math.Floor(100*c.most))+1))
}

// merged returns ranges of partitions without the reason why each differs. Adjacent ranges that are
// otherwise alike become one.
func merged(period refresh.Period, days []ledger.ProblemDays) (rows []ledger.ProblemDays) {
	for _, d := range slices.Backward(days) {
		d.Why = ""
		if n := len(rows); n > 0 && period.Next(rows[n-1].Through) == d.From && rows[n-1].Run == d.Run &&
			rows[n-1].Error == d.Error {
			rows[n-1].Through = d.Through
			rows[n-1].Partitions += d.Partitions
			continue
		}
		rows = append(rows, d)
	}
	slices.Reverse(rows)
	return rows
}
