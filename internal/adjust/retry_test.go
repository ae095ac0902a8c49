package adjust

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/adjust/transport"
)

// rest sleeps until the client has gone.
func rest(r *http.Request, d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.Context().Done():
	}
}

func late(wait time.Duration) reply {
	return func(w http.ResponseWriter, r *http.Request) {
		rest(r, wait)
		csv(w, r)
	}
}

// head sends the header at once and the answer after a while.
func head(wait time.Duration) reply {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/csv")
		_ = http.NewResponseController(w).Flush()
		rest(r, wait)
		_, _ = io.WriteString(w, truth)
	}
}

// stall sends half of the answer, waits, and sends the rest.
func stall(wait time.Duration) reply {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/csv")
		_, _ = io.WriteString(w, truth[:9])
		_ = http.NewResponseController(w).Flush()
		rest(r, wait)
		_, _ = io.WriteString(w, truth[9:])
	}
}

// Every row is one request, the exact fake moments at which its attempts reach the service, and
// what came of it.
func TestRetries(t *testing.T) {
	j := jitter(8)
	tests := []struct {
		name     string
		replies  []reply
		edit     func(*Options)
		split    bool
		came     []time.Duration
		over     time.Duration // the whole call; when 0, the last of came
		tooSlow  bool
		contains []string // of the error; none: the truth comes
	}{
		{name: "at once", replies: []reply{csv}, came: sums(nil)},
		{name: "503 twice", replies: []reply{status(503), status(503), csv}, came: sums(j[:2])},
		{name: "500, 502, 408", replies: []reply{status(500), status(502), status(408), csv}, came: sums(j[:3])},
		{name: "429 without Retry-After", replies: []reply{status(429), csv}, came: sums(j[:1])},
		{name: "429 with an empty promise", replies: []reply{status(429, "Retry-After", "0"),
			status(429, "Retry-After", "soon"), csv}, came: sums(j[:2])},
		{name: "429 with seconds", replies: []reply{status(429, "Retry-After", "37"), csv},
			came: sums([]time.Duration{37 * time.Second})},
		{name: "429 with a date", replies: []reply{status(429, "Retry-After",
			time.Date(2000, 1, 1, 0, 1, 5, 0, time.UTC).Format(http.TimeFormat)), csv},
			came: sums([]time.Duration{65 * time.Second})},
		{name: "a pause and then jitter", replies: []reply{status(429, "Retry-After", "3"), status(503), csv},
			came: sums([]time.Duration{3 * time.Second, j[0]})},
		{name: "a pause longer than the patience", replies: []reply{status(429, "Retry-After", "1000"),
			status(429, "Retry-After", "100"), csv},
			came: sums([]time.Duration{15 * time.Minute, 100 * time.Second})},
		{name: "a pause that doesn't end", replies: []reply{status(429, "Retry-After", "901")},
			came: sums(slices.Repeat([]time.Duration{15 * time.Minute}, 7)),
			contains: []string{"429 Too Many Requests", "words of the service on 429",
				"Retry-After asks to wait 15m1s"}},
		{name: "a pause that all attempts can't wait out", replies: []reply{status(429, "Retry-After", "7201")},
			came: sums(nil),
			contains: []string{"429 Too Many Requests", "words of the service on 429",
				"Retry-After asks to wait 2h0m1s"}},
		{name: "attempts used up", replies: []reply{status(503)}, came: sums(j[:7]),
			contains: []string{"8 attempts over " + transport.Round(sums(j[:7])[7]).String(), "503 Service Unavailable",
				"words of the service on 503"}},
		{name: "three attempts", replies: []reply{status(503)}, edit: func(o *Options) { o.Attempts = 3 },
			came: sums(j[:2]), contains: []string{"3 attempts over"}},
		{name: "patience used up", replies: []reply{status(503)},
			edit: func(o *Options) { o.Patience = sums(j[:3])[3] + j[3] - 1 }, came: sums(j[:3]),
			contains: []string{"4 attempts over", "words of the service on 503"}},
		{name: "patience just enough", replies: []reply{status(503), status(503), status(503), status(503), csv},
			edit: func(o *Options) { o.Patience = sums(j[:4])[4] + 1 }, came: sums(j[:4])},
		{name: "resets", replies: []reply{reset, reset, csv}, came: sums(j[:2])},
		{name: "cuts", replies: []reply{cut(5), cut(20), cut(len(truth)), csv}, came: sums(j[:3])},
		{name: "504 once, can be split", replies: []reply{status(504), csv}, split: true, came: sums(j[:1])},
		{name: "504 twice, can be split", replies: []reply{status(504), status(504), csv}, split: true,
			came:    sums(j[:1]),
			tooSlow: true, contains: []string{"2 attempts", "504 Gateway Timeout", "words of the service on 504"}},
		{name: "504, 503, 504, can be split", replies: []reply{status(504), status(503), status(504), csv}, split: true,
			came: sums(j[:2]), tooSlow: true},
		{name: "504 to the end, can't be split", replies: []reply{status(504)}, came: sums(j[:7]),
			contains: []string{"8 attempts", "504"}},
		{name: "first byte late once", replies: []reply{late(6 * time.Minute), csv}, split: true,
			came: sums([]time.Duration{5*time.Minute + j[0]})},
		{name: "first byte in time", replies: []reply{late(5*time.Minute - 1)}, came: sums(nil),
			over: 5*time.Minute - 1},
		{name: "first byte in time, long after the header", replies: []reply{head(5*time.Minute - 1)}, came: sums(nil),
			over: 5*time.Minute - 1},
		{name: "first byte late after a header", replies: []reply{head(6 * time.Minute), csv},
			came: sums([]time.Duration{5*time.Minute + j[0]})},
		{name: "first byte late twice", replies: []reply{late(6 * time.Minute)}, split: true,
			came: sums([]time.Duration{5*time.Minute + j[0]}), over: 10*time.Minute + j[0],
			tooSlow: true, contains: []string{"no first byte within 5m0s"}},
		{name: "first byte late, can't be split", replies: []reply{late(6 * time.Minute)},
			came: []time.Duration{0, 5*time.Minute + j[0], 10*time.Minute + j[0] + j[1]},
			over: 15 * time.Minute, contains: []string{"3 attempts over 15m0s", "no whole answer within 15m0s"}},
		{name: "idle once", replies: []reply{stall(3 * time.Minute), csv}, split: true,
			came: sums([]time.Duration{2*time.Minute + j[0]})},
		{name: "idle twice", replies: []reply{stall(3 * time.Minute)}, split: true,
			came: sums([]time.Duration{2*time.Minute + j[0]}), over: 4*time.Minute + j[0],
			tooSlow: true, contains: []string{"nothing more of the answer within 2m0s"}},
		{name: "slow but not idle", replies: []reply{stall(2*time.Minute - 1)}, came: sums(nil),
			over: 2*time.Minute - 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := play(tt.replies...)
				c, m := open(t, s, tt.edit)
				q := query()
				q.Splittable = tt.split
				began := time.Now()
				got, a, err := fetch(t.Context(), c, q)
				took := time.Since(began)
				if !slices.Equal(s.when(), tt.came) {
					t.Errorf("attempts came at %v, want %v", s.when(), tt.came)
				}
				if want := max(tt.over, tt.came[len(tt.came)-1]); took != want {
					t.Errorf("took %v, want %v", took, want)
				}
				if a.Attempts != len(tt.came) || !a.Started.Equal(began) {
					t.Errorf("answer %+v of %d attempts", a, len(tt.came))
				}
				if r, n := m.Requests.Load(), m.Retries.Load(); r != int64(len(tt.came)) || n != r-1 {
					t.Errorf("meter has %d requests and %d retries for %d attempts", r, n, len(tt.came))
				}
				if !tt.tooSlow && tt.contains == nil {
					if err != nil || got != truth || a.Bytes != int64(len(truth)) {
						t.Fatalf("got %q, %+v, %v", got, a, err)
					}
					return
				}
				if err == nil || errors.Is(err, ErrTooSlow) != tt.tooSlow {
					t.Fatalf("error %v, too slow: want %v", err, tt.tooSlow)
				}
				var e *Error
				if !errors.As(err, &e) || e.Attempts != len(tt.came) || e.Elapsed != took {
					t.Fatalf("error %#v doesn't tell attempts and time", err)
				}
				for _, w := range append(tt.contains, "csv_report 2026-01-01:2026-01-07: ") {
					if !strings.Contains(err.Error(), w) {
						t.Errorf("error %q doesn't say %q", err, w)
					}
				}
			})
		})
	}
}

// The time that the reader takes is not the service's.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/csv")
			for range 1000 {
				_, _ = io.WriteString(w, truth)
			}
		})
		c, _ := open(t, s, func(o *Options) { o.Patience = time.Hour })
		a, err := c.CSVReport(t.Context(), query(), func(r io.Reader) error {
			for range 5 {
				time.Sleep(6 * time.Minute)
				if _, err := io.CopyN(io.Discard, r, 7000); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || len(s.when()) != 1 || a.Bytes != 1000*int64(len(truth)) {
			t.Fatalf("%d attempts, %+v, %v", len(s.when()), a, err)
		}
	})
}

func TestReadersError(t *testing.T) {
	mine := errors.New("row 3: no number")
	for _, tt := range []struct {
		name     string
		first    reply
		attempts int
	}{{"of a whole answer", csv, 1}, {"of a cut answer", cut(20), 2}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := play(tt.first, csv)
				c, _ := open(t, s, nil)
				_, err := c.CSVReport(t.Context(), query(), func(r io.Reader) error {
					b, err := io.ReadAll(r)
					if len(b) == len(truth) && tt.attempts == 2 {
						return nil
					}
					return fmt.Errorf("%w, %w", mine, err) // whatever it says of a broken answer doesn't count
				})
				if len(s.when()) != tt.attempts || errors.Is(err, mine) != (tt.attempts == 1) ||
					(err == nil) != (tt.attempts == 2) {
					t.Fatalf("%d attempts, %v", len(s.when()), err)
				}
			})
		})
	}
}

// Neither the reader's own error nor the end of the context hides the other.
func TestReadersErrorAndCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine := errors.New("row 3: no number")
		c, _ := open(t, play(csv), nil)
		ctx, cancel := context.WithCancel(t.Context())
		_, err := c.CSVReport(ctx, query(), func(io.Reader) error { cancel(); return mine })
		if !errors.Is(err, mine) || !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
}

// A reader that stops early, or hides the error it met, can't make a cut answer whole.
func TestCutBehindTheReader(t *testing.T) {
	for name, read := range map[string]func(io.Reader) error{
		"stops early": func(r io.Reader) error { _, err := r.Read(make([]byte, 3)); return err },
		"hides it":    func(r io.Reader) error { _, _ = io.ReadAll(r); return nil },
		"reads none":  func(io.Reader) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := play(cut(20), csv)
				c, m := open(t, s, nil)
				a, err := c.CSVReport(t.Context(), query(), read)
				if err != nil || a.Attempts != 2 || a.Bytes != int64(len(truth)) ||
					m.Bytes.Load() != 20+int64(len(truth)) {
					t.Fatalf("%+v, %d bytes metered, %v", a, m.Bytes.Load(), err)
				}
			})
		})
	}
}

func TestCancel(t *testing.T) {
	why := errors.New("told to stop")
	for name, first := range map[string]reply{
		"while waiting for the first byte": late(time.Minute), "in the middle": stall(time.Minute),
		"between attempts": status(503), "in a pause": status(429, "Retry-After", "60"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := open(t, play(first), func(o *Options) { o.Attempts = 1000 })
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(10*time.Second, func() { cancel(why) })
				began := time.Now()
				_, _, err := fetch(ctx, c, query())
				if took := time.Since(began); took != 10*time.Second {
					t.Errorf("returned after %v", took)
				}
				if !errors.Is(err, context.Canceled) || !errors.Is(err, why) || errors.Is(err, ErrTooSlow) {
					t.Errorf("error %v", err)
				}
			})
		})
	}
	t.Run("in the queue", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := play(late(time.Minute))
			c, m := open(t, s, func(o *Options) { o.InFlight = 1 })
			go func() { _, _, _ = fetch(t.Context(), c, query()) }()
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			began := time.Now()
			_, _, err := fetch(ctx, c, query())
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second || m.Requests.Load() != 1 {
				t.Errorf("after %v: %v", time.Since(began), err)
			}
			time.Sleep(time.Minute)
		})
	})
}

// At most InFlight answers are read at once, and waiting in front of them costs no patience.
func TestInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(late(4 * time.Minute))
		c, _ := open(t, s, func(o *Options) { o.Burst, o.InFlight = 2, 2; o.Patience = 5 * time.Minute })
		errs := make(chan error)
		for range 6 {
			go func() { _, _, err := fetch(t.Context(), c, query()); errs <- err }()
		}
		for range 6 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if want := []time.Duration{0, 0, 4 * time.Minute, 4 * time.Minute, 8 * time.Minute,
			8 * time.Minute}; !slices.Equal(s.when(), want) {
			t.Errorf("came at %v, want %v", s.when(), want)
		}
	})
}

func TestMeterAndLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		s := play(status(503), status(429, "Retry-After", "20"), csv)
		c, m := open(t, s, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		if _, _, err := fetch(t.Context(), c, query()); err != nil {
			t.Fatal(err)
		}
		if n, again, _, l, b := m.Totals(); n != 3 || again != 2 || b != jitter(1)[0] || l != 20*time.Second {
			t.Errorf("%d requests, %d of them again, backed off %v, waited %v for the limiter", n, again, b, l)
		}
		for _, w := range []string{"attempt 1 of 8 failed: 503 Service Unavailable", "status=503",
			"wait=" + jitter(1)[0].String(), "status=429", "wait=20s"} {
			if !strings.Contains(log.String(), w) {
				t.Errorf("log doesn't say %q:\n%s", w, log.String())
			}
		}
	})
}

// Of retries in a row that meet the same, people read the first and how it ended; the log for
// machines has each.
func TestRetriesAreSaidTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := play(status(503), status(503), status(503), status(429), status(429), csv)
		c, _ := open(t, s, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		if _, _, err := fetch(t.Context(), c, query()); err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, m := range regexp.MustCompile(
			`level=(\w+) .*attempt (\d) of 8 (failed: \d+|was answered)`).FindAllStringSubmatch(log.String(), -1) {
			said = append(said, m[1]+" "+m[2]+" "+m[3])
		}
		want := []string{"WARN 1 failed: 503", "INFO 2 failed: 503", "INFO 3 failed: 503", "WARN 4 failed: 429",
			"INFO 5 failed: 429", "WARN 6 was answered"}
		if !slices.Equal(said, want) {
			t.Errorf("it says %q, want %q: %s", said, want, &log)
		}
	})
}
