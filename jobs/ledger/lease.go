package ledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"cloud.google.com/go/civil"
	"golang.org/x/sync/errgroup"
)

// A lease is the right of one unit of work to replace a partition. It is stored in the month's
// document. Others leave the partition alone until the lease expires by the store's clock. If a
// lease has expired and is still stored, it is unknown what the sinks hold: its owner may have put
// something that isn't recorded, or may still put it.
type lease struct {
	Token string    `json:"token"` // the random name of the Lease
	Run   string    `json:"run"`
	Task  string    `json:"task,omitempty"`  // platform's name of the task; its next attempt takes over at once
	Until time.Time `json:"until,omitzero"`  // zero: the lease was given back, and the partition is in doubt
	Doubt bool      `json:"doubt,omitempty"` // the partition was in doubt when it was leased, or came to be since
	// Late is true when a run that had lost the partition has put something since. A record then
	// doesn't end the doubt.
	Late    bool     `json:"late,omitempty"`
	Earlier []string `json:"earlier,omitempty"` // tokens of earlier leases whose owners may still put something
}

// A Lease is the right of one unit of work to replace some partitions of a table, until End. It is
// safe for concurrent use.
type Lease struct {
	*Renewal
	table *Table
	run   string
	token string

	mu   sync.Mutex
	open map[civil.Date]bool // the partitions that aren't recorded yet; true: something of them may have been put
	sent map[civil.Date]bool // open partitions whose record was sent, which may have ended their lease already

	uncommitted map[string]bool // the months in which nothing has been committed yet
	allPut      func()          // see WithPut; may be nil
}

// A HeldError says which run has leased a partition.
type HeldError struct {
	Unit, Run string
	Until     time.Time     // when the lease ends, by the store's clock, unless it is renewed
	Free      time.Duration // time left until then
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("lease %s: held by run %s; if that run is dead, it is free in %v", e.Unit, e.Run,
		e.Free.Round(time.Second))
}

// Begin leases partitions for a unit of a run, either all or none, in one swap a month. The table
// then has the records that the unit is to replace, as they were in that swap. When another run has
// leased one of the partitions, the error is a *HeldError.
func (t *Table) Begin(ctx context.Context, run string, partitions []civil.Date) (*Lease, error) {
	l := &Lease{table: t, run: run, token: rand.Text(), open: map[civil.Date]bool{}, sent: map[civil.Date]bool{},
		uncommitted: map[string]bool{}}
	for _, p := range partitions {
		l.open[p] = false
	}
	l.Renewal = t.ledger.NewRenewal(ctx, t.name, l.renewAll)
	// The swaps aren't interrupted when ctx ends, because a lease that its maker doesn't know of
	// would hold others up until it expires.
	whole, done := outliving(ctx, 3*time.Second)
	defer done()
	for _, name := range l.months() {
		err := l.swap(whole, name, l.take)
		if held := (*HeldError)(nil); errors.As(err, &held) { // the document may be old, so it is read again
			if err = t.load(whole, name); err == nil {
				err = l.swap(whole, name, l.take)
			}
		}
		if err != nil {
			return nil, errors.Join(err, l.End(ctx))
		}
	}
	l.join(ctx)
	l.Start()
	return l, nil
}

// outliving returns a context that ends the given time after ctx does.
func outliving(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(by, cancel) })
	return longer, func() { stop(); cancel() }
}

// months returns the months of the open partitions.
func (l *Lease) months() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := map[string]bool{}
	for p := range l.open {
		names[monthOf(p)] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// openIn returns the open partitions of a month, ascending.
func (l *Lease) openIn(name string) []civil.Date {
	l.mu.Lock()
	defer l.mu.Unlock()
	open := slices.SortedFunc(maps.Keys(l.open), civil.Date.Compare)
	within := inMonth(name)
	return slices.DeleteFunc(open, func(p civil.Date) bool { return !within(p) })
}

// swap changes the leases of a month, given the store's time. That time is computed from the last
// answer and this process's monotonic clock, which may stand still while the machine sleeps. If the
// answer to the swap shows that it did, the leases are written once more, because they would expire
// too early.
func (l *Lease) swap(ctx context.Context, name string, change func(map[civil.Date]lease, []civil.Date,
	time.Time) error) error {
	t := l.table
	var now time.Time
	apply := func(m *month) error {
		err := t.ready(name, m)
		if err != nil {
			return err
		}
		if now, _, err = t.ledger.store.Now(ctx); err != nil {
			return fmt.Errorf("%w: %w", ErrBucket, err)
		}
		s := m.sectionOf(t.derived)
		if s.Leases == nil {
			s.Leases = map[civil.Date]lease{}
		}
		return change(s.Leases, l.openIn(name), now)
	}
	err := t.document(name).Change(ctx, Change[month]{Apply: apply})
	if err == nil && t.ledger.store.Time().Sub(now) > t.ledger.lease/10 {
		err = t.document(name).Change(ctx, Change[month]{Apply: apply})
	}
	t.takeDocument(name)
	return err
}

// take leases partitions. It is called again after a swap whose answer was lost, and then finds its
// own token.
func (l *Lease) take(leases map[civil.Date]lease, open []civil.Date, now time.Time) error {
	t := l.table
	for _, p := range open {
		had, leased := leases[p]
		mine := had.Token == l.token
		if leased && !mine && now.Before(had.Until) && (had.Task == "" || had.Task != t.ledger.task) {
			return &HeldError{Unit: p.String(), Run: had.Run, Until: had.Until, Free: had.Until.Sub(now)}
		}
		if leased && !mine {
			had = lease{Doubt: true, Earlier: had.after(had.Token)}
		}
		had.Token, had.Run, had.Task, had.Until = l.token, l.run, t.ledger.task, now.Add(t.ledger.lease)
		leases[p] = had
	}
	return nil
}

// after returns the tokens of Earlier, with token added.
func (l lease) after(token string) []string {
	if slices.Contains(l.Earlier, token) {
		return l.Earlier
	}
	return append(slices.Clip(l.Earlier), token)
}

// renewAll renews the leases of all months.
func (l *Lease) renewAll(ctx context.Context) error {
	for _, name := range l.months() {
		if err := l.swap(ctx, name, l.renew); err != nil {
			return err
		}
	}
	return nil
}

// renew renews the leases of the open partitions. The error is ErrLost when another run has taken
// one of them over.
func (l *Lease) renew(leases map[civil.Date]lease, open []civil.Date, now time.Time) error {
	for _, p := range open {
		had := leases[p]
		if had.Token != l.token {
			if l.wasSent(p) {
				continue
			}
			return l.overtaken(p)
		}
		had.Until = now.Add(l.table.ledger.lease)
		leases[p] = had
	}
	return nil
}

// overtaken returns the error for a partition that another run has taken over.
func (l *Lease) overtaken(p civil.Date) error {
	return fmt.Errorf("%s/%s: another run has taken it over: %w", l.table.name, p, ErrLost)
}

// giveBack ends the leases of the open partitions. A partition stays in doubt
//   - if it was in doubt before, or
//   - if something may have been put, even when another run has leased the partition meanwhile,
//     because the put may have replaced that run's rows.
func (l *Lease) giveBack(leases map[civil.Date]lease, open []civil.Date, _ time.Time) error {
	changed := false
	for _, p := range open {
		had, leased := leases[p]
		mine, put := leased && had.Token == l.token, l.mayHavePut(p)
		switch {
		case put && (mine || !leased):
			leases[p] = lease{Token: l.token, Run: l.run, Doubt: true, Earlier: had.Earlier}
		case put: // written in any case, because the winner may have recorded it since the document was read
			had.Doubt, had.Late, had.Earlier = true, true, had.after(l.token)
			leases[p] = had
		case mine && had.Doubt:
			had.Until = time.Time{}
			leases[p] = had
		case mine:
			delete(leases, p)
		default:
			continue
		}
		changed = true
	}
	if !changed {
		return ErrNothing
	}
	return nil
}

// Putting notes that something of a partition is about to be put. Until the partition is recorded,
// it is in doubt.
func (l *Lease) Putting(p civil.Date) { l.set(p, true) }

// Unput notes that the put is known to have changed nothing.
func (l *Lease) Unput(p civil.Date) { l.set(p, false) }

// set stores whether something of an open partition may have been put.
func (l *Lease) set(p civil.Date, put bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, open := l.open[p]; open {
		l.open[p] = put
	}
}

// mayHavePut reports whether something of a partition may have been put.
func (l *Lease) mayHavePut(p civil.Date) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[p]
}

// markSent notes that the record of a partition is about to be sent.
func (l *Lease) markSent(p civil.Date) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent[p] = true
}

// wasSent reports whether a record of the partition was sent. Whether it took effect is known
// from the answer to that record.
func (l *Lease) wasSent(p civil.Date) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent[p]
}

// markRecorded notes that a partition is recorded, which has ended its lease.
func (l *Lease) markRecorded(p civil.Date) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, p)
}

// End gives back the leases of partitions that aren't recorded, so that others needn't wait until
// they expire. It takes at most as long as the lease, and five seconds after ctx has ended.
func (l *Lease) End(ctx context.Context) error {
	l.Stop()
	defer l.Lose(nil)
	l.table.mu.Lock()
	uncommitted := slices.Collect(maps.Keys(l.uncommitted))
	l.table.mu.Unlock()
	for _, name := range uncommitted {
		l.leave(name)
	}
	ctx, cancel := outliving(ctx, 5*time.Second)
	defer cancel()
	ctx, stop := context.WithTimeout(ctx, l.ledger.lease)
	defer stop()
	var errs []error
	for _, name := range l.months() {
		if err := l.swap(ctx, name, l.giveBack); err != nil {
			errs = append(errs, fmt.Errorf("give back %s/%s: %w", l.table.name, name, err))
		}
	}
	return errors.Join(errs...)
}

// Token returns the random, unique name of this lease.
func (l *Lease) Token() string { return l.token }

// Earlier returns the tokens of a partition's earlier leases. Their runs have lost the partition,
// but may still put something.
func (l *Lease) Earlier(p civil.Date) []string { return l.table.leaseOf(p).Earlier }

// Check reads the months again. The error is ErrLost if another run has taken over a partition.
func (l *Lease) Check(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, name := range l.months() {
		g.Go(func() error {
			if err := l.table.load(ctx, name); err != nil {
				return err
			}
			for _, p := range l.openIn(name) {
				if l.table.leaseOf(p).Token != l.token && !l.wasSent(p) {
					return l.overtaken(p)
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// Holders returns the partitions on which runs work now, with the IDs of these runs, as of the last
// read of the table. It is meant for display.
func (t *Table) Holders() map[civil.Date]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	held, now := map[civil.Date]string{}, t.ledger.store.Time()
	for p, l := range t.leases {
		if now.Before(l.Until) {
			held[p] = l.Run
		}
	}
	return held
}

// Leased reports whether a run works on a partition now, as of the last read of the table. The
// sinks may then hold something that isn't recorded yet.
func (t *Table) Leased(p civil.Date) bool {
	return t.ledger.store.Time().Before(t.leaseOf(p).Until)
}

// leaseOf returns the stored lease of a partition, or the zero lease.
func (t *Table) leaseOf(p civil.Date) lease {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.leases[p]
}

// view returns a partition's record at a moment. For a partition in doubt, the record says so, and
// the rest is taken from the last record, if there is one. The caller must hold mu.
func (t *Table) view(p civil.Date, now time.Time) (Record, bool) {
	e, recorded := t.entries[p]
	if l, leased := t.leases[p]; leased && (l.Doubt || !now.Before(l.Until)) {
		e.Partition, e.State, e.Hash, e.Run, e.Doubt = p, Publishing, "", l.Run, true
		return e, true
	}
	return e, recorded
}

// Recorded returns the record of a partition as it was written, whether or not the partition is in
// doubt.
func (t *Table) Recorded(p civil.Date) (Record, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, recorded := t.entries[p]
	return e, recorded
}
