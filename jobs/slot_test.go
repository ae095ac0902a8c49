package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/bucket/buckettest"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// A unit that has only its record left to write lets the next one begin: where a record takes ten
// seconds, three at a time fetch, and two more write their records.
func TestTheNextUnitBeginsBeforeTheRecordIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slow atomic.Bool
		l := ledger.Open(ledger.Options{Lease: time.Hour, Store: buckettest.NewFaulty(&bucket.Memory{},
			func(c bucket.Call) buckettest.Fate {
				if slow.Load() && c.Op == bucket.OpPut {
					return buckettest.Fate{Delay: 10 * time.Second}
				}
				return buckettest.Fate{}
			})})
		table, err := l.Table(t.Context(), "installs")
		check(t, err)
		var doing crowded
		var under, most atomic.Int64
		var units []string
		for i := range 10 {
			units = append(units, fmt.Sprint(i))
		}
		k := unitsOf{func(ctx context.Context, name string) (ledger.Outcome, error) {
			n := under.Add(1)
			defer under.Add(-1)
			most.Store(max(n, most.Load()))
			day := civil.Date{Year: 2026, Month: time.Month(1 + name[0] - '0'), Day: 1}
			slow.Store(false)
			lease, err := table.Begin(ctx, "run", []civil.Date{day})
			check(t, err)
			doing.second()
			slow.Store(true)
			err = table.CommitAll(ctx, lease, []ledger.Record{{Partition: day, State: ledger.Written, Rows: 1,
				Fetched: time.Now()}})[0]
			return ledger.Outcome{Written: 1}, errors.Join(err, lease.End(ctx))
		}, units}
		list := []Job{{Name: "j", Table: "installs", Kind: k}}
		r := &Runner{Run: "run", Lease: time.Minute, Parallel: 3, Log: slog.New(slog.DiscardHandler)}
		res := r.RunJobs(t.Context(), list, PlanJobs(t.Context(), list, time.Now()))
		if doing.most.Load() > 3 || most.Load() != 5 || res[0].Outcome.Written != 10 {
			t.Errorf("%d units were done, %d fetched at once, and %d were under way: %v", res[0].Outcome.Written,
				doing.most.Load(), most.Load(), res[0].Errs)
		}
		check(t, l.Close())
	})
}

// unitsOf is a kind whose units are done by one function.
type unitsOf struct {
	do    func(context.Context, string) (ledger.Outcome, error)
	names []string
}

func (k unitsOf) Plan(context.Context, time.Time) (Plan, error) { return planOf(k.names, k.do), nil }
