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

	// growAfter is how many answers without overload it takes, besides that of the extra report,
	// until one more may be in flight.
	growAfter = 9

	// extraDivisor says for how long an extra report must be in flight beyond the cap to prove
	// anything: at least its whole time divided by extraDivisor.
	extraDivisor = 100

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

	mu               sync.Mutex
	limit            int       // how many may be in flight
	maxLimit         int       // what limit may grow to
	firstLimit       int       // what limit was at first
	inFlight         int       // how many are in flight
	slots            int       // slots that are taken or free
	answers          int       // answers without overload since limit last changed
	extraAllowed     bool      // an extra report may begin
	extraInFlight    bool      // the extra report is in flight
	endedDuringExtra time.Time // when the first other report ended during the extra one; zero if none has
	lastReduced      time.Time // when limit was last halved
}

// newReportCap returns the cap of one task among those that share the limits of Options.
func newReportCap(first, most int, s Share) *reportCap {
	c := &reportCap{limit: max(1, s.part(first)), maxLimit: max(1, s.part(most)), turn: newTurn(first, s)}
	c.firstLimit, c.slots = c.limit, c.limit
	c.free = semaphore.NewWeighted(int64(c.maxLimit))
	c.free.TryAcquire(int64(c.maxLimit - c.limit))
	return c
}

// A reportSlot is the slot of one report.
type reportSlot struct {
	*reportCap
	sentAt         time.Time // when the report was sent; zero before that
	inFlightAtSend int       // how many were in flight when it was sent, itself included
	extra          bool      // it is the extra report
}

// enter waits until another report may begin. The caller calls sent when it sends the report, and
// leave with its outcome.
func (c *reportCap) enter(ctx context.Context) (*reportSlot, error) {
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
	return &reportSlot{reportCap: c}, nil
}

// sent notes that the report is sent, and whether it is the extra one.
func (p *reportSlot) sent() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inFlight++
	p.sentAt, p.inFlightAtSend = time.Now(), p.inFlight
	if p.extra = p.extraAllowed && p.inFlightAtSend > p.limit; p.extra {
		p.extraAllowed, p.extraInFlight, p.endedDuringExtra = false, true, time.Time{}
	}
}

// leave adapts the cap to the report's outcome, which is nil for success, and frees the slot.
func (p *reportSlot) leave(f *failure) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.extra:
		p.extraInFlight = false
	case p.extraInFlight && p.endedDuringExtra.IsZero():
		p.endedDuringExtra = time.Now()
	}
	switch {
	case p.sentAt.IsZero():
	case f == nil && p.extra && !p.endedDuringExtra.IsZero() &&
		p.endedDuringExtra.Sub(p.sentAt) < time.Since(p.sentAt)/extraDivisor:
		// Try again, because the extra report exceeded the cap too briefly to prove anything.
		p.extraAllowed = p.limit < p.maxLimit
	case f == nil:
		p.answered(p.extra)
	case f.slow && p.sentAt.After(p.lastReduced): // a report sent before the last halving proves nothing new
		p.reduce(max(p.inFlightAtSend, p.inFlight), f.overload)
	}
	if !p.sentAt.IsZero() {
		p.inFlight--
	}
	p.passOn()
}

// answered counts an answer without overload, and raises the cap if it is the extra report's.
func (c *reportCap) answered(extra bool) {
	c.answers++
	switch {
	case c.limit >= c.maxLimit:
	case extra:
		c.limit, c.answers = c.limit+1, 0
	case !c.extraAllowed && !c.extraInFlight && c.answers >= growAfter-c.limit:
		// The others in flight are answered before the extra one.
		c.extraAllowed = true
	}
}

// passOn hands the slot of an ended report to the next one, unless there are more slots than the
// cap allows. It adds slots when there are fewer.
func (c *reportCap) passOn() {
	may := c.limit
	if c.extraAllowed {
		may++
	}
	if c.slots > may {
		c.slots--
	} else {
		c.free.Release(1)
	}
	for ; c.slots < may; c.slots++ {
		c.free.Release(1)
	}
}

// reduce halves the cap. For the rest of the run the cap stays below the number that was in flight.
// When the overload isn't certain, because a query may be slow by itself, the cap may still grow to
// its first value.
func (c *reportCap) reduce(under int, certain bool) {
	less := max(1, under-1)
	if !certain {
		less = max(less, c.firstLimit)
	}
	c.maxLimit = min(c.maxLimit, less)
	c.limit = min(c.limit, max(1, under/2))
	c.lastReduced, c.answers, c.extraAllowed = time.Now(), 0, false
	if certain && c.turn.count > 0 && c.turn.count < mostTurns {
		c.turn.count *= 2
	}
}

// A turn is the share of the wall clock's time in which a task may begin reports.
// Turns follow one another in a round, each for turnTime.
type turn struct {
	index int64 // this turn's number in the round, from 0
	count int64 // how many turns a round has; 0 when reports may begin at any time
}

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
