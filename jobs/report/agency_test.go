package report_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/slow"
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
	agencyPlot   = flag.String("plot", "", "SVG `file` to draw the nights of the agencies into")
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
	calls, months  atomic.Int64  // of buckets, and those of them on months of the ledger
	partitions     int           // fetched
	held           int           // windows that others held to the end
	succeeded      int           // jobs of which it knows that all is done
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
		books: &ledgertest.Store{Memory: &bucket.Memory{}}, lake: lake.(*blobsink.Sink),
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

// task is what the program does as one of several tasks: with a ledger, a client and a sink of its
// own.
func (a *agency) task(part jobs.Share, rate float64, done *taskResult) {
	began := time.Now()
	l := ledger.Open(ledger.Options{URL: "mem://ledger",
		Store: (&ledgertest.Store{Memory: a.books.Memory, Before: func(_, key string) {
			done.calls.Add(1)
			if strings.Contains(key, "/months/") {
				done.months.Add(1)
			}
			time.Sleep(storeAnswers)
		}}).Open()})
	o := a.client
	o.Rate = rate
	o.InFlight = max(64, part.Count) // the service works on any number of reports at a time
	o.Reports = o.InFlight
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
		list = append(list, jobs.Job{Name: o.Job, Table: o.Table, Kind: onDemand{a, o}, Targets: o.Targets})
	}
	plans := part.Plan(a.t.Context(), jobs.NewBounds(1), list, time.Now())
	done.planned, done.inFlight = time.Since(began), client.InFlight()
	runner := &jobs.Runner{
		Run: run, Lease: 10 * time.Minute, Parallel: client.InFlight(), Log: slog.New(slog.DiscardHandler),
	}
	for _, res := range runner.RunJobs(a.t.Context(), list, plans) {
		done.errs = append(done.errs, res.Errs...)
		done.partitions += res.Outcome.Written + res.Outcome.Unchanged
		done.held += res.Outcome.Held
		if res.Job != "" && res.Succeeded() {
			done.succeeded++
		}
	}
	done.ended = time.Since(began)
}

// Of the tasks that share a job only the last one that ends knows that it has succeeded.
func TestTheLastTaskSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAgency(t, 1)
		defer a.close()
		time.Sleep(6 * time.Hour) // the schedule has fired
		for i, want := range []int{0, 1} {
			done := &taskResult{}
			a.task(jobs.Share{Index: i, Count: 2}, agencyRate, done)
			if done.succeeded != want || done.partitions == 0 || len(done.errs) > 0 {
				t.Errorf("task %d fetched %d partitions, and knows of %d jobs that they have succeeded, want %d: %v", i,
					done.partitions, done.succeeded, want, done.errs)
			}
		}
	})
}

// onDemand is a report job that is made when it is planned: most tasks plan few of many.
type onDemand struct {
	*agency
	o report.Options
}

// Plan implements jobs.Kind.
func (k onDemand) Plan(ctx context.Context, now time.Time) (jobs.Plan, error) {
	kind, err := report.New(k.o)
	check(k.t, err)
	return kind.Plan(ctx, now)
}

// bound is the time that requests take of so many tasks when nothing else does: the windows that
// one of them has, at its share of the rate, of which it has one turn after the other, and with no
// more requests under way than its share of those.
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

// A night is what an agency's tasks have come to.
type night struct {
	tables, tasks   int
	requests        int
	bound, last     time.Duration // what the requests take alone; when the last one was sent
	planned, ended  time.Duration
	first           time.Duration // when the first task ended
	calls, busiest  int64         // of buckets: of all tasks, and of the one with the most
	months          int64         // those of them on months of the ledger
	held            int           // windows that others held to the end
	idle            time.Duration // of a night where nothing is due
	idles, idlest   int64         // its calls: of all tasks, and of the one with the most
	objects, kib    int64         // of the ledger
	simulated       time.Duration // how long the simulation took
	most, fetched   int           // requests in one second; partitions
	windows, parted int           // of all tables; partitions of them
}

// A night of an agency takes as long as its requests do at the rate, and a few seconds more,
// however many tasks there are; each partition is fetched once, no second has more requests than
// the rate, and what tasks ask of the ledger grows with the tables, and by a constant for each
// task.
func TestAgency(t *testing.T) {
	slow.Test(t)
	var nights []night
	for _, tables := range numbers(t, *agencyTables) {
		for _, tasks := range numbers(t, *agencyTasks) {
			began := time.Now()
			var n night
			synctest.Test(t, func(t *testing.T) { n = aNight(t, tables, tasks) })
			n.simulated = time.Since(began)
			nights = append(nights, n)
			n.judge(t)
		}
	}
	t.Logf("on a clock that stands still while anything is computed:\n%s", tableOf(nights))
	if *agencyPlot != "" {
		check(t, os.WriteFile(*agencyPlot, []byte(plotOf(nights)), 0o666))
	}
}

func aNight(t *testing.T, tables, tasks int) night {
	a := newAgency(t, tables)
	defer a.close()
	a.execution(1, 1e6) // what the nights before have fetched
	sleepTo(a.options.Rules.Schedule)
	began := time.Now()
	results := a.execution(tasks, agencyRate)
	n := night{
		tables: tables, tasks: tasks, requests: len(a.sent), bound: results[0].bound(len(a.sent), tasks),
		last: a.sent[len(a.sent)-1].Sub(began),
		most: a.most(), first: results[0].ended, windows: len(a.sent) / 2, parted: tables * agencyDays,
		// rows and totals are a request each
	}
	for _, r := range results {
		n.first, n.ended, n.planned = min(n.first, r.ended), max(n.ended, r.ended), max(n.planned, r.planned)
		n.fetched, n.held = n.fetched+r.partitions, n.held+r.held
		n.busiest = max(n.busiest, r.calls.Load())
		n.calls += r.calls.Load()
		n.months += r.months.Load()
	}
	for list := a.books.Memory.Blob().List(nil); ; n.objects++ {
		o, err := list.Next(t.Context())
		if err != nil {
			break
		}
		n.kib += o.Size
	}
	n.kib >>= 10
	for _, r := range a.execution(tasks, agencyRate) {
		n.idle = max(n.idle, r.ended)
		n.idlest = max(n.idlest, r.calls.Load())
		n.idles += r.calls.Load()
	}
	return n
}

func (n night) judge(t *testing.T) {
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%d tables, %d tasks: %s", n.tables, n.tasks, fmt.Sprintf(format, args...))
	}
	if n.most > agencyRate {
		fail("%d requests in one second, at %d a second", n.most, agencyRate)
	}
	if n.fetched != n.parted {
		fail("%d partitions fetched, want %d, each once", n.fetched, n.parted)
	}
	// A single answer, its puts and records take two seconds and a half beside the requests, and of
	// few tables that is all.
	if most := n.bound*6/5 + 2500*time.Millisecond; n.ended > most || n.tasks == 500 && n.ended > n.bound*6/5 {
		fail("ended after %v; its requests take %v", n.ended, n.bound)
	}
	if most := int64(12*n.tables + 12*n.tasks); n.calls > most {
		fail("%d calls, want %d at most", n.calls, most)
	}
	if most := int64(3*n.tables + 3*n.tasks); n.idles > most {
		fail("%d calls of a night where nothing is due, want %d at most", n.idles, most)
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
