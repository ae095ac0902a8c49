package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A lineageServer is a catalogue that keeps what it is told.
type lineageServer struct {
	*httptest.Server
	mu     sync.Mutex
	events []map[string]any
	keys   map[string]bool
}

func newLineageServer(t *testing.T) *lineageServer {
	s := &lineageServer{keys: map[string]bool{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		var e map[string]any
		if err != nil || json.Unmarshal(text, &e) != nil || r.URL.Path != "/api/v1/lineage" ||
			r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %v %s", r.URL, err, text)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.events, s.keys[r.Header.Get("Authorization")] = append(s.events, e), true
	}))
	t.Cleanup(s.Close)
	return s
}

// told gives the types of the events since it was last asked, and holds what every one of them has.
func (s *lineageServer) told(t *testing.T, secrets ...string) (types []string, last map[string]any) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := map[any]bool{}
	for _, e := range s.events {
		types, last = append(types, fmt.Sprint(e["eventType"])), e
		ids[e["run"].(map[string]any)["runId"]] = true
		text, _ := json.Marshal(e)
		for _, secret := range secrets {
			if strings.Contains(string(text), secret) {
				t.Errorf("an event has %q: %s", secret, text)
			}
		}
	}
	for id := range ids {
		if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(
			fmt.Sprint(id)) {
			t.Errorf("%v is no UUID", id)
		}
	}
	if len(ids) > 1 {
		t.Errorf("one run of one job has the IDs %v", ids)
	}
	s.events = nil
	return types, last
}

// A catalogue is told of the beginning and the end of each job of a run, and that it fails; a run
// is what it is without one.
func TestTheCatalogueIsTold(t *testing.T) {
	t.Parallel()
	s, c := startService(t), newLineageServer(t)
	p := newPlace(t, s, 3, 2, racing)
	p.env = []string{"OPENLINEAGE_URL=" + c.URL + "/", "OPENLINEAGE_API_KEY=key-of-the-catalogue",
		"OPENLINEAGE_NAMESPACE=marketing",
		"OPENLINEAGE_PARENT_ID=airflow/dag.task/0199a2b4-1111-7222-8333-444455556666"}
	deadline := "1m"
	rows := "" // that the run says to have written, which differ from day to day
	want := func(code int, types ...string) map[string]any {
		t.Helper()
		out, got := p.run("run", "--force", "--deadline", deadline)
		if found := regexp.MustCompile(`(?m)^  rows +([0-9,]+)`).FindStringSubmatch(out); found != nil {
			rows = strings.ReplaceAll(found[1], ",", "")
		}
		told, last := c.told(t, p.token, "key-of-the-catalogue")
		if got != code || !slices.Equal(told, types) {
			t.Errorf("exit %d, told %v, want %d, %v\n%s", got, told, code, types, out)
		}
		return last
	}
	last := want(0, "START", "COMPLETE")
	text, err := json.Marshal(last)
	check(t, err)
	for _, has := range []string{`"namespace":"marketing"`, `"name":"installs"`, `"namespace":"file"`,
		`"name":"` + p.dir + `/out/installs"`, `"rowCount":` + rows + `,`, `{"name":"day","type":"`,
		`"runId":"0199a2b4-1111-7222-8333-444455556666"`} {
		if !strings.Contains(string(text), has) {
			t.Errorf("there is no %s in\n%s", has, text)
		}
	}
	if !c.keys["Bearer key-of-the-catalogue"] || len(c.keys) != 1 {
		t.Errorf("the keys that were sent: %v", c.keys)
	}
	s.admin(t, http.MethodPut, "faults",
		json.RawMessage(
			`[{"kind": "status", "status": 400, "path": "csv_report", "query": "dimensions=day,app", "every": 1}]`))
	last = want(1, "START", "FAIL")
	if text, _ := json.Marshal(last["run"]); !strings.Contains(string(text), `"errorMessage"`) ||
		!strings.Contains(string(text), "400") {
		t.Errorf("why it failed isn't in %s", text)
	}
	s.admin(t, http.MethodPut, "faults",
		json.RawMessage(`[{"kind": "slow", "delay": "30s", "path": "csv_report", "every": 1}]`))
	deadline = "4s"
	want(130, "START", "ABORT")
	s.admin(t, http.MethodPut, "faults", []string{})
	deadline, p.env = "1m", append(p.env, "OPENLINEAGE_DISABLED=true")
	want(0)
}

// A catalogue that refuses, is slow, sends elsewhere or isn't there changes nothing, and nothing of
// its address is told.
func TestACatalogueThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter,
		*http.Request) {
		t.Error("an event went elsewhere")
	}))
	t.Cleanup(elsewhere.Close)
	s := startService(t)
	for name, answer := range map[string]http.HandlerFunc{
		"refuses": func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, r.Header.Get("Authorization"), http.StatusForbidden)
		},
		"sends on": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		},
		"is slow":     func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"isn't there": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := "http://user:pass-of-the-address@127.0.0.1:1/hidden-path"
			if answer != nil {
				c := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					answer(w, r)
				}))
				t.Cleanup(c.Close)
				address = strings.Replace(c.URL, "://", "://user:pass-of-the-address@", 1) + "/hidden-path"
			}
			p := newPlace(t, s, 2, 2, racing)
			p.env = []string{"OPENLINEAGE_URL=" + address, "OPENLINEAGE_API_KEY=key-of-the-catalogue"}
			began := time.Now()
			out, code := p.run("run", "--log-format", "json")
			if code != 0 || !strings.Contains(out, "could not be told") || time.Since(began) > 14*time.Second ||
				len(p.files()) != 2 {
				t.Errorf("exit %d after %v: %s", code, time.Since(began), out)
			}
			for _, secret := range []string{"pass-of-the-address", "hidden-path", "key-of-the-catalogue"} {
				if strings.Contains(out, secret) {
					t.Errorf("the log has %q", secret)
				}
			}
		})
	}
}
