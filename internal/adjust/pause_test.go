package adjust

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const sec = time.Second

func came(t *testing.T, what string, got []time.Duration, want ...time.Duration) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// A 429 with Retry-After to one request holds back all requests of the process, those of other
// meters too.
func TestPauseIsForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(status(429, "Retry-After", "30"), csv)
		c, _ := open(t, s, nil)
		var wg sync.WaitGroup
		wg.Go(func() { _, _, _ = fetch(t.Context(), c, query()) })
		time.Sleep(sec)
		other := &Meter{}
		for range 2 {
			wg.Go(func() { _, _, _ = fetch(t.Context(), c.Metered(other), query()) })
		}
		wg.Wait()
		// Halved to 5 a second for the time after the pause.
		came(t, "came", s.when(), 0, 30*sec, 30*sec+sec/5, 30*sec+2*sec/5)
		if other.Requests.Load() != 2 || other.Limiter.Load() < int64(58*sec) {
			t.Errorf("the other meter: %d requests, %v at the limiter", other.Requests.Load(),
				time.Duration(other.Limiter.Load()))
		}
	})
}

// A pause longer than the patience fails none of the requests that it meets: they wait for their
// turn.
func TestLongPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := time.Now().Add(time.Hour)
		s := play(func(w http.ResponseWriter, r *http.Request) {
			if left := time.Until(over); left > 0 {
				status(429, "Retry-After", strconv.Itoa(int(left/sec)))(w, r)
				return
			}
			csv(w, r)
		})
		c, _ := open(t, s, nil)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if _, _, err := fetch(t.Context(), c, query()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(over); took < 0 || took > 15*time.Second || len(s.when()) > 20+4*4 {
			t.Errorf("the last came %v after the pause, of %d requests", took, len(s.when()))
		}
	})
}

// However long the service asks to wait, the process isn't held back for longer than its patience:
// a request that can't wait for so long fails, and whoever asks later, as the next firing of a
// schedule does, finds out whether the service is there again.
func TestPauseIsBounded(t *testing.T) {
	for name, first := range map[string]reply{
		"429":                     status(429, "Retry-After", "999999"),
		"503":                     status(503, "Retry-After", "999999"),
		"a number that overflows": status(429, "Retry-After", "99999999999999999999999"),
		"a date":                  status(503, "Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := play(first, csv)
				c, _ := open(t, s, nil)
				began := time.Now()
				if _, _, err := fetch(t.Context(), c, query()); !errors.Is(err, ErrUnreachable) ||
					!strings.Contains(err.Error(), "Retry-After asks to wait 277h46m") {
					t.Errorf("the first request: %v", err)
				}
				if took := time.Since(began); took > sec {
					t.Errorf("it was given up after %v", took)
				}
				time.Sleep(10 * time.Minute)
				if _, _, err := fetch(t.Context(), c, query()); err != nil {
					t.Errorf("in the pause, which ends within the patience: %v", err)
				}
				if took := time.Since(began); took != 15*time.Minute {
					t.Errorf("the pause lasted for %v, want the patience", took)
				}
			})
		})
	}
}

// A 503 with Retry-After holds everybody back as a 429 does (RFC 9110, section 10.2.3), and doesn't
// slow down what follows.
func TestPauseOf503(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(status(503, "Retry-After", "30"), csv)
		c, _ := open(t, s, nil)
		var wg sync.WaitGroup
		wg.Go(func() { _, _, _ = fetch(t.Context(), c, query()) })
		time.Sleep(sec)
		wg.Go(func() { _, _, _ = fetch(t.Context(), c, query()) })
		wg.Wait()
		came(t, "came", s.when(), 0, 30*sec, 30*sec+sec/10)
	})
}
