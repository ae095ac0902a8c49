package report_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/jobs/report"
)

// Whatever signs the slugs of events have, their metrics are columns that readers take without
// quotes, by a section and by a list of metrics, and hold the same numbers. An event whose slug has
// a comma is left out and said, and the others are there.
func TestEventSlugs(t *testing.T) {
	fill := func(t *testing.T, choice string, metrics []string, events ...report.Selector) (got readTable,
		said string) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, emulator.Options{Apps: 12, Days: 9, Readings: alone(choice)})
			defer r.close()
			r.start(1)
			var log strings.Builder
			r.options.Log = slog.New(slog.NewTextHandler(&log, nil))
			r.options.Query.Dimensions, r.options.Query.Metrics = []string{"day"}, metrics
			r.options.Events = events
			r.ok()
			for _, path := range r.files() {
				got = readParquet(t, path)
			}
			said = log.String()
		})
		return got, said
	}
	all := report.Selector{Section: "revenue", Metrics: []string{"events", "d0_revenue_cohort"}}
	want, _ := fill(t, "event-slugs=underscores", []string{"installs", "purchase_completed_events",
		"subscription_renewed_d0_revenue_cohort"})
	for choice, left := range map[string]int{"event-slugs=underscores": 0, "event-slugs=names": 1} {
		t.Run(choice, func(t *testing.T) {
			got, said := fill(t, choice, []string{"installs"}, all)
			for i, name := range want.names {
				if at := slices.Index(got.names, name); at < 0 || got.rows[0][at] != want.rows[0][i] ||
					want.rows[0][i] == "0" {
					t.Errorf("%s: %v, want %v", name, got, want.rows)
				}
			}
			if n := strings.Count(said, "is left out, because its slug"); n != left {
				t.Errorf("%d events are left out, want %d: %s", n, left, said)
			}
			if strings.Contains(strings.Join(got.names, ""), " ") ||
				slices.ContainsFunc(got.names, func(n string) bool { return strings.Contains(n, "legacy") }) !=
					(left == 0) {
				t.Errorf("columns %v", got.names)
			}
			if left == 1 {
				listed, _ := fill(t, choice, []string{"installs", "purchase completed_events",
					"subscription renewed_d0_revenue_cohort"})
				if !slices.Equal(listed.names, want.names) || !slices.Equal(listed.rows[0], want.rows[0]) {
					t.Errorf("a list of metrics gives %v, want %v", listed, want)
				}
			}
		})
	}
}
