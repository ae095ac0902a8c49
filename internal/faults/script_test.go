package faults

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// testFault looks at calls of one name, or at all.
type testFault struct {
	Nth, Every, Times int
	Call              string        `json:"call,omitempty"`
	Delay             time.Duration `json:"-"`
	bad               error
}

func (f testFault) Schedule() Schedule { return Schedule{f.Nth, f.Every, f.Times} }
func (f testFault) Validate() error    { return f.bad }

func TestSchedule(t *testing.T) {
	for _, c := range []struct {
		when Schedule
		want string
	}{
		{Schedule{}, "x......"},
		{Schedule{Nth: 2}, ".x....."},
		{Schedule{Nth: 2, Times: 3}, ".xxx..."},
		{Schedule{Every: 2}, "x.x.x.x"},
		{Schedule{Every: 1}, "xxxxxxx"},
		{Schedule{Nth: 2, Every: 3, Times: 2}, ".x..x.."},
		{Schedule{Nth: 9}, "......."},
	} {
		got := ""
		for n := 1; n <= len(c.want); n++ {
			got += map[bool]string{true: "x", false: "."}[c.when.Strikes(n)]
		}
		if got != c.want {
			t.Errorf("%+v strikes %s, want %s", c.when, got, c.want)
		}
	}
}

// Every fault counts the calls that it looks at, also those that an earlier fault strikes; setting
// counts from 1 again.
func TestScriptCountsPerFault(t *testing.T) {
	var s Script[testFault]
	next := func(call string) string {
		f, at := s.Next(func(f testFault) bool { return f.Call == "" || f.Call == call })
		if f == nil {
			return "."
		}
		return string(rune('0'+at.Fault)) + string(rune('0'+at.Call))
	}
	if got := next("a"); got != "." {
		t.Errorf("the empty script strikes %s", got)
	}
	for range 2 {
		if err := s.Set([]testFault{{Call: "a", Nth: 2}, {Every: 2}}); err != nil {
			t.Fatal(err)
		}
		got := next("a") + " " + next("a") + " " + next("b") + " " + next("a")
		if want := "11 02 13 ."; got != want {
			t.Errorf("strikes %s, want %s", got, want)
		}
	}
}

func TestScriptsThatMeanNothing(t *testing.T) {
	var s Script[testFault]
	if err := s.Set([]testFault{{Every: 1}}); err != nil {
		t.Fatal(err)
	}
	bad := errors.New("no such kind")
	for want, f := range map[string]testFault{
		"fault 2: no such kind":                         {bad: bad},
		"fault 2: numbers of a fault can't be negative": {Times: -1},
	} {
		if err := s.Set([]testFault{{}, f}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		if f, _ := s.Next(func(testFault) bool { return true }); f == nil {
			t.Error("a refused script has replaced the one in force")
		}
	}
}

func TestFaultsAsJSON(t *testing.T) {
	for _, c := range []struct {
		text, err string
		delay     time.Duration
	}{
		{`{"call":"a","delay":"1.5s"}`, "", 1500 * time.Millisecond},
		{`{"call":"a"}`, "", 0},
		{`{"delay":"2m0s"}`, "", 2 * time.Minute},
		{`{}`, "", 0},
		{`{"call":"a","cal":"b"}`, `unknown field "cal"`, 0},
		{`{"delay":5}`, "delay: ", 0},
		{`{"delay":"soon"}`, "delay: ", 0},
		{`[]`, "cannot unmarshal", 0},
	} {
		type plain struct {
			Call string `json:"call,omitempty"`
		}
		var f plain
		delay, err := Unmarshal([]byte(c.text), &f)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %s", c.text, err, c.err)
			}
			continue
		}
		if err != nil || delay != c.delay {
			t.Errorf("%s: %s, %v", c.text, delay, err)
		}
		if text, err := Marshal(f, delay); err != nil || string(text) != c.text || !json.Valid(text) {
			t.Errorf("%s, %v, want %s", text, err, c.text)
		}
	}
}

func TestSleepEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := Sleep(t.Context(), time.Hour); err != nil || time.Since(began) != time.Hour {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) ||
			time.Since(began) != time.Hour+time.Minute {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		if err := Sleep(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("no sleep under a context that is over: %v", err)
		}
	})
}

// A client gets an error and doesn't repeat a GET by itself.
func TestDrop(t *testing.T) {
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls++; r.URL.Path == "/drop" {
			Drop(w)
		}
	}))
	defer server.Close()
	for _, path := range []string{"/", "/drop"} {
		resp, err := http.Get(server.URL + path)
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		if dropped := errors.Is(err, io.ErrUnexpectedEOF) ||
			errors.Is(err, syscall.ECONNRESET); dropped != (path == "/drop") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if calls != 2 {
		t.Errorf("%d calls, want 2", calls)
	}
}
