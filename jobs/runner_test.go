package jobs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/ledger/ledgertest"
)

// script is a kind whose units do what their names say.
type script struct {
	units   []string
	holders map[string]*holder // of units that other runs hold
	second  map[string]*holder // of another month of these units
	plan    error
	mu      sync.Mutex
	done    []string
	stop    context.CancelFunc
}

func (s *script) Plan(context.Context, time.Time) (Plan, error) {
	if errors.Is(s.plan, errMistake) {
		panic(s.plan)
	}
	return planOf(s.units, s.do), s.plan
}

var errMistake = errors.New("a mistake of the program")

// planOf is a plan of units that are done by their names.
func planOf(names []string, do func(ctx context.Context, name string) (ledger.Outcome, error)) (p Plan) {
	for _, name := range names {
		p.Units = append(p.Units, Unit{Name: name, Do: func(ctx context.Context) (ledger.Outcome,
			error) {
			return do(ctx, name)
		}})
	}
	return p
}

func (s *script) do(ctx context.Context, name string) (ledger.Outcome, error) {
	if err := s.holders[name].held(name); err != nil {
		return ledger.Outcome{}, err
	}
	if err := s.second[name].held(name + ", next month"); err != nil {
		return ledger.Outcome{}, err
	}
	s.mu.Lock()
	s.done = append(s.done, name)
	s.mu.Unlock()
	switch name {
	case "bad":
		return ledger.Outcome{Written: 1, Failed: 2}, errors.New("broken")
	case "hopeless":
		return ledger.Outcome{Failed: 3}, errors.New("broken")
	case "denied":
		return ledger.Outcome{Failed: 1}, fmt.Errorf("%w: 401", ErrDenied)
	case "forbidden":
		return ledger.Outcome{Failed: 1}, &fs.PathError{Op: "open", Path: "x", Err: fs.ErrPermission}
	case "panic":
		panic(errMistake)
	case "stop":
		s.stop()
		<-ctx.Done()
		return ledger.Outcome{Failed: 1}, ctx.Err()
	}
	return ledger.Outcome{Written: 1, Rows: 10}, nil
}

func runScripts(t *testing.T, scripts ...*script) ([]ledger.Result, bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var list []Job
	for i, s := range scripts {
		s.stop = cancel
		if i == 0 {
			s.holders = map[string]*holder{"taken": {time.Now(), time.Hour, false}}
		}
		list = append(list, Job{Name: fmt.Sprint("job", i), Table: fmt.Sprint("table", i), Kind: s})
	}
	r := &Runner{Run: "run", Lease: testLease, Parallel: 1, Log: slog.New(slog.DiscardHandler)}
	results := r.RunJobs(ctx, list, PlanJobs(ctx, list, time.Now()))
	return results, Stopped(ctx)
}

// synctested lets a test run on a fake clock.
func synctested(test func(*testing.T)) func(*testing.T) {
	return func(t *testing.T) { synctest.Test(t, test) }
}

func TestRunner(t *testing.T) {
	names := func(s ...string) []string { return s }
	for _, c := range []struct {
		name  string
		first *script
		did   []string
		out   ledger.Outcome
		errs  int
		named int // exit code of a run that was asked for by name
	}{
		{"all is well", &script{units: names("a", "b")}, names("a", "b"),
			ledger.Outcome{Windows: 2, Written: 2, Rows: 20}, 0, ExitDone},
		{"nothing to do", &script{}, nil, ledger.Outcome{}, 0, ExitDone},
		{"a failed one stops no other", &script{units: names("a", "bad", "b")}, names("a", "bad", "b"),
			ledger.Outcome{Windows: 3, Written: 3, Failed: 2, Rows: 20}, 1, ExitSome},
		{"all failed", &script{units: names("hopeless")}, names("hopeless"), ledger.Outcome{Windows: 1, Failed: 3}, 1,
			ExitFailed},
		{"one has panicked", &script{units: names("a", "panic", "b")}, names("a", "panic", "b"),
			ledger.Outcome{Windows: 3, Written: 2, Failed: 1, Rows: 20}, 1, ExitSome},
		{"the plan has panicked", &script{plan: errMistake}, nil, ledger.Outcome{}, 1, ExitFailed},
		{"denied by the service", &script{units: names("denied", "a", "b")}, names("denied"),
			ledger.Outcome{Windows: 1, Failed: 1}, 1, ExitDenied},
		{"denied by a store", &script{units: names("forbidden", "a")}, names("forbidden"),
			ledger.Outcome{Windows: 1, Failed: 1}, 1, ExitDenied},
		{"one is another's", &script{units: names("taken", "a")}, names("a"),
			ledger.Outcome{Windows: 2, Held: 1, Written: 1, Rows: 10}, 0, ExitDone},
		{"all are others'", &script{units: names("taken")}, nil, ledger.Outcome{Windows: 1, Held: 1}, 0, ExitHeld},
		{"no plan", &script{plan: errors.New("no ledger")}, nil, ledger.Outcome{}, 1, ExitFailed},
		{"refused", &script{plan: fmt.Errorf("%w: another currency", ledger.ErrRefused)}, nil, ledger.Outcome{}, 1,
			ExitUsage},
		{"stopped", &script{units: names("a", "stop", "b")}, names("a", "stop"),
			ledger.Outcome{Windows: 2, Written: 1, Rows: 10}, 0, ExitInterrupted},
	} {
		t.Run(c.name, synctested(func(t *testing.T) {
			second := &script{units: names("x", "y")}
			results, stopped := runScripts(t, c.first, second)
			if !slices.Equal(c.first.done, c.did) || !reflect.DeepEqual(results[0].Outcome, c.out) ||
				len(results[0].Errs) != c.errs {
				t.Errorf("did %v with %+v, %v", c.first.done, results[0].Outcome, results[0].Errs)
			}
			if !stopped && len(second.done) != 2 {
				t.Errorf("the other job did %v", second.done)
			}
			if code := ExitCode(results, stopped, true); code != c.named {
				t.Errorf("exit code %d, want %d", code, c.named)
			}
			if code := ExitCode(results, stopped, false); code == ExitHeld {
				t.Error("a scheduled run complains of units that others hold")
			}
		}))
	}
}

// A run that is stopped says of each job what it leaves: units that weren't begun, or weren't
// finished. Jobs of which nothing was due, and the one that was done before, leave nothing.
func TestStoppedRunSaysWhatItLeaves(t *testing.T) {
	t.Run("", synctested(func(t *testing.T) {
		results, stopped := runScripts(t, &script{units: []string{"a"}}, &script{units: []string{"a", "stop", "b"}},
			&script{units: []string{"x", "y"}}, &script{}, &script{plan: context.Canceled},
			&script{plan: errors.New("no ledger")})
		for i, want := range []ledger.Result{
			{Outcome: ledger.Outcome{Windows: 1}}, {Left: 2, Stopped: true, Outcome: ledger.Outcome{Windows: 2}},
			{Left: 2, Stopped: true}, {}, {Stopped: true}, {},
		} {
			got := results[i]
			if got.Left != want.Left || got.Stopped != want.Stopped || got.Outcome.Windows != want.Outcome.Windows {
				t.Errorf("job %d: left %d, stopped %v, %+v; want %+v", i, got.Left, got.Stopped, got.Outcome, want)
			}
			if succeeded := i == 0 || i == 3; got.Succeeded() != succeeded {
				t.Errorf("job %d: succeeded: %v", i, got.Succeeded())
			}
		}
		if len(results[5].Errs) != 1 {
			t.Errorf("a plan that failed before the run was stopped: %v", results[5].Errs)
		}
		if code := ExitCode(results, stopped, false); code != ExitInterrupted {
			t.Errorf("exit code %d", code)
		}
		results, stopped = runScripts(t, &script{units: []string{"denied", "a", "b"}})
		if r := results[0]; r.Left != 0 || r.Stopped || ExitCode(results, stopped, false) != ExitDenied {
			t.Errorf("a job that was denied leaves %d: %+v", r.Left, r)
		}
	}))
}

func TestMeasure(t *testing.T) {
	var o ledger.Outcome
	if o.Measure(1, 2, 3, 4, 5); !reflect.DeepEqual(o, ledger.Outcome{Requests: 1, Retries: 2, CSVBytes: 3, Limiter: 4,
		Backoff: 5}) {
		t.Errorf("%+v", o)
	}
}

// Of several jobs the first that applies of 2, 5, 1, 3, 4, 0 is the exit code.
func TestExitCodeOfSeveralJobs(t *testing.T) {
	all := map[int]ledger.Result{
		ExitUsage:  {Errs: []error{ledger.ErrRefused}},
		ExitDenied: {Errs: []error{ErrDenied}},
		ExitFailed: {Errs: []error{errors.New("x")}},
		ExitSome:   {Errs: []error{errors.New("x")}, Outcome: ledger.Outcome{Windows: 2, Written: 1}},
		ExitHeld:   {Outcome: ledger.Outcome{Windows: 1, Held: 1}},
		ExitDone:   {Outcome: ledger.Outcome{Windows: 1, Written: 1}},
	}
	order := []int{ExitUsage, ExitDenied, ExitFailed, ExitSome, ExitHeld, ExitDone}
	for i, want := range order {
		var results []ledger.Result
		for _, code := range order[i:] {
			results = append([]ledger.Result{all[code]}, results...)
		}
		if got := ExitCode(results, false, true); got != want {
			t.Errorf("of %v: %d, want %d", order[i:], got, want)
		}
	}
	if got := ExitCode([]ledger.Result{all[ExitUsage]}, true, true); got != ExitInterrupted {
		t.Errorf("interrupted: %d", got)
	}
}

// slowPlan is a kind whose plan takes a second.
type slowPlan struct {
	script
	planning, most *atomic.Int32
}

func (s *slowPlan) Plan(ctx context.Context, now time.Time) (Plan, error) {
	n := s.planning.Add(1)
	defer s.planning.Add(-1)
	for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
	}
	time.Sleep(time.Second)
	return s.script.Plan(ctx, now)
}

// Jobs are planned sixteen at once, and their results, failed plans among them, keep their order.
func TestJobsArePlannedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var planning, most atomic.Int32
		var list []Job
		for i := range 50 {
			s := &slowPlan{script{units: []string{"a"}}, &planning, &most}
			switch i % 10 {
			case 3:
				s.plan = errors.New("no ledger")
			case 7:
				s.units = []string{"a", "bad", "hopeless"}
			}
			list = append(list, Job{Name: fmt.Sprint("job", i), Table: fmt.Sprint("table", i), Kind: s})
		}
		l := memLedger(t)
		r := &Runner{Run: "run", Lease: time.Minute, Parallel: 4, Log: slog.New(slog.DiscardHandler)}
		start := time.Now()
		results := r.RunJobs(t.Context(), list, PlanJobs(t.Context(), list, time.Now()))
		if took := time.Since(start); took != 4*time.Second || most.Load() != jobsAtOnce {
			t.Errorf("planned in %v, %d at once", took, most.Load())
		}
		check(t, l.SaveRun(t.Context(), ledger.Run{ID: "r", Started: time.Now(), Results: results}))
		past, err := l.Past(t.Context(), 1)
		check(t, err)
		for i, res := range past.Runs[0].Results {
			want := map[int]string{
				3: "[{ no ledger}]", 7: "[{bad broken} {hopeless broken}]",
			}[i%10]
			if want == "" {
				want = "[]"
			}
			failures := res.Failures
			slices.SortFunc(failures, func(a, b ledger.Failure) int { return strings.Compare(a.Unit, b.Unit) })
			if got := fmt.Sprint(failures); got != want || res.Job != list[i].Name ||
				len(results[i].Errs) != len(failures) {
				t.Errorf("%s: failures %s, want %s", res.Job, got, want)
			}
		}
	})
}

// What the ledger keeps of an error is bounded, and whole characters.
func TestFailureIsCut(t *testing.T) {
	var res ledger.Result
	(&tally{Result: &res}).fail("u", errors.New("x"+strings.Repeat("ä", 5000)))
	if got := res.Failures[0].Error; len(got) > 510 || !utf8.ValidString(got) || !strings.HasSuffix(got, "ä...") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

// A unit that pushes files counts each of them, and its failures are said by file.
func TestFilesOfAUnit(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	u := Unit{Name: "push", Files: []string{"a", "b", "c", "d"}, Do: func(context.Context) (ledger.Outcome, error) {
		stop()
		return ledger.Outcome{Written: 1, Failed: 1, Requests: 5}, errors.Join(
			&FileError{"b", errors.New("too many rejects")}, &FileError{"c", context.Canceled},
			&FileError{"d", context.Canceled})
	}}
	list := []Job{{Name: "j", Table: "j", Kind: planned{Units: []Unit{u}}}}
	var seen []Progress
	r := &Runner{Run: "run", Lease: time.Minute, Parallel: 2, Log: slog.New(slog.DiscardHandler),
		Observe: func(p Progress) { seen = append(seen, p) }}
	res := r.RunJobs(ctx, list, PlanJobs(t.Context(), list, time.Now()))[0]
	if got := fmt.Sprint(res.Failures); got != "[{b too many rejects}]" || res.Left != 2 || !res.Stopped ||
		res.Outcome.Windows != 4 || res.Outcome.Failed != 1 || res.Outcome.Written != 1 {
		t.Errorf("%+v", res)
	}
	if len(seen) != 2 || seen[0].Units != 4 || seen[1].Result.Windows != 4 {
		t.Errorf("%+v", seen)
	}
}

// planned is a kind that always has the same plan.
type planned Plan

func (p planned) Plan(context.Context, time.Time) (Plan, error) { return Plan(p), nil }

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// memLedger is a ledger in memory.
func memLedger(t testing.TB) *ledger.Ledger {
	l, _ := storeLedger(t)
	return l
}

// storeLedger is a ledger in memory, and the store that it is in.
func storeLedger(t testing.TB) (*ledger.Ledger, *ledgertest.Store) {
	store := &ledgertest.Store{Memory: &bucket.Memory{}}
	l := ledger.Open(ledger.Options{Store: store.Open(), URL: "mem://ledger"})
	t.Cleanup(func() { check(t, l.Close()) })
	return l, store
}
