package adjust

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var seeds = flag.Int("n", 100, "number of random fault scripts")

// spoilt is one random fault.
func spoilt(r *rand.Rand, truth []byte) reply {
	n := r.IntN(len(truth))
	switch r.IntN(12) {
	case 0:
		return status(429)
	case 1:
		return status(429, "Retry-After", fmt.Sprint(r.IntN(20)))
	case 2:
		return status([]int{500, 502, 503, 408, 520}[r.IntN(5)])
	case 3:
		return status(504)
	case 4:
		return reset
	case 5:
		return late(6 * time.Minute)
	case 6:
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>busy</html>") }
	case 7:
		return func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/csv") }
	case 8:
		return raw("HTTP/1.1 200 OK\nContent-Type: text/csv", truth[:n]) // a cut that only the missing length tells
	case 9:
		return stream(truth, n, r.IntN(2) == 0, func(_ http.ResponseWriter, r *http.Request) { rest(r, 3*time.Minute) })
	default:
		return stream(truth, n, r.IntN(2) == 0, reset)
	}
}

// odd tells an error of an answer that was nothing of what was asked for, the second of its
// request.
func odd(e *Error) bool {
	return e.Attempts > 1 && (strings.Contains(e.Error(), "the answer is empty") || strings.Contains(e.Error(), "HTML"))
}

// stream sends truth, packed or not; after n bytes it does what then says.
func stream(truth []byte, n int, packed bool, then reply) reply {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/csv")
		body := truth
		if packed {
			w.Header().Set("Content-Encoding", "gzip")
			body = gz(truth)
			n = n * len(body) / len(truth)
		}
		_, _ = w.Write(body[:n])
		_ = http.NewResponseController(w).Flush()
		then(w, r)
		_, _ = w.Write(body[n:])
	}
}

// Whatever happens on the way, an answer is accepted exactly once and whole, or not at all and the
// error says why.
func TestFaultScripts(t *testing.T) {
	good, bad := 0, 0
	for seed := range uint64(*seeds) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			var mu sync.Mutex
			scripts := map[string][]reply{} // by the request's currency
			truths := map[string][]byte{}
			for i := range 1 + r.IntN(6) {
				name := fmt.Sprintf("C%02d", i)
				truth := make([]byte, 1+r.IntN(1<<r.IntN(15)))
				for i := range truth {
					truth[i] = "abc,\n\"0"[r.IntN(7)]
				}
				for range r.IntN(r.IntN(10) + 1) {
					scripts[name] = append(scripts[name], spoilt(r, truth))
				}
				scripts[name] = append(scripts[name], stream(truth, r.IntN(len(truth)), r.IntN(2) == 0,
					func(http.ResponseWriter, *http.Request) {}))
				truths[name] = truth
			}
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				name := r.URL.Query().Get("currency")
				do := scripts[name][0]
				if len(scripts[name]) > 1 {
					scripts[name] = scripts[name][1:]
				}
				mu.Unlock()
				do(w, r)
			})
			c, m := open(t, h, func(o *Options) { o.Rand = r; o.InFlight = 1 + r.IntN(4); o.Patience = time.Hour })
			var wg sync.WaitGroup
			for name, truth := range truths {
				wg.Go(func() {
					q := query()
					q.Currency = name
					accepted, got := 0, []byte(nil)
					a, err := c.CSVReport(t.Context(), q, func(r io.Reader) (err error) {
						if got, err = io.ReadAll(r); err == nil {
							accepted++
						}
						return err
					})
					mu.Lock()
					defer mu.Unlock()
					var e *Error
					switch {
					case err == nil:
						good++
						if accepted != 1 || !bytes.Equal(got, truth) || a.Bytes != int64(len(truth)) {
							t.Errorf("seed %d: accepted %d times, %d bytes of %d", seed, accepted, len(got), len(truth))
						}
					case !errors.As(err, &e) || e.Attempts != 8 && !odd(e) || accepted != 0:
						t.Errorf("seed %d: accepted %d times, %v", seed, accepted, err)
					default:
						bad++
					}
				})
			}
			wg.Wait()
			if free := slots(t.Context(), c); free != c.InFlight() ||
				m.Requests.Load()-m.Retries.Load() != int64(len(truths)) {
				t.Errorf("seed %d: %d of %d slots are free, %d requests, %d retries", seed, free, c.InFlight(),
					m.Requests.Load(), m.Retries.Load())
			}
		})
	}
	t.Logf("seeds 0 to %d: %d answers accepted, %d given up", *seeds-1, good, bad)
	if good < *seeds || bad == 0 {
		t.Errorf("%d accepted and %d given up: the scripts are too easy or too hard to prove anything", good, bad)
	}
}
