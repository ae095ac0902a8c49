package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

const fieldsConfig = `
service: embedded
ledger: file://./ledger
jobs:
  - {name: daily, kind: report, sinks: [file://./out], start: -3d, currency: USD, dimensions: [day], metrics: [installs]}
`

// What people see who look for a name: without a service, and with one.
func TestFieldsText(t *testing.T) {
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
		{"fields-whole", "fields roas_d7 daus cohort_revenue day {e}_{p}_events_cohort conversion_value_{value}", 0, nil},
		{"fields-json", "fields roas_d30 network --json", 0, nil},
		{"fields-unknown", "fields roas_7d", 2, nil},
		{"fields-twice", "fields roas_d7 --search roas", 2, nil},
		{"fields-live", "fields --search conversion_value", 0, func() { check(t, os.WriteFile("reportferry.yml", []byte(fieldsConfig), 0o600)) }},
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
