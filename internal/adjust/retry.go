package adjust

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// The wait before retry n is drawn evenly from [0, min(backoffCeiling, backoffBase·2ⁿ⁻¹)): full jitter, see
// aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter. Eight attempts wait a minute in the mean, two at most.
const (
	backoffBase    = time.Second
	backoffCeiling = time.Minute
)

// Answer tells how a request went that was answered in the end.
type Answer struct {
	Started  time.Time // when the first attempt was sent
	Empty    bool      // 204: nothing matches
	Bytes    int64     // of the accepted body, after decompression
	Attempts int
}

// A request is asked until one answer is read whole, the budget ends, or asking again can't help.
// One that writes must be safe to repeat: that an answer was lost doesn't tell that nothing was done.
type request struct {
	op         string
	method     string // default GET
	url        string
	body       []byte   // JSON; nil: none
	hidden     []string // values that no error and no log may show
	denied     error    // ErrAuth in words of its own; may be nil
	private    bool     // what a 200 holds is shown to nobody. Of app automation
	types      []string // media types of the answer, the one for people first
	never      string   // bytes that the answer can't begin with
	csv        bool     // counts into Meter.Bytes
	metrics    []string // asked for; only to find the one that is refused
	splittable bool
	read       func(io.Reader) error
}

// tries is the state of one request. It is its own backoff policy.
type tries struct {
	*Client
	request
	veil      veil
	ctx       context.Context // the caller's
	budget    context.Context // ends with the patience; nil until the first slot
	cancel    context.CancelFunc
	start     time.Time // of the first slot
	answer    Answer
	last      *failure
	slow      int // answers that were too slow
	step      int // waits drawn
	refreshed bool
}

// reports is the address of an endpoint of the reports; do refuses it when there is none.
func (c *Client) reports(endpoint string) string {
	if c.base == nil {
		return ""
	}
	return c.base.String() + "/reports-service/" + endpoint
}

func (c *Client) do(ctx context.Context, r request) (Answer, error) {
	if c.base == nil {
		return Answer{}, &Error{Op: r.op, Err: errors.New("this client has no base_url, it is for ad spend or sharing only")}
	}
	t := &tries{Client: c, request: r, veil: veil{c.secrets, r.hidden, "[secret]"}, ctx: ctx, cancel: func() {}}
	defer func() { t.cancel() }()
	_, err := backoff.Retry(ctx, t.once, backoff.WithBackOff(t), backoff.WithMaxTries(uint(c.attempts)),
		backoff.WithMaxElapsedTime(0), backoff.WithNotify(t.again))
	if err == nil {
		return t.answer, nil
	}
	return t.answer, t.explain()
}

// once makes one attempt, from the slot to the end of reading, and decides whether another may follow.
func (t *tries) once() (struct{}, error) {
	release, token, err := t.admit()
	if err != nil {
		if t.last == nil { // else the last answer says more than a wait that the budget didn't allow
			t.last = &failure{err: t.veil.scrubError(err)}
		}
		return struct{}{}, backoff.Permanent(err)
	}
	defer release()
	f := t.send(token)
	if f != nil && f.status == 401 && !f.away && !t.refreshed {
		f = t.refresh(token, f)
	}
	if f == nil {
		return struct{}{}, nil
	}
	t.last = f
	if f.slow && t.splittable {
		t.slow++
		f.final = f.final || t.slow == 2
	}
	if f.final {
		return struct{}{}, backoff.Permanent(f)
	}
	return struct{}{}, f
}

// admit waits for a slot and for the limiter. The patience begins with the first slot: a queue in front of this
// client is not the service's fault.
func (t *tries) admit() (release func(), token string, err error) {
	ctx := t.ctx
	if t.budget != nil {
		ctx = t.budget
	}
	if ctx.Err() != nil {
		return nil, "", context.Cause(ctx)
	}
	select {
	case t.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, "", context.Cause(ctx)
	}
	free := func() { <-t.slots }
	if t.budget == nil {
		t.start = time.Now()
		t.budget, t.cancel = context.WithTimeoutCause(t.ctx, t.patience, &timeout{"no whole answer", t.patience})
	}
	if err := t.limit(); err != nil {
		free()
		return nil, "", err
	}
	if token, err = t.token.Token(t.budget); err != nil {
		free()
		return nil, "", err
	}
	return free, token, nil
}

func (t *tries) limit() error {
	began := time.Now()
	defer func() { t.meter.Limiter.Add(int64(time.Since(began))) }()
	return t.limiter.wait(t.budget, t.start.Add(t.patience))
}

// refresh reads the token again after a 401. A token that changed is tried at once, another 401 then stands.
func (t *tries) refresh(old string, f *failure) *failure {
	t.refreshed = true
	token, err := t.token.Refresh(t.budget)
	if err != nil {
		f.err = fmt.Errorf("%w; reading it again: %w", f.err, t.veil.scrubError(err))
		return f
	}
	if token == old || t.limit() != nil {
		return f
	}
	return t.send(token)
}

// NextBackOff is the full-jitter policy. It stops when the wait would outlast the patience.
func (t *tries) NextBackOff() time.Duration {
	if t.last.pause > 0 {
		if time.Since(t.start)+t.last.pause > t.patience {
			return backoff.Stop
		}
		return 0 // the limiter holds everybody back for that long
	}
	wait := time.Duration(t.draw(int64(min(backoffCeiling, backoffBase<<min(t.step, 10)))))
	t.step++
	if time.Since(t.start)+wait > t.patience {
		return backoff.Stop
	}
	return wait
}

// Reset does nothing: a policy serves one request.
func (t *tries) Reset() {}

func (t *tries) again(_ error, wait time.Duration) {
	t.meter.Backoff.Add(int64(wait))
	t.log.WarnContext(t.ctx, fmt.Sprintf("%s: attempt %d of %d failed: %v", t.op, t.answer.Attempts, t.attempts, t.last),
		"wait", max(wait, t.last.pause), "status", t.last.status)
}

// explain makes the error for people of the last failure.
func (t *tries) explain() error {
	f := t.last
	e := &Error{Op: t.op, Status: f.status, Code: f.code, Message: f.message, Attempts: t.answer.Attempts, Err: f.err}
	if f.status == http.StatusBadRequest && t.metrics != nil {
		text := f.message
		if f.err != nil {
			text += " " + f.err.Error()
		}
		e.Metric, e.AnyDays = refusedMetric(text, t.metrics), refusedQuery(text)
	}
	if !t.start.IsZero() {
		e.Elapsed = time.Since(t.start)
	}
	switch over := t.ctx.Err(); {
	case over != nil && f.reader && !errors.Is(f.err, over):
		e.Err = fmt.Errorf("%w: %w", over, f.err)
	case f.reader:
	case over != nil:
		e.Err = over
		if cause := context.Cause(t.ctx); !errors.Is(cause, over) {
			e.Err = fmt.Errorf("%w: %w", over, cause)
		}
	case f.slow && t.splittable && f.err == nil:
		e.Err = ErrTooSlow
	case f.slow && t.splittable:
		e.Err = fmt.Errorf("%w: %w", ErrTooSlow, f.err)
	}
	return e
}
