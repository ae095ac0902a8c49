package report_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"
	"gocloud.dev/blob/memblob"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/ledger/ledgertest"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/report"
	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/blobsink"
)

var (
	agencyTables = flag.String("tables", "10", "how many tables the agencies have that are simulated")
	agencyTasks  = flag.String("tasks", "1,20", "how many tasks fetch them at night")
)

const (
	agencyRate   = 50 // requests a second of the address that all tasks share
	agencyDays   = 7  // of history, and of the lookback
	storeAnswers = 20 * time.Millisecond
	serviceTakes = time.Second
)

// An agency has many tables, which many tasks of one execution fetch at night through one address.
type agency struct {
	*rig
	tables int
	books  *ledgertest.Store
	lake   *blobsink.Sink
	sent   []time.Time // requests to the service
	mu     sync.Mutex
}

// A taskResult is what one task of an execution has come to.
type taskResult struct {
	planned, ended time.Duration // since the execution's start
	calls, claims  atomic.Int64  // of buckets, and those of them about claims
	partitions     int           // fetched
	held           int           // windows that others held to the end
	inFlight       int           // requests that it may have under way
	errs           []error
}

// far is a sink whose store's answers take time: to a put, and to the look at what is there then.
type far struct {
	*blobsink.Sink
	calls *atomic.Int64
}

func (f far) Put(ctx context.Context, p sinks.Part) (sinks.Receipt, error) {
	f.calls.Add(2)
	time.Sleep(2 * storeAnswers)
	return f.Sink.Put(ctx, p)
}

func newAgency(t testing.TB, tables int) *agency {
	lake, err := blobsink.Open(t.Context(), "mem://")
	check(t, err)
	a := &agency{
		rig: newRig(t, emulator.Options{Seed: 3, Apps: 4, Days: 30, Rate: -1, Latency: serviceTakes}), tables: tables,
		books: &ledgertest.Store{Bucket: memblob.OpenBucket(nil)}, lake: lake.(*blobsink.Sink),
	}
	a.options.Events = nil
	a.options.Rules.Lookback = agencyDays
	a.options.Rules.Schedule, err = refresh.ParseSchedule("0 5 * * *", "UTC")
	check(t, err)
	a.options.Query.Dimensions, a.options.Query.Metrics = []string{"day", "app_token"}, []string{"installs", "cost"}
	a.from(civil.DateOf(time.Now()).AddDays(-agencyDays))
	service := a.client.HTTP.Transport
	a.client.HTTP = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		a.mu.Lock()
		a.sent = append(a.sent, time.Now())
		a.mu.Unlock()
		return service.RoundTrip(r)
	})}
	return a
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// execution has the night's work done by several tasks at once.
func (a *agency) execution(count int, rate float64) []*taskResult {
	a.sent = nil
	results := make([]*taskResult, count)
	var all sync.WaitGroup
	for i := range results {
		results[i] = &taskResult{}
		all.Go(func() { a.task(jobs.Share{Index: i, Count: count}, rate, results[i]) })
	}
	all.Wait()
	for i, done := range results {
		for _, err := range done.errs {
			a.t.Errorf("task %d: %v", i, err)
		}
	}
	return results
}

// task is what the program does as one of several tasks: with a ledger, a client and a sink of its own.
func (a *agency) task(part jobs.Share, rate float64, done *taskResult) {
	began := time.Now()
	l := ledger.Open(ledger.Options{URL: "mem://ledger", Bucket: (&ledgertest.Store{Bucket: a.books.Bucket, Before: func(_, key string) {
		done.calls.Add(1)
		if strings.Contains(key, "/claims/") {
			done.claims.Add(1)
		}
		time.Sleep(storeAnswers)
	}}).Open()})
	o := a.client
	o.Rate, o.InFlight = rate, 0
	if part.Count > 1 {
		o.Share.Index, o.Share.Count = part.Index, part.Count
	}
	client, err := adjust.New(o)
	check(a.t, err)
	run := fmt.Sprintf("%s-%d", began.UTC().Format("20060102T150405Z"), part.Index)
	var list []jobs.Job
	for i := range a.tables {
		o := a.options
		o.Job, o.Table, o.Run = fmt.Sprintf("client-%04d", i), fmt.Sprintf("client_%04d", i), run
		o.Client, o.Ledger, o.SpoolDir = client, l, a.spool
		o.Targets = []ledger.Target{{Name: "mem://lake", Store: "mem://lake", Sink: far{a.lake, &done.calls}}}
		kind, err := report.New(o)
		check(a.t, err)
		list = append(list, jobs.Job{Name: o.Job, Table: o.Table, Kind: kind, Targets: o.Targets})
	}
	plans := jobs.PlanJobs(a.t.Context(), list, time.Now())
	done.planned, done.inFlight = time.Since(began), client.InFlight()
	runner := &jobs.Runner{
		Ledger: l, Run: run, Lease: 10 * time.Minute, Parallel: client.InFlight(), Share: part, Log: slog.New(slog.DiscardHandler),
	}
	for _, res := range runner.RunJobs(a.t.Context(), list, plans) {
		done.errs = append(done.errs, res.Errs...)
		done.partitions += res.Outcome.Written + res.Outcome.Unchanged
		done.held += res.Outcome.Held
	}
	done.ended = time.Since(began)
}

// bound is the time that requests take of so many tasks when nothing else does: the windows that one of them has, at its share of the
// rate, of which it has one turn after the other, and with no more requests under way than its share of those.
func (r *taskResult) bound(requests, tasks int) time.Duration {
	windows := (requests/2 + tasks - 1) / tasks // rows and totals are a request each
	turn := time.Duration(tasks) * time.Second / agencyRate
	answer := serviceTakes
	if tasks > 1 {
		answer = (answer + turn - 1) / turn * turn
	}
	return max(time.Duration(2*windows)*turn, time.Duration(2*windows)*answer/time.Duration(r.inFlight))
}

// most is how many requests were sent within a second, wherever it begins.
func (a *agency) most() (most int) {
	first := 0
	for i, at := range a.sent {
		for at.Sub(a.sent[first]) >= time.Second {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// A night of an agency takes as long as its requests do at the rate, and a few seconds more, however many tasks there are; each
// partition is fetched once, and no second has more requests than the rate.
func TestAgency(t *testing.T) {
	var lines strings.Builder
	fmt.Fprintf(&lines, "%6s %5s %8s %8s %8s %8s %8s %5s %9s %8s %9s %6s %8s %8s %8s %8s\n", "tables", "tasks", "planned", "requests", "bound",
		"last", "ended", "first", "calls", "a task", "of claims", "held", "idle", "calls", "objects", "KiB")
	defer func() { t.Logf("on a clock that stands still while anything is computed:\n%s", &lines) }()
	for _, tables := range numbers(t, *agencyTables) {
		for _, tasks := range numbers(t, *agencyTasks) {
			synctest.Test(t, func(t *testing.T) { aNight(t, &lines, tables, tasks) })
		}
	}
}

func aNight(t *testing.T, to *strings.Builder, tables, tasks int) {
	a := newAgency(t, tables)
	defer a.close()
	a.execution(1, 1e6) // what the nights before have fetched
	sleepTo(a.options.Rules.Schedule)
	began := time.Now()
	results := a.execution(tasks, agencyRate)
	requests := len(a.sent)
	bound := results[0].bound(requests, tasks)
	last := a.sent[len(a.sent)-1].Sub(began)
	most := a.most()
	first, sum := results[0].ended, taskResult{}
	var calls int64
	for _, r := range results {
		first, sum.ended, sum.planned = min(first, r.ended), max(sum.ended, r.ended), max(sum.planned, r.planned)
		sum.partitions, sum.held = sum.partitions+r.partitions, sum.held+r.held
		calls = max(calls, r.calls.Load())
		sum.calls.Add(r.calls.Load())
		sum.claims.Add(r.claims.Load())
	}
	objects, size := 0, int64(0)
	for list := a.books.List(nil); ; objects++ {
		o, err := list.Next(t.Context())
		if err != nil {
			break
		}
		size += o.Size
	}
	idle := a.execution(1, agencyRate)[0]
	round := func(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }
	fmt.Fprintf(to, "%6d %5d %8v %8d %8v %8v %8v %5.2f %9d %8d %9d %6d %8v %8d %8d %8d\n", tables, tasks, round(sum.planned), requests, round(bound), round(last),
		round(sum.ended), float64(first)/float64(sum.ended), sum.calls.Load(), calls, sum.claims.Load(), sum.held, round(idle.ended), idle.calls.Load(), objects, size>>10)

	if most > agencyRate {
		t.Errorf("%d tables, %d tasks: %d requests in one second, at %d a second", tables, tasks, most, agencyRate)
	}
	if want := tables * agencyDays; sum.partitions != want {
		t.Errorf("%d tables, %d tasks: %d partitions fetched, want %d, each once", tables, tasks, sum.partitions, want)
	}
	if own := results[0].planned + idle.ended; sum.ended > bound*6/5+own+5*time.Second {
		t.Errorf("%d tables, %d tasks: ended after %v; its requests take %v, and a task without work %v", tables, tasks, sum.ended, bound, own)
	}
	if most := int64(10 * tables); idle.calls.Load() > most {
		t.Errorf("%d tables: a task with nothing to do takes %d calls, want %d at most", tables, idle.calls.Load(), most)
	}
}

// numbers reads the numbers of a flag.
func numbers(t *testing.T, text string) []int {
	list := strings.Split(text, ",")
	out := make([]int, len(list))
	for i := range list {
		var err error
		out[i], err = strconv.Atoi(list[i])
		check(t, err)
	}
	return slices.Compact(out)
}
