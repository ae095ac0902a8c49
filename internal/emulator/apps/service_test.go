package apps_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/apps"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
)

// object is a JSON object of a test.
type object = map[string]any

// send calls app automation; body is JSON as text, or what becomes it, or nil.
func send(t testing.TB, s *emulator.Server, method, path string, body any,
	header ...string) *httptest.ResponseRecorder {
	t.Helper()
	text, ok := body.(string)
	if !ok && body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		text = string(b)
	}
	r := httptest.NewRequest(method, "/app-automation/"+path, strings.NewReader(text))
	r.Header.Set("Authorization", "Bearer x")
	if text != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	r.RemoteAddr = "127.0.0.1:1"
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// call is send that must be answered 200; it returns the decoded answer.
func callOK[T any](t testing.TB, s *emulator.Server, method, path string, body any) (out T) {
	t.Helper()
	w := send(t, s, method, path, body)
	if w.Code != 200 {
		t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		t.Fatalf("%s %s: %v in %s", method, path, err, w.Body)
	}
	return out
}

// refusal is an error as text: "422 validation_error body.name: Field required; ..." or "400
// request_error App not found".
func refusal(t testing.TB, w *httptest.ResponseRecorder) string {
	t.Helper()
	var e struct {
		Code    string `json:"error_code"`
		Desc    string `json:"error_desc"`
		Details []struct {
			Loc []any  `json:"loc"`
			Msg string `json:"msg"`
		} `json:"error_desc_details"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Header().Get("Content-Type") != "application/json" {
		return fmt.Sprintf("%d %s %v", w.Code, w.Body, err)
	}
	if w.Code == 200 {
		return "200"
	}
	out := fmt.Sprintf("%d %s ", w.Code, e.Code)
	if e.Details == nil {
		return out + e.Desc
	}
	if e.Desc != "Request validation failed" {
		t.Errorf("error_desc %q", e.Desc)
	}
	var parts []string
	for _, d := range e.Details {
		var loc []string
		for _, l := range d.Loc {
			loc = append(loc, fmt.Sprint(l))
		}
		parts = append(parts, strings.Join(loc, ".")+": "+d.Msg)
	}
	slices.Sort(parts)
	return out + strings.Join(parts, "; ")
}

// garden is a request that makes an app, with more fields in pairs of name and value; a nil takes a
// field out.
func garden(more ...any) object {
	o := object{"name": "Sky Garden 2", "bundle_id": "com.example.garden2", "store_id": "com.example.garden2",
		"platform": "android"}
	for i := 0; i < len(more); i += 2 {
		o[more[i].(string)] = more[i+1]
		if more[i+1] == nil {
			delete(o, more[i].(string))
		}
	}
	return o
}

func iosGarden(more ...any) object {
	return garden(append([]any{"platform", "ios", "store_id", "1234567890"}, more...)...)
}

type createdApp struct {
	Token    string `json:"adjust_app_token"`
	Name     string `json:"name"`
	BundleID string `json:"bundle_id"`
	StoreID  string `json:"store_id"`
	Ticket   string `json:"ticket_token"`
	SKAppID  *int   `json:"sk_app_id"`
}

func create(t testing.TB, s *emulator.Server, body object) createdApp {
	t.Helper()
	return callOK[createdApp](t, s, "POST", "app", body)
}

type ticketStatus struct {
	Status string            `json:"status"`
	Kind   string            `json:"kind"`
	Result map[string]result `json:"result"`
}

type result struct {
	Successes []string           `json:"successes"`
	Failures  []apps.ItemFailure `json:"failures"`
	Section   string             `json:"section"`
	Detail    string             `json:"detail"`
}

func statusOf(t testing.TB, s *emulator.Server, ticket string) ticketStatus {
	t.Helper()
	out := callOK[ticketStatus](t, s, "GET", "status/"+ticket, nil)
	if out.Kind != "migration" || out.Result == nil {
		t.Errorf("ticket %+v", out)
	}
	return out
}

// settingsOf returns an app's settings.
func settingsOf(t testing.TB, s *emulator.Server, token string) object {
	t.Helper()
	return callOK[object](t, s, "GET", "app/"+token+"/settings", nil)
}

// item finds an item of a section by its name.
func item(t testing.TB, settings object, section, name string) object {
	t.Helper()
	for _, v := range settings[section].([]any) {
		if o := v.(object); o["name"] == name || o["id"] == name {
			return o
		}
	}
	t.Fatalf("no %s among %s: %v", name, section, settings[section])
	return nil
}

func names(settings object, section string) (out []string) {
	for _, v := range settings[section].([]any) {
		out = append(out, fmt.Sprint(v.(object)["name"]))
	}
	return out
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func adminCall(s *emulator.Server, method, path, body, from string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/_emulator/"+path, strings.NewReader(body))
	r.RemoteAddr = from
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// manual is a server whose jobs wait for AdvanceTickets.
func manual(t *testing.T) *emulator.Server {
	return emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 3, Days: 2, TicketStep: -1})
}

func atOnce(t *testing.T) *emulator.Server {
	return emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 3, Days: 2})
}

func advance(t testing.TB, s *emulator.Server, steps int) int {
	t.Helper()
	open, err := s.AdvanceTickets(steps, "")
	if err != nil {
		t.Fatal(err)
	}
	return open
}

func TestAutomationPaths(t *testing.T) {
	t.Parallel()
	s := atOnce(t)
	app := create(t, s, garden())
	for _, c := range []struct{ method, path, want string }{
		{"GET", "apps/list", "200"},
		{"GET", "apps/list/", "200"},
		{"GET", "app/" + app.Token + "/", "200"},
		{"GET", "status/" + app.Ticket + "/", "200"},
		{"DELETE", "app/" + app.Token, "400 request_error Method DELETE is not supported"},
		{"GET", "events", "400 request_error Method GET is not supported"},
		{"PUT", "vault", "400 request_error Method PUT is not supported"},
		{"POST", "app/" + app.Token + "/signature", "400 request_error Method POST is not supported"},
		{"GET", "apps", "404 request_error Not found: /app-automation/apps"},
		{"GET", "", "404 request_error Not found: /app-automation/"},
		{"GET", "app//settings", "404 request_error Not found: /app-automation/app//settings"},
		{"GET", "app/" + app.Token + "/channels", "404 request_error Not found: /app-automation/app/" + app.Token +
			"/channels"},
		{"GET", "app/nosuchtoken1", "400 request_error App not found"},
		{"GET", "app/nosuchtoken1/settings", "400 request_error App not found"},
		{"GET", "status/nosuchticket", "400 request_error Ticket not found"},
		{"GET", "app/" + s.Apps()[0].Token, "400 request_error App not found"},
	} {
		w := send(t, s, c.method, c.path, nil)
		got := fmt.Sprint(w.Code)
		if w.Code != 200 {
			got = refusal(t, w)
		}
		if got != c.want {
			t.Errorf("%s %s: %s, want %s", c.method, c.path, got, c.want)
		}
	}
	last := s.Requests()[len(s.Requests())-1]
	if last.Path != "/app-automation/app/"+s.Apps()[0].Token || last.Status != 400 {
		t.Errorf("request log %+v", last)
	}
}

// What a body may be, whatever endpoint it is for.
func TestAutomationBodies(t *testing.T) {
	t.Parallel()
	s := atOnce(t)
	good := asJSON(t, garden())
	for _, c := range []struct{ name, kind, body, want string }{
		{"JSON", "application/json", good, "200"},
		{"with its letters' set", "application/json; charset=utf-8", good, "200"},
		{"no type", "", good, "200"},
		{"a form", "application/x-www-form-urlencoded", good,
			"422 validation_error body: Content-Type should be application/json"},
		{"a type that isn't one", "?;;", good, "422 validation_error body: Content-Type should be application/json"},
		{"empty", "application/json", "", "422 validation_error body: Field required"},
		{"blank", "application/json", " \n", "422 validation_error body: Field required"},
		{"cut off", "application/json", good[:len(good)-1], "422 validation_error body: JSON decode error"},
		{"two", "application/json", good + good, "422 validation_error body: JSON decode error"},
		{"not UTF-8", "application/json", strings.Replace(good, "Sky", "\xff", 1),
			"422 validation_error body: JSON decode error"},
		{"a list", "application/json", "[" + good + "]",
			"422 validation_error body: Input should be a valid dictionary"},
		{"null", "application/json", "null", "422 validation_error body: Input should be a valid dictionary"},
		{"deep", "application/json", strings.Repeat("[", 200_000), "422 validation_error body: JSON decode error"},
		{"65 objects in each other", "application/json", good[:len(good)-1] + `,"x":` + strings.Repeat(`{"x":`,
			64) + "1" + strings.Repeat("}", 65), "422 validation_error body: Input is nested too deeply"},
		{"64 objects in each other", "application/json", good[:len(good)-1] + `,"x":` + strings.Repeat(`{"x":`,
			63) + "1" + strings.Repeat("}", 64), "200"},
		{"1 MiB", "application/json", good[:len(good)-1] + strings.Repeat(" ", 1<<20-len(good)) + "}", "200"},
		{"1 MiB and a byte", "application/json", good[:len(good)-1] + strings.Repeat(" ", 1<<20+1-len(good)) + "}",
			"400 request_error The request body is longer than 1 MiB"},
		{"10 MB", "application/json", `{"name":"` + strings.Repeat("x", 10_000_000) + `"}`,
			"400 request_error The request body is longer than 1 MiB"},
	} {
		s := s
		if c.want == "200" {
			s = atOnce(t)
		}
		if got := refusal(t, send(t, s, "POST", "app", c.body, "Content-Type", c.kind)); got != c.want {
			t.Errorf("%s: %.200s, want %s", c.name, got, c.want)
		}
		kept, err := s.ManagedApps()
		if err != nil || c.want == "200" != (len(kept) == 1) {
			t.Errorf("%s: %d apps, %v", c.name, len(kept), err)
		}
	}
}

func TestTicketTokensAndAppTokens(t *testing.T) {
	t.Parallel()
	s := atOnce(t)
	seen := map[string]bool{}
	for n := range 30 {
		app := create(t, s, garden("store_id", fmt.Sprint("com.example.a", n)))
		if len(app.Token) != 12 || strings.Trim(app.Token, "abcdefghijklmnopqrstuvwxyz0123456789") != "" ||
			seen[app.Token] || seen[app.Ticket] {
			t.Errorf("%+v", app)
		}
		if p := strings.Split(app.Ticket, "-"); len(app.Ticket) != 36 || len(p) != 5 || len(p[0]) != 8 ||
			p[2][0] != '4' || !strings.Contains("89ab", p[3][:1]) {
			t.Errorf("ticket %q is no UUID", app.Ticket)
		}
		seen[app.Token], seen[app.Ticket] = true, true
	}
	other := create(t, atOnce(t), garden("store_id", "com.example.a0"))
	if !seen[other.Token] || !seen[other.Ticket] {
		t.Error("another server makes other tokens of the same calls")
	}
}

// A body of 10 MB comes over a real connection, and its sender reads the answer.
func TestLongBodyOverAConnection(t *testing.T) {
	t.Parallel()
	s := atOnce(t)
	server := httptest.NewServer(s)
	defer server.Close()
	for range 3 {
		start := time.Now()
		w := postOver(t, server.URL+"/app-automation/vault", `{"section":"trackers","data":"`+strings.Repeat("x",
			10_000_000)+`"}`)
		if w != "400 The request body is longer than 1 MiB" {
			t.Errorf("%s after %v", w, time.Since(start))
		}
	}
	if got := callOK[[]object](t, s, "GET", "vault", nil); len(got) != 0 {
		t.Errorf("kept %v", got)
	}
}
