package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// crowded counts how many at once do something that takes a second.
type crowded struct{ now, most atomic.Int64 }

func (c *crowded) second() {
	n := c.now.Add(1)
	for most := c.most.Load(); n > most && !c.most.CompareAndSwap(most, n); most = c.most.Load() {
	}
	time.Sleep(time.Second)
	c.now.Add(-1)
}

// busy is a kind that is slow to plan and slow to do, and whose table is read for the plan.
type busy struct {
	planning, doing *crowded
	kept            *atomic.Int64
	units           int
}

func (k busy) Plan(context.Context, time.Time) (p Plan, err error) {
	k.planning.second()
	for i := range k.units {
		p.Units = append(p.Units, Unit{Name: fmt.Sprint(i), Do: func(context.Context) (ledger.Outcome, error) {
			k.doing.second()
			return ledger.Outcome{Written: 1}, nil
		}})
	}
	p.Records = mostRecords / 8
	k.kept.Add(int64(p.Records))
	p.Ending = release(func() { k.kept.Add(-int64(p.Records)) })
	return p, nil
}

// release is an ending that only releases the table.
type release func()

func (release) Finish(context.Context, ledger.Outcome, ledger.Past) (ledger.Result, error) {
	return ledger.Result{}, nil
}

func (r release) Release(context.Context) error {
	r()
	return nil
}

// Twenty runs at once plan, do and keep no more than one run may, and no run waits for the end of
// another.
func TestRunsOfAProcessShareItsBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBounds(3)
		var planning, doing crowded
		var kept, ended atomic.Int64
		run := func(name string, jobs, units int) {
			var list []Job
			for i := range jobs {
				table := fmt.Sprint(name, i)
				list = append(list, Job{Name: table, Table: table, Kind: busy{&planning, &doing, &kept, units}})
			}
			r := &Runner{Run: name, Lease: time.Minute, Parallel: 3, Bounds: b, Log: slog.New(slog.DiscardHandler)}
			plans := Share{}.Plan(t.Context(), b, list, time.Now())
			if most := kept.Load(); most > mostRecords+mostRecords/8*jobsAtOnce {
				t.Errorf("%d records are kept, of at most %d", most, mostRecords)
			}
			for _, res := range r.RunJobs(t.Context(), list, plans) {
				if res.Outcome.Written != units {
					t.Errorf("%s: %+v", res.Job, res)
				}
			}
			ended.Add(1)
		}
		var wg sync.WaitGroup
		wg.Go(func() { run("long", 1, 1000) })
		time.Sleep(10 * time.Second)
		for i := range 20 {
			wg.Go(func() { run(fmt.Sprint("run", i), 10, 1) })
		}
		time.Sleep(3 * time.Minute) // 200 units and as many of the long run, three at a time
		if n := ended.Load(); n != 20 {
			t.Errorf("%d short runs have ended beside the long one", n)
		}
		wg.Wait()
		if planning.most.Load() != jobsAtOnce || doing.most.Load() != 3 || b.kept.Load() != 0 {
			t.Errorf("%d were planned at once and %d done; %d records are counted in the end", planning.most.Load(),
				doing.most.Load(), b.kept.Load())
		}
	})
}

// A job that is over is told of before the run is, and so is one that couldn't be planned.
func TestAJobThatIsOverIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var over []string
		began := time.Now()
		r := &Runner{Run: "run", Lease: time.Minute, Parallel: 1, Log: slog.New(slog.DiscardHandler)}
		r.Over = func(res ledger.Result) {
			mu.Lock()
			defer mu.Unlock()
			over = append(over, fmt.Sprintf("%s at %s: %d, %d errors", res.Job, time.Since(began), res.Outcome.Written,
				len(res.Errs)))
		}
		var planning, doing crowded
		var kept atomic.Int64
		list := []Job{
			{Name: "one", Table: "one", Kind: busy{&planning, &doing, &kept, 1}},
			{Name: "none", Table: "none", Kind: busy{&planning, &doing, &kept, 0}},
			{Name: "mistaken", Table: "mistaken", Kind: &script{plan: errMistake}},
			{Name: "ten", Table: "ten", Kind: busy{&planning, &doing, &kept, 10}},
		}
		r.RunJobs(t.Context(), list, PlanJobs(t.Context(), list, time.Now()))
		slices.Sort(over)
		if want := []string{"mistaken at 1s: 0, 1 errors", "none at 1s: 0, 0 errors", "one at 2s: 1, 0 errors",
			"ten at 12s: 10, 0 errors"}; !slices.Equal(over, want) {
			t.Errorf("over are %q, want %q", over, want)
		}
	})
}
