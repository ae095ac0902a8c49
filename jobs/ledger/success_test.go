package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// The last success of a job never goes back, whoever writes when: of runs that end at once the newest holds, and one that
// comes late with an older success changes nothing.
func TestLastSuccessNeverGoesBack(t *testing.T) {
	everyLedger(t, func(t *testing.T, l *Ledger) {
		ctx, start := t.Context(), moment("2026-01-01T06:00")
		run := func(minute int, results ...Result) Run {
			ended := start.Add(time.Duration(minute) * time.Minute)
			return Run{ID: NewRunID(ended), Started: ended, Ended: &ended, Results: results}
		}
		want := func(job string, minute int) {
			t.Helper()
			past, err := l.Past(ctx, 0)
			check(t, err)
			if at := past.SuccessOf(job); at == nil || !at.Equal(start.Add(time.Duration(minute)*time.Minute)) {
				t.Errorf("%s succeeded last at %v, want minute %d", job, at, minute)
			}
		}
		check(t, l.SaveRun(ctx, run(0, Result{Job: "a"}, Result{Job: "b"}, Result{Job: "c", Failures: []Failure{{"u", "no"}}})))
		check(t, l.SaveRun(ctx, run(5, Result{Job: "a", Left: 1}, Result{Job: "b", Stopped: true}, Result{Job: "a_b", Outcome: Outcome{Windows: 2, Held: 2}})))
		want("a", 0)
		want("b", 0)
		if past, err := l.Past(ctx, 0); err != nil || len(past.Success) != 2 {
			t.Errorf("jobs that have succeeded: %v %v", past.Success, err)
		}
		var wg sync.WaitGroup
		for minute := range 20 {
			wg.Go(func() {
				if err := l.SaveRun(context.WithoutCancel(ctx), run(10+minute*7%20, Result{Job: "a"})); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		want("a", 29)
		want("b", 0)
		check(t, l.SaveRun(ctx, run(3, Result{Job: "a"}, Result{Job: "b"})))
		want("a", 29)
		want("b", 3)
		check(t, l.SaveRun(ctx, run(3, Result{Job: "b"}))) // in the same millisecond
		want("b", 3)
		keys, err := l.list(ctx, successes)
		check(t, err)
		if len(keys) > keepSuccesses+2 { // of a few that end at once, each may leave its own
			t.Errorf("objects: %v", keys)
		}
		for minute := range 4 * keepSuccesses {
			check(t, l.SaveRun(ctx, run(30+minute, Result{Job: "a"})))
			keys, err := l.list(ctx, successes+"a/")
			check(t, err)
			if len(keys) > keepSuccesses {
				t.Fatalf("objects: %v", keys)
			}
		}
		want("a", 30+4*keepSuccesses-1)
		overwrite(t, l, "successes/a/late.json", nil)
		overwrite(t, l, "runs/damaged.json", []byte("{}\n"))
		past, err := l.Past(ctx, 3)
		damaged, failed := LeftOut(err)
		var texts []string
		for _, d := range damaged {
			texts = append(texts, d.Error())
		}
		text := strings.Join(texts, "\n")
		if failed != nil || len(damaged) != 2 || len(past.Runs) != 3 || past.SuccessOf("a") == nil || past.SuccessOf("b") == nil {
			t.Errorf("%d left out, %v; %d runs, %v", len(damaged), failed, len(past.Runs), past.Success)
		}
		if !strings.Contains(text, "successes/a/late.json") || !strings.Contains(text, "runs/damaged.json") || strings.Contains(text, "fetched again") {
			t.Errorf("what is left out:\n%s", text)
		}
		away := fmt.Errorf("%w: list: %w", ErrBucket, errors.New("no answer"))
		if damaged, failed := LeftOut(errors.Join(errors.Join(err), away)); len(damaged) != 2 || !errors.Is(failed, ErrBucket) || failed.Error() != away.Error() {
			t.Errorf("of a bucket that doesn't answer: %d left out, %v", len(damaged), failed)
		}
	})
}
