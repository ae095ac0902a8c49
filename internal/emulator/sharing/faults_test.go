package sharing_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/emulator/sharing"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// postFaulty posts a form by the in-process client. The answer is status, Retry-After and body, or
// "broken".
func postFaulty(s *emulator.Server, body string) string {
	resp, err := s.Client().Post("http://x"+sharing.Path, wire.FormType,
		strings.NewReader(strings.ReplaceAll(body, "APP", s.Apps()[0].Token)))
	if err != nil {
		return "broken"
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	answer := resp.Status[:3] + " " + resp.Header.Get("Retry-After") + " " + string(text)
	if err != nil {
		answer += ", broken"
	}
	return answer
}

// What each fault answers, and whether the request is taken.
func TestSharingFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault  emulator.Fault
		answer string
		taken  int
		waits  time.Duration
	}{
		{emulator.Fault{Kind: emulator.FaultStatus, Status: 429, RetryAfter: 3},
			"429 3 " + sharingFailure("Too Many Requests"), 0, 0},
		{emulator.Fault{Kind: emulator.FaultStatus, Status: 503}, "503  " + sharingFailure("Service Unavailable"), 0,
			0},
		{emulator.Fault{Kind: emulator.FaultStatus, Status: 500}, "500  " + sharingFailure("Internal Server Error"), 0,
			0},
		{emulator.Fault{Kind: emulator.FaultSlow, Delay: time.Hour}, "200  " + allRight, 1, time.Hour},
		{emulator.Fault{Kind: emulator.FaultReset}, "broken", 0, 0},
		{emulator.Fault{Kind: emulator.FaultHTML},
			"200  <!doctype html><title>Please stand by</title><p>We will be back, soon.\n", 0, 0},
		{emulator.Fault{Kind: emulator.FaultCut}, "200  {, broken", 1, 0},
		{emulator.Fault{Kind: emulator.FaultEmpty}, "200  ", 1, 0},
		{emulator.Fault{Kind: emulator.FaultLost}, "broken", 1, 0},
		{emulator.Fault{Kind: emulator.FaultLost, Status: 504}, "504  " + sharingFailure("Gateway Timeout"), 1, 0},
		{emulator.Fault{Kind: emulator.FaultDrift, Drift: emulator.DriftExtra}, "200  " + allRight, 1, 0},
		{emulator.Fault{Kind: emulator.FaultStatus, Status: 503, Path: "/cost"}, "200  " + allRight, 1, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, err := emulator.New(emulator.Options{Apps: 1, Days: 2, Latency: time.Second})
			check(t, err)
			if c.fault.Path == "" {
				c.fault.Path = "third_party_sharing"
			}
			s.SetFaults([]emulator.Fault{c.fault})
			start := time.Now()
			if got := postFaulty(s, gpsForm+"&sharing=disable"); got != c.answer {
				t.Errorf("%s: %q, want %q", c.fault.String(), got, c.answer)
			}
			if c.waits > 0 && time.Since(start) != c.waits+time.Second {
				t.Errorf("%s: after %v", c.fault.String(), time.Since(start))
			}
			state := s.SharingOf(s.Apps()[0].Token, "", aDevice)
			if got := s.Sharing(); got.Records != c.taken || got.Faulted+got.Records != 1 ||
				state.Arrivals != c.taken || (state.Sharing == "disable") != (c.taken == 1) {
				t.Errorf("%s: books %+v, state %+v, want %d taken", c.fault.String(), got, state, c.taken)
			}
			if got := postFaulty(s, gpsForm+"&sharing=disable"); got != "200  "+allRight {
				t.Errorf("after %s: %q", c.fault.String(), got)
			}
			if got := s.Sharing(); got.Devices != 1 || got.Duplicates != c.taken || got.Overlaps != 0 {
				t.Errorf("%s and again: books %+v", c.fault.String(), got)
			}
			check(t, s.Close())
		})
	}
}

// Random delays are between none and the fault's, and the same in each run.
func TestRandomDelays(t *testing.T) {
	t.Parallel()
	var first []time.Duration
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			s, err := emulator.New(emulator.Options{Apps: 1, Days: 2})
			check(t, err)
			var faults []emulator.Fault
			check(t, json.Unmarshal(
				[]byte(`[{"every":1,"kind":"slow","delay":"10s","random":true,"path":"third_party_sharing"}]`),
				&faults))
			s.SetFaults(faults)
			var took []time.Duration
			below, above := 0, 0
			for range 200 {
				start := time.Now()
				if got := postFaulty(s, gpsForm+"&sharing=disable"); got != "200  "+allRight {
					t.Error(got)
				}
				d := time.Since(start)
				took = append(took, d)
				if d > 10*time.Second {
					t.Errorf("%v", d)
				}
				if d < 5*time.Second {
					below++
				} else {
					above++
				}
			}
			if below < 70 || above < 70 {
				t.Errorf("%d short and %d long delays", below, above)
			}
			if first == nil {
				first = took
			} else if fmt.Sprint(first) != fmt.Sprint(took) {
				t.Error("another run waits otherwise")
			}
			check(t, s.Close())
		})
	}
}

// Two requests of a device at a time are noticed, and the slower one is taken later; those of
// others aren't.
func TestSharingOverlaps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := emulator.New(emulator.Options{Apps: 1, Days: 2,
			Faults: []emulator.Fault{{Nth: 1, Kind: emulator.FaultSlow, Delay: time.Minute}}})
		check(t, err)
		var wg sync.WaitGroup
		for i, body := range []string{gpsForm + "&sharing=disable", gpsForm + "&sharing=enable",
			idfForm + "&sharing=enable"} {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Second)
				if got := postFaulty(s, body); got != "200  "+allRight {
					t.Error(got)
				}
			})
		}
		wg.Wait()
		if got := s.Sharing(); got.Overlaps != 1 || got.Devices != 2 || got.Records != 3 {
			t.Errorf("books %+v", got)
		}
		if got := s.SharingOf(s.Apps()[0].Token, "gps_adid", aDevice); got.Sharing != "disable" {
			t.Errorf("the slow one came last, and %+v holds", got)
		}
		postFaulty(s, gpsForm+"&sharing=enable")
		if got := s.Sharing(); got.Overlaps != 1 {
			t.Errorf("books %+v: nothing was under way any more", got)
		}
		check(t, s.Close())
	})
}

// A client that gives up is answered by nobody, and nothing is taken of it.
func TestSharingClientGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := emulator.New(emulator.Options{Apps: 1, Days: 2, Latency: time.Hour})
		check(t, err)
		client := *s.Client()
		client.Timeout = time.Minute
		resp, err := client.Post("http://x"+sharing.Path, wire.FormType,
			strings.NewReader(strings.ReplaceAll(gpsForm, "APP", s.Apps()[0].Token)+"&sharing=disable"))
		if err == nil {
			t.Errorf("answered %s", resp.Status)
			_ = resp.Body.Close()
		}
		synctest.Wait()
		if got := s.Sharing(); got.Records != 0 {
			t.Errorf("books %+v", got)
		}
		postFaulty(s, gpsForm+"&sharing=enable") // of the same device
		if got := s.Sharing(); got.Records != 1 || got.Overlaps != 0 {
			t.Errorf("books %+v: nothing was under way any more", got)
		}
		check(t, s.Close())
	})
}

// When the log can't be written the answer says so.
func TestSharingNotWritten(t *testing.T) {
	t.Parallel()
	o := emulator.Options{Now: emutest.AtNoon, Apps: 1, Days: 2, DB: t.TempDir() + "/facts.db"}
	s, err := emulator.New(o)
	check(t, err)
	emutest.Change(t, o.DB, "DROP TABLE sharing")
	status, answer := postSharing(s, "", gpsForm+"&sharing=disable")
	if status != http.StatusInternalServerError || answer != sharingFailure("Internal error, contact support") {
		t.Errorf("%d %s", status, answer)
	}
	if err := s.SharingLog(func(emulator.SharingArrival) bool { return true }); err == nil ||
		!strings.Contains(err.Error(), "no such table: sharing") {
		t.Errorf("the log is read: %v", err)
	}
	if s.ResetSharing() == nil {
		t.Error("reset")
	}
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "no such table: sharing") {
		t.Errorf("closed without a word of what wasn't written: %v", err)
	}
}

// nextAtOnce is the answer to a client that sends its next request as soon as it sees the first
// byte.
type nextAtOnce struct {
	*httptest.ResponseRecorder
	next func()
}

func (w *nextAtOnce) WriteHeader(status int) {
	w.next()
	w.ResponseRecorder.WriteHeader(status)
}

// One after the other isn't at a time, however fast the client, and after a scripted failure too.
func TestSharingOneAfterTheOther(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 1, Days: 2,
		Faults: []emulator.Fault{{Nth: 1, Kind: emulator.FaultStatus, Status: 503}}})
	post := func(next func()) {
		r := httptest.NewRequest(http.MethodPost, sharing.Path+"?"+strings.ReplaceAll(gpsForm, "APP",
			s.Apps()[0].Token)+"&sharing=disable", nil)
		s.ServeHTTP(&nextAtOnce{httptest.NewRecorder(), next}, r)
	}
	post(func() { post(func() { post(func() {}) }) })
	if got := s.Sharing(); got.Overlaps != 0 || got.Records != 2 || got.Faulted != 1 {
		t.Errorf("books %+v", got)
	}
}
