package conformance_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
)

// called is an answer that was read to its end.
type called struct {
	status int
	kind   string // Content-Type
	body   string
}

// serviceOf is the emulator, by its public face only, at noon of 2026-03-14 and without a limit of
// requests.
func serviceOf(t *testing.T, o emulator.Options) *emulator.Server {
	t.Helper()
	if o.Rate == 0 {
		o.Rate = -1
	}
	o.Hostile = true
	o.Now = func() time.Time { return time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC) }
	s, err := emulator.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if len(o.Readings) == 0 { // the description is of the default ones
		described.Store(s, t)
	}
	return s
}

// call sends a request straight to the handler, as the bearer of a token ("": of none).
func call(s *emulator.Server, method, target, token, kind, body string) called {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.RemoteAddr = "127.0.0.1:4711" // admin calls are for this machine
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if t, ok := described.Load(s); ok {
		for _, finding := range (exchange{r, body, w}).check(description(t.(*testing.T), s)) {
			t.(*testing.T).Error(finding)
		}
	}
	return called{w.Code, w.Header().Get("Content-Type"), w.Body.String()}
}

// object reads the answer as JSON of a shape.
func object[T any](t *testing.T, c called) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(c.body), &v); err != nil {
		t.Fatalf("%d %s %q: %v", c.status, c.kind, c.body, err)
	}
	return v
}

// A reporting endpoint answers with each status that the document names, and says why in the error
// body.
func TestDocumentReportingStatuses(t *testing.T) {
	t.Parallel()
	const right, days = "right-token", "date_period=-1d:-1d"
	ok := map[string]string{"events": "events?", "csv_report": "csv_report?dimensions=day&metrics=installs&" + days}
	none := map[string]string{"events": "events?events__contains=no such event",
		"csv_report": ok["csv_report"] + "&network__in=nobody"}
	bad := map[string]string{"events": "events?tokens_mapping=perhaps",
		"csv_report": "csv_report?dimensions=day&" + days}
	for _, path := range []string{"events", "csv_report"} {
		for _, c := range []struct {
			status, code, target, token, account string
			fault                                *emulator.Fault
		}{
			{"200", "", ok[path], right, "", nil},
			{"204", "", none[path], right, "", nil},
			{"400", "request_error", bad[path], right, "", nil},
			{"401", "auth_error", ok[path], "wrong-token", "", nil},
			{"403", "auth_error", ok[path], right, "12345", nil},
			{"429", "request_error", ok[path], right, "", nil},
			{"503", "service_error", ok[path], right, "", &emulator.Fault{Kind: emulator.FaultStatus, Status: 503}},
			{"504", "service_error", ok[path], right, "", &emulator.Fault{Kind: emulator.FaultStatus, Status: 504}},
		} {
			t.Run(path+"/"+c.status, func(t *testing.T) {
				o := emulator.Options{Apps: 1, Days: 3, Token: right}
				if c.status == "429" {
					o.Rate, o.Burst = 1, 1
				}
				s := serviceOf(t, o)
				if c.fault != nil {
					s.SetFaults([]emulator.Fault{*c.fault})
				}
				target := "/reports-service/" + strings.ReplaceAll(c.target, " ", "%20")
				if c.status == "429" && call(s, "GET", target, c.token, "", "").status != http.StatusOK {
					t.Fatal("the first of two requests is refused")
				}
				r := httptest.NewRequest("GET", target, nil)
				r.RemoteAddr = "127.0.0.1:4711" // as call has it: requests are counted by address
				r.Header.Set("Authorization", "Bearer "+c.token)
				if c.account != "" {
					r.Header.Set("X-Account-ID", c.account)
				}
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				if strconv.Itoa(w.Code) != c.status {
					t.Fatalf("%d %s, want %s", w.Code, w.Body, c.status)
				}
				if bare := call(s, "GET", target, "", "", ""); c.status == "401" && bare.status != 401 {
					t.Errorf("without a token: %d %s", bare.status, bare.body)
				}
				switch {
				case c.status == "204" && w.Body.Len() > 0, c.status == "200" && w.Body.Len() == 0:
					t.Errorf("%d with %q", w.Code, w.Body)
				case c.code != "":
					var e struct {
						Code string `json:"error_code"`
						Desc string `json:"error_desc"`
					}
					if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || e.Code != c.code || e.Desc == "" {
						t.Errorf("%s, %v, want %s and a description", w.Body, err, c.code)
					}
				}
			})
		}
	}
}

// Every field of an event record is of the document's type, and says something somewhere.
func TestDocumentEventRecord(t *testing.T) {
	t.Parallel()
	s := serviceOf(t, emulator.Options{})
	type record map[string]any
	records := object[[]record](t, call(s, "GET", "/reports-service/events?tokens_mapping=true", "x", "", ""))
	sections := []string{"conversion", "fraud", "cost", "revenue", "retention", "events", "conversion_events",
		"installs", "conversion_values"}
	apps, skad, seen := map[string]bool{}, map[any]bool{}, map[string]bool{}
	for _, a := range s.Apps() {
		apps[a.Token] = true
	}
	for _, r := range records {
		id, _ := r["id"].(string)
		for _, field := range []string{"id", "name", "short_name", "section", "formatting", "description"} {
			if r[field] == nil && field == "formatting" { // null, as the service's OpenAPI description allows
				continue
			}
			if text, ok := r[field].(string); !ok {
				t.Errorf("%s: %s is %v, want a string", id, field, r[field])
			} else if text != "" {
				seen[field+" says something"] = true
			}
		}
		if id == "" || r["name"] == "" || seen[id] {
			t.Errorf("slug %q of %v is empty or twice there", id, r["name"])
		}
		seen[id] = true
		if !slices.Contains(sections, r["section"].(string)) {
			t.Errorf("%s is in section %v", id, r["section"])
		}
		if r["formatting"] == "money" {
			seen["formatting is money"] = true
		}
		skadEvent, ok := r["is_skad_event"].(bool)
		if !ok || skadEvent != strings.HasPrefix(r["section"].(string), "conversion_") {
			t.Errorf("%s of section %v: is_skad_event is %v", id, r["section"], r["is_skad_event"])
		}
		skad[skadEvent] = true
		tokens, owners := texts(t, r["tokens"]), texts(t, r["app_token"])
		mapping, ok := r["app_token_x_event_tokens_mapping"].(map[string]any)
		if !ok || len(mapping) != len(owners) || len(tokens) == 0 {
			t.Fatalf("%s: apps %v, tokens %v, mapping %v", id, owners, tokens, r["app_token_x_event_tokens_mapping"])
		}
		mapped := 0
		for _, owner := range owners {
			for _, token := range texts(t, mapping[owner]) {
				if mapped++; !slices.Contains(tokens, token) {
					t.Errorf("%s: the token %s of %s isn't among %v", id, token, owner, tokens)
				}
			}
			if !apps[owner] {
				t.Errorf("%s is of the unknown app %s", id, owner)
			}
		}
		if mapped != len(tokens) {
			t.Errorf("%s: %d tokens, %d of them mapped", id, len(tokens), mapped)
		}
	}
	for _, want := range []string{"short_name says something", "description says something",
		"formatting says something", "formatting is money"} {
		if !seen[want] {
			t.Errorf("of no record: %s", want)
		}
	}
	if len(skad) != 2 {
		t.Errorf("is_skad_event is always %v", skad)
	}
	// Written down, not read: the account's events, and which of two texts is the name and which
	// the short one.
	for _, c := range []struct{ id, name, short, section, formatting string }{
		{"purchase", "Purchase", "PUR", "revenue", "money"},
		{"purchase_completed", "purchase completed", "PCO", "revenue", "money"},
		{"purchase__legacy____v1_", `Purchase (legacy), "v1"`, "", "revenue", ""},
		{"subscription_renewed", "Subscription Renewed", "SUB", "revenue", "money"},
		{"level_complete", "Level Complete", "LVL", "events", "integer"},
		{"level_10", "level_10", "", "events", "integer"},
		{"tutorial_complete", "Tutorial Complete", "TUT", "conversion", "integer"},
		{"registration", "Registration", "REG", "conversion", "integer"},
		{"add_to_cart", "Add to Cart", "ATC", "events", "integer"},
		{"session_start", "session_start", "", "retention", "integer"},
		{"trial_d7", "Trial d7", "", "retention", "integer"},
		{"day_1_return", "Day 1 Return", "", "retention", "integer"},
		{"coupon___10__off___new_", "Coupon, \"10% off\"\n(new)", "", "cost", "money_precise"},
		{"media_cost_ack", "Media Cost Ack", "", "cost", "money"},
		{"refund_flagged", "Refund Flagged", "", "fraud", ""},
		{"multi_account_ban", "Multi-Account Ban", "", "fraud", "integer"},
		{"first_open", "First Open", "FOP", "installs", "integer"},
		{"", "購入完了", "", "revenue", "money"}, // without a letter that a slug may hold: of its token
		{"", "Покупка", "", "revenue", "money"},
		{"skan_purchase", "SKAN Purchase", "SKP", "conversion_events", "integer"},
		{"skan_install_quality", "SKAN Install Quality", "", "conversion_values", "integer"},
		{"farewell_gift", "Farewell Gift", "", "events", "integer"},
	} {
		i := slices.IndexFunc(records, func(r record) bool { return r["name"] == c.name })
		if i < 0 {
			t.Errorf("no event is called %q", c.name)
			continue
		}
		r := records[i]
		id, formatting := c.id, any(c.formatting)
		if id == "" {
			id = "event_" + texts(t, r["tokens"])[0]
		}
		if formatting == "" {
			formatting = nil
		}
		if r["id"] != id || r["short_name"] != c.short || r["section"] != c.section || r["formatting"] != formatting ||
			!strings.Contains(r["description"].(string), c.name) {
			t.Errorf("%v\nwant %+v", r, c)
		}
	}
	if len(records) != 22 {
		t.Errorf("%d events, want 22", len(records))
	}
}

func texts(t *testing.T, v any) (out []string) {
	t.Helper()
	list, ok := v.([]any)
	if !ok {
		t.Fatalf("%v, want an array of strings", v)
	}
	for _, item := range list {
		out = append(out, item.(string))
	}
	return out
}
