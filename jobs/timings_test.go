package jobs

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// The result of a job says of each unit that was begun, and so of none that another run holds, when
// that was, what it took, and how it ended.
func TestResultHasTimings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		start := time.Now()
		other := &holder{start, time.Hour, false}
		kind := &timed{do: func(ctx context.Context, name string) (ledger.Outcome, error) {
			if name == "taken" {
				return ledger.Outcome{}, other.held(name)
			}
			time.Sleep(3 * time.Second)
			out := ledger.Outcome{Requests: 2, Retries: 1, Limiter: time.Second, Backoff: 5, Convert: 6, Put: 7}
			switch name {
			case "bad":
				return out, errors.New("broken")
			case "stopped":
				cancel()
				return out, ctx.Err()
			}
			return out, nil
		}, names: []string{"taken", "good", "bad", "stopped", "never begun"}}
		list := []Job{{Name: "daily", Table: "daily", Kind: kind}}
		r := &Runner{Run: "run", Lease: time.Minute, Parallel: 1, Log: slog.New(slog.DiscardHandler)}
		got := r.RunJobs(ctx, list, PlanJobs(ctx, list, start))[0].Timings
		if len(got) != 3 {
			t.Fatalf("%d units are told of: %+v", len(got), got)
		}
		for i, want := range []struct {
			unit            string
			failed, stopped bool
		}{{"good", false, false}, {"bad", true, false}, {"stopped", false, true}} {
			u := got[i]
			if u.Unit != want.unit || u.Failed != want.failed || u.Stopped != want.stopped {
				t.Errorf("%s: %+v", want.unit, u)
			}
			if u.Took != 3*time.Second || !u.Begun.Equal(start.Add(time.Duration(i)*3*time.Second)) {
				t.Errorf("%s began after %v and took %v", u.Unit, u.Begun.Sub(start), u.Took)
			}
			if u.Requests != 2 || u.Retries != 1 || u.Limiter != time.Second || u.Backoff != 5 || u.Convert != 6 ||
				u.Put != 7 {
				t.Errorf("%s: %+v", want.unit, u)
			}
		}
	})
}

// timed is a kind whose units do the same.
type timed struct {
	names []string
	do    func(context.Context, string) (ledger.Outcome, error)
}

func (k *timed) Plan(context.Context, time.Time) (Plan, error) { return planOf(k.names, k.do), nil }
