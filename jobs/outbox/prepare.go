package outbox

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/reportferry/reportferry/jobs/outbox/store"
)

// prepare reads the file for the first time and finds out which of its rows are to be sent. For a
// new push it writes the index of its records. An attempt without a lease is a Check, which changes
// nothing.
func (w *attempt[V]) prepare(ctx context.Context) (err error) {
	// Leave a file that changed a short while ago, or that was pushed with this version.
	if w.stat, err = w.task.Source.Stat(ctx); err != nil {
		return err
	}
	if age := time.Since(w.stat.Modified); w.task.Quiet > 0 && age < w.task.Quiet {
		quiet := &QuietError{Age: age, Quiet: w.task.Quiet,
			Due: w.stat.Modified.Add(w.task.Quiet).Truncate(time.Second).Add(time.Second)}
		if w.lease != nil {
			return quiet
		}
		w.report.Quiet = quiet.Due
	}
	if p := w.latestPush(); p != nil && w.lease != nil && !w.task.Again && !p.Open() &&
		p.Head.Version == w.stat.Version {
		w.report.Same, w.resumed, w.report.File = true, p, fileOf(p)
		return nil
	}

	// Read the file, and continue an earlier push of the same content, or begin a new one.
	if err := w.validate(ctx); err != nil {
		return err
	}
	if err := w.resume(); err != nil || w.report.Same {
		return err
	}
	var ix *store.IndexWriter
	if w.push = w.resumed; w.push == nil {
		w.push = w.begin()
		if w.lease != nil {
			if ix, err = w.outbox.table.WriteIndex(ctx, w.push); err != nil {
				return err
			}
			defer ix.Drop()
		}
	}

	// Compare its records with those sent before.
	if err := w.dedupe(ctx, ix); err != nil {
		return err
	}
	now := *w.push
	now.Head.Counts = w.states.Tally()
	w.report.File, w.report.Spool = fileOf(&now), w.spool.End
	if err = w.task.MaxRejects.exceeded(w.unfit, w.digest.records); err == nil && ix != nil {
		err = ix.Commit(&w.push.Head)
	}
	return err
}

// latestPush returns the latest push of the file's name that came as far as sending, or nil.
func (w *attempt[V]) latestPush() *store.Push {
	for _, p := range slices.Backward(w.pushes) {
		if p.Head.Name == w.task.Name && p.Head.Whole > 0 {
			return p
		}
	}
	return nil
}

// validate reads the file for the first time: it notes which rows are refused, and spools the
// others for dedupe.
func (w *attempt[V]) validate(ctx context.Context) error {
	w.digest = newDigest()
	err := w.task.Source.Read(ctx, false, func(r *Record[V]) error {
		if r.Skipped != "" {
			w.skipped++
			return nil
		}
		if _, err := add(w.digest, r); err != nil {
			return err
		}
		if r.Refusal != nil {
			w.states.Set(r.Row, store.Refused)
			if !r.Expired {
				w.unfit++
			}
			w.refusals.Add(store.Words(*r.Refusal))
			return nil
		}
		w.states.Set(r.Row, store.Pending)
		// A record about two IDs waits for the earlier records of both.
		if r.Also != [16]byte{} && r.Also != r.ID {
			if err := w.groups.join(r.ID, r.Also); err != nil {
				return err
			}
			if err := w.spool.Add(store.NewItem(r.Also, r.Content, r.Row)); err != nil {
				return err
			}
		}
		return w.spool.Add(store.NewItem(r.ID, r.Content, r.Row))
	})
	if err != nil {
		return err
	}
	if w.states.Rows == 0 {
		w.outbox.options.Log.Warn("the file has no records", "run", w.outbox.options.Run, "window", w.task.Name)
	}
	return w.checkUnchanged(ctx)
}

// checkUnchanged returns an error when the file is no longer the version that prepare found.
func (w *attempt[V]) checkUnchanged(ctx context.Context) error {
	now, err := w.task.Source.Stat(ctx)
	if err != nil {
		return err
	}
	if now.Version != w.stat.Version {
		return fmt.Errorf("%w: it was %s when the reading began and is %s now; nothing more of it is sent by this run",
			ErrGrowing, w.stat.Version, now.Version)
	}
	return nil
}

// resume looks for an earlier push of this content, and takes over what became of its rows.
func (w *attempt[V]) resume() error {
	last := w.latestPush()
	if last == nil {
		return nil
	}
	if last.Head.Digest != w.digest.String() {
		w.report.Changed, w.previous = true, last
		if last.Head.Pruned {
			return fmt.Errorf("%w (pushed %s); give what is new a file of its own", ErrForgotten,
				last.Head.Started.Format(time.DateOnly))
		}
		return nil
	}
	w.resumed = last
	if w.task.Order != "" {
		w.task.Order = last.Head.Order // a copy of the file may have another name and so another order
	}
	if !last.Open() {
		w.report.Same, w.report.File = true, fileOf(last)
		return nil
	}
	for row := int64(1); row <= w.states.Rows; row++ {
		w.states.Set(row, w.merge(w.states.Get(row), last.States.Get(row)))
	}
	return nil
}

// merge returns the state of a row, given its state from this reading and the recorded one.
func (w *attempt[V]) merge(read, recorded store.State) store.State {
	switch s := recorded &^ store.Doubt; {
	case read == store.None || s == store.None:
		return read
	case read == store.Refused && (s == store.Pending || s == store.Unknown): // it has expired since
		return store.Refused | recorded&store.Doubt
	}
	return recorded
}

// toSend tells whether a row in this state is to be sent: it is pending, or in doubt and not
// parked.
func (w *attempt[V]) toSend(s store.State) bool {
	s &^= store.Doubt
	return s == store.Pending || s == store.Unknown && !w.task.ParkUnknown
}
