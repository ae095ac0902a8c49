package spend_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
)

// What each fault answers, and whether the record is taken.
func TestCostFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault  emulator.Fault
		answer string // status, Retry-After and body; "broken"
		taken  int
		waits  time.Duration
	}{
		{emulator.Fault{Kind: emulator.FaultStatus, Status: 429, RetryAfter: 3}, "429 3 Too Many Requests", 0, 0},
		{emulator.Fault{Kind: emulator.FaultStatus, Status: 503}, "503  Service Unavailable", 0, 0},
		{emulator.Fault{Kind: emulator.FaultStatus, Status: 401}, "401  Unauthorized", 0, 0},
		{emulator.Fault{Kind: emulator.FaultSlow, Delay: time.Hour}, "200  OK", 1, time.Hour},
		{emulator.Fault{Kind: emulator.FaultReset}, "broken", 0, 0},
		{emulator.Fault{Kind: emulator.FaultHTML},
			"200  <!doctype html><title>Please stand by</title><p>We will be back, soon.\n", 0, 0},
		{emulator.Fault{Kind: emulator.FaultCut}, "200  O, broken", 1, 0},
		{emulator.Fault{Kind: emulator.FaultEmpty}, "200  ", 1, 0},
		{emulator.Fault{Kind: emulator.FaultLost}, "broken", 1, 0},
		{emulator.Fault{Kind: emulator.FaultLost, Status: 504}, "504  Gateway Timeout", 1, 0},
		{emulator.Fault{Kind: emulator.FaultDrift, Drift: emulator.DriftExtra}, "200  OK", 1, 0},
		{emulator.Fault{Kind: emulator.FaultStatus, Status: 503, Path: "csv_report"}, "200  OK", 1, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, err := emulator.New(emulator.Options{Apps: 1, Days: 2, Latency: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			if c.fault.Path == "" {
				c.fault.Path = "cost"
			}
			s.SetFaults([]emulator.Fault{c.fault})
			start := time.Now()
			post := func() string {
				r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://x/cost",
					strings.NewReader(with("tag", "t").Encode()))
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				r.Header.Set("Authorization", "Bearer x")
				resp, err := s.Client().Do(r)
				if err != nil {
					return "broken"
				}
				defer func() { _ = resp.Body.Close() }()
				body, err := io.ReadAll(resp.Body)
				answer := resp.Status[:3] + " " + resp.Header.Get("Retry-After") + " " + string(body)
				if err != nil {
					answer += ", broken"
				}
				return answer
			}
			if got := post(); got != c.answer {
				t.Errorf("%s: %q, want %q", c.fault.String(), got, c.answer)
			}
			if c.waits > 0 && time.Since(start) != c.waits+time.Second {
				t.Errorf("%s: after %v", c.fault.String(), time.Since(start))
			}
			if got := s.Spend(); got.Records != c.taken || got.Faulted+got.Records != 1 {
				t.Errorf("%s: books %+v, want %d taken", c.fault.String(), got, c.taken)
			}
			if got := post(); got != "200  OK" {
				t.Errorf("after %s: %q", c.fault.String(), got)
			}
			if got := s.Spend(); got.Records != 1 || got.Duplicates != c.taken {
				t.Errorf("%s and again: books %+v", c.fault.String(), got)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A server that is closed doesn't wait for slow answers.
func TestCloseEndsSlowSpend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := emulator.New(emulator.Options{Apps: 1, Days: 2, Latency: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			time.Sleep(time.Minute)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		start := time.Now()
		resp, err := s.Client().PostForm("http://x/cost", with("tag", "t"))
		if err == nil {
			t.Errorf("answered %s", resp.Status)
			_ = resp.Body.Close()
		}
		if got := time.Since(start); got != time.Minute {
			t.Errorf("after %v", got)
		}
	})
}

// An answer without a body is cut before it begins.
func TestCostCutsAnEmptyAnswer(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"spend-answer=empty", "spend-answer=204"} {
		synctest.Test(t, func(t *testing.T) {
			s, err := emulator.New(emulator.Options{Apps: 1, Days: 2, Readings: []string{answer},
				Faults: []emulator.Fault{{Path: "cost", Kind: emulator.FaultCut}}})
			if err != nil {
				t.Fatal(err)
			}
			r, err := http.NewRequestWithContext(context.Background(), http.MethodPost,
				"http://x/cost?"+with("tag", "t").Encode(), nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer x")
			func() {
				defer func() {
					if p, _ := recover().(error); !errors.Is(p, http.ErrAbortHandler) {
						t.Errorf("%s: it ends with %v", answer, p)
					}
				}()
				s.ServeHTTP(httptest.NewRecorder(), r)
			}()
			if books := s.Spend(); books.Records != 1 {
				t.Errorf("%s: %+v", answer, books)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
