package transport

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// fewReports is how many reports may be in flight at first. Authors of other clients say that
	// twelve with one token made the service answer 500 TimeoutError, that six worked, and that
	// three are safe.
	fewReports = 3

	// growAfter is how many answers without overload it takes, together with that of the extra
	// report, until one more may be in flight.
	growAfter = 9

	// briefly sets for how long an extra report has to exceed the cap: at least its whole time
	// divided by briefly.
	briefly = 100

	// turnTime is how long one task may begin reports before the next one may, when there are more
	// tasks than reports in flight.
	turnTime = 5 * time.Second

	// mostTurns limits the number of turns in a round. It doubles each time that reports which
	// outlast their turns overload the service.
	mostTurns = 100
)

// A reportCap limits how many reports are in flight at once. After about ten answers it lets one
// report begin beyond the cap, the extra report. If that one is answered as well, the cap rises by
// one. The cap halves when the service is overloaded. All clients of one account in the process
// share it.
type reportCap struct {
	free *semaphore.Weighted
	turn turn

	mu      sync.Mutex
	now     int       // how many may be in flight
	most    int       // what now may grow to
	safe    int       // what now was at first
	under   int       // how many are in flight
	places  int       // slots handed out or free
	quiet   int       // answers without overload since now last changed
	tries   bool      // an extra report may begin
	trying  bool      // the extra report is in flight
	beyond  time.Time // when another report ended during the extra one, and the cap was kept again; zero: none has
	reduced time.Time // when now was halved last
}

// newReportCap returns the cap of one task among those that share the limits of Options.
func newReportCap(first, most int, s Share) *reportCap {
	c := &reportCap{now: max(1, s.part(first)), most: max(1, s.part(most)), turn: newTurn(first, s)}
	c.safe, c.places = c.now, c.now
	c.free = semaphore.NewWeighted(int64(c.most))
	c.free.TryAcquire(int64(c.most - c.now))
	return c
}

// A place is the slot of one report.
type place struct {
	*reportCap
	began time.Time // when the report was sent; zero: it wasn't
	under int       // how many were in flight when it was sent, itself included
	tried bool      // it is the extra report
}

// enter waits until another report may begin. The caller calls sent when it sends the report, and
// leave with its outcome.
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

// sent notes that the report is sent, and whether it is the extra one.
func (p *place) sent() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reportCap.under++
	p.began, p.under = time.Now(), p.reportCap.under
	if p.tried = p.tries && p.under > p.now; p.tried {
		p.tries, p.trying, p.beyond = false, true, time.Time{}
	}
}

// leave adapts the cap to the report's outcome, which is nil for success, and frees the slot.
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
		p.tries = p.now < p.most // try again, because it exceeded the cap too briefly to prove anything
	case f == nil:
		p.answered(p.tried)
	case f.slow && p.began.After(p.reduced): // a report sent before the last halving proves nothing new
		p.reduce(max(p.under, p.reportCap.under), f.overload)
	}
	if !p.began.IsZero() {
		p.reportCap.under--
	}
	p.pass()
}

// answered counts an answer without overload.
func (c *reportCap) answered(tried bool) {
	c.quiet++
	switch {
	case c.now >= c.most:
	case tried:
		c.now, c.quiet = c.now+1, 0
	case !c.tries && !c.trying && c.quiet >= growAfter-c.now: // the others in flight are answered before the extra one
		c.tries = true
	}
}

// pass hands the slot of an ended report to the next one, unless there are more slots than the cap
// allows. It adds slots when there are fewer.
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

// reduce halves the cap. For the rest of the run the cap stays below the number that was in flight.
// When the overload isn't certain, because a query may be slow by itself, the cap may still grow to
// its first value.
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

// A turn is the share of the wall clock's time in which a task may begin reports.
type turn struct{ index, count int64 } // this turn's number, and how many there are; a count of 0: no limit

// newTurn returns the turn of a task. Each turn is shared by as many tasks as reports may be in
// flight, at most.
func newTurn(reports int, s Share) turn {
	if s.Count <= reports {
		return turn{}
	}
	count := (s.Count + reports - 1) / reports
	return turn{int64(s.Index % count), int64(count)}
}

// until returns the time until the task's next turn, 0 during it.
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
