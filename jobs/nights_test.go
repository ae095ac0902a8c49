package jobs

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

var nights = flag.Int("n", 30, "nights of one table, and a quarter as many days of one that is fetched each hour")

// A weighed store knows how many bytes are put.
type weighed struct {
	*bucket.Memory
	put int
}

func (w *weighed) Do(ctx context.Context, c bucket.Call) (bucket.Answer, error) {
	w.put += len(c.Data)
	return w.Memory.Do(ctx, c)
}

// However often a table is fetched, its ledger stays small: few objects, none of them large, and
// little is written by one run. A table by the hour has partitions of a day, too, and each hour
// fetches the days of its lookback again.
func TestALedgerStaysSmall(t *testing.T) {
	slow.Test(t)
	for _, c := range []struct {
		name, schedule             string
		runs, lookback             int
		objects, all, largest, run int // at most: objects of the table; bytes of them, of one, and written by a run
	}{
		{"nights", "0 6 * * *", *nights, 14, 40, 1 << 20, 1 << 20, 2 << 20},
		{"hours", "5 * * * *", 6 * *nights, 7, 200, 64 << 20, 1 << 20, 2 << 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, store := t.Context(), &weighed{Memory: &bucket.Memory{}}
				l := ledger.Open(ledger.Options{Store: bucket.New("mem://", store), URL: "mem://ledger"})
				schedule, err := refresh.ParseSchedule(c.schedule, "UTC")
				check(t, err)
				k := &ledgered{ledger: l, table: "installs",
					shape: ledger.Shape{Fingerprint: map[string]string{"currency": "USD"}}}
				from := refresh.Day.Start(civil.DateOf(time.Now().UTC())).AddDays(-30)
				k.rules = refresh.Rules{Period: refresh.Day, Page: 7, Start: from, Lookback: c.lookback,
					Location: time.UTC, Schedule: schedule}
				objects, all, largest, written, units := 0, 0, 0, 0, 0
				for run := range c.runs {
					time.Sleep(time.Until(schedule.Next(time.Now()).Add(time.Minute)))
					if run == c.runs*2/5 || run == c.runs*4/5 {
						k.shape.Columns = append(k.shape.Columns, ledger.Column{Name: fmt.Sprint("m", run),
							Type: "INT64", Source: "m"})
					}
					before := store.put
					units += k.fetch(t, fmt.Sprintf("%s-%08x", time.Now().UTC().Format("20060102T150405.000Z"), run))
					written = max(written, store.put-before)
					list, err := l.Store().List(ctx, "tables/installs/")
					check(t, err)
					objects, all = max(objects, len(list)), 0
					for _, o := range list {
						all += int(o.Size)
						largest = max(largest, int(o.Size))
					}
				}
				left, err := k.Plan(ctx, time.Now())
				check(t, err)
				if len(left.Units) != 0 {
					t.Errorf("still to do: %v", left.Units)
				}
				t.Logf("%d runs, %d units: at most %d objects of the table, %d kB in the end, the largest %d kB; a "+
					"run writes %d kB at most",
					c.runs, units, objects, all>>10, largest>>10, written>>10)
				if objects > c.objects || all > c.all || largest > c.largest || written > c.run {
					t.Errorf("want at most %d objects, %d kB, the largest %d kB, and %d kB written", c.objects,
						c.all>>10, c.largest>>10, c.run>>10)
				}
				check(t, l.Close())
			})
		})
	}
}

// fetch does what a run does with the table's ledger, with records as large as those of a report
// with six sums in a bucket.
func (k *ledgered) fetch(t *testing.T, run string) (units int) {
	t.Helper()
	ctx := t.Context()
	plan, err := k.Plan(ctx, time.Now())
	check(t, err)
	check(t, k.read.SaveShape(ctx, k.shape))
	for _, u := range plan.Units {
		var partitions []civil.Date
		var records []ledger.Record
		for _, d := range u.Due {
			partitions = append(partitions, d.Partition)
			e := ledger.Record{Partition: d.Partition, After: d.Seq, State: ledger.Written, Run: run,
				Fetched: time.Now(), Since: time.Now(), Shape: k.shape.ID(),
				Rows: rand.Int64N(100_000), Hash: fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64()),
				Sums: map[string]string{}, Reason: string(d.Reason), Finality: "restating",
				Control: &ledger.Control{State: ledger.Reconciled},
				Receipts: []sinks.Receipt{{Sink: "s3://warehouse/reports",
					Key: "installs/dt=" + d.Partition.String() + "/part-0.parquet", Size: rand.Int64N(1 << 20),
					Store: "s3://warehouse/reports", Version: fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64())}}}
			for _, metric := range strings.Fields("installs clicks impressions sessions cost all_revenue") {
				e.Sums[metric] = fmt.Sprintf("%d.%06d", rand.IntN(1_000_000), rand.IntN(1_000_000))
			}
			records = append(records, e)
		}
		lease, err := k.read.Begin(ctx, run, partitions)
		check(t, err)
		check(t, errors.Join(k.read.CommitAll(ctx, lease, records)...))
		check(t, lease.End(ctx))
		units++
	}
	check(t, k.read.Tidy(ctx))
	return units
}
