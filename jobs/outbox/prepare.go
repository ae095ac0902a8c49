package outbox

import (
	"context"
	"fmt"
	"time"
)

// prepare reads the file for the first time and judges its rows. begin opens the records of a new push; nil: nothing is
// kept.
func (w *work[V]) prepare(ctx context.Context, begin func() (*indexWriter, error)) (err error) {
	if w.stat, err = w.p.Source.Stat(ctx); err != nil {
		return err
	}
	if age := time.Since(w.stat.Modified); w.p.Quiet > 0 && age < w.p.Quiet {
		return &QuietError{Age: age, Quiet: w.p.Quiet, Due: w.stat.Modified.Add(w.p.Quiet).Truncate(time.Second).Add(time.Second)}
	}
	if w.pushes, w.orphans, err = w.o.table.pushes(ctx); err != nil {
		return err
	}
	if p := w.known(func(p *push) bool { return true }); p != nil && !w.check && !w.p.Again && !p.open() && p.head.Version == w.stat.Version {
		w.report.Same, w.resumed, w.report.File = true, p, fileOf(p, p.tally())
		return nil
	}
	if err := w.validate(ctx); err != nil {
		return err
	}
	if err := w.recall(); err != nil || w.report.Same {
		return err
	}
	var ix *indexWriter
	if w.resumed == nil && begin != nil {
		if ix, err = begin(); err != nil {
			return err
		}
	}
	if err := w.judge(ctx, ix); err != nil {
		return err
	}
	c := w.states.tally()
	w.report.Spool = w.spool.end
	p := w.resumed
	if p == nil {
		p = &push{head: head{Name: w.p.Name, Version: w.stat.Version, Digest: w.digest.String(), Rows: w.digest.records}}
	}
	w.report.File = fileOf(p, c)
	return w.p.MaxRejects.exceeded(c.rejects(), w.digest.records)
}

// known gives the latest push of the name that fits.
func (w *work[V]) known(fits func(*push) bool) *push {
	for i := len(w.pushes) - 1; i >= 0; i-- {
		if p := w.pushes[i]; p.head.Name == w.p.Name && fits(p) {
			return p
		}
	}
	return nil
}

// validate reads the file for the first time.
func (w *work[V]) validate(ctx context.Context) error {
	w.digest = newDigest()
	err := w.p.Source.Read(ctx, false, func(r *Record[V]) error {
		if _, err := add(w.digest, r); err != nil {
			return err
		}
		if r.Refusal != nil {
			w.states.set(r.Row, refused)
			return nil
		}
		w.states.set(r.Row, pending)
		return w.spool.add(newItem(r.ID, r.Content, r.Row))
	})
	if err != nil {
		return err
	}
	return w.pinned(ctx)
}

// pinned tells whether the file is still the one that was found.
func (w *work[V]) pinned(ctx context.Context) error {
	now, err := w.p.Source.Stat(ctx)
	if err != nil {
		return err
	}
	if now.Version != w.stat.Version {
		return fmt.Errorf("%w: it was %s when the reading began and is %s now; nothing more of it is sent by this run",
			ErrGrowing, w.stat.Version, now.Version)
	}
	return nil
}

// recall finds what is known of this content, and takes over what became of its rows.
func (w *work[V]) recall() error {
	last := w.known(func(*push) bool { return true })
	if last == nil {
		return nil
	}
	if last.head.Digest != w.digest.String() {
		w.report.Changed, w.before = true, last
		if last.head.Pruned {
			return fmt.Errorf("%w (pushed %s); give what is new a file of its own", ErrForgotten, last.head.Started.Format(time.DateOnly))
		}
		return nil
	}
	w.resumed = last
	if w.p.Order != "" {
		w.p.Order = last.head.Order // the file may have been copied anew since
	}
	if !last.open() {
		w.report.Same, w.report.File = true, fileOf(last, last.tally())
		return nil
	}
	for row := int64(1); row <= w.states.rows; row++ {
		w.states.set(row, w.merge(w.states.get(row), last.states.get(row)))
	}
	return nil
}

// merge gives the state of a row from this reading and from what is on record.
func (w *work[V]) merge(read, recorded state) state {
	switch s := recorded &^ doubt; {
	case read == none || s == none:
		return read
	case read == refused && (s == pending || s == unknown): // it has expired meanwhile
		return refused | recorded&doubt
	}
	return recorded
}

// live tells whether a row is to be sent.
func (w *work[V]) live(s state) bool {
	s &^= doubt
	return s == pending || s == unknown && !w.p.ParkUnknown
}
