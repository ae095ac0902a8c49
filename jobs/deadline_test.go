package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// steady is a kind whose units take ten seconds each.
type steady struct{ script }

func (s *steady) Plan(context.Context, time.Time) (Plan, error) {
	return planOf(s.units, func(ctx context.Context, name string) (ledger.Outcome, error) {
		time.Sleep(10 * time.Second)
		return s.do(ctx, name)
	}), nil
}

// No unit is begun that would be under way at the deadline; the run is then one that goes on.
func TestDeadline(t *testing.T) {
	for _, c := range []struct {
		deadline  time.Duration
		parallel  int
		did, left int
	}{{0, 1, 8, 0}, {35 * time.Second, 1, 3, 5}, {40 * time.Second, 1, 4, 4}, {35 * time.Second, 2, 6, 2},
		{time.Minute, 2, 8, 0}, {-time.Second, 2, 0, 8}} {
		t.Run(fmt.Sprint(c), synctested(func(t *testing.T) {
			k := &steady{}
			for i := range 8 {
				k.units = append(k.units, fmt.Sprint("u", i))
			}
			list := []Job{{Name: "j", Table: "installs", Kind: k}}
			r := &Runner{Run: "run", Lease: time.Minute, Parallel: c.parallel, Log: slog.New(slog.DiscardHandler)}
			if c.deadline != 0 {
				r.Deadline = time.Now().Add(c.deadline)
			}
			res := r.RunJobs(t.Context(), list, PlanJobs(t.Context(), list, time.Now()))
			if len(k.done) != c.did || res[0].Left != c.left || res[0].Outcome.Windows != c.did {
				t.Errorf("did %d, left %d: %+v", len(k.done), res[0].Left, res[0].Outcome)
			}
			want := ExitDone
			if c.left > 0 {
				want = ExitInterrupted
			}
			if got := ExitCode(res, false, true); got != want {
				t.Errorf("exit code %d, want %d", got, want)
			}
		}))
	}
}

// A unit of a dead run whose lease ends too late is left, and not waited for beyond the deadline.
func TestDeadlineOfHeldUnits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{units: []string{"a", "b"}, holders: map[string]*holder{"a": {began: time.Now(), killed: true}}}
		list := []Job{{Name: "j", Table: "installs", Kind: s}}
		start := time.Now()
		r := &Runner{Run: "run", Lease: 2 * time.Minute, Parallel: 2, Log: slog.New(slog.DiscardHandler),
			Deadline: start.Add(time.Minute)}
		res := r.RunJobs(t.Context(), list, PlanJobs(t.Context(), list, time.Now()))[0]
		if took := time.Since(start); took > 75*time.Second || res.Left != 1 || !slices.Equal(s.done, []string{"b"}) {
			t.Errorf("after %v: did %v, left %d", took, s.done, res.Left)
		}
	})
}
