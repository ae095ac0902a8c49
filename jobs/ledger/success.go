package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// A Past is what the ledger remembers of runs.
type Past struct {
	Runs    []Run                // the last ones, the newest first
	Success map[string]time.Time // by job, its last; of jobs that haven't succeeded since older versions, Runs alone tell
}

// Past reads the newest n runs, and the last success of every job. With an error it gives what could be read: see LeftOut.
func (l *Ledger) Past(ctx context.Context, n int) (p Past, err error) {
	runs, unread := l.Runs(ctx, n)
	p.Runs = runs
	p.Success, err = l.successes(ctx, "")
	return p, errors.Join(unread, err)
}

// LeftOut tells apart the damaged objects that Past, Runs and LastSuccess go on without, and the error that they can't go on with.
func LeftOut(err error) (damaged []*DamagedError, failed error) {
	var one *DamagedError
	joined, several := err.(interface{ Unwrap() []error }) //nolint:errorlint // what was joined is wanted, not what is below
	switch {
	case !errors.As(err, &one):
		return nil, err
	case !several:
		return []*DamagedError{one}, nil
	}
	for _, e := range joined.Unwrap() {
		more, fatal := LeftOut(e)
		damaged, failed = append(damaged, more...), errors.Join(failed, fatal)
	}
	return damaged, failed
}

// LastSuccess is when a job last ended a run without a failure; zero: never, or only under older versions.
func (l *Ledger) LastSuccess(ctx context.Context, job string) (time.Time, error) {
	last, err := l.successes(ctx, job+"/")
	return last[job], err
}

// Last is the newest run that had a job, and what came of the job in it; nil when none is known.
func (p Past) Last(job string) (*Run, *Result) {
	for i, run := range p.Runs {
		if at := slices.IndexFunc(run.Results, func(r Result) bool { return r.Job == job }); at >= 0 {
			return &p.Runs[i], &run.Results[at]
		}
	}
	return nil, nil
}

// SuccessOf is when a job last ended a run without a failure, as far as this past goes; nil: never.
func (p Past) SuccessOf(job string) *time.Time {
	var last *time.Time
	if at, known := p.Success[job]; known {
		last = &at
	}
	for _, run := range p.Runs {
		for _, res := range run.Results {
			// Earlier versions didn't record which jobs of an interrupted run were done.
			if res.Job == job && res.Succeeded() && run.Trigger != Replayed && run.Ended != nil && run.Exit != ExitStopped {
				if last == nil || run.Ended.After(*last) {
					last = run.Ended
				}
			}
		}
	}
	return last
}

const (
	successes   = "successes/"
	successTime = "20060102T150405.000Z"

	// keepSuccesses is how many a job may have before all but its newest are dropped, so that not each run has some to drop.
	keepSuccesses = 16
)

func successKey(job string, at time.Time) string {
	return successes + job + "/" + at.UTC().Format(successTime) + ".json"
}

// successes reads the last success of every job below a prefix. One listing suffices, because the time is in the key.
func (l *Ledger) successes(ctx context.Context, below string) (map[string]time.Time, error) {
	keys, err := l.list(ctx, successes+below)
	if err != nil {
		return nil, err
	}
	last := map[string]time.Time{}
	var damaged []error
	for _, key := range keys {
		job, name, _ := strings.Cut(strings.TrimPrefix(key, successes), "/")
		at, err := time.Parse(successTime, strings.TrimSuffix(name, ".json"))
		if err != nil {
			damaged = append(damaged, &DamagedError{Location: l.location(key), Err: fmt.Errorf("its name should be a time: %w", err), Lacks: lacksRun})
			continue
		}
		if at.After(last[job]) {
			last[job] = at
		}
	}
	return last, errors.Join(damaged...)
}

// saveSuccesses notes which jobs succeeded in a run that is over. Each success is an object of its own that is never
// changed, so that no run takes back what another one that ends at the same time has noted. Older ones are dropped when many have gathered.
func (l *Ledger) saveSuccesses(ctx context.Context, r Run) error {
	if r.Trigger == Replayed {
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readers)
	for _, res := range r.Results {
		if !res.Succeeded() {
			continue
		}
		g.Go(func() error {
			success := struct {
				Job string `json:"job"`
				Run string `json:"run"`
			}{res.Job, r.ID}
			if err := l.write(ctx, successKey(res.Job, *r.Ended), success); err != nil { // another run's of the same millisecond says the same
				return err
			}
			keys, err := l.list(ctx, successes+res.Job+"/")
			if err != nil {
				return err
			}
			if len(keys) <= keepSuccesses {
				return nil
			}
			return l.drop(ctx, keys[:len(keys)-1]...)
		})
	}
	return g.Wait()
}
