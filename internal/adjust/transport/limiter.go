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
	halveEvery   = time.Second // a burst of 429s counts as one
	recoverEvery = time.Second
	recoverStep  = 1.0 / 20 // of the configured rate: ten quiet seconds lead from half of it to all of it
	lowest       = 1.0 / 16 // of the configured rate, after four halvings; at a lower rate waiting isn't worth it
)

// A limiter is the token bucket that all requests of the process share. A 429 halves its rate, at
// most once a second; every quiet second restores a twentieth of the configured rate. A pause holds
// back all requests for as long as the service asks for, but no longer than the patience of one
// request, so that a single answer can't stop a long-running process.
type limiter struct {
	mu     sync.Mutex
	bucket *rate.Limiter
	full   float64   // the configured rate
	pace   float64   // the rate at present
	until  time.Time // end of the pause
	status int       // the status that began the pause
	halved time.Time // when the rate was last halved
	turns  turns
	raised time.Time // from here on quiet seconds count towards the next raises
}

func newLimiter(perSecond float64, burst int, t turns) *limiter {
	return &limiter{bucket: rate.NewLimiter(rate.Limit(perSecond), burst), full: perSecond, pace: perSecond, turns: t}
}

// wait waits for one token, and notes in one until when.
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
		// A pause that has begun meanwhile holds back also those that already have their token.
		taken = taken || r != nil
	}
}

// next returns how long to wait, and the reservation of a token if one was made.
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

// reason returns the status that began the pause.
func (l *limiter) reason() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strconv.Itoa(l.status)
}

// throttled halves the rate after a 429, and begins the pause that came with it, if any.
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

// paused begins a pause that says nothing about the rate.
func (l *limiter) paused(now time.Time, pause time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.raise(now)
	l.hold(now, pause, http.StatusServiceUnavailable)
}

// hold holds back all requests until the pause is over; the caller has the lock.
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

// raise restores the rate by one step for each quiet second since the last raise.
func (l *limiter) raise(now time.Time) {
	steps := now.Sub(l.raised) / recoverEvery
	if l.pace >= l.full || steps <= 0 {
		return
	}
	l.pace = min(l.full, l.pace+float64(steps)*recoverStep*l.full)
	l.raised = l.raised.Add(steps * recoverEvery)
	l.bucket.SetLimitAt(now, rate.Limit(l.pace))
}

// Sleep waits for d, or until ctx ends, and returns ctx's cause then.
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
