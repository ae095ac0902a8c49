package transport

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	halveEvery   = time.Second // a burst of 429s is one message, not many
	recoverEvery = time.Second
	recoverStep  = 1.0 / 20 // of the configured rate: from half to whole in ten quiet seconds
	lowest       = 1.0 / 16 // of the configured rate: below four halvings waiting gets longer than it is worth
)

// A limiter is the token bucket that all requests of the process share. A 429 halves its rate, at
// most once a second; every quiet second gives back a twentieth of the configured rate. A pause
// holds everybody back; it is as long as the service asks for, and no longer than the patience of
// one request, so that one answer can't stop a process that stays.
type limiter struct {
	mu     sync.Mutex
	bucket *rate.Limiter
	full   float64   // the configured rate
	pace   float64   // the rate at present
	until  time.Time // of the pause
	status int       // that began it
	halved time.Time // when the rate was last halved
	turns  turns
	raised time.Time // from here on quiet seconds count towards the next raises
}

func newLimiter(perSecond float64, burst int, t turns) *limiter {
	return &limiter{bucket: rate.NewLimiter(rate.Limit(perSecond), burst), full: perSecond, pace: perSecond, turns: t}
}

// wait takes one token. It tells one how long it waits.
func (l *limiter) wait(ctx context.Context, one *wait) error {
	for taken := false; ; {
		now := time.Now()
		d, r := l.next(now, taken)
		if d <= 0 {
			return nil
		}
		why := ""
		if r == nil {
			why = l.reason()
		}
		one.till(now.Add(d), why)
		if err := Sleep(ctx, d); err != nil {
			if r != nil {
				r.CancelAt(time.Now())
			}
			return err
		}
		// A pause may have begun meanwhile: it holds back those that already have their token too.
		taken = taken || r != nil
	}
}

// next tells how long to wait, and the token taken, if one was.
func (l *limiter) next(now time.Time, taken bool) (time.Duration, *rate.Reservation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d := l.until.Sub(now); d > 0 {
		return d, nil
	}
	if taken {
		return 0, nil
	}
	l.raise(now)
	r := l.bucket.ReserveN(now, 1)
	return l.turns.after(now.Add(r.DelayFrom(now))).Sub(now), r
}

// reason is the status that began the pause.
func (l *limiter) reason() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strconv.Itoa(l.status)
}

// throttled takes note of a 429 and of the pause that came with it, if any.
func (l *limiter) throttled(now time.Time, pause time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.raise(now)
	l.raised = now
	if now.Sub(l.halved) >= halveEvery {
		l.halved = now
		l.pace = max(l.pace/2, l.full*lowest)
		l.bucket.SetLimitAt(now, rate.Limit(l.pace))
	}
	l.hold(now, pause, http.StatusTooManyRequests)
}

// paused takes note of a pause that says nothing of the rate.
func (l *limiter) paused(now time.Time, pause time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.raise(now)
	l.hold(now, pause, http.StatusServiceUnavailable)
}

// hold holds everybody back until the pause is over; the caller has the lock.
func (l *limiter) hold(now time.Time, pause time.Duration, status int) {
	if until := now.Add(pause); until.After(l.until) {
		l.until, l.status = until, status
	}
	if l.until.After(now) {
		l.raised = l.until // the quiet of a pause is no proof that the service can take more
		// A paused bucket doesn't fill: one request goes at the end of the pause, the others at the
		// bucket's pace.
		if n := int(l.bucket.TokensAt(l.until)) - 1; n > 0 {
			l.bucket.ReserveN(l.until, n)
		}
	}
}

func (l *limiter) raise(now time.Time) {
	steps := now.Sub(l.raised) / recoverEvery
	if l.pace >= l.full || steps <= 0 {
		return
	}
	l.pace = min(l.full, l.pace+float64(steps)*recoverStep*l.full)
	l.raised = l.raised.Add(steps * recoverEvery)
	l.bucket.SetLimitAt(now, rate.Limit(l.pace))
}

// Sleep waits for d or for the end of ctx, whose cause it then returns.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Round shortens a duration for people.
func Round(d time.Duration) time.Duration {
	if d > 10*time.Second {
		return d.Round(time.Second)
	}
	return d.Round(time.Millisecond)
}
