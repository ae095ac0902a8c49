package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/ledger/ledgertest"
)

// A fleet is several tasks that do one execution together, and what they have done.
type fleet struct {
	t       *testing.T
	store   *ledgertest.Store
	sizes   []int // units of each job
	name    string
	takes   time.Duration
	failing map[string]bool

	mu    sync.Mutex
	done  map[string]int // by unit: how often
	plans map[int]int    // by job: how often it was planned
	kept  int            // tables in memory
}

// of is a job as one of the tasks plans it.
type of struct {
	*fleet
	job  int
	dead func() bool
}

func (k of) Plan(context.Context, time.Time) (Plan, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.plans[k.job]++
	k.kept++
	var p Plan
	for i := range k.sizes[k.job] {
		name := fmt.Sprintf("%d/%d", k.job, i)
		if k.done[name] == 0 {
			p.Units = append(p.Units, Unit{
				Name: fmt.Sprint("u", i), Over: func(context.Context) (bool, error) { return k.has(name), nil },
				Do: func(ctx context.Context, _ ledger.Hold) (ledger.Outcome, error) { return k.do(ctx, name) },
			})
		}
	}
	p.Records = keepMost / 2
	letGo := sync.OnceFunc(func() { k.kept-- })
	p.LetGo = func(context.Context) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		letGo()
		return nil
	}
	return p, nil
}

func (k of) has(name string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.done[name] > 0
}

func (k of) do(ctx context.Context, name string) (ledger.Outcome, error) {
	if k.has(name) {
		return ledger.Outcome{}, nil
	}
	select {
	case <-ctx.Done():
		return ledger.Outcome{}, ctx.Err()
	case <-time.After(k.takes):
	}
	switch {
	case k.dead():
		return ledger.Outcome{}, errors.New("the process was killed")
	case k.failing[name]:
		return ledger.Outcome{Failed: 1}, errors.New("no answer")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.done[name]++
	return ledger.Outcome{Written: 1}, nil
}

// run has tasks do the jobs, but for those that are missing from the start or killed after a while, and gives their results and how long
// the last of them took.
func (f *fleet) run(tasks int, missing, killed map[int]bool) (all [][]ledger.Result, took time.Duration) {
	f.done, f.plans = map[string]int{}, map[int]int{}
	all = make([][]ledger.Result, tasks)
	began := time.Now()
	var g sync.WaitGroup
	for i := range tasks {
		if missing[i] {
			continue
		}
		own, store := another(f.store)
		store.Before = distant
		if killed[i] {
			time.AfterFunc(3*f.takes/2, func() { store.Dead.Store(true) })
		}
		g.Go(func() {
			var list []Job
			for job := range f.sizes {
				list = append(list, Job{Name: fmt.Sprint("j", job), Table: fmt.Sprint("t", job), Kind: of{f, job, store.Dead.Load}})
			}
			r := &Runner{
				Ledger: own, Run: fmt.Sprint("task ", i), Lease: time.Minute, Parallel: 1, Log: slog.New(slog.DiscardHandler),
				Share: Share{Index: i, Count: tasks, Execution: f.name},
			}
			plans := r.Share.Plan(f.t.Context(), NewBounds(1), list, time.Now())
			results := r.RunJobs(f.t.Context(), list, plans)
			all[i] = Looked(plans, results)
			f.mu.Lock()
			defer f.mu.Unlock()
			if !killed[i] {
				took = max(took, time.Since(began))
			}
		})
	}
	g.Wait()
	return all, took
}

// Whatever becomes of some of the tasks, the others do all that is due, each unit once, in about the time that so much work takes so
// many; and none of them ends well as long as something is left.
func TestTasksHelpEachOther(t *testing.T) {
	even := make([]int, 40)
	for i := range even {
		even[i] = 6
	}
	for _, c := range []struct {
		name            string
		sizes           []int
		missing, killed map[int]bool
		longest         time.Duration // a unit takes 1.16 s with its claim
		plans           int           // at most
	}{
		{"each has as much as the others", even, nil, nil, 29 * time.Second, 50},
		{"one job has it all", append([]int{60}, make([]int, 39)...), nil, nil, 12 * time.Second, 80},
		{"the last part has it all", append(make([]int, 36), 15, 15, 15, 15), nil, nil, 12 * time.Second, 80},
		{"nothing is due", make([]int, 40), nil, nil, 3 * time.Second, 40},
		{"one is missing", even, map[int]bool{4: true}, nil, 37 * time.Second, 75},
		{"most are missing", even, map[int]bool{0: true, 1: true, 3: true, 5: true, 6: true, 7: true, 9: true}, nil, 100 * time.Second, 90},
		{"one is killed at work", even, nil, map[int]bool{4: true}, 110 * time.Second, 130}, // its lease is over after a minute
		{"fewer jobs than tasks", []int{7, 7}, nil, nil, 7 * time.Second, 40},
		{"one unit", []int{1}, nil, nil, 5 * time.Second, 20},
		{"one unit, whose task is missing", []int{1}, map[int]bool{9: true}, nil, 6 * time.Second, 20},
	} {
		for _, name := range []string{"night-x7", ""} {
			t.Run(c.name+" "+name, synctested(func(t *testing.T) {
				_, store := storeLedger(t)
				f := &fleet{t: t, store: store, sizes: c.sizes, name: name, takes: time.Second}
				all, took := f.run(10, c.missing, c.killed)
				units, plans := 0, 0
				for _, n := range c.sizes {
					units += n
				}
				for unit, n := range f.done {
					if n != 1 {
						t.Errorf("unit %s was done %d times", unit, n)
					}
				}
				for _, n := range f.plans {
					plans += n
				}
				if len(f.done) != units {
					t.Errorf("%d of %d units are done", len(f.done), units)
				}
				for i, results := range all {
					for _, res := range results {
						if !c.killed[i] && (len(res.Errs) > 0 || res.Left > 0) { // held by a task that has shown life is no failure
							t.Errorf("task %d, %s: %+v", i, res.Job, res)
						}
					}
				}
				t.Logf("%v, %d plans", took, plans)
				if took > c.longest && name != "" {
					t.Errorf("took %v, want %v at most", took, c.longest)
				}
				if plans > c.plans && name != "" {
					t.Errorf("%d plans of %d jobs, want %d at most", plans, len(c.sizes), c.plans)
				}
			}))
		}
	}
}

// A job of which something fails isn't said to be done: each task sees that for itself, or that another one that lives is at it, and
// ends accordingly.
func TestNoMarkHidesAFailure(t *testing.T) {
	synctested(func(t *testing.T) {
		_, store := storeLedger(t)
		f := &fleet{t: t, store: store, sizes: []int{2, 2, 2, 2}, name: "night-x7", takes: time.Second, failing: map[string]bool{"2/1": true}}
		all, _ := f.run(4, nil, nil)
		failed := 0
		for i, results := range all {
			held := slices.ContainsFunc(results, func(r ledger.Result) bool { return r.Job == "j2" && r.Outcome.Held == 1 })
			switch code := ExitCode(results, false, false); {
			case code == ExitSome || code == ExitFailed:
				failed++
			case !held:
				t.Errorf("task %d ends well: %+v", i, results)
			}
		}
		if failed == 0 {
			t.Error("no task says that a unit has failed")
		}
		marked, err := memOf(store).Execution("night-x7").Marked(t.Context())
		check(t, err)
		if len(marked) != 3 || marked["j2"] {
			t.Errorf("marked are %v", marked)
		}
	})(t)
}

// The marks of an execution are gone when the next one has begun, and none of them counts for another.
func TestMarksAreOfOneExecution(t *testing.T) {
	synctested(func(t *testing.T) {
		_, store := storeLedger(t)
		for _, name := range []string{"monday", "tuesday"} {
			f := &fleet{t: t, store: store, sizes: []int{2, 2, 2}, name: name, takes: time.Second}
			f.run(3, map[int]bool{1: true}, nil)
			if len(f.done) != 6 {
				t.Errorf("on %s %d units of 6 are done", name, len(f.done))
			}
		}
		marked, err := memOf(store).Execution("monday").Marked(t.Context())
		check(t, err)
		if len(marked) > 0 {
			t.Errorf("of monday there are still %v", marked)
		}
	})(t)
}

func memOf(store *ledgertest.Store) *ledger.Ledger {
	l, _ := another(store)
	return l
}

// What plans have read stays in memory for a few tables only, and nothing does when the run is over.
func TestTablesAreLetGo(t *testing.T) {
	f := &fleet{t: t, sizes: []int{1, 0, 3, 2, 5, 0}, done: map[string]int{}, plans: map[int]int{}}
	var list []Job
	for job := range f.sizes {
		list = append(list, Job{Name: fmt.Sprint("j", job), Table: fmt.Sprint("t", job), Kind: of{f, job, func() bool { return false }}})
	}
	plans := PlanJobs(t.Context(), list, time.Now())
	if f.kept != 2 {
		t.Errorf("%d tables stay in memory, of half of what may stay each", f.kept)
	}
	r := &Runner{Ledger: memLedger(t), Run: "run", Lease: time.Minute, Parallel: 3, Log: slog.New(slog.DiscardHandler)}
	r.RunJobs(t.Context(), list, plans)
	if f.kept != 0 || len(f.done) != 11 {
		t.Errorf("%d tables stay in memory, and %d units are done", f.kept, len(f.done))
	}
}
