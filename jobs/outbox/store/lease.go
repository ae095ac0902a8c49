package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// A Lease is the right to push the files of a table. It only saves work. What keeps two processes
// from sending the same records is the log: each segment takes the next number, and a process whose
// number is taken has lost.
type Lease struct {
	*ledger.Renewal
	Pushes []*Push // the known pushes of the table, in the order in which they began
	table  *Table
	holder holder
	last   int  // number of the last known segment
	loaded bool // the pushes on record were read
	// previous is the holder from whom the lease was taken over, as long as it isn't known what
	// that holder has done; nil: the lease was free, or all is known.
	previous *holder
}

// Take takes the lease of a table for a run, reads what is on record, and renews the lease until
// Release. When another run has it, the error is a *ledger.HeldError. When the last holder hasn't
// released it, Take first creates the next segment of the log. The last holder thereby loses before
// it sends anything more.
func (t *Table) Take(ctx context.Context, run string) (*Lease, error) {
	was, exists := t.doc.Last(), t.doc.Version() != ""
	if !exists || was.Lease != nil {
		var err error
		if was, err = t.load(ctx); err != nil {
			return nil, err
		}
	}
	now, _, err := t.ledger.Store().Now(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ledger.ErrBucket, err)
	}
	l := &Lease{table: t, holder: holder{rand.Text(), run, now.Add(t.ledger.Lease())}}
	l.Renewal = t.ledger.NewRenewal(ctx, t.name, func(ctx context.Context) error {
		return l.swap(ctx,
			func(*content) {})
	})
	err = t.doc.Change(ctx, ledger.Change[content]{
		Apply: func(c *content) error {
			if h := c.Lease; h != nil && now.Before(h.Until) {
				return &ledger.HeldError{Unit: UnitName, Run: h.Run, Until: h.Until, Free: h.Until.Sub(now)}
			}
			if c.Segments < was.Segments {
				return t.damaged(folder+t.name+".json", errors.New("it is older than it was"))
			}
			h := l.holder
			l.previous, c.Lease = c.Lease, &h
			return nil
		},
		Done: l.mine,
	})
	if err == nil {
		l.Start()
		if err = l.begin(ctx); err == nil {
			return l, nil
		}
	}
	if held := (*ledger.HeldError)(nil); !errors.As(err, &held) { // if no other run holds the lease, it may be ours
		_ = l.Release(ctx) // err already says what went wrong
	}
	l.Lose(err)
	return nil, err
}

// UnitName is the name of the unit that pushes a table's files.
const UnitName = "push"

// mine reports whether the document has this lease.
func (l *Lease) mine(c *content) bool { return c.Lease != nil && c.Lease.Token == l.holder.Token }

// begin reads what is on record, and makes sure that nobody else can add to it: unless the lease
// was free and no segment is newer than the document, it creates the next segment. If that exists
// already, it starts again.
func (l *Lease) begin(ctx context.Context) (err error) {
	c := l.table.doc.Last()
	over := l.previous != nil
	for c.Lease = l.previous; ; over = true {
		if l.Pushes, l.last, err = l.table.read(ctx, c, (*Push).Live); err != nil {
			return err
		}
		created := true
		if over || l.last > c.Segments {
			if created, err = l.table.ledger.CreateOnce(ctx, l.table.key(l.last+1),
				Segment{Run: l.holder.Run, At: time.Now().UTC()}); err != nil {
				return err
			}
			l.last++
		}
		if created {
			l.loaded, l.previous = true, nil
			return l.Leased()
		}
	}
}

// swap changes the document under the lease, and renews the lease.
func (l *Lease) swap(ctx context.Context, change func(*content)) error {
	if err := l.Leased(); err != nil {
		return err
	}
	now, _, err := l.table.ledger.Store().Now(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ledger.ErrBucket, err)
	}
	err = l.table.doc.Change(ctx, ledger.Change[content]{Apply: func(c *content) error {
		if !l.mine(c) {
			return fmt.Errorf("%s: another run has taken the push over: %w", l.table.name, ledger.ErrLost)
		}
		c.Lease.Until = now.Add(l.table.ledger.Lease())
		change(c)
		return nil
	}})
	if errors.Is(err, ledger.ErrLost) {
		l.Lose(err)
	}
	return err
}

// Save writes all that is known into the document, so that nobody has to read the segments so far
// again.
func (l *Lease) Save(ctx context.Context) error { return l.swap(ctx, l.update()) }

// update returns the change that writes what is known now into the document.
func (l *Lease) update() func(*content) {
	if !l.loaded {
		return func(*content) {}
	}
	last, files := l.last, []Head{}
	for _, p := range l.Pushes {
		if p.Head.Whole > 0 || p.Head.Error != "" {
			files = append(files, p.Head)
		}
	}
	return func(c *content) { c.Segments, c.Files = last, files }
}

// Release gives the lease back, and saves all that is known. A lost lease is left alone, because
// another process has it; all that was sent under it is in the segments.
func (l *Lease) Release(ctx context.Context) error {
	l.Stop()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	update, previous := l.update(), l.previous
	err := l.Leased()
	if err == nil {
		err = l.table.doc.Change(ctx, ledger.Change[content]{
			Apply: func(c *content) error {
				if !l.mine(c) {
					return ledger.ErrNothing
				}
				update(c)
				c.Lease = previous
				return nil
			},
			Done: func(c *content) bool { return !l.mine(c) },
		})
	}
	l.Lose(ledger.ErrLost)
	if errors.Is(err, ledger.ErrLost) {
		return nil
	}
	return err
}

// Append writes the next segment of the log, for a push. When another process has already written
// that segment, the error is ledger.ErrLost.
func (l *Lease) Append(ctx context.Context, p *Push, s Segment) error {
	if err := l.Leased(); err != nil {
		return err
	}
	n := l.last + 1
	s.Push, s.Run, s.At = p.Head.ID, l.holder.Run, time.Now().UTC()
	h := p.Head
	h.Run, h.At, h.Last = s.Run, s.At, n
	if s.Head != nil {
		if h.Whole = n; h.First == 0 {
			h.First = n
		}
		s.Head = &h
	}
	created, err := l.table.ledger.CreateOnce(ctx, l.table.key(n), s)
	if err == nil && !created {
		err = fmt.Errorf("%s is there already: another process has gone on with %s: %w", l.table.key(n), p.Head.Name,
			ledger.ErrLost)
		l.Lose(err)
	}
	if err == nil {
		l.last, p.Head = n, h
		if !p.Live() {
			p.States = nil // they take 25 MB for a file of fifty million rows
		}
	}
	return err
}

// Put adds a push to the known ones, if it is new. It replaces an earlier push of a file with this
// name that was refused before anything was to be sent.
func (l *Lease) Put(p *Push) {
	l.Pushes = slices.DeleteFunc(l.Pushes, func(o *Push) bool {
		return o != p && o.Head.Whole == 0 &&
			o.Head.Name == p.Head.Name
	})
	if slices.Contains(l.Pushes, p) {
		return
	}
	if p.Newest = p.Head.Sum != ""; p.Newest {
		for _, o := range l.Pushes {
			o.Newest = o.Newest && o.Head.Name != p.Head.Name
		}
	}
	l.Pushes = append(l.Pushes, p)
}

// Sweep drops the pushes that gone accepts, and deletes the objects that nothing needs any more. A
// segment is kept until no push that began at its number or before is held. Otherwise a process
// that slept so long could create the segment anew, and would take that for success.
func (l *Lease) Sweep(ctx context.Context, held, gone func(*Push) bool) error {
	l.Pushes = slices.DeleteFunc(l.Pushes, gone)
	needed, first := map[string]bool{}, l.last+1
	for _, p := range l.Pushes {
		if !held(p) {
			p.Head.First = 0
		} else if p.Head.First > 0 {
			first = min(first, p.Head.First)
		}
		needed[l.table.key(p.Head.Whole)] = true
		if !p.Head.Pruned {
			needed[l.table.recordsKey(p)] = true
		}
	}
	if err := l.Save(ctx); err != nil {
		return err
	}
	objects, err := l.table.ledger.Store().List(ctx, folder+l.table.name+"/")
	var keys []string
	for _, o := range objects {
		number, isNot := strconv.Atoi(strings.TrimSuffix(path.Base(o.Key), ".json"))
		if !needed[o.Key] && (strings.HasSuffix(o.Key, ".records") || isNot == nil && number < first) {
			keys = append(keys, o.Key)
		}
	}
	if err == nil {
		err = l.table.ledger.Store().Delete(ctx, keys...)
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", ledger.ErrBucket, err)
	}
	return err
}
