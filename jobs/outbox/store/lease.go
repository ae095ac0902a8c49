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
	"sync"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// A Lease is the right to push the files of a table. It saves work: what keeps two processes from sending the same records is that each
// segment takes the next number of the log, and a process whose number is taken has lost.
type Lease struct {
	Pushes []*Push // of the table, as far as they are known; in the order in which they began
	table  *Table
	holder holder
	long   time.Duration
	last   int     // segment
	before *holder // whom it was taken over from, until what that one did is known; nil: nobody
	known  bool    // what is on record was read

	ctx     context.Context // ends with ledger.ErrLost when the lease does
	lose    context.CancelCauseFunc
	stop    context.CancelFunc
	stopped chan struct{}
	mu      sync.Mutex
	renewed time.Time // when the last swap that is known to have succeeded began
}

// Take takes the lease of a table for a run, renews it until Release, and reads what is on record. When another has it, the error is a
// *ledger.HeldError. Who takes over from one that hasn't released it takes a number of the log first: that one then loses, before it lets
// anything more be sent.
func (t *Table) Take(ctx context.Context, run string, long time.Duration) (*Lease, error) {
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
	l := &Lease{table: t, holder: holder{rand.Text(), run, now.Add(long)}, long: long, renewed: time.Now(), stopped: make(chan struct{})}
	l.ctx, l.lose = context.WithCancelCause(context.WithoutCancel(ctx))
	beating, stop := context.WithCancel(l.ctx)
	l.stop = stop
	err = t.doc.Change(ctx, ledger.Change[content]{
		Apply: func(c *content) error {
			if h := c.Lease; h != nil && now.Before(h.Until) {
				return &ledger.HeldError{Unit: UnitName, Run: h.Run, Until: h.Until, Free: h.Until.Sub(now)}
			}
			if c.Segments < was.Segments {
				return t.damaged(folder+t.name+".json", errors.New("it is older than it was"))
			}
			h := l.holder
			l.before, c.Lease = c.Lease, &h
			return nil
		},
		Done: l.mine,
	})
	if err != nil {
		close(l.stopped)
	} else {
		go l.keepAlive(beating)
		if err = l.begin(ctx); err == nil {
			return l, nil
		}
	}
	if held := (*ledger.HeldError)(nil); !errors.As(err, &held) { // else it may be ours
		_ = l.Release(ctx) // err says why
	}
	stop()
	l.lose(err)
	return nil, err
}

// UnitName is the name of the unit that pushes a table's files.
const UnitName = "push"

func (l *Lease) mine(c *content) bool { return c.Lease != nil && c.Lease.Token == l.holder.Token }

// begin reads what is on record, once nobody else can add to it.
func (l *Lease) begin(ctx context.Context) (err error) {
	c := l.table.doc.Last()
	over := l.before != nil
	for c.Lease = l.before; ; over = true {
		if l.Pushes, l.last, err = l.table.read(ctx, c, (*Push).Live); err != nil {
			return err
		}
		created := true
		if over || l.last > c.Segments {
			if created, err = l.table.ledger.CreateOnce(ctx, l.table.key(l.last+1), Segment{Run: l.holder.Run, At: time.Now().UTC()}); err != nil {
				return err
			}
			l.last++
		}
		if created {
			l.known, l.before = true, nil
			return l.Still()
		}
	}
}

// left is how long the lease lasts by this machine's clocks, less a tenth of it for clocks that drift apart. The one of both counts that shows
// more time: people set the wall clock, and the other may stand still while the machine sleeps.
func (l *Lease) left() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	return l.long - l.long/10 - max(now.Sub(l.renewed), now.Round(0).Sub(l.renewed.Round(0)))
}

// Still returns nil while the lease lasts by this machine's clocks. It sends no request, so it can be asked before every record that leaves the
// process: one that was suspended notices then, and not when its timers fire.
func (l *Lease) Still() error {
	if cause := context.Cause(l.ctx); cause != nil {
		return cause
	}
	if l.left() <= 0 {
		l.lose(fmt.Errorf("%s: the lease of %v ended before it could be renewed: %w", l.table.name, l.long, ledger.ErrLost))
	}
	return context.Cause(l.ctx)
}

// keepAlive renews the lease three times in its length.
func (l *Lease) keepAlive(ctx context.Context) {
	defer close(l.stopped)
	look := time.NewTicker(l.long / 12)
	defer look.Stop()
	for l.Still() == nil {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		if left := l.left(); left > 0 && left < l.long*17/30 {
			within, cancel := context.WithTimeout(ctx, left)
			_ = l.swap(within, func(*content) {}) // a failure does no harm until the lease ends
			cancel()
		}
	}
}

// swap writes the document under the lease, and renews that.
func (l *Lease) swap(ctx context.Context, change func(*content)) error {
	if err := l.Still(); err != nil {
		return err
	}
	start := time.Now()
	now, _, err := l.table.ledger.Store().Now(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ledger.ErrBucket, err)
	}
	err = l.table.doc.Change(ctx, ledger.Change[content]{Apply: func(c *content) error {
		if !l.mine(c) {
			return fmt.Errorf("%s: another run has taken the push over: %w", l.table.name, ledger.ErrLost)
		}
		c.Lease.Until = now.Add(l.long)
		change(c)
		return nil
	}})
	switch {
	case err == nil:
		l.mu.Lock()
		defer l.mu.Unlock()
		l.renewed = start
	case errors.Is(err, ledger.ErrLost):
		l.lose(err)
	}
	return err
}

// Save has the document tell of all that is known, so that nobody reads the segments until now again.
func (l *Lease) Save(ctx context.Context) error { return l.swap(ctx, l.tell()) }

// tell gives the change that has the document tell of what is known now.
func (l *Lease) tell() func(*content) {
	if !l.known {
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

// Release gives the lease back, with all that is known. One that was lost is another's; all that was sent under it is in the segments.
func (l *Lease) Release(ctx context.Context) error {
	l.stop()
	<-l.stopped
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	tell, before := l.tell(), l.before
	err := l.Still()
	if err == nil {
		err = l.table.doc.Change(ctx, ledger.Change[content]{
			Apply: func(c *content) error {
				if !l.mine(c) {
					return ledger.ErrNothing
				}
				tell(c)
				c.Lease = before
				return nil
			},
			Done: func(c *content) bool { return !l.mine(c) },
		})
	}
	l.lose(ledger.ErrLost)
	if errors.Is(err, ledger.ErrLost) {
		return nil
	}
	return err
}

// Within gives a context that ends with the lease, too.
func (l *Lease) Within(ctx context.Context) (context.Context, context.CancelFunc) {
	within, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })
	return within, func() { unhook(); cancel(nil) }
}

// Append writes the next segment of the log, which is of a push. When another process has written it, the error is ledger.ErrLost.
func (l *Lease) Append(ctx context.Context, p *Push, s Segment) error {
	if err := l.Still(); err != nil {
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
		err = fmt.Errorf("%s is there already: another process has gone on with %s: %w", l.table.key(n), p.Head.Name, ledger.ErrLost)
		l.lose(err)
	}
	if err == nil {
		l.last, p.Head = n, h
		if !p.Live() {
			p.States = nil // a file of fifty million rows has 25 MB of them
		}
	}
	return err
}

// Put adds a push to those that are known, if it is new, in the place of what is known of a file of this name that was refused.
func (l *Lease) Put(p *Push) {
	l.Pushes = slices.DeleteFunc(l.Pushes, func(o *Push) bool { return o != p && o.Head.Whole == 0 && o.Head.Name == p.Head.Name })
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

// Sweep drops the pushes that gone accepts, and the objects that nothing needs any more. The numbers of segments stay taken until none of the
// pushes after them is held: what a process that slept so long writes under them would be taken for its success.
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
