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
	scrubber      scrubber
	ctx           context.Context // the caller's
	budget        context.Context // the context of the current attempt; ends with the patience
	patienceLeft  time.Duration   // what is left of the patience
	start         time.Time       // when the request got its first slot
	answer        Answer          // the result so far
	last          *failure        // the last attempt's; nil before the first has failed
	slowAnswers   int             // number of answers that were too slow
	lastWrongKind bool            // the last answer wasn't of the kind that was asked for
	triesAlone    bool            // other requests wait for this one, because nothing listens
	backoffs      int             // number of waits drawn so far
	refreshed     bool            // the credential was read again
	maybeTaken    bool            // an attempt may have taken effect
	warnedStatus  int             // the status in the last warning about a retry; -1 if there was none
	sameStatus    int             // retries after that warning with the same status
}

// Do sends r until an answer is accepted, the patience or ctx ends, or another attempt can't help.
// Every error that it returns is an *Error.
func (c *Client) Do(ctx context.Context, r Request) (Answer, error) {
	x := exchange{Client: c, Request: r, ctx: ctx,
		scrubber:     scrubber{c.secrets, r.Hidden, cmp.Or(r.Replacement, "[secret]")},
		patienceLeft: c.patience, warnedStatus: -1}
	f := x.run()
	if x.triesAlone {
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
		f := x.tryOnce()
		if f == nil && x.sameStatus > 0 {
			x.log.WarnContext(x.ctx, fmt.Sprintf("%s: attempt %d of %d was answered", x.Op, x.answer.Attempts,
				x.attempts))
		}
		if f == nil || f.final {
			return f
		}
		// Find out how many attempts are allowed, and how long to wait before the next.
		most := x.attempts
		if f.unreached {
			most, f.unavailable = x.attemptsAllowed()
		}
		wait := f.pause
		if wait == 0 {
			wait = x.Draw(min(backoffCeiling, backoffBase<<min(x.backoffs, 10)))
			x.backoffs++
		}
		// The limiter holds back all requests for a pause, which uses up no patience. A pause that
		// all attempts together can't wait out ends the request.
		f.unavailable = f.unavailable ||
			f.pause > x.patience && (try >= most || f.pause > x.patience*time.Duration(most))
		if try >= most || f.unavailable && f.pause > 0 || f.pause == 0 && wait > x.patienceLeft {
			return f
		}
		// Log the retry, and wait.
		x.warn(f, wait)
		x.recordRetry(f, wait)
		if f.pause > 0 {
			continue
		}
		x.patienceLeft -= wait
		x.meter.Backoff.Add(int64(wait))
		if x.backOff(f, wait) != nil {
			return f
		}
	}
}

// backOff waits between two attempts.
func (x *exchange) backOff(f *failure, d time.Duration) error {
	one := &wait{waits: x.waits}
	one.set(time.Now().Add(d), f.brief())
	defer one.end()
	return Sleep(x.ctx, d)
}

// tryOnce makes one attempt, from taking a slot to reading the whole answer, or two when the
// credential has changed. It decides whether another attempt may follow.
func (x *exchange) tryOnce() *failure {
	release, err := x.admit()
	if err != nil {
		if x.last == nil { // otherwise the last answer says more than this error
			x.last = &failure{err: x.scrubber.scrubError(err)}
		}
		x.last.final = true
		return x.last
	}
	// Within the patience, read the credential and send the request.
	var f *failure
	defer func() { release(f) }()
	defer x.limitToPatience()()
	secret := ""
	proves := x.Credential != nil && x.Credential.Source != nil
	if proves {
		if secret, err = x.Credential.Source.Token(x.budget); err != nil {
			return &failure{final: true, err: x.scrubber.scrubError(err)}
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
	// Two answers of the wrong kind in a row end the request, and so do two slow ones that the
	// caller can avoid by asking for less.
	f.final = f.final || f.wrongKind && x.lastWrongKind
	x.lastWrongKind = f.wrongKind
	if f.slow && x.Splittable {
		x.slowAnswers++
		f.final = f.final || x.slowAnswers == 2
	}
	x.last = f
	return f
}

// limitToPatience limits an attempt to the patience that is left, and end subtracts the attempt's
// time from it. Requests without Read aren't limited here: record requests have their own limit.
func (x *exchange) limitToPatience() (end func()) {
	began, cancel := time.Now(), func() {}
	x.budget = x.ctx
	if x.Read != nil {
		x.budget, cancel = context.WithTimeoutCause(x.ctx, x.patienceLeft, &timeoutError{"no whole answer", x.patience})
	}
	return func() { cancel(); x.patienceLeft -= time.Since(began) }
}

// admit waits for a slot and for the limiter. The wait uses up no patience, because the request
// isn't to blame for a queue in this client or a pause that holds back all requests.
func (x *exchange) admit() (release func(*failure), err error) {
	if x.ctx.Err() != nil {
		return nil, context.Cause(x.ctx)
	}
	if err := x.awaitOther(); err != nil {
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
	began, one := time.Now(), &wait{waits: x.waits}
	defer func() {
		one.end()
		waited := time.Since(began)
		x.meter.Limiter.Add(int64(waited))
		x.recordWait(one.why, waited)
	}()
	return x.limiter.wait(x.ctx, one)
}

// refresh reads the credential again after a 401. If it has changed, the request is sent again at
// once, and the outcome of that counts, even if it is another 401.
func (x *exchange) refresh(old string, f *failure) *failure {
	x.refreshed = true
	secret, err := x.Credential.newer(x.budget, old)
	if err != nil {
		f.err = fmt.Errorf("%w; reading it again: %w", f.err, x.scrubber.scrubError(err))
		return f
	}
	if secret == old || x.limit() != nil {
		return f
	}
	return x.attempt(secret)
}

// warnEvery is the shortest time between two log lines about retries of records, in nanoseconds.
const warnEvery = int64(time.Second)

// warn logs a retry. For records it logs one line a second at most, because thousands of them may
// get the same 429. In a row of retries with the same status only the first is logged as a warning;
// run then logs how the row ended.
func (x *exchange) warn(f *failure, wait time.Duration) {
	if x.record() {
		now, last := time.Now().UnixNano(), x.lastWarned.Load()
		if now-last < warnEvery || !x.lastWarned.CompareAndSwap(last, now) {
			return
		}
	}
	level := slog.LevelWarn
	if x.sameStatus++; f.status == x.warnedStatus {
		level = slog.LevelInfo
	} else {
		x.warnedStatus, x.sameStatus = f.status, 0
	}
	x.log.Log(x.ctx, level, fmt.Sprintf("%s: attempt %d of %d failed: %v", x.Op, x.answer.Attempts, x.attempts, f),
		"wait", wait, "status", f.status)
}

// explain turns the last failure into the error that people read.
func (x *exchange) explain(f *failure) error {
	e := &Error{Op: x.Op, Status: f.status, Code: f.code, Message: f.message, At: f.address,
		Attempts: x.answer.Attempts, Err: f.err}
	if !x.start.IsZero() {
		e.Elapsed = time.Since(x.start)
	}
	switch over := x.ctx.Err(); {
	case over != nil && errors.Is(f.err, over):
	case over != nil && f.fromCaller:
		e.Err = fmt.Errorf("%w: %w", over, f.err)
	case f.fromCaller:
	case over != nil && !f.conclusive && !errors.Is(f.err, ErrAuth):
		e.Err = Ended(x.ctx, nil)
	case f.slow && x.Splittable && f.err == nil:
		e.Err = ErrTooSlow
	case (f.slow || f.tooLong) && x.Splittable:
		e.Err = fmt.Errorf("%w: %w", ErrTooSlow, f.err)
	case f.unavailable:
		e.Err = &awayError{f.err}
	}
	// The last failure doesn't show whether an earlier attempt took effect, unless the endpoint has
	// said what became of the record.
	switch {
	case !x.maybeTaken || f.conclusive || errors.Is(e.Err, ErrUnknown):
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
