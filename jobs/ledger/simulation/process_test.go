package simulation

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A process is one run of the program. It lives in a bubble of its own, so that its clock is its
// own too: it stands still, and its timers with it, while the process is suspended, as the
// monotonic clock of a machine that sleeps does. Outside the bubble, and only while the bubble is
// at rest, the world decides which of its calls is answered next.
type process struct {
	world  *world
	name   string
	nth    int
	page   int
	force  bool
	mute   bool // its renewals seldom arrive
	task   string
	clean  bool // the last run, to which nothing happens
	bereft bool // a month is gone that the index names
	jumps  []jump

	orders  chan order  // made outside the bubble: waiting for them holds its clock
	reports chan report // as well
	born    time.Time   // in the bubble, at the world's time of the birth
	birth   time.Duration
	lag     atomic.Int64 // nanoseconds for which it was suspended; the world adds to it while a renewal may ask

	mu       sync.Mutex
	issued   []*call // since the last report
	dead     bool
	finished bool
	wake     chan struct{} // of the bubble
	stop     context.CancelFunc

	// What follows is the world's.
	pending   []*call // sent and not answered
	controls  []*event
	suspended bool
	over      bool
	gone      chan struct{} // closed when the bubble is
	next      func()        // what comes after it
	outcome   string
	working   bool      // a unit has begun
	until     time.Time // the end of its last lease that the store has confirmed
	renewed   *call     // by which it has that
	proving   bool      // it is about to see whether the sink's store honours conditions, or has just seen it
}

// A jump is a step of the wall clock.
type jump struct{ at, by time.Duration }

// A call is a request on its way, and what became of it.
type call struct {
	request
	process    *process
	store      *store // nil: the service's
	nth        int
	publishing bool          // by the one goroutine that publishes
	at         time.Duration // when it was sent
	tick       int64
	wall, ran  time.Duration // by its sender's clocks

	done      chan struct{} // of the bubble
	result    result        // that its caller is given
	abandoned bool          // nobody waits for it any more

	waiting  *event // its arrival at the store, until then
	answerAt time.Duration
	answered bool
	lost     bool // its caller is told of an error, whatever the store has done
}

// publishing marks the context of a publication.
type publishing struct{}

// An order says what the bubble's root is to do before it lets the clock run on.
type order struct {
	answer *call
	until  time.Duration // of the world: for so long at most, or until the process asks for something
	kill   bool
}

type report struct {
	now      time.Duration
	issued   []*call
	finished bool
}

// now is the world's time as far as the process knows it. Only the bubble asks.
func (p *process) now() time.Duration {
	return p.birth + time.Since(p.born) + time.Duration(p.lag.Load())
}

// Clock is what the process takes for the time: the wall's, which may be wrong, and the time for
// which it has been running, which stands still while it is suspended.
func (p *process) clock() (wall time.Time, running time.Duration) {
	read, running := p.clocks(p.now())
	return epoch.Add(read), running
}

// clocks are what both show at a time of the world.
func (p *process) clocks(now time.Duration) (wall, running time.Duration) {
	wall = now
	for _, j := range p.jumps {
		if now >= j.at {
			wall += j.by
		}
	}
	return wall, now - p.birth - time.Duration(p.lag.Load())
}

// live is the root of the bubble.
func (p *process) live(t *testing.T, run func(context.Context)) {
	begin := <-p.orders // until then the world may be busy with another
	synctest.Test(t, func(*testing.T) {
		time.Sleep(time.Until(epoch.Add(p.birth))) // bubbles begin in the year 2000
		p.born = time.Now()
		p.wake = make(chan struct{}, 1)
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		p.stop = stop
		go func() {
			run(ctx)
			p.mu.Lock()
			p.finished = true
			p.mu.Unlock()
			p.rouse()
		}()
		for o := begin; ; o = <-p.orders {
			p.obey(o)
			r := p.look()
			p.reports <- r
			if r.finished {
				return
			}
		}
	})
}

func (p *process) obey(o order) {
	if o.kill {
		p.die()
		return
	}
	if o.answer != nil {
		close(o.answer.done)
	}
	for {
		synctest.Wait()
		select {
		case <-p.wake:
		default:
		}
		if p.busy() || p.now() >= o.until {
			return
		}
		sleep := time.NewTimer(o.until - p.now())
		select {
		case <-sleep.C:
		case <-p.wake:
		}
		sleep.Stop()
	}
}

// die ends the process: all its calls fail from here, so that its goroutines come to their ends.
func (p *process) die() {
	p.mu.Lock()
	p.dead = true
	p.mu.Unlock()
	p.stop()
	for {
		for _, c := range p.pending {
			c.result = result{err: errDead}
			if !c.answered {
				c.answered = true
				close(c.done)
			}
		}
		synctest.Wait()
		if p.look().finished {
			return
		}
		time.Sleep(time.Second)
	}
}

func (p *process) busy() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.issued) > 0 || p.finished
}

// look gives what the process has asked for since the last look, in an order that doesn't hang on
// goroutines'.
func (p *process) look() report {
	p.mu.Lock()
	defer p.mu.Unlock()
	issued := p.issued
	p.issued = nil
	slices.SortStableFunc(issued, func(a, b *call) int {
		return cmp.Or(cmp.Compare(a.op, b.op), cmp.Compare(a.key, b.key))
	})
	return report{p.now(), issued, p.finished}
}

func (p *process) rouse() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// horizon is when the next thing happens to the process that it doesn't do itself.
func (p *process) horizon(now time.Duration) time.Duration {
	next := now + 10*time.Minute
	for _, c := range p.pending {
		next = min(next, c.answerAt)
	}
	for _, e := range p.controls {
		next = min(next, e.at)
	}
	return next
}

// call sends a request and waits for the answer, or until ctx ends.
func (p *process) call(ctx context.Context, s *store, r request) result {
	if err := ctx.Err(); err != nil {
		return result{err: err}
	}
	c := &call{request: r, process: p, store: s, done: make(chan struct{}), publishing: ctx.Value(publishing{}) != nil}
	p.mu.Lock()
	if p.dead {
		p.mu.Unlock()
		return result{err: errDead}
	}
	p.issued = append(p.issued, c)
	p.mu.Unlock()
	p.rouse()
	select {
	case <-c.done:
		return c.result
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		c.abandoned = true
		return result{err: ctx.Err()}
	}
}
