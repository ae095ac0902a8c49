package adjust

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func record() Spend {
	return Spend{Type: "cpi", Currency: "usd", Amount: "1.99", CostID: "Company&Name+ID=3f2a77é", Tag: "a tag & more"}
}

// openSpend makes a client for ad spend only, of h.
func openSpend(t *testing.T, h http.Handler, edit func(*Options)) (*Client, *Meter) {
	t.Helper()
	return open(t, h, func(o *Options) {
		o.BaseURL, o.Token = "", nil
		o.CostURL, o.SpendAuth.Key = "http://cost.test", &fixed{tokens: []string{secretToken}}
		if edit != nil {
			edit(o)
		}
	})
}

func words200(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "OK")
}

// page answers anything.
func page(code int, kind, body string, headers ...string) reply {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// cutSpend promises more than it sends.
func cutSpend(code int) reply {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "20")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, "Service")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// silent takes the record and never answers.
func silent(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // else the end of the connection isn't noticed
	<-r.Context().Done()
}

func TestSpendRequest(t *testing.T) {
	for _, c := range []struct {
		auth                RecordAuth
		costURL, path       string
		header, value, none string
	}{
		{RecordAuth{}, "http://cost.test", "cost.test/cost", "Authorization", "Bearer " + secretToken, "X-Partner-Key"},
		{RecordAuth{Header: "authorization"}, "http://cost.test/", "cost.test/cost", "Authorization",
			"Bearer " + secretToken, "X-Partner-Key"},
		{RecordAuth{Header: "x-partner-key"}, "http://cost.test/v1/", "cost.test/v1/cost", "X-Partner-Key", secretToken,
			"Authorization"},
		{RecordAuth{Parameter: "partner_key"}, "http://cost.test", "cost.test/cost", "X-Partner-Key", "",
			"Authorization"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var got, method, kind string
			s := play(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				got, method, kind = string(body), r.Method, r.Header.Get("Content-Type")
				words200(w, r)
			})
			c.auth.Key = &fixed{tokens: []string{secretToken}}
			client, m := openSpend(t, s, func(o *Options) {
				o.CostURL, o.SpendAuth = c.costURL, c.auth
				o.AccountID = "1"
				o.UserAgent = "ferry/1"
			})
			for range 2 {
				if err := submit(t.Context(), client, record()); err != nil {
					t.Fatal(err)
				}
				v, err := url.ParseQuery(got)
				r := record()
				if c.auth.Parameter != "" && v.Get(c.auth.Parameter) != secretToken {
					t.Errorf("the key isn't in %q", got)
				}
				v.Del(c.auth.Parameter)
				if err != nil || method != "POST" || kind != "application/x-www-form-urlencoded" || len(v) != 5 ||
					v.Get("cost_type") != r.Type ||
					v.Get("cost_currency") != r.Currency || v.Get("cost_amount") != r.Amount ||
					v.Get("cost_id") != r.CostID || v.Get("tag") != r.Tag {
					t.Errorf("%s %s %q, %v", method, kind, got, err)
				}
			}
			h := s.heads[1]
			if s.urls[1] != c.path || h.Get(c.header) != c.value || h.Get(c.none) != "" ||
				h.Get("X-Account-ID") != "" || h.Get("User-Agent") != "ferry/1" {
				t.Errorf("%s %v", s.urls[1], h)
			}
			if m.Requests.Load() != 2 || m.Retries.Load() != 0 {
				t.Errorf("%d requests, %d retries", m.Requests.Load(), m.Retries.Load())
			}
		})
	}
}

// Which answers are asked again, and what the error says of the record.
func TestSpendAnswers(t *testing.T) {
	const known, maybe, refused, denied, other = "", "unknown", "rejected", "auth", "not taken"
	for _, c := range []struct {
		name  string
		first reply
		sent  int // requests: 2 when the first answer is asked again
		want  string
		code  int
	}{
		{"200", words200, 1, known, 0},
		{"200 without a word", page(200, "text/plain", ""), 1, known, 0},
		{"200 in JSON", page(200, "application/json", `{"status":"OK"}`), 1, known, 0},
		{"200 in HTML", page(200, "text/html; charset=utf-8", "wait"), 1, maybe, 200},
		{"200 that looks like HTML", page(200, "text/plain", "\n<!doctype html>"), 1, maybe, 200},
		{"200, cut", cutSpend(200), 1, maybe, 200},
		{"201", page(201, "text/plain", "OK"), 1, known, 0},
		{"202", page(202, "application/json", "{}"), 1, known, 0},
		{"202 in HTML", page(202, "text/html", "wait"), 1, maybe, 202},
		{"203", page(203, "text/plain", "OK"), 1, maybe, 203},
		{"204", page(204, "text/plain", ""), 1, known, 0},
		{"301", page(301, "text/plain", "", "Location", "http://elsewhere.test/cost"), 1, other, 301},
		{"307", page(307, "text/plain", "", "Location", "http://elsewhere.test/cost"), 1, other, 307},
		{"308", page(308, "text/plain", "", "Location", "/v2/cost"), 1, other, 308},
		{"400", page(400, "text/plain", "Bad Request"), 2, refused, 400}, // in a form and in a query
		{"400, cut", cutSpend(400), 2, refused, 400},
		{"400 about a Cost ID that was used", page(400, "application/json", `{"error":"cost_id already used"}`), 1,
			refused, 400},
		{"401 twice", page(401, "text/plain", "Unauthorized"), 1, denied, 401},
		{"403", page(403, "text/plain", "Forbidden"), 1, denied, 403},
		{"404", page(404, "text/plain", "Not Found"), 1, other, 404},
		{"404 about the record", page(404, "text/plain", "no click has this cost_id"), 2, refused, 404},
		{"404 in HTML", page(404, "text/html", "<p>click here"), 1, other, 404},
		{"405", page(405, "text/plain", ""), 1, other, 405},
		{"408", page(408, "text/plain", ""), 1, maybe, 408},
		{"409", page(409, "text/plain", ""), 1, refused, 409},
		{"413", page(413, "text/plain", ""), 1, other, 413},
		{"422", page(422, "application/json", `{"error":"no"}`), 2, refused, 422},
		{"429", page(429, "text/plain", "Too Many Requests"), 2, known, 0},
		{"429 with Retry-After", page(429, "text/plain", "", "Retry-After", "7"), 2, known, 0},
		{"429, cut", cutSpend(429), 2, known, 0},
		{"500", page(500, "text/plain", "Internal Server Error"), 1, maybe, 500},
		{"501", page(501, "text/plain", ""), 1, maybe, 501},
		{"502", page(502, "text/html", "<html>Bad Gateway"), 1, maybe, 502},
		{"503", page(503, "text/plain", "Service Unavailable"), 2, known, 0},
		{"503, cut", cutSpend(503), 2, known, 0},
		{"504", page(504, "text/plain", "Gateway Timeout"), 1, maybe, 504},
		{"reset", reset, 1, maybe, 0},
		{"no answer", silent, 1, maybe, 0},
		{"not HTTP", raw("hello", nil), 1, maybe, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := play(c.first, words200)
			if c.want == refused {
				s = play(c.first)
			}
			client, _ := openSpend(t, s, nil)
			start := time.Now()
			err := submit(t.Context(), client, record())
			got := map[string]error{maybe: ErrUnknown, refused: ErrRejected, denied: ErrAuth}
			for name, is := range got {
				if errors.Is(err, is) != (c.want == name) {
					t.Errorf("%s: %v, want %q", c.name, err, c.want)
				}
			}
			if (err == nil) != (c.want == known) {
				t.Errorf("%s: %v, want %q", c.name, err, c.want)
			}
			var e *Error
			if err != nil && (!errors.As(err, &e) || e.Status != c.code || e.Op != "cost" || e.Attempts != c.sent &&
				c.want != refused || !strings.HasPrefix(err.Error(), "cost: ")) {
				t.Errorf("%s: %+v", c.name, e)
			}
			if n := len(s.when()); n != c.sent {
				t.Errorf("%s: %d requests, want %d", c.name, n, c.sent)
			}
			switch took := time.Since(start); {
			case c.name == "429 with Retry-After" && took != 7*time.Second:
				t.Errorf("%s: after %v", c.name, took)
			case c.name == "no answer" && took != 30*time.Second:
				t.Errorf("%s: after %v", c.name, took)
			}
		})
	}
}

// A service that reads the query alone refuses a form, and takes the query; a form that was taken
// once is what it wants.
func TestSpendInTheQuery(t *testing.T) {
	refusedForm := page(400, "text/plain", "Bad Request")
	for _, c := range []struct {
		name    string
		answers []reply
		records int
		refused int
		queries string // of the requests: q when the record is in the query, f when it is in a form
	}{
		{"query alone", []reply{refusedForm, words200}, 3, 0, "fqqq"},
		{"forms", []reply{words200, refusedForm}, 3, 2, "fff"},
		{"a bad record, then forms", []reply{refusedForm, refusedForm, words200, refusedForm}, 3, 2, "fqff"},
		{"nothing is right", []reply{refusedForm}, 5, 5, "fqfqfqff"},
		{"a query that isn't there", []reply{refusedForm, page(405, "text/plain", "")}, 1, 1, "fq"},
		{"a busy service", []reply{refusedForm, page(503, "text/plain", ""), words200}, 2, 0, "fqqq"},
		{"after a lost answer", []reply{page(500, "text/plain", ""), refusedForm, words200}, 2, 0, "ffqq"},
		{"a query that isn't allowed", []reply{refusedForm, page(403, "text/plain", "")}, 1, 0, "fq"},
		{"a duplicate", []reply{refusedForm, page(409, "text/plain", ""), words200}, 2, 1, "fqq"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var sent []string
			s := play(c.answers...)
			client, _ := openSpend(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				v, failed := url.ParseQuery(r.URL.RawQuery + string(body))
				if want := record(); err != nil || failed != nil || len(v) != 5 || v.Get("cost_id") != want.CostID ||
					v.Get("tag") != want.Tag {
					t.Errorf("%s: %v, %v, %v", c.name, v, err, failed)
				}
				sent = append(sent, map[bool]string{true: "q", false: "f"}[r.URL.RawQuery != ""])
				s.ServeHTTP(w, r)
			}), nil)
			refused := 0
			for range c.records {
				_, err := client.SubmitSpend(t.Context(), record(), true)
				if errors.Is(err, ErrRejected) {
					refused++
				} else if errors.Is(err, ErrAuth) != (c.name == "a query that isn't allowed") {
					t.Errorf("%s: %v", c.name, err)
				}
			}
			if got := strings.Join(sent, ""); got != c.queries || refused != c.refused {
				t.Errorf("%s: sent %s, %d refused; want %s, %d", c.name, got, refused, c.queries, c.refused)
			}
		})
	}
}

// What a service that has a Cost ID already says of it is a refusal, unless an attempt whose answer
// was lost may have brought it.
func TestSpendDuplicates(t *testing.T) {
	lost := page(500, "text/plain", "")
	for name, c := range map[string]struct {
		answers   []reply
		duplicate bool
		rejected  bool
		resent    int
	}{
		"409 at once":             {[]reply{page(409, "text/plain", "Conflict")}, true, true, 0},
		"words at once":           {[]reply{page(400, "text/plain", "Duplicate cost_id")}, true, true, 0},
		"409 after a lost answer": {[]reply{lost, page(409, "text/plain", "Conflict")}, false, false, 1},
		"words after two": {[]reply{lost, reset, page(422, "application/json",
			`{"detail":[{"loc":["body","cost_id"],"msg":"must be unique"}]}`)}, false, false, 2},
		"409 after a busy one":  {[]reply{page(503, "text/plain", ""), page(409, "text/plain", "")}, true, true, 0},
		"no words after a lost": {[]reply{lost, page(400, "text/plain", "Bad Request")}, false, true, 1},
		"late after a lost": {[]reply{lost, page(400, "text/plain", "the window has already closed")}, false,
			true, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			client, _ := openSpend(t, play(c.answers...), nil)
			a, err := client.SubmitSpend(t.Context(), record(), true)
			if errors.Is(err, ErrDuplicate) != c.duplicate || errors.Is(err, ErrRejected) != c.rejected ||
				(err == nil) == c.rejected || a.Resent != c.resent {
				t.Errorf("%s: %v, resent %d", name, err, a.Resent)
			}
		})
	}
}

// Whoever may send no more says so after all waiting, and nothing leaves.
func TestSpendAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(words200)
		client, _ := openSpend(t, s, func(o *Options) { o.Rate, o.Burst = 1, 1 })
		start, over := time.Now(), errors.New("the lease is over")
		client = client.Asking(func(context.Context) error {
			if time.Since(start) > 1500*time.Millisecond {
				return over
			}
			return nil
		})
		var err error
		for n := 0; err == nil; n++ { // at 0, 1 and 2 seconds
			if err = submit(t.Context(), client, record()); n > 2 {
				t.Fatal("it goes on")
			}
		}
		if !errors.Is(err, over) || errors.Is(err, ErrUnknown) || len(s.when()) != 2 {
			t.Errorf("%d requests, %v", len(s.when()), err)
		}
	})
}

// A 429 slows all records down, not only its own.
func TestSpendThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(page(429, "text/plain", "", "Retry-After", "10"), words200)
		client, _ := openSpend(t, s, func(o *Options) { o.Rate, o.Burst, o.InFlight = 100, 1, 1 })
		for range 50 {
			if err := submit(t.Context(), client, record()); err != nil {
				t.Fatal(err)
			}
		}
		at := s.when()
		if at[1] < 10*time.Second || at[1] > 11*time.Second {
			t.Errorf("the second request came after %v", at[1])
		}
		if took := at[50] - at[1]; took < 900*time.Millisecond || took > 1100*time.Millisecond {
			t.Errorf("50 records at half of 100 a second took %v", took)
		}
	})
}

// A 503 that says how long to wait is believed.
func TestSpendPausesFor503(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(page(503, "text/plain", "", "Retry-After", "10"), words200)
		client, _ := openSpend(t, s, nil)
		if err := submit(t.Context(), client, record()); err != nil ||
			!slices.Equal(s.when(), []time.Duration{0, 10 * time.Second}) {
			t.Errorf("requests at %v: %v", s.when(), err)
		}
	})
}

// What can't be delivered is given up with what was said last, and is not unknown.
func TestSpendGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(page(503, "text/plain", "Service Unavailable"))
		client, m := openSpend(t, s, nil)
		err := submit(t.Context(), client, record())
		var e *Error
		if !errors.As(err, &e) || e.Status != 503 || e.Attempts != 8 || errors.Is(err, ErrUnknown) ||
			errors.Is(err, ErrRejected) {
			t.Errorf("%v", err)
		}
		if at := s.when(); !slices.Equal(at, sums(jitter(7))) {
			t.Errorf("requests at %v, want %v", at, sums(jitter(7)))
		}
		if m.Retries.Load() != 7 || m.Backoff.Load() == 0 {
			t.Errorf("%d retries, %d ns of backoff", m.Retries.Load(), m.Backoff.Load())
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := play(page(429, "text/plain", "", "Retry-After", "7201"))
		client, _ := openSpend(t, s, nil)
		start := time.Now()
		if err := submit(t.Context(), client, record()); err == nil || !strings.Contains(err.Error(), "429") ||
			len(s.when()) != 1 || time.Since(start) > time.Second {
			t.Errorf("Retry-After beyond all patience: %v after %v", err, time.Since(start))
		}
	})
}

// A key that changed is read again once, and once only for all records that met the 401.
func TestSpendKeyIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := &fixed{tokens: []string{"old-key", "new-key"}}
		client, _ := openSpend(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Second)
			if r.Header.Get("Authorization") != "Bearer new-key" {
				w.WriteHeader(401)
			}
		}), func(o *Options) { o.SpendAuth.Key = keys })
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if err := submit(t.Context(), client, record()); err != nil {
					t.Error(err)
				}
			})
			time.Sleep(10 * time.Millisecond)
		}
		wg.Wait()
		if keys.refreshes != 1 {
			t.Errorf("the key was read again %d times", keys.refreshes)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := play(page(401, "text/plain", "Unauthorized"))
		client, _ := openSpend(t, s, func(o *Options) {
			o.SpendAuth.Key = &fixed{tokens: []string{"old-key", "new-key",
				"newest-key"}}
		})
		if err := submit(t.Context(), client, record()); !errors.Is(err, ErrAuth) || len(s.when()) != 2 ||
			!strings.Contains(err.Error(), "partner's key") {
			t.Errorf("%v after %d requests", err, len(s.when()))
		}
	})
	synctest.Test(t, func(t *testing.T) { // once for a record, whatever comes between
		keys := &fixed{tokens: []string{"old-key", "new-key", "newest-key"}}
		s := play(page(401, "text/plain", ""), page(503, "text/plain", ""), page(401, "text/plain", ""), words200)
		client, _ := openSpend(t, s, func(o *Options) { o.SpendAuth.Key = keys })
		if err := submit(t.Context(), client, record()); !errors.Is(err, ErrAuth) || len(s.when()) != 3 ||
			keys.refreshes != 1 {
			t.Errorf("%v after %d requests", err, len(s.when()))
		}
	})
}

// lostKey is a key that can't be read: at all, or again.
type lostKey struct {
	fixed
	again bool
}

func (k *lostKey) Token(ctx context.Context) (string, error) {
	if !k.again {
		return "", errors.New("the key's file is gone")
	}
	return k.fixed.Token(ctx)
}

func (k *lostKey) Refresh(context.Context) (string, error) {
	return "", errors.New("the key's file is gone")
}

// A key that can't be read is said to be so at once: waiting won't bring it back.
func TestSpendKeyIsLost(t *testing.T) {
	for again, requests := range map[bool]int{false: 0, true: 1} {
		synctest.Test(t, func(t *testing.T) {
			s := play(page(401, "text/plain", "Unauthorized"))
			began := time.Now()
			client, _ := openSpend(t, s, func(o *Options) {
				o.SpendAuth.Key = &lostKey{fixed{tokens: []string{"old-key"}}, again}
			})
			err := submit(t.Context(), client, record())
			if err == nil || !strings.Contains(err.Error(), "the key's file is gone") || len(s.when()) != requests ||
				time.Since(began) > 0 {
				t.Errorf("%v after %d requests and %v", err, len(s.when()), time.Since(began))
			}
			if errors.Is(err, ErrAuth) != again || errors.Is(err, ErrUnknown) {
				t.Errorf("what became of the record: %v", err)
			}
		})
	}
}

// A connection that never came about has carried no record; one that broke while the record was
// written may have.
func TestSpendConnections(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	synctest.Test(t, func(t *testing.T) {
		inner := serve(t, words200).Transport.(*http.Transport)
		dials := 0
		client, m := openSpend(t, play(words200), func(o *Options) {
			o.HTTP = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network,
				addr string) (net.Conn, error) {
				if dials++; dials < 4 {
					return nil, refused
				}
				return inner.DialContext(ctx, network, addr)
			}, DisableKeepAlives: true}}
		})
		if err := submit(t.Context(), client, record()); err != nil || dials != 4 || m.Requests.Load() != 4 {
			t.Errorf("%v after %d dials", err, dials)
		}
		dials = -100
		if err := submit(t.Context(), client, record()); err == nil || errors.Is(err, ErrUnknown) ||
			!strings.Contains(err.Error(), "refused") {
			t.Errorf("never connected: %v", err)
		}
	})
	for _, whole := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			dials := 0
			client, _ := openSpend(t, play(words200), func(o *Options) {
				o.HTTP = &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string,
					string) (net.Conn, error) {
					dials++
					here, there := net.Pipe()
					go func() { // takes a part of the request and breaks
						n := 10
						if whole {
							n = 1 << 20
						}
						_ = there.SetReadDeadline(time.Now().Add(time.Second))
						_, _ = io.CopyN(io.Discard, there, int64(n))
						_ = there.Close()
					}()
					return here, nil
				}}}
			})
			if err := submit(t.Context(), client, record()); !errors.Is(err, ErrUnknown) || dials != 1 {
				t.Errorf("broken, whole %t: %v after %d dials", whole, err, dials)
			}
		})
	}
}

// The caller's end: known to be unsent, or unknown.
func TestSpendIsInterrupted(t *testing.T) {
	stop := errors.New("the task is stopped")
	for name, c := range map[string]struct {
		handler reply
		unknown bool
	}{
		"while the answer is awaited": {silent, true},
		"between two attempts":        {page(503, "text/plain", ""), false},
		"during a pause":              {page(429, "text/plain", "", "Retry-After", "60"), false},
	} {
		synctest.Test(t, func(t *testing.T) {
			client, _ := openSpend(t, play(c.handler), func(o *Options) {
				o.Rand = rand.New(rand.NewPCG(1, 2))
				o.Attempts = 1000
			})
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() { time.Sleep(5 * time.Second); cancel(stop) }()
			err := submit(ctx, client, record())
			if !errors.Is(err, context.Canceled) || !errors.Is(err, stop) || errors.Is(err, ErrUnknown) != c.unknown {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s := play(words200)
		client, _ := openSpend(t, s, nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := submit(ctx, client, record()); !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnknown) ||
			len(s.when()) != 0 {
			t.Errorf("before: %v, %d requests", err, len(s.when()))
		}
	})
}

func TestSpendOptions(t *testing.T) {
	key := &fixed{tokens: []string{"k"}}
	for want, o := range map[string]Options{
		"base_url must look like":              {SpendAuth: RecordAuth{Key: key}},
		"cost_url must look like https://app.": {CostURL: "a.test", SpendAuth: RecordAuth{Key: key}},
		"cost_url must be a bare address":      {CostURL: "https://a.test?x=y", SpendAuth: RecordAuth{Key: key}},
		"can't be the name of a parameter": {CostURL: "https://a.test",
			SpendAuth: RecordAuth{Key: key, Parameter: "a=b"}},
		"can't be the name of a header": {CostURL: "https://a.test",
			SpendAuth: RecordAuth{Key: key, Header: "a: b"}},
	} {
		if _, err := New(o); err == nil || !strings.HasPrefix(err.Error(), "open service: ") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	// Each half refuses the other's work, without a request.
	spend, err := New(Options{CostURL: "http://127.0.0.1:1", SpendAuth: RecordAuth{Key: key}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = spend.Events(t.Context(), EventsQuery{})
	_, _, err2 := fetch(t.Context(), spend, query())
	if fmt.Sprint(err) != "events: this client has no base_url, it is for ad spend or sharing only" ||
		!strings.Contains(fmt.Sprint(err2), "no base_url") {
		t.Errorf("%v; %v", err, err2)
	}
	reports, err := New(Options{BaseURL: "http://127.0.0.1:1", Token: key})
	if err != nil {
		t.Fatal(err)
	}
	if err := submit(t.Context(), reports, record()); err == nil || !strings.Contains(err.Error(), "no cost_url") ||
		errors.Is(err, ErrUnknown) {
		t.Errorf("%v", err)
	}
}

// Without a key none is sent, and not the reports' token either; a service that asks for one is
// answered with the setting's name.
func TestSpendWithoutKey(t *testing.T) {
	for _, answer := range []reply{words200, page(401, "text/plain", "Unauthorized"),
		page(403, "text/plain", "Forbidden")} {
		synctest.Test(t, func(t *testing.T) {
			s := play(answer)
			client, _ := openSpend(t, s, func(o *Options) {
				o.SpendAuth = RecordAuth{}
				o.BaseURL, o.Token = "http://reports.test", &fixed{tokens: []string{secretToken}}
			})
			err := submit(t.Context(), client, record())
			if len(s.when()) != 1 || len(s.heads[0].Values("Authorization")) > 0 ||
				strings.Contains(fmt.Sprint(s.heads[0]), secretToken) {
				t.Errorf("%d requests, %v", len(s.when()), s.heads)
			}
			if err != nil && (!errors.Is(err, ErrAuth) || !strings.Contains(err.Error(), "service.spend.token") ||
				!strings.Contains(err.Error(), "service.spend.header")) {
				t.Errorf("%v", err)
			}
		})
	}
}
