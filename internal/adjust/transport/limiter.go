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
	halveEvery   = time.Second // the rate is halved at most this often: a burst of 429s counts as one
	recoverEvery = time.Second // the rate rises by recoverStep after each quiet time of this length
	recoverStep  = 1.0 / 20    // of the configured rate: ten quiet seconds lead from half of it to all of it
	lowestRate   = 1.0 / 16    // of the configured rate, after four halvings; at a lower rate waiting isn't worth it
)

// A limiter is the token bucket that all requests of the process share. A 429 halves its rate, at
// most once a second; every quiet second restores a twentieth of the configured rate. A pause holds
// back all requests for as long as the service asks for, but no longer than the patience of one
// request, so that a single answer can't stop a long-running process.
type limiter struct {
	mu             sync.Mutex
	bucket         *rate.Limiter
	configuredRate float64   // the configured rate
	currentRate    float64   // the rate at present
	pauseEnd       time.Time // end of the pause
	pauseStatus    int       // the status that began the pause
	lastHalved     time.Time // when the rate was last halved
	turns          turns
	quietSince     time.Time // from here on quiet seconds count towards the next raises
}

// newLimiter returns a limiter that begins at its full rate.
func newLimiter(perSecond float64, burst int, t turns) *limiter {
	return &limiter{bucket: rate.NewLimiter(rate.Limit(perSecond), burst), configuredRate: perSecond,
		currentRate: perSecond, turns: t}
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
		one.set(now.Add(d), why)
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
	if d := l.pauseEnd.Sub(now); d > 0 {
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
	return strconv.Itoa(l.pauseStatus)
}

// throttled halves the rate after a 429, and begins the pause that came with it, if any.
func (l *limiter) throttled(now time.Time, pause time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.raise(now)
	l.quietSince = now
	if now.Sub(l.lastHalved) >= halveEvery {
		l.lastHalved = now
		l.currentRate = max(l.currentRate/2, l.configuredRate*lowestRate)
		l.bucket.SetLimitAt(now, rate.Limit(l.currentRate))
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

// hold holds back all requests until the pause is over. The caller has locked l.mu.
func (l *limiter) hold(now time.Time, pause time.Duration, status int) {
	if until := now.Add(pause); until.After(l.pauseEnd) {
		l.pauseEnd, l.pauseStatus = until, status
	}
	if l.pauseEnd.After(now) {
		l.quietSince = l.pauseEnd // the quiet of a pause is no proof that the service can take more
		// A paused bucket doesn't fill: one request goes at the end of the pause, the others at the
		// bucket's pace.
		if n := int(l.bucket.TokensAt(l.pauseEnd)) - 1; n > 0 {
			l.bucket.ReserveN(l.pauseEnd, n)
		}
	}
}

// raise restores the rate by one step for each quiet second since the last raise.
func (l *limiter) raise(now time.Time) {
	steps := now.Sub(l.quietSince) / recoverEvery
	if l.currentRate >= l.configuredRate || steps <= 0 {
		return
	}
	l.currentRate = min(l.configuredRate, l.currentRate+float64(steps)*recoverStep*l.configuredRate)
	l.quietSince = l.quietSince.Add(steps * recoverEvery)
	l.bucket.SetLimitAt(now, rate.Limit(l.currentRate))
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
