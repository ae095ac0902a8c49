package jobs

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/ledger/ledgertest"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// ledgered is a kind that plans as a report does: records, shapes, windows.
type ledgered struct {
	ledger *ledger.Ledger
	table  string
	shape  ledger.Shape
	rules  refresh.Rules
	read   *ledger.Table // by the last plan
}

func (k *ledgered) Plan(ctx context.Context, now time.Time) (p Plan, err error) {
	table, err := k.ledger.Table(ctx, k.table)
	if err != nil {
		return p, err
	}
	k.read = table
	last, known, err := table.LastShape(ctx)
	if err != nil {
		return p, err
	}
	if known {
		if err := ledger.CheckShape(k.table, last, k.shape); err != nil {
			return p, err
		}
	}
	rules := k.rules
	if rules.Stale, err = table.Stale(ctx, k.shape); err != nil {
		return p, err
	}
	for _, w := range refresh.Plan(now, rules, table.Records()) {
		p.Units = append(p.Units, Unit{Name: w.Cell.String(), Due: w.Due})
	}
	p.Ending, p.Records = release(table.Release), len(table.Records())
	return p, nil
}

var decade = date("2016-01-01")

const decadeDays = 3650

// loose records are objects of their own: as many as the ledger leaves unfolded.
const loose = 64

// typical is a record as large as a report of a dozen metrics makes it.
func typical(day civil.Date, shape string) ledger.Record {
	fetched := day.AddDays(100).In(time.UTC)
	if yesterday := decadeEnd.AddDate(0, 0, -1); fetched.After(yesterday) {
		fetched = yesterday // by a nightly run
	}
	e := ledger.Record{
		Partition: day, Run: "20260110T043000Z-1f2e3d4c", State: ledger.Written, Rows: 18231,
		Hash:    "5f1c9a7e3b2d4f60-18231",
		Fetched: fetched, Shape: shape, Sums: map[string]string{},
		Receipts: []sinks.Receipt{{Sink: "gs://warehouse/reports",
			Key: "campaigns_daily/dt=" + day.String() + "/part-0.parquet", Size: 482113,
			Store: "gs://warehouse/reports", Version: "1764460800123456"}},
	}
	for i := range 10 {
		e.Sums[fmt.Sprintf("metric_number_%d", i)] = "1234567.890123"
	}
	return e
}

// tenYears fills a table: ten years of days in a segment, the last 64 of them again as loose
// records, four shapes, and what some of them were before in history.
func tenYears(t testing.TB, l *ledger.Ledger, name string) ledgered {
	t.Helper()
	ctx := context.Background()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	table, err := l.Table(ctx, name)
	must(err)
	k := ledgered{ledger: l, table: name, rules: refresh.Rules{
		Period: refresh.Day, Page: 7, Start: decade, Lookback: 14, Horizons: []int{30, 90}, Location: time.UTC,
		LaterColumns: true, // three of the four shapes are narrower
	}}
	k.shape.Fingerprint = map[string]string{"currency": "USD"}
	for i := range 4 {
		k.shape.Columns = append(k.shape.Columns, ledger.Column{Name: fmt.Sprint("m", i), Type: "INT64", Source: "m"})
		must(table.SaveShape(ctx, k.shape))
		for d := i * decadeDays / 4; d < (i+1)*decadeDays/4; d++ {
			must(table.Commit(ctx, typical(decade.AddDays(d), k.shape.ID())))
		}
	}
	must(table.Tidy(ctx))
	again := func(n int, rows int64) {
		for d := decadeDays - n; d < decadeDays; d++ {
			e := typical(decade.AddDays(d), k.shape.ID())
			e.Rows = rows
			must(table.Commit(ctx, e))
		}
	}
	again(loose+1, 1)
	must(table.Tidy(ctx))
	again(loose, 2)
	past, err := table.History(ctx, decade, civil.Date{})
	must(err)
	if len(past) != decadeDays+loose+1+loose {
		t.Fatalf("%d lines of history", len(past))
	}
	return k
}

// decades are jobs over a table of ten years, each of which reads it for itself, and the store.
func decades(t testing.TB, n int) ([]Job, *ledgertest.Store) {
	t.Helper()
	l, store := storeLedger(t)
	kind := tenYears(t, l, "table")
	var list []Job
	for i := range n {
		own := kind
		list = append(list, Job{Name: fmt.Sprint("job", i), Table: "table", Kind: &own})
	}
	store.Before = func(call, key string) {
		if strings.Contains(key, "/history/") {
			t.Errorf("a plan makes the call %s of %s", call, key)
		}
		distant(call, key)
	}
	store.Calls.Store(0)
	return list, store
}

var decadeEnd = decade.AddDays(decadeDays).In(time.UTC)

// A store's answer takes time, and a plan waits for one after the other as rarely as it can: on a
// clock that stands still while there is anything to compute, planning ten years of days takes so
// many times the store's latency.
func TestPlanWaitsForFewCalls(t *testing.T) {
	slow.Test(t)
	synctest.Test(t, func(t *testing.T) {
		list, store := decades(t, 20)
		start := time.Now()
		one := PlanJobs(t.Context(), list[:1], decadeEnd)[0]
		check(t, one.Err)
		// records, segments, the segment, twice 32 loose records, shapes
		if took := time.Since(start); took > 6*latency {
			t.Errorf("a plan waits for %d calls one after the other, want 6", took/latency)
		}
		if calls := store.Calls.Load(); calls > 3+loose+4 {
			t.Errorf("a plan needs %d calls", calls)
		}
		due := 0
		for _, u := range one.Units {
			due += len(u.Due)
		}
		if due != 15+2 {
			t.Errorf("%d partitions are due of a decade, want yesterday, the lookback and two horizons", due)
		}
		start = time.Now()
		for i, p := range PlanJobs(t.Context(), list, decadeEnd) {
			if p.Err != nil || len(p.Units) != len(one.Units) {
				t.Fatalf("table %d: %d units, %v", i, len(p.Units), p.Err)
			}
		}
		if took := time.Since(start); took > 2*6*latency {
			t.Errorf("20 plans, 16 at once, wait for %d calls one after the other, want twice 6", took/latency)
		}
	})
}

// BenchmarkPlan plans tables of ten years of days on a bucket that answers in 20 ms a call. It says
// how much processor time that takes, how large the heap is meanwhile, and how much of it stays
// with the plans.
func BenchmarkPlan(b *testing.B) {
	list, _ := decades(b, 1000)
	for _, tables := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("%d tables", tables), func(b *testing.B) {
			began, before := processorTime(b), heap(true)
			stop, most := make(chan bool), make(chan int64)
			go func() {
				peak := before
				for {
					select {
					case <-stop:
						most <- peak
						return
					case <-time.After(latency):
						peak = max(peak, heap(false))
					}
				}
			}()
			var plans []Planned
			for b.Loop() {
				plans = PlanJobs(b.Context(), list[:tables], decadeEnd)
			}
			b.ReportMetric((processorTime(b)-began).Seconds()/float64(b.N), "cpu-s/op")
			stop <- true
			b.ReportMetric(float64(<-most-before)/(1<<20), "peak-MiB")
			b.ReportMetric(float64(heap(true)-before)/(1<<20), "live-MiB")
			for _, p := range plans {
				if p.Err != nil {
					b.Fatal(p.Err)
				}
			}
		})
	}
}

// heap is how many bytes the heap has, without what nobody has any more if that is to be swept
// first.
func heap(swept bool) int64 {
	if swept {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// processorTime is how much this process has had.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	check(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// distant waits as long for each call as a bucket of the same region does.
func distant(string, string) { time.Sleep(latency) }

const latency = 20 * time.Millisecond

func date(text string) civil.Date {
	d, err := civil.ParseDate(text)
	if err != nil {
		panic(err)
	}
	return d
}
