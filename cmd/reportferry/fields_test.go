package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/slow"
)

const fieldsConfig = `
service: embedded
ledger: file://./ledger
jobs:
  - {name: daily, kind: report, sinks: [file://./out], start: -3d, currency: USD, dimensions: [day], metrics: [installs]}
`

// What people see who look for a name: without a service, and with one.
func TestFieldsText(t *testing.T) {
	slow.Test(t)
	t.Chdir(t.TempDir())
	t.Setenv("ADJUST_TOKEN", "")
	for _, s := range []struct {
		name, args string
		code       int
		before     func()
	}{
		{"fields-dimensions", "fields --dimensions", 0, nil},
		{"fields-search", "fields --search roas", 0, nil},
		{"fields-words", "fields --search revenue_d7 --metrics", 0, nil},
		{"fields-event", "fields --search buy_d7_revenue_cohort", 0, nil},
		{"fields-none", "fields --search roi_7d", 0, nil},
		{"fields-whole", "fields roas_d7 daus cohort_revenue day {e}_{p}_events_cohort conversion_value_{value}", 0,
			nil},
		{"fields-json", "fields roas_d30 network --json", 0, nil},
		{"fields-unknown", "fields roas_7d", 2, nil},
		{"fields-twice", "fields roas_d7 --search roas", 2, nil},
		{"fields-live", "fields --search conversion_value", 0,
			func() { check(t, os.WriteFile("reportferry.yml", []byte(fieldsConfig), 0o600)) }},
		{"fields-live-events", "fields --search level", 0, nil},
		{"fields-live-metrics", "fields --search level_10_rev", 0, nil},
		{"fields-live-whole", "fields level_10 creative_id kpi_daus level_10_events nosuch_events", 0, nil},
		{"fields-offline", "fields --search ecpi --offline", 0, nil},
		{"fields-broken", "fields --search ecpi", 0, change(t, "metrics: [installs]", "metrics: [instals")},
	} {
		if s.before != nil {
			s.before()
		}
		t.Run(s.name, func(t *testing.T) {
			var out, err bytes.Buffer
			if code := execute(t.Context(), strings.Fields(s.args), &out, &err); code != s.code {
				t.Errorf("exit code %d, want %d: %s%s", code, s.code, &out, &err)
			}
			golden(t, s.name, "$ reportferry "+wrapped(s.args)+err.String()+out.String())
		})
	}
}

// A service that can't be asked is an error, and never a list that looks like the account's. One
// without the lists says so.
func TestFieldsOfAServiceThatFails(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("ADJUST_TOKEN", "")
	t.Setenv("OTHER_TOKEN", "very-secret")
	answers := map[string]int{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		code := answers[r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]]
		w.WriteHeader(code)
		if code == http.StatusOK {
			_, _ = w.Write([]byte(`[{"id":"buy","name":"Buy"}]`))
		}
	}))
	defer s.Close()
	for _, c := range []struct {
		lists, events, code int
		args                string
		says, never         string
	}{
		{401, 401, 5, "", "--offline lists what the program itself knows", "METRIC"},
		{401, 200, 5, "", "--offline lists what the program itself knows", "METRIC"},
		{400, 401, 5, "", "--offline lists what the program itself knows", "METRIC"},
		{404, 200, 0, "", "1 event; the service doesn't give its lists of fields", "\n- "},
		{204, 204, 0, "", "0 events; the service doesn't give its lists of fields", "\n- "},
		{401, 401, 0, " --offline", "the program's own list: nothing is asked", "\n- "},
		{401, 401, 2, " --token-env NOBODYS", "the environment variable that --token-env names is not set", "METRIC"},
		{401, 401, 2, " --config nobody.yml", "nobody.yml", "METRIC"},
	} {
		answers["filters_data"], answers["events"] = c.lists, c.events
		var out bytes.Buffer
		args := "fields --search buy_events --base-url " + s.URL + " --token-env OTHER_TOKEN" + c.args
		code := execute(t.Context(), strings.Fields(args), &out, &out)
		if text := out.String(); code != c.code || !strings.Contains(text, c.says) || strings.Contains(text, c.never) ||
			strings.Contains(text, "secret") {
			t.Errorf("%d, %d%s: exit code %d: %s", c.lists, c.events, c.args, code, text)
		}
	}
}
