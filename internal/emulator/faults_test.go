package emulator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
)

func TestFaultsThroughPipesAndSockets(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2})
	real := httptest.NewServer(s)
	defer real.Close()
	plain := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	defer plain.CloseIdleConnections()
	_, whole, err := emutest.Fetch(s.Client(), "http://x"+oneDay, "x")
	if err != nil {
		t.Fatal(err)
	}
	for name, via := range map[string]struct {
		client *http.Client
		base   string
	}{"pipe, gzip": {s.Client(), "http://x"}, "socket, gzip": {real.Client(), real.URL},
		"socket, plain": {plain, real.URL}} {
		t.Run(name, func(t *testing.T) {
			try := func(f emulator.Fault) (*http.Response, []byte, error) {
				s.SetFaults([]emulator.Fault{f})
				resp, body, err := emutest.Fetch(via.client, via.base+oneDay, "x")
				if _, again, err := emutest.Fetch(via.client, via.base+oneDay, "x"); err != nil ||
					!bytes.Equal(again, whole) {
					t.Errorf("after %s: %.100q, %v", f.String(), again, err)
				}
				return resp, body, err
			}
			for _, status := range []int{429, 503, 504} {
				for _, after := range []int{0, 7} {
					resp, body, err := try(emulator.Fault{Kind: emulator.FaultStatus, Status: status,
						RetryAfter: after})
					if err != nil || resp.StatusCode != status ||
						(resp.Header.Get("Retry-After") == "7") != (after == 7) ||
						!strings.Contains(string(body), "error_desc") {
						t.Errorf("%d: %v %q %v", status, resp, body, err)
					}
				}
			}
			for _, after := range []int64{0, 1, 29, 30, 31, 500, int64(len(whole)) - 1, int64(len(whole)), 1 << 40} {
				resp, body, err := try(emulator.Fault{Kind: emulator.FaultCut, AfterBytes: after})
				if !errors.Is(err, io.ErrUnexpectedEOF) || resp.StatusCode != 200 {
					t.Errorf("cut after %d: %v %v", after, resp, err)
				}
				if !bytes.HasPrefix(whole, body) || len(body) == 0 || body[len(body)-1] == '\n' ||
					len(body) >= len(whole)-1 {
					t.Errorf("cut after %d leaves %d of %d bytes", after, len(body), len(whole))
				}
				if want := int(after); want > 1 && want < len(whole)-1 && len(body) != want && len(body) != want+1 {
					t.Errorf("cut after %d leaves %d bytes", after, len(body))
				}
			}
			if resp, _, err := try(emulator.Fault{Kind: emulator.FaultReset}); !errors.Is(err, io.ErrUnexpectedEOF) &&
				!errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("reset: %v %v", resp, err)
			}
			if resp, body, err := try(emulator.Fault{Kind: emulator.FaultHTML}); err != nil || resp.StatusCode != 200 ||
				!strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") || len(body) == 0 {
				t.Errorf("html: %v %q %v", resp, body, err)
			}
			if resp, body, err := try(emulator.Fault{Kind: emulator.FaultEmpty}); err != nil ||
				resp.StatusCode != 200 || len(body) != 0 {
				t.Errorf("empty: %v %q %v", resp, body, err)
			}
			if resp, body, err := try(emulator.Fault{Kind: emulator.FaultSlow, Delay: time.Millisecond}); err != nil ||
				resp.StatusCode != 200 || !bytes.Equal(body, whole) {
				t.Errorf("slow: %v %v", resp, err)
			}
		})
	}
}

func TestHeaderDrift(t *testing.T) {
	t.Parallel()
	for _, bulk := range []int{0, 10} {
		s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2, Bulk: bulk})
		for _, c := range []struct{ drift, column, header string }{
			{emulator.DriftRename, "", "day,app,installs,cost_v2"},
			{emulator.DriftRename, "app", "day,app_v2,installs,cost"},
			{emulator.DriftMissing, "installs", "day,app,cost"},
			{emulator.DriftMissing, "", "day,app,installs"},
			{emulator.DriftExtra, "", "day,app,installs,cost,extra"},
		} {
			s.SetFaults([]emulator.Fault{{Kind: emulator.FaultDrift, Drift: c.drift, Column: c.column}})
			a := emutest.Report(t, s, "day,app", "installs,cost", "date_period=yesterday") // reads every row, by width
			if got := strings.Join(a.Header, ","); got != c.header {
				t.Errorf("%s %s: header %q, want %q", c.drift, c.column, got, c.header)
			}
		}
	}
}

func TestWhichRequestsAFaultStrikes(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 1})
	const short, long = "csv_report?dimensions=day&metrics=installs&date_period=-2d:-1d",
		"csv_report?dimensions=day&metrics=installs&date_period=-8d:-1d"
	for _, c := range []struct {
		fault emulator.Fault
		paths []string
		want  string
	}{
		{emulator.Fault{}, []string{short, short, short}, "x.."},
		{emulator.Fault{Nth: 2}, []string{short, short, short}, ".x."},
		{emulator.Fault{Nth: 2, Times: 2}, []string{short, short, short, short}, ".xx."},
		{emulator.Fault{Every: 2}, []string{short, short, short, short, short}, "x.x.x"},
		{emulator.Fault{Nth: 2, Every: 3, Times: 2}, []string{short, short, short, short, short, short, short, short},
			".x..x..."},
		{emulator.Fault{Every: 1, MinDays: 8}, []string{short, long, short, long}, ".x.x"},
		{emulator.Fault{Every: 1, Path: "events"}, []string{short, "events", long, "events"}, ".x.x"},
		{emulator.Fault{Every: 1, Query: "date_period=-2d:"}, []string{short, long, "events"}, "x.."},
		{emulator.Fault{Nth: 2, Path: "csv_report"}, []string{"events", short, "events", short}, "...x"},
	} {
		c.fault.Kind, c.fault.Status = emulator.FaultStatus, 503
		s.SetFaults([]emulator.Fault{c.fault})
		got := ""
		for _, p := range c.paths {
			if emutest.Ask(s, p).Code == 503 {
				got += "x"
			} else {
				got += "."
			}
		}
		if got != c.want {
			t.Errorf("%+v struck %s, want %s", c.fault, got, c.want)
		}
	}
	s.SetFaults([]emulator.Fault{{Nth: 2, Kind: emulator.FaultStatus, Status: 503},
		{Nth: 2, Kind: emulator.FaultStatus, Status: 504}, {Nth: 3, Kind: emulator.FaultEmpty}})
	got := fmt.Sprint(emutest.Ask(s, short).Code, emutest.Ask(s, short).Code, emutest.Ask(s, short).Body.Len(),
		emutest.Ask(s, short).Code)
	if got != "200 503 0 200" {
		t.Errorf("several faults: %s", got)
	}
}

func TestFaultsAreJSON(t *testing.T) {
	t.Parallel()
	want := []emulator.Fault{
		{Nth: 3, Every: 2, Times: 5, Path: "csv_report", MinDays: 7, Query: "app", Kind: emulator.FaultStatus,
			Status: 429, RetryAfter: 2},
		{Kind: emulator.FaultSlow, Delay: 1500 * time.Millisecond}, {Kind: emulator.FaultCut, AfterBytes: 99},
		{Kind: emulator.FaultDrift, Drift: emulator.DriftRename, Column: "day"},
		{Kind: emulator.FaultDropRows, Of: emulator.OfAny, Where: map[string]string{"network": "x"}, EveryRow: 3},
		{Kind: emulator.FaultCutRows, Rows: 9},
		{Kind: emulator.FaultDropDay, Day: "2026-03-09"}, {Kind: emulator.FaultDropApp, App: "abc"},
	}
	text, err := json.Marshal(want)
	if err != nil || !strings.Contains(string(text), `"delay":"1.5s"`) {
		t.Fatalf("%s, %v", text, err)
	}
	var got []emulator.Fault
	if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAdmin(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 1})
	call := func(method, path, body, remote string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(context.Background(), method, "/_emulator/"+path, strings.NewReader(body))
		r.RemoteAddr = remote
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w
	}
	const local = "127.0.0.1:4711"
	for _, remote := range []string{"10.1.2.3:80", "192.0.2.1:1234", "[2001:db8::1]:80", "localhost.example:1"} {
		if got := call("GET", "requests", "", remote).Code; got != 403 {
			t.Errorf("from %s: %d", remote, got)
		}
	}
	for _, remote := range []string{local, "[::1]:9", "pipe", ""} {
		if got := call("GET", "requests", "", remote).Code; got != 200 {
			t.Errorf("from %q: %d", remote, got)
		}
	}
	if w := call("PUT", "faults", `[{"kind":"status","status":503},{"nth":2,"kind":"slow","delay":"1ms"}]`,
		local); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	emutest.Get(t, s, "events", 503)
	emutest.Get(t, s, "events?events__contains=Purchase", 200)
	var log []emulator.Request
	if err := json.Unmarshal(call("GET", "requests", "", local).Body.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	if len(log) != 2 || log[0].Status != 503 || log[0].Fault != "503" || log[1].Query != "events__contains=Purchase" ||
		log[1].Status != 200 ||
		log[1].Fault != "slow" || log[1].Path != "/reports-service/events" || log[1].Method != "GET" ||
		log[1].Started.Before(log[0].Started) {
		t.Errorf("log %+v", log)
	}
	if call("POST", "reset-requests", "", local).Code != 200 || len(s.Requests()) != 0 {
		t.Error("the log isn't empty after its reset")
	}
	if w := call("POST", "clock", `{"shift":"48h"}`, local); w.Code != 200 ||
		!strings.Contains(w.Body.String(), "2026-03-16T12:00:00Z") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if a := emutest.Report(t, s, "day", "clicks", "date_period=-1d:-0d"); len(a.Rows) != 2 ||
		a.Rows[1][0] != "2026-03-16" {
		t.Errorf("after two days: %q", a.Rows)
	}
	for _, bad := range [][3]string{{"PUT", "faults", `[{"kind":"fire"}]`},
		{"PUT", "faults", `[{"kind":"cut","after":1}]`}, {"PUT", "faults", `{`},
		{"POST", "clock", `{"shift":"soon"}`}, {"PUT", "faults", `[{"kind":"slow","delay":"long"}]`}} {
		if w := call(bad[0], bad[1], bad[2], local); w.Code != 400 {
			t.Errorf("%v: %d %s", bad, w.Code, w.Body)
		}
	}
	if got := call("DELETE", "requests", "", local).Code; got != 404 {
		t.Errorf("DELETE requests: %d", got)
	}
}
