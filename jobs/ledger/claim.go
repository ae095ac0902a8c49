package ledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A Claim is the right to work on one unit, for as long as its lease is renewed. Claims of a unit are numbered objects,
// and the highest number holds. Number n+1 is created only when n was released, or when the last write to n was older than the
// lease by the store's own clock at the time of looking. The holder rewrites its object three times a lease: its heartbeat. One
// that was asleep for longer may send it between another's look and creation, and then learns at its next Guard that it has lost.
type Claim struct {
	ledger *Ledger
	table  string
	unit   string
	prefix string // of its objects
	number int
	body   claimBody
	lease  time.Duration
	swept  func(context.Context) (map[string]int, error) // looks at the last numbers swept, by unit

	mu      sync.Mutex
	renewed instant // when the last write that is known to have succeeded began
	stop    context.CancelFunc
	stopped chan struct{}
	ctx     context.Context // ends with ErrLost when the lease does
	lose    context.CancelCauseFunc
}

type claimBody struct {
	Run      string        `json:"run"`
	Name     string        `json:"name"` // of this claim alone
	Lease    time.Duration `json:"lease_ns"`
	Beat     int           `json:"beat"`
	Released bool          `json:"released"`
}

// A HeldError says who holds a unit.
type HeldError struct {
	Unit, Run string
	Free      time.Duration // at the latest after this time, if its holder is dead
	Beat      int           // number of its last heartbeat
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("claim %s: held by run %s; if that run is dead, it is free in %v", e.Unit, e.Run, e.Free.Round(time.Second))
}

// Claim takes the unit of a table for a run and keeps the lease alive until Release. When another run holds the unit,
// the error is a *HeldError.
func (l *Ledger) Claim(ctx context.Context, table, unit, run string, lease time.Duration) (*Claim, error) {
	return l.newClaim(table, unit, run, lease).claim(ctx)
}

func (c *Claim) claim(ctx context.Context) (*Claim, error) {
	used, err := c.used(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.follow(ctx, used); err != nil {
		return nil, err
	}
	return c, nil
}

func (l *Ledger) newClaim(table, unit, run string, lease time.Duration) *Claim {
	return &Claim{
		ledger: l, table: table, unit: unit, lease: lease, prefix: claimsOf(table) + unit + "/",
		swept: func(ctx context.Context) (map[string]int, error) {
			_, last, err := l.swept(ctx, table)
			return last, err
		},
		body: claimBody{Run: run, Name: rand.Text(), Lease: lease}, stopped: make(chan struct{}),
	}
}

// follow takes the number after those that were used when somebody looked, if the last of these is over. What was seen may be old:
// the creation and the second look tell.
func (c *Claim) follow(ctx context.Context, used used) error {
	if last := highest(used.keys); last > used.swept { // a lower one is void: its claimant was outrun
		if err := c.free(ctx, last); err != nil {
			return err
		}
	}
	// The creation isn't cut short when ctx ends. A claim that exists without its maker knowing would hold others up
	// for a lease.
	whole, done := outliving(ctx, 3*time.Second)
	defer done()
	return c.take(whole, used)
}

// outliving gives a context that ends some time after ctx does.
func outliving(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(by, cancel) })
	return longer, func() { stop(); cancel() }
}

// used are the claim numbers of a unit that must not be used again: those of its objects, and all up to the highest
// that was swept (deleted because it was released).
type used struct {
	keys  []string
	swept int
}

func (u used) top() int { return max(highest(u.keys), u.swept) }

// used reads the sequence numbers that the unit has used up. The order matters, because a sweep may run at the same time: it
// writes down the last number of a unit, and then deletes the unit's objects. The objects are listed first. If the sweep
// comes after that, the number is in the listing; if it came before, the number is in what the sweep has written down.
func (c *Claim) used(ctx context.Context) (u used, err error) {
	if u.keys, err = c.ledger.list(ctx, c.prefix); err != nil {
		return u, err
	}
	swept, err := c.swept(ctx)
	u.swept = swept[c.unit]
	return u, err
}

// take creates the number after those that are used. All of these are released or expired.
func (c *Claim) take(ctx context.Context, before used) error {
	c.number = before.top() + 1
	start := c.ledger.instant()
	own, err := c.ledger.createOwn(ctx, c.key(c.number), c.body)
	if err != nil {
		return fmt.Errorf("claim: %w", err)
	}
	if !own {
		return c.outrun()
	}
	// The second look: other claimants may have used and released this number since it was looked up, and a sweeper may
	// have deleted it. The highest number is recorded as swept before it is deleted, so a second look shows that.
	after, err := c.used(ctx)
	if err != nil {
		return err
	}
	if after.swept >= c.number || highest(after.keys) != c.number {
		_ = c.ledger.drop(ctx, c.key(c.number)) // it is void; if it stays, the next claimant drops it
		return c.outrun()
	}
	c.begin(ctx, start)
	_ = c.ledger.drop(ctx, before.keys...) // if they stay they do no harm, because ours is higher
	return nil
}

func (c *Claim) outrun() error {
	return &HeldError{Unit: c.unit, Run: "(another that was faster)", Free: c.lease}
}

// top is the highest number that exists.
func (c *Claim) top(ctx context.Context) (int, error) {
	keys, err := c.ledger.list(ctx, c.prefix)
	return highest(keys), err
}

func (c *Claim) key(n int) string { return fmt.Sprintf("%s%06d.json", c.prefix, n) }

// free returns nil when claim number n is over: released, or expired. Otherwise the error is a *HeldError, or says what
// failed.
func (c *Claim) free(ctx context.Context, n int) error {
	var other claimBody
	var damaged *DamagedError
	err := c.ledger.read(ctx, c.key(n), &other)
	switch {
	case isNotFound(err):
		return c.outrun()
	case errors.As(err, &damaged): // an unreadable claim, unlike a record, just expires
		other = claimBody{Run: "(unreadable)", Lease: c.lease}
	case err != nil:
		return err
	}
	if other.Released {
		return nil
	}
	// The order matters. The store's clock is read before the claim's last write, so that a heartbeat in between makes
	// the claim look younger, never older.
	now, err := c.ledger.now(ctx)
	if err != nil {
		return err
	}
	last, err := c.ledger.modified(ctx, c.key(n))
	if isNotFound(err) {
		return c.outrun()
	}
	if err != nil {
		return fmt.Errorf("claim %s: read its age: %w", c.ledger.location(c.key(n)), err)
	}
	if left := other.Lease - now.Sub(last); left >= 0 {
		return &HeldError{Unit: c.unit, Run: other.Run, Free: left, Beat: other.Beat}
	}
	return nil
}

func (c *Claim) begin(ctx context.Context, start instant) {
	c.renewed = start
	c.ctx, c.lose = context.WithCancelCause(context.WithoutCancel(ctx))
	beat, stop := context.WithCancel(c.ctx)
	c.stop = stop
	go c.keepAlive(beat)
}

// left is how long the lease still lasts by this process's clocks, less a tenth of it for clocks that drift apart.
func (c *Claim) left() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lease - c.lease/10 - c.ledger.instant().since(c.renewed)
}

// keepAlive sends the heartbeats, three in a lease, and ends the claim's context when they fail for too long. It reads
// the clocks more often than that, because a timer stands still while the machine sleeps.
func (c *Claim) keepAlive(ctx context.Context) {
	defer close(c.stopped)
	tick := time.NewTicker(c.lease / 3)
	defer tick.Stop()
	for {
		left := c.left()
		if left <= 0 {
			c.lose(fmt.Errorf("%s: the lease of %v ended before it could be renewed: %w", c.key(c.number), c.lease, ErrLost))
			return
		}
		look := time.NewTimer(min(left, c.lease/12))
		select {
		case <-ctx.Done():
			look.Stop()
			return
		case <-look.C:
		case <-tick.C:
			look.Stop()
			c.beat(ctx)
		}
	}
}

// beat sends one heartbeat, which renews the lease. A failure does no harm until the lease ends. A claim that another
// run has overtaken is lost at once, whatever the clocks say.
func (c *Claim) beat(ctx context.Context) {
	start, left := c.ledger.instant(), c.left()
	if left <= 0 {
		return // stopped or suspended for too long: the unit may be another's by now
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	switch top, err := c.top(ctx); {
	case err != nil:
		return
	case top != c.number:
		c.lose(c.overtaken())
		return
	}
	c.body.Beat++
	if err := c.ledger.write(ctx, c.key(c.number), c.body); err != nil {
		return
	}
	// The machine may have slept while the write was under way, for longer than the lease. Another run may then have
	// found the lease over and taken the unit before the write reached the store, so this heartbeat renews nothing.
	if c.left() <= 0 {
		return
	}
	c.mu.Lock()
	c.renewed = start
	c.mu.Unlock()
}

func (c *Claim) overtaken() error {
	return fmt.Errorf("%s: another run has taken the unit over: %w", c.key(c.number), ErrLost)
}

// Leased returns nil while the lease lasts by this process's own clocks. It sends no request, so it can be asked before
// every record that leaves the process: a process that was suspended then notices before it acts, and not when its
// timers fire.
func (c *Claim) Leased() error {
	if cause := context.Cause(c.ctx); cause != nil {
		return cause
	}
	if c.left() <= 0 {
		return fmt.Errorf("%s: the lease of %v is over: %w", c.key(c.number), c.lease, ErrLost)
	}
	return nil
}

// Guard allows one put: it checks that no higher number exists, and gives a context that ends with the lease.
func (c *Claim) Guard(ctx context.Context) (context.Context, context.CancelFunc, error) {
	top, err := c.top(ctx)
	if err != nil {
		return nil, nil, err
	}
	if top != c.number {
		return nil, nil, c.overtaken()
	}
	return c.Within(ctx)
}

// Within gives a context that ends with the lease. It sends no request: whoever has taken the claim over shows when the next heartbeat
// is sent, or when this process's own clocks say that the lease is over.
func (c *Claim) Within(ctx context.Context) (context.Context, context.CancelFunc, error) {
	if err := c.Leased(); err != nil {
		return nil, nil, err
	}
	guarded, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(c.ctx, func() { cancel(context.Cause(c.ctx)) })
	return guarded, func() { unhook(); cancel(nil) }, nil
}

// Release gives the unit back. On a claim that was lost it does nothing.
func (c *Claim) Release(ctx context.Context) error {
	c.stop()
	<-c.stopped
	lost := context.Cause(c.ctx) != nil || c.left() <= 0
	c.lose(nil)
	if lost {
		return nil
	}
	c.body.Released = true
	return c.ledger.write(ctx, c.key(c.number), c.body)
}

// An instant is a moment by two clocks: the wall clock, which people set, and the running time, which may stand still
// in sleep.
type instant struct {
	wall    time.Time
	running time.Duration
}

func (l *Ledger) instant() instant {
	wall, running := l.clock()
	return instant{wall, running}
}

// since is how much time has passed, by the clock that shows more. A process that overestimates it gives up a lease
// that it still has, which costs work; one that underestimates it would keep a lease that is another's by now.
func (i instant) since(earlier instant) time.Duration {
	return max(i.wall.Sub(earlier.wall), i.running-earlier.running)
}
