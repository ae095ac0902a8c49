package transport

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const sec = time.Second

// times takes n tokens one after the other and tells when each came.
func times(t *testing.T, l *limiter, n int) []time.Duration {
	t.Helper()
	start := time.Now()
	var at []time.Duration
	for range n {
		if err := l.wait(t.Context(), &wait{}); err != nil {
			t.Fatal(err)
		}
		at = append(at, time.Since(start))
	}
	return at
}

func check(t *testing.T, what string, got []time.Duration, want ...time.Duration) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(4, 3, turns{})
		check(t, "a burst of 3, then 4 a second", times(t, l, 6), 0, 0, 0, sec/4, sec/2, 3*sec/4)
		l.throttled(time.Now(), 0)
		check(t, "then 2 a second", times(t, l, 2), sec/2, sec)
	})
}

// By default the rate is a ceiling over any second, from the first one on, also after a quiet time,
// and a minute has as many as before.
func TestTheRateIsACeiling(t *testing.T) {
	for _, rate := range []float64{1, 10, 50} {
		synctest.Test(t, func(t *testing.T) {
			c, err := New(Options{Rate: rate})
			if err != nil {
				t.Fatal(err)
			}
			defer c.CloseIdle()
			perMinute := int(60 * rate)
			at := times(t, c.limiter, perMinute)
			if last := at[len(at)-1]; last > time.Minute {
				t.Errorf("%v a second: %d took %v", rate, perMinute, last)
			}
			time.Sleep(time.Hour)
			at = append(at, times(t, c.limiter, perMinute)...)
			for _, row := range [][]time.Duration{at[:perMinute], at[perMinute:]} {
				for i, next := range row[int(rate):] {
					if row[i]+time.Second > next {
						t.Fatalf("%v a second: %d within %v, the first at %v", rate, int(rate)+1, next-row[i], row[i])
					}
				}
			}
		})
	}
}

func TestHalving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(8, 100, turns{})
		pace := func(want float64) {
			t.Helper()
			if math.Abs(l.currentRate-want) > 1e-9 || math.Abs(float64(l.bucket.Limit())-want) > 1e-9 {
				t.Errorf("%v a second (bucket %v), want %v", l.currentRate, l.bucket.Limit(), want)
			}
		}
		for range 5 {
			l.throttled(time.Now(), 0)
		}
		pace(4) // five at once are one halving
		time.Sleep(sec - 1)
		l.throttled(time.Now(), 0)
		pace(4) // a nanosecond before the second is over
		time.Sleep(time.Nanosecond)
		l.throttled(time.Now(), 0)
		pace(2)
		for range 6 {
			time.Sleep(sec)
			l.throttled(time.Now(), 0)
		}
		pace(0.5) // never below a sixteenth

		// Back by 0.4 a second, in whole quiet seconds only, up to what was configured.
		for _, step := range []struct {
			rest time.Duration
			want float64
		}{{sec - 1, 0.5}, {1, 0.9}, {sec, 1.3}, {3*sec + sec/2, 2.5}, {sec / 2, 2.9}, {12 * sec, 7.7}, {sec, 8},
			{time.Hour, 8}} {
			time.Sleep(step.rest)
			check(t, "the bucket is full", times(t, l, 1), 0)
			pace(step.want)
		}
	})
}

func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(4, 20, turns{})
		l.throttled(time.Now(), 10*sec)
		time.Sleep(2 * sec)
		l.throttled(time.Now(), 3*sec) // a shorter pause doesn't shorten the longer one, but its 429 halves again
		// The bucket of 20 doesn't pour out when the pause ends: one goes, the others follow at 1 a
		// second; at 11 s the first quiet second is over (raise by 0.2).
		got := times(t, l, 3)
		check(t, "after the pause", got, 8*sec, 9*sec, 9*sec+833333333)
	})
}

// A pause holds back those too that already wait for a token that is theirs.
func TestPauseWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(1, 1, turns{})
		check(t, "the first", times(t, l, 1), 0)
		var wg sync.WaitGroup
		wg.Go(func() { check(t, "the second", times(t, l, 1), 30*sec+sec/2) })
		time.Sleep(sec / 2)
		l.throttled(time.Now(), 30*sec)
		wg.Wait()
	})
}

func TestLimiterGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(1, 1, turns{})
		l.throttled(time.Now(), time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), 5*sec)
		defer cancel()
		began := time.Now()
		if err := l.wait(ctx, &wait{}); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 5*sec {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

// A token that was reserved and not used goes to the next.
func TestTokenGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(1, 1, turns{})
		check(t, "the first", times(t, l, 1), 0)
		ctx, cancel := context.WithTimeout(t.Context(), sec/2)
		defer cancel()
		if err := l.wait(ctx, &wait{}); err == nil {
			t.Error("no error after the deadline")
		}
		check(t, "the next", times(t, l, 1), sec/2)
	})
}

// Two clients of one process, an old one that still works and a new one, press as hard as one when
// they want the same rate.
func TestAClientAfterAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := func(rate float64, inFlight int) *Client {
			c, err := New(Options{Rate: rate, Burst: 1, InFlight: inFlight})
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		old, same, other := made(2, 3), made(2, 3), made(4, 3)
		same.After(old)
		other.After(old)
		start := time.Now()
		for range 5 {
			times(t, old.limiter, 1)
			times(t, same.limiter, 1)
		}
		if took := time.Since(start); took < 4400*time.Millisecond {
			t.Errorf("10 requests of both took %v, want 4.5 s at 2 a second", took)
		}
		if same.slots != old.slots || other.slots == old.slots || other.limiter == old.limiter {
			t.Error("the in-flight cap isn't one of both, or a client of another rate has it too")
		}
		if apart, later := old.Apart(2), made(2, 2); apart.limiter != old.limiter || cap(apart.slots) != 2 ||
			apart.reports == old.reports {
			t.Error("another account has another limiter, or the same in-flight cap")
		} else if later.After(old); later.limiter != old.limiter || later.slots == old.slots {
			t.Error("a client of the same rate and another in-flight cap has another limiter, or the same cap")
		}
	})
}
