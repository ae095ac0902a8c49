package ledger

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"time"

	"github.com/reportferry/reportferry/internal/disk"
)

// Replayed is the trigger of a run that makes partitions anew from kept raw answers. It doesn't
// count as a success of its job, because nothing was fetched.
const Replayed = "replay"

// A Run is the record of one execution, written before it does anything and again at its end. One
// without an end was killed, or still goes on.
type Run struct {
	ID      string     `json:"id"`
	Trigger string     `json:"trigger"` // schedule, manual, backfill or Replayed
	Started time.Time  `json:"started"`
	Ended   *time.Time `json:"ended,omitempty"`
	Exit    int        `json:"exit"`
	Results []Result   `json:"results,omitempty"`
	Errors  []string   `json:"errors,omitempty"`
}

// NewRunID returns an ID that sorts by time: 20260131T060000.123Z-1f2e3d4c.
func NewRunID(now time.Time) string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return now.UTC().Format("20060102T150405.000Z") + "-" + hex.EncodeToString(b[:])
}

// idle tells whether a run has ended and did nothing. Its trigger doesn't matter, because a run
// that another program's scheduler starts looks like one that a person starts.
func (r Run) idle() bool {
	return r.Ended != nil && r.Exit == 0 && len(r.Errors) == 0 &&
		!slices.ContainsFunc(r.Results, func(res Result) bool {
			return !res.Succeeded() || res.Outcome.Windows+res.Outcome.Compared+res.Outcome.Unseen > 0
		})
}

// SaveRun writes the record of a run into the document of the month in which the run began. It is
// called before the run does anything, and again at its end, when it also notes which jobs
// succeeded. If the month's document can't be trusted, the error is a *DamagedError; the caller may
// go on, because no table needs the record.
func (l *Ledger) SaveRun(ctx context.Context, r Run) error {
	// If the month has no document yet, take over the successes of the months before.
	d := l.runsOf(r.Started.UTC().Format(keyOfRuns))
	var before Past
	if d.Version() == "" {
		_, exists, err := d.Load(ctx)
		if err == nil && !exists {
			before, err = l.Past(ctx, 0)
		}
		if err != nil {
			return err
		}
	}
	existed := false // the document had the record before this change
	err := d.Change(ctx, Change[runMonth]{
		Apply: func(m *runMonth) error {
			existed = existed || m.find(r.ID) >= 0
			m.save(r, before.Success, d.Size() > mostOfRuns)
			return nil
		},
		Done: func(m *runMonth) bool { // a record that has gone was folded into a count by another run
			at := m.find(r.ID)
			return at < 0 && existed || at >= 0 && (m.Runs[at].Ended != nil) == (r.Ended != nil)
		},
	})
	// Clean up: files that killed writers left in a folder, and months older than keepRuns.
	if dir := l.store.Dir(); err == nil && dir != "" && r.Ended != nil {
		disk.NewRoot(dir).Sweep(leftoverAge)
	}
	if old := before.endedBy(r.Started.AddDate(0, 0, -keepRuns)); err == nil && old != nil {
		for _, key := range old {
			l.months.Delete(key)
		}
		err = l.drop(ctx, old...)
	}
	return err
}

// ReadRuns reads the record of the runs of a month, so that LastSuccess can use it. began is a time
// in that month.
func (l *Ledger) ReadRuns(ctx context.Context, began time.Time) error {
	_, _, err := l.runsOf(began.UTC().Format(keyOfRuns)).Load(ctx)
	return err
}

// leftoverAge is the age from which a temporary file beside an object counts as left by a killed
// writer. A writer that was only suspended for so long fails, and writes again.
const leftoverAge = time.Hour

// ForgetRun drops the record of a run that must not count, such as one under a wrong clock. When it
// was the only one of its month, the month's document is dropped too.
func (l *Ledger) ForgetRun(ctx context.Context, r Run) error {
	d := l.runsOf(r.Started.UTC().Format(keyOfRuns))
	err := d.Change(ctx, Change[runMonth]{Apply: func(m *runMonth) error {
		m.Runs = slices.DeleteFunc(m.Runs, func(o Run) bool { return o.ID == r.ID })
		return nil
	}})
	if err == nil && len(d.Last().Runs) == 0 {
		d.Forget()
		err = l.drop(ctx, d.key)
	}
	return err
}
