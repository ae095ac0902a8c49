package jobs

import (
	"errors"
	"flag"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"
	"gocloud.dev/blob"

	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

var nights = flag.Int("n", 300, "nights of one table")

// Many nights of a report by day, with pages of seven days and a lookback of fourteen, leave few objects in the ledger.
func TestManyNights(t *testing.T) {
	slow.Test(t)
	synctest.Test(t, func(t *testing.T) {
		l, store := storeLedger(t)
		ctx := t.Context()
		start := time.Now()
		schedule, err := refresh.ParseSchedule("0 6 * * *", "UTC")
		check(t, err)
		k := &ledgered{ledger: l, table: "installs", shape: ledger.Shape{Fingerprint: map[string]string{"currency": "USD"}}}
		from := refresh.Day.Start(civil.DateOf(start.UTC())).AddDays(-30)
		k.rules = refresh.Rules{Period: refresh.Day, Page: 7, Start: from, Lookback: 14, Location: time.UTC, Schedule: schedule}
		most, units := 0, 0
		for night := range *nights {
			time.Sleep(time.Until(start.AddDate(0, 0, night).Add(6*time.Hour + time.Minute)))
			if night == *nights*2/5 || night == *nights*4/5 {
				k.shape.Columns = append(k.shape.Columns, ledger.Column{Name: fmt.Sprint("m", night), Type: "INT64", Source: "m"})
			}
			plan, err := k.Plan(ctx, time.Now())
			check(t, err)
			table := k.read
			check(t, table.SaveShape(ctx, k.shape))
			for _, u := range plan.Units {
				var partitions []civil.Date
				var records []ledger.Record
				for _, d := range u.Due {
					partitions = append(partitions, d.Partition)
					records = append(records, ledger.Record{Partition: d.Partition, After: d.Seq, State: ledger.Written, Fetched: time.Now(), Shape: k.shape.ID()})
				}
				lease, err := table.Begin(ctx, fmt.Sprint("night", night), partitions)
				check(t, err)
				check(t, errors.Join(table.CommitAll(ctx, lease, records)...))
				check(t, lease.End(ctx))
				units++
			}
			check(t, table.Tidy(ctx))
			objects, _, err := store.Memory.Blob().ListPage(ctx, blob.FirstPageToken, 1000, &blob.ListOptions{Prefix: "tables/installs/"})
			check(t, err)
			most = max(most, len(objects))
		}
		table, err := l.Table(ctx, "installs")
		check(t, err)
		if got := len(table.Sorted()); got != 30+*nights-1 {
			t.Errorf("%d records after thirty days and %d mornings, want %d", got, *nights, 30+*nights-1)
		}
		if most > 200 {
			t.Errorf("up to %d objects a table, want 200 at most", most)
		}
		left, err := k.Plan(ctx, time.Now())
		check(t, err)
		if len(left.Units) != 0 {
			t.Errorf("still to do: %v", left.Units)
		}
		t.Logf("%d nights, %d units: at most %d objects of the table in the ledger after a night", *nights, units, most)
	})
}
