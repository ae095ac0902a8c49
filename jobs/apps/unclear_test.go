package apps

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/slow"
)

// An answer is what a service says in place of the emulator.
type answer struct {
	status int
	body   string
}

// A talking connection answers otherwise than the emulator: it is given the request and the
// emulator's answer.
type talking struct {
	say  func(r *http.Request, as answer) answer
	over http.RoundTripper
}

func (t *talking) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := t.over.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return nil, err
	}
	was := answer{res.StatusCode, string(body)}
	said := t.say(r, was)
	if said != was {
		res.Header.Set("Content-Type", "application/json") // it is none of the emulator's pages
	}
	if said.status == http.StatusNoContent {
		said.body = ""
	}
	res.StatusCode, res.Status = said.status, strconv.Itoa(said.status)+" "+http.StatusText(said.status)
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader([]byte(said.body))), int64(len(said.body))
	res.Header.Del("Content-Length")
	return res, nil
}

// lookup says what it is told to wherever the emulator doesn't find an app, and shapes the apps
// that it finds.
func lookup(absent answer, present, list func(string) answer) func(*http.Request, answer) answer {
	return func(r *http.Request, as answer) answer {
		path := strings.TrimPrefix(r.URL.Path, "/app-automation/")
		switch {
		case r.Method != http.MethodGet:
		case path == "apps/list":
			return list(as.body)
		case path != "app" && (!strings.HasPrefix(path, "app/") || strings.HasSuffix(path, "/settings")):
		case as.status == http.StatusBadRequest:
			return absent
		default:
			return present(as.body)
		}
		return as
	}
}

func ok(body string) answer { return answer{200, body} }

// Whatever the service says of an app that isn't there, and in whatever form it shows one that is,
// the app is made once, and the second run changes nothing.
func TestAppsAreMadeWhateverTheLookupSays(t *testing.T) {
	slow.Test(t)
	absent := map[string]answer{
		"400 in other words": {400, `{"error_code":"request_error","error_desc":"No such resource"}`},
		"400 as text":        {400, "bad"},
		"403":                {403, `{"error_code":"auth_error","error_desc":"No access"}`}, "404": {404, ""},
		"410": {410, "gone"},
		"422": {422, `{"error_code":"validation_error","error_desc":"invalid"}`}, "204": {204, ""},
		"an empty list": ok("[]"), "an empty object": ok("{}"), "null": ok("null"),
		"a wrapped null": ok(`{"app":null}`), "a text": ok(`"none"`),
		"another app": ok(
			`{"adjust_app_token":"abc123abc123","store_id":"com.example.other","platform":"android","name":"Other"}`),
	}
	present := map[string]func(string) answer{
		"as it is":   ok,
		"in a list":  func(b string) answer { return ok("[" + b + "]") },
		"wrapped":    func(b string) answer { return ok(`{"app":` + b + `}`) },
		"as a page":  func(b string) answer { return ok(`{"apps":[` + b + `],"total":1}`) },
		"refused":    func(string) answer { return answer{403, "no"} }, // also of apps that are there
		"unreadable": func(string) answer { return ok(`[]`) },
	}
	lists := map[string]func(string) answer{
		"as it is": ok, "wrapped": func(b string) answer { return ok(`{"data":` + b + `}`) },
		"refused":          func(string) answer { return answer{403, "no"} },
		"not there":        func(string) answer { return answer{404, ""} },
		"empty":            func(string) answer { return answer{204, ""} },
		"in no known form": func(string) answer { return ok(`{"count":1}`) },
	}
	for i, absence := range slices.Sorted(maps.Keys(absent)) {
		for j, presence := range slices.Sorted(maps.Keys(present)) {
			// Each answer about an app meets each form of one that is there, and each form of the
			// list.
			for k, list := range slices.Sorted(maps.Keys(lists)) {
				if k != (i+j)%len(lists) {
					continue
				}
				a, p, l := absent[absence], present[presence], lists[list]
				t.Run(absence+"/"+presence+"/"+list, func(t *testing.T) {
					r := newRig(t, emulator.Options{Readings: plainly}, game(1))
					r.o.Client = r.clientOver(rigToken,
						&http.Client{Transport: &talking{lookup(a, p, l), r.server.Client().Transport}})
					r.wants(r.run(), 1, 0, 0)
					r.wants(r.run(), 0, 1, 0)
					all, err := r.server.ManagedApps()
					r.check(err)
					if len(all) != 1 || r.tickets()[game(1).ID()] != 1 {
						t.Errorf("%d apps, %d jobs; want 1 and 1", len(all), r.tickets()[game(1).ID()])
					}
				})
			}
		}
	}
}

// A token that is refused everywhere, and a service that fails, make no app.
func TestRefusedLookupsMakeNothing(t *testing.T) {
	for name, as := range map[string]answer{"401": {401, "who"}, "500": {500, "oops"}} {
		r := newRig(t, emulator.Options{Readings: plainly}, game(1))
		r.o.Client = r.clientOver(rigToken, &http.Client{Transport: &talking{lookup(as, ok, ok),
			r.server.Client().Transport}})
		r.wants(r.run(), 0, 0, 1)
		if all, err := r.server.ManagedApps(); err != nil || len(all) != 0 {
			t.Errorf("%s: %d apps were made, %v", name, len(all), err)
		}
	}
}

// A ticket that never tells how its migration went blocks no app: within ticket_wait and two more
// runs it is as declared.
func TestNoTicketBlocksAnApp(t *testing.T) {
	for name, as := range map[string]answer{
		"another word":  ok(`{"status":"processing","kind":"migration","result":{}}`),
		"not known":     {400, `{"error_desc":"Ticket not found"}`},
		"forbidden":     {403, "no"},
		"no content":    {204, ""},
		"without one":   ok(`{"state":"completed"}`),
		"as a list":     ok(`[]`),
		"never over":    ok(`{"status":"opened","kind":"migration","result":{}}`),
		"in upper case": ok(`{"status":"NEW","kind":"migration","result":{}}`),
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, emulator.Options{Readings: plainly}, game(1))
			r.o.TicketWait = time.Minute
			r.o.Client = r.clientOver(rigToken,
				&http.Client{Transport: &talking{func(q *http.Request, was answer) answer {
					if strings.Contains(q.URL.Path, "/status/") {
						return as
					}
					return was
				}, r.server.Client().Transport}})
			began := time.Now()
			first := r.run()
			if took := time.Since(began); took > 2*time.Minute {
				t.Errorf("%s: the first run waited %v", name, took)
			}
			if unknown := !strings.Contains(as.body, "opened") && !strings.Contains(as.body, "NEW"); unknown {
				r.wants(first, 1, 0, 0) // the service shows all that was sent
			} else if err := errors.Join(first.Errs...); !errors.Is(err, adjust.ErrTicketOpen) ||
				!strings.Contains(err.Error(), "status is") {
				t.Errorf("%s: %v", name, err)
			}
			time.Sleep(24 * time.Hour)
			began = time.Now()
			second := r.run()
			if took := time.Since(began); second.Outcome.Failed > 0 || took > time.Minute {
				t.Errorf("%s: the second run: %+v after %v", name, second, took)
			}
			time.Sleep(24 * time.Hour)
			r.wants(r.run(), 0, 1, 0)
			if n := r.tickets()[game(1).ID()]; n != 1 {
				t.Errorf("%s: %d jobs, want 1", name, n)
			}
		})
	}
}

// What still differs after the wait is sent again, by the next run or by one that is told to, and
// only once.
func TestWhatStillDiffersIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Readings: plainly}, game(1))
		r.o.TicketWait = time.Minute
		r.o.Client = r.clientOver(rigToken, &http.Client{Transport: &talking{func(q *http.Request, was answer) answer {
			if strings.Contains(q.URL.Path, "/status/") {
				return ok(`{"status":"queued"}`)
			}
			return answer{was.status, strings.ReplaceAll(was.body, `"Game 1"`, `"Game One"`)}
		}, r.server.Client().Transport}})
		res := r.run()
		if err := errors.Join(res.Errs...); err == nil || !strings.Contains(err.Error(), `"queued"`) ||
			!strings.Contains(err.Error(), "--new-ticket android/com.example.g1") {
			t.Fatalf("%v", err)
		}
		r.o.NewTicket = []string{game(1).ID()}
		began := time.Now()
		r.wants(r.run(), 1, 0, 0) // sent again; that it differs in the same way stands
		if took := time.Since(began); took > 2*time.Minute {
			t.Errorf("it waited %v", took)
		}
		r.o.NewTicket = nil
		if n := r.tickets()[game(1).ID()]; n != 2 {
			t.Errorf("%d jobs, want 2", n)
		}
		r.wants(r.run(), 0, 1, 0)
	})
}
