package ledger

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reportferry/reportferry/internal/disk"
)

// Replayed is the trigger of a run that makes partitions again of raw answers. It is no success of a job, which is fetching.
const Replayed = "replay"

// keepRuns is how many runs the ledger keeps.
const keepRuns = 100

// lacksRun is what is lacking without an object that tells of a run.
const lacksRun = "the list of runs then lacks this one, and no table changes"

// ExitStopped is the exit code of a run that was stopped.
const ExitStopped = 130

// A Run is the record of one execution, written at its start and again at its end. One without an end was killed, or
// still goes on.
type Run struct {
	ID      string     `json:"id"`
	Trigger string     `json:"trigger"` // schedule, manual, backfill or Replayed
	Started time.Time  `json:"started"`
	Ended   *time.Time `json:"ended,omitempty"`
	Exit    int        `json:"exit"`
	Results []Result   `json:"results,omitempty"`
	Errors  []string   `json:"errors,omitempty"`
}

// NewRunID is an ID that sorts by time: 20260131T060000.123Z-1f2e3d4c.
func NewRunID(now time.Time) string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return now.UTC().Format("20060102T150405.000Z") + "-" + hex.EncodeToString(b[:])
}

func runKey(id string) string { return "runs/" + id + ".json" }

// SaveRun writes the record of a run. When the run is over, it also notes which jobs succeeded, and drops records beyond the newest
// hundred.
func (l *Ledger) SaveRun(ctx context.Context, r Run) error {
	if err := l.write(ctx, runKey(r.ID), r); err != nil {
		return err
	}
	if r.Ended == nil {
		return nil
	}
	if err := l.saveSuccesses(ctx, r); err != nil {
		return err
	}
	keys, err := l.list(ctx, "runs/")
	if err != nil {
		return err
	}
	for _, key := range keys[:max(0, len(keys)-keepRuns)] {
		if err := l.drop(ctx, key); err != nil {
			return err
		}
	}
	if dir := l.store.Dir(); dir != "" {
		disk.NewRoot(dir).Sweep(leftAfter)
	}
	return nil
}

// leftAfter is how old a file beside an object's place is when its writer must have been killed. One that slept for so long fails, and
// writes again.
const leftAfter = time.Hour

// ForgetRun drops the record of a run that must not count, such as one under a wrong clock.
func (l *Ledger) ForgetRun(ctx context.Context, id string) error { return l.drop(ctx, runKey(id)) }

// Runs are the newest n runs that can be read, the newest first. Damaged records among them are errors, each a *DamagedError. One that
// isn't there any more was dropped by a run that has just ended.
func (l *Ledger) Runs(ctx context.Context, n int) (runs []Run, err error) {
	keys, err := l.list(ctx, "runs/")
	if err != nil {
		return nil, err
	}
	slices.Reverse(keys)
	var damaged []error
	for len(runs) < n && len(keys) > 0 {
		some := keys[:min(len(keys), n-len(runs))]
		keys = keys[len(some):]
		read, unread := make([]Run, len(some)), make([]error, len(some))
		g, within := errgroup.WithContext(ctx)
		g.SetLimit(readers)
		for i, key := range some {
			g.Go(func() error {
				var of *DamagedError
				unread[i] = l.read(within, key, &read[i])
				switch {
				case errors.As(unread[i], &of):
					of.Lacks = lacksRun
				case !isNotFound(unread[i]):
					return unread[i]
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return nil, err
		}
		for i, r := range read {
			if unread[i] == nil {
				runs = append(runs, r)
			} else if !isNotFound(unread[i]) {
				damaged = append(damaged, unread[i])
			}
		}
	}
	return runs, errors.Join(damaged...)
}

// LastRun is the newest run that can be read; false when there is none.
func (l *Ledger) LastRun(ctx context.Context) (Run, bool, error) {
	runs, err := l.Runs(ctx, 1)
	if _, err = LeftOut(err); err != nil || len(runs) == 0 {
		return Run{}, false, err
	}
	return runs[0], true, nil
}
