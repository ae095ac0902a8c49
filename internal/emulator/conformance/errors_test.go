package conformance_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator"
)

// App automation answers with each status that the document names, in its error body.
func TestDocumentAppStatuses(t *testing.T) {
	t.Parallel()
	s := serviceOf(t, emulator.Options{Apps: 2, Days: 2, Tokens: map[string]emulator.Role{"admin": emulator.RoleAdmin,
		"editor": emulator.RoleEditor, "reader": emulator.RoleReader}})
	cases := []struct {
		status, method, path, token string
		body                        any
		code                        string
		fault                       *emulator.Fault
	}{
		{"200", "POST", "/app", "admin", androidApp(), "", nil},
		{"200", "POST", "/app", "editor", androidApp(), "", nil},
		{"400", "GET", "/app/nosuchtoken1", "admin", nil, "request_error", nil},
		{"400", "GET", "/status/00000000-0000-4000-8000-000000000000", "admin", nil, "request_error", nil},
		{"401", "GET", "/apps/list", "", nil, "auth_error", nil},
		{"401", "POST", "/app", "stranger", androidApp(), "auth_error", nil},
		{"403", "GET", "/apps/list", "reader", nil, "auth_error", nil},
		{"403", "POST", "/app", "reader", androidApp(), "auth_error", nil},
		{"422", "POST", "/app", "admin", androidApp("platform", "palm"), "validation_error", nil},
		{"422", "POST", "/app", "admin", fields{}, "validation_error", nil},
		{"500", "GET", "/apps/list", "admin", nil, "service_error", &emulator.Fault{Kind: emulator.FaultStatus,
			Status: 500}},
	}
	for _, status := range []string{"200", "400", "401", "403", "422", "500"} {
		t.Run(status, func(t *testing.T) {
			for _, c := range cases {
				if c.status != status {
					continue
				}
				s.SetFaults(nil)
				if c.fault != nil {
					s.SetFaults([]emulator.Fault{*c.fault})
				}
				got := automation(t, s, c.method, c.path, c.token, c.body)
				if strconv.Itoa(got.status) != status {
					t.Errorf("%s %s by %q: %d %s", c.method, c.path, c.token, got.status, got.body)
				} else if e := object[fields](t, got); c.code != "" &&
					(e["error_code"] != c.code || e["error_desc"] == "" ||
						(e["error_desc_details"] != nil) != (status == "422")) {
					t.Errorf("%s %s: %s, want %s", c.method, c.path, got.body, c.code)
				}
			}
		})
	}
}

// A validation error names each field that is missing or wrong.
func TestDocumentValidationErrors(t *testing.T) {
	t.Parallel()
	s := serviceOf(t, emulator.Options{Apps: 2, Days: 2})
	for _, field := range []string{"name", "bundle_id", "store_id", "platform"} {
		c := automation(t, s, "POST", "/app", "x", androidApp(field, nil))
		if want := `[{"loc":["body","` + field + `"],"msg":"Field required"}]`; c.status != 422 ||
			detail(t, c) != want {
			t.Errorf("without %s: %d %s, want %s", field, c.status, c.body, want)
		}
	}
	c := automation(t, s, "POST", "/app", "x", fields{"name": 5})
	var locs []string
	for _, v := range object[fields](t, c)["error_desc_details"].([]any) {
		d := v.(fields)
		locs = append(locs, same(t, d["loc"]))
		if d["msg"] == "" || len(d) != 2 {
			t.Errorf("detail %v", d)
		}
	}
	slices.Sort(locs)
	if got := strings.Join(locs, " "); got !=
		`["body","bundle_id"] ["body","name"] ["body","platform"] ["body","store_id"]` {
		t.Errorf("all at once: %s", got)
	}
	for _, body := range []string{"", "{", "[]", `"text"`, "null"} {
		if c := call(s, "POST", "/app-automation/app", "x", "application/json", body); c.status != 422 ||
			!strings.Contains(detail(t, c), `["body"`) {
			t.Errorf("%q: %d %s", body, c.status, c.body)
		}
	}
}

// The preconditions: the feature is on, there is a template, the caller may edit, the token is
// valid.
func TestDocumentPreconditions(t *testing.T) {
	t.Parallel()
	off := serviceOf(t, emulator.Options{Apps: 1, Days: 2, NoAutomation: true})
	bare := serviceOf(t, emulator.Options{Apps: 1, Days: 2, NoTemplate: true})
	s := serviceOf(t, emulator.Options{Apps: 1, Days: 2, Tokens: map[string]emulator.Role{"one": emulator.RoleEditor,
		"reader": emulator.RoleReader}})
	for _, c := range []struct {
		name, token string
		s           *emulator.Server
		status      int
	}{{"all is well", "one", s, 200}, {"the feature is off", "one", off, 403}, {"no template", "one", bare, 422},
		{"a reader", "reader", s, 403}, {"no token", "", s, 401}} {
		if got := automation(t, c.s, "POST", "/app", c.token, androidApp()); got.status != c.status {
			t.Errorf("%s: %d %s, want %d", c.name, got.status, got.body, c.status)
		}
	}
	second, known := s.ResetToken("one")
	if !known || second == "" || second == "one" {
		t.Fatalf("a reset gives %q, known %t", second, known)
	}
	if got := automation(t, s, "GET", "/apps/list", "one", nil); got.status != 401 {
		t.Errorf("the token of before its reset: %d %s", got.status, got.body)
	}
	if got := automation(t, s, "GET", "/apps/list", second, nil); got.status != 200 {
		t.Errorf("the new token: %d %s", got.status, got.body)
	}
	open := serviceOf(t, emulator.Options{Apps: 1, Days: 2}) // any token is let in
	if _, known := open.ResetToken("any"); !known || automation(t, open, "GET", "/apps/list", "any",
		nil).status != 401 {
		t.Error("a token of many is let in after its reset")
	}
	if got := call(s, "GET", "/reports-service/events", "one", "", ""); got.status != 401 {
		t.Errorf("the token of before its reset, at the reports: %d", got.status)
	}
}
