package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"
)

// The wait before retry n is drawn uniformly from [0, min(backoffCeiling, backoffBase·2ⁿ⁻¹)): full
// jitter, see aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter. Eight attempts wait
// a minute in total on average, and two minutes at most.
const (
	backoffBase    = time.Second
	backoffCeiling = time.Minute
)

// An exchange is the state of one request.
type exchange struct {
	*Client
	Request
	veil      veil
	ctx       context.Context // the caller's
	budget    context.Context // the context of the current attempt; ends with the patience
	left      time.Duration   // what is left of the patience
	start     time.Time       // when the request got its first slot
	answer    Answer
	last      *failure
	slow      int  // number of answers that were too slow
	odd       bool // the last answer wasn't of the kind that was asked for
	alone     bool // other requests wait for this one, because nothing listens
	step      int  // number of waits drawn
	refreshed bool // the credential was read again
	maybe     bool // an attempt may have taken effect
	warned    int  // the status in the last warning about a retry; -1: there was none
	more      int  // later retries with the same status
}

// Do sends r until an answer is accepted, the patience or ctx ends, or another attempt can't help.
// Every error that it returns is an *Error.
func (c *Client) Do(ctx context.Context, r Request) (Answer, error) {
	x := exchange{Client: c, Request: r, veil: veil{c.secrets, r.Hidden, cmp.Or(r.Blot, "[secret]")}, ctx: ctx,
		left: c.patience, warned: -1}
	f := x.run()
	if x.alone {
		x.reach.endAlone(f == nil || !f.unreached)
	}
	if f != nil {
		return x.answer, x.explain(f)
	}
	return x.answer, nil
}

// run is the loop over attempts; nothing else repeats requests.
func (x *exchange) run() *failure {
	for try := 1; ; try++ {
		f := x.once()
		if f == nil && x.more > 0 {
			x.log.WarnContext(x.ctx, fmt.Sprintf("%s: attempt %d of %d was answered", x.Op, x.answer.Attempts,
				x.attempts))
		}
		if f == nil || f.final {
			return f
		}
		most := x.attempts
		if f.unreached {
			most, f.gone = x.listens()
		}
		wait := f.pause
		if wait == 0 {
			wait = x.Draw(min(backoffCeiling, backoffBase<<min(x.step, 10)))
			x.step++
		}
		// The limiter holds back all requests for a pause, which uses up no patience. A pause that
		// all attempts together can't wait out ends the request.
		f.gone = f.gone || f.pause > x.patience && (try >= most || f.pause > x.patience*time.Duration(most))
		if try >= most || f.gone && f.pause > 0 || f.pause == 0 && wait > x.left {
			return f
		}
		x.warn(f, wait)
		x.repeats(f, wait)
		if f.pause > 0 {
			continue
		}
		x.left -= wait
		x.meter.Backoff.Add(int64(wait))
		if x.rest(f, wait) != nil {
			return f
		}
	}
}

// rest waits between two attempts.
func (x *exchange) rest(f *failure, d time.Duration) error {
	one := &wait{of: x.waits}
	one.till(time.Now().Add(d), f.brief())
	defer one.over()
	return Sleep(x.ctx, d)
}

// once makes one attempt, from taking a slot to reading the whole answer, or two when the
// credential has changed. It decides whether another attempt may follow.
func (x *exchange) once() *failure {
	release, err := x.admit()
	if err != nil {
		if x.last == nil { // otherwise the last answer says more than this error
			x.last = &failure{err: x.veil.scrubError(err)}
		}
		x.last.final = true
		return x.last
	}
	var f *failure
	defer func() { release(f) }()
	defer x.spend()()
	secret := ""
	proves := x.Credential != nil && x.Credential.Source != nil
	if proves {
		if secret, err = x.Credential.Source.Token(x.budget); err != nil {
			return &failure{final: true, err: x.veil.scrubError(err)}
		}
	}
	f = x.attempt(secret)
	if f != nil && proves && errors.Is(f.err, ErrAuth) && f.status != http.StatusForbidden && !f.fromOtherHost &&
		!x.refreshed {
		f = x.refresh(secret, f)
	}
	if f == nil || !f.unreached && x.ctx.Err() == nil {
		x.reach.connected()
	}
	if f == nil {
		return nil
	}
	f.final = f.final || f.odd && x.odd
	x.odd = f.odd
	if f.slow && x.Splittable {
		x.slow++
		f.final = f.final || x.slow == 2
	}
	x.last = f
	return f
}

// spend limits an attempt to the patience that is left, and end subtracts the attempt's time from
// it. Requests without Read aren't limited here: record requests have their own limit.
func (x *exchange) spend() (end func()) {
	began, cancel := time.Now(), func() {}
	x.budget = x.ctx
	if x.Read != nil {
		x.budget, cancel = context.WithTimeoutCause(x.ctx, x.left, &timeout{"no whole answer", x.patience})
	}
	return func() { cancel(); x.left -= time.Since(began) }
}

// admit waits for a slot and for the limiter. The wait uses up no patience, because the request
// isn't to blame for a queue in this client or a pause that holds back all requests.
func (x *exchange) admit() (release func(*failure), err error) {
	if x.ctx.Err() != nil {
		return nil, context.Cause(x.ctx)
	}
	if err := x.await(); err != nil {
		return nil, err
	}
	sent, release, err := x.enter(x.ctx)
	if err != nil {
		return nil, err
	}
	if x.start.IsZero() {
		x.start = time.Now()
	}
	if err := x.limit(); err != nil {
		release(nil)
		return nil, err
	}
	sent()
	return release, nil
}

// enter waits for a slot, which for a report is one of the reportCap's.
func (x *exchange) enter(ctx context.Context) (sent func(), release func(*failure), err error) {
	if x.Report {
		p, err := x.reports.enter(ctx)
		if err != nil {
			return nil, nil, err
		}
		return p.sent, p.leave, nil
	}
	select {
	case x.slots <- struct{}{}:
		return func() {}, func(*failure) { <-x.slots }, nil
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
}

// limit waits for the limiter, and adds the time to the meter.
func (x *exchange) limit() error {
	began, one := time.Now(), &wait{of: x.waits}
	defer func() {
		one.over()
		waited := time.Since(began)
		x.meter.Limiter.Add(int64(waited))
		x.waited(one.why, waited)
	}()
	return x.limiter.wait(x.ctx, one)
}

// refresh reads the credential again after a 401. If it has changed, the request is sent again at
// once, and the outcome of that counts, even if it is another 401.
func (x *exchange) refresh(old string, f *failure) *failure {
	x.refreshed = true
	secret, err := x.Credential.newer(x.budget, old)
	if err != nil {
		f.err = fmt.Errorf("%w; reading it again: %w", f.err, x.veil.scrubError(err))
		return f
	}
	if secret == old || x.limit() != nil {
		return f
	}
	return x.attempt(secret)
}

const warnEvery = int64(time.Second)

// warn logs a retry. For records it logs one line a second at most, because thousands of them may
// get the same 429. In a row of retries with the same status only the first is logged as a warning;
// run then logs how the row ended.
func (x *exchange) warn(f *failure, wait time.Duration) {
	if x.record() {
		now, last := time.Now().UnixNano(), x.Client.warned.Load()
		if now-last < warnEvery || !x.Client.warned.CompareAndSwap(last, now) {
			return
		}
	}
	level := slog.LevelWarn
	if x.more++; f.status == x.warned {
		level = slog.LevelInfo
	} else {
		x.warned, x.more = f.status, 0
	}
	x.log.Log(x.ctx, level, fmt.Sprintf("%s: attempt %d of %d failed: %v", x.Op, x.answer.Attempts, x.attempts, f),
		"wait", wait, "status", f.status)
}

// explain turns the last failure into the error that people read.
func (x *exchange) explain(f *failure) error {
	e := &Error{Op: x.Op, Status: f.status, Code: f.code, Message: f.message, At: f.at, Attempts: x.answer.Attempts,
		Err: f.err}
	if !x.start.IsZero() {
		e.Elapsed = time.Since(x.start)
	}
	switch over := x.ctx.Err(); {
	case over != nil && errors.Is(f.err, over):
	case over != nil && f.own:
		e.Err = fmt.Errorf("%w: %w", over, f.err)
	case f.own:
	case over != nil && !f.verdict && !errors.Is(f.err, ErrAuth):
		e.Err = Ended(x.ctx, nil)
	case f.slow && x.Splittable && f.err == nil:
		e.Err = ErrTooSlow
	case (f.slow || f.long) && x.Splittable:
		e.Err = fmt.Errorf("%w: %w", ErrTooSlow, f.err)
	case f.gone:
		e.Err = &away{f.err}
	}
	// The last failure doesn't show whether an earlier attempt took effect, unless the endpoint has
	// said what became of the record.
	switch {
	case !x.maybe || f.verdict || errors.Is(e.Err, ErrUnknown):
	case e.Err == nil:
		e.Err = ErrUnknown
	default:
		e.Err = fmt.Errorf("%w; after an earlier attempt %w", e.Err, ErrUnknown)
	}
	return e
}

// Ended returns the error of the caller's ended context, with its cause. If the context hasn't
// ended, it returns err.
func Ended(ctx context.Context, err error) error {
	over := ctx.Err()
	switch cause := context.Cause(ctx); {
	case over == nil:
		return err
	case errors.Is(cause, over):
		return over
	default:
		return fmt.Errorf("%w: %w", over, cause)
	}
}
