package transport

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// fewReports is how many reports are under way at first. Twelve of one token made the service
	// answer 500 TimeoutError, six worked, and three are safe, say authors of other clients.
	fewReports = 3

	// growAfter is after how many answers without overload, and the one of the report that was
	// tried, one more may be under way.
	growAfter = 9

	// briefly is the part of the time of the report that is tried for which the cap has to be
	// exceeded.
	briefly = 100

	// turnTime is how long a task may begin reports, of several that share fewer reports than they
	// are.
	turnTime = 5 * time.Second

	// mostTurns is how many turns may go round, when reports that outlast their turns overload the
	// service: twice as many after each time.
	mostTurns = 100
)

// A reportCap bounds how many reports are under way at once. After about ten answers one more is
// tried alone; when it is answered, too, the cap is higher by one. It halves when the service is
// overloaded. All clients of one account in the process share it.
type reportCap struct {
	free *semaphore.Weighted
	turn turn

	mu      sync.Mutex
	now     int       // how many may be under way
	most    int       // what now may grow to
	safe    int       // how many were under way at first
	under   int       // how many are
	places  int       // how many are, or may begin
	quiet   int       // answers without overload since now has changed
	tries   bool      // one more may begin, to be tried
	trying  bool      // it is under way
	beyond  time.Time // when another report ended, so that the cap was exceeded no longer; zero: none has
	reduced time.Time // when now was halved last
}

// newReportCap makes the cap of one task, of several that share what Options say.
func newReportCap(first, most int, s Share) *reportCap {
	c := &reportCap{now: max(1, s.part(first)), most: max(1, s.part(most)), turn: newTurn(first, s)}
	c.safe, c.places = c.now, c.now
	c.free = semaphore.NewWeighted(int64(c.most))
	c.free.TryAcquire(int64(c.most - c.now))
	return c
}

// A place is that of one report.
type place struct {
	*reportCap
	began time.Time // when it was sent; zero: it wasn't
	under int       // how many were under way then
	tried bool      // it is beyond the cap
}

// enter waits until another report may be under way. The caller says when it is sent, and leaves
// with what became of it.
func (c *reportCap) enter(ctx context.Context) (*place, error) {
	if err := c.free.Acquire(ctx, 1); err != nil {
		return nil, context.Cause(ctx)
	}
	c.mu.Lock()
	turn := c.turn.until(time.Now())
	c.mu.Unlock()
	if err := Sleep(ctx, turn); err != nil {
		c.free.Release(1)
		return nil, err
	}
	return &place{reportCap: c}, nil
}

func (p *place) sent() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reportCap.under++
	p.began, p.under = time.Now(), p.reportCap.under
	if p.tried = p.tries && p.under > p.now; p.tried {
		p.tries, p.trying, p.beyond = false, true, time.Time{}
	}
}

func (p *place) leave(f *failure) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.tried:
		p.trying = false
	case p.trying && p.beyond.IsZero():
		p.beyond = time.Now()
	}
	switch {
	case p.began.IsZero():
	case f == nil && p.tried && !p.beyond.IsZero() && p.beyond.Sub(p.began) < time.Since(p.began)/briefly:
		p.tries = p.now < p.most // again: so short a time proves nothing
	case f == nil:
		p.answered(p.tried)
	case f.slow && p.began.After(p.reduced): // what was sent before tells nothing new
		p.reduce(max(p.under, p.reportCap.under), f.overload)
	}
	if !p.began.IsZero() {
		p.reportCap.under--
	}
	p.pass()
}

// answered takes note of an answer without overload.
func (c *reportCap) answered(tried bool) {
	c.quiet++
	switch {
	case c.now >= c.most:
	case tried:
		c.now, c.quiet = c.now+1, 0
	case !c.tries && !c.trying && c.quiet >= growAfter-c.now: // the others that are under way are answered before it is
		c.tries = true
	}
}

// pass gives the place of a report that has ended to the next one, unless there are too many, and
// more when there are too few.
func (c *reportCap) pass() {
	may := c.now
	if c.tries {
		may++
	}
	if c.places > may {
		c.places--
	} else {
		c.free.Release(1)
	}
	for ; c.places < may; c.places++ {
		c.free.Release(1)
	}
}

// reduce halves the cap. As many as were under way are too many for the rest of the run; when that
// is only probable, because a query may be slow for itself, as many as at first may be all the
// same.
func (c *reportCap) reduce(under int, certain bool) {
	less := max(1, under-1)
	if !certain {
		less = max(less, c.safe)
	}
	c.most = min(c.most, less)
	c.now = min(c.now, max(1, under/2))
	c.reduced, c.quiet, c.tries = time.Now(), 0, false
	if certain && c.turn.count > 0 && c.turn.count < mostTurns {
		c.turn.count *= 2
	}
}

// A turn is the time in which a task may begin reports, by the wall clock.
type turn struct{ index, count int64 } // of turns; a count of 0: any time

func newTurn(reports int, s Share) turn {
	if s.Count <= reports {
		return turn{}
	}
	count := (s.Count + reports - 1) / reports
	return turn{int64(s.Index % count), int64(count)}
}

// until is how long it takes until the task's next turn.
func (t turn) until(now time.Time) time.Duration {
	if t.count == 0 {
		return 0
	}
	round := int64(turnTime) * t.count
	at, begin := now.UnixNano()%round, int64(turnTime)*t.index
	switch {
	case at < begin:
		return time.Duration(begin - at)
	case at < begin+int64(turnTime):
		return 0
	}
	return time.Duration(begin + round - at)
}
