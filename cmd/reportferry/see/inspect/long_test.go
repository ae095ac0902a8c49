package inspect

import (
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/sinks"
)

// inLongForm is a table with metrics of several periods and of two events, and with some of
// neither.
func inLongForm(on, zone string, dimensions ...string) *sinks.Schema {
	s := &sinks.Schema{On: on, Period: on, About: &sinks.About{Zone: zone}}
	for _, name := range append([]string{on}, dimensions...) {
		s.Columns = append(s.Columns, sinks.Column{Name: name, Required: true})
	}
	for _, name := range []string{
		"installs", "cost", "cohort_size_d7", "retained_users_w1", "retained_users_d7", "retained_users_d14",
		"retention_rate_d7", "roas_d14", "all_revenue_total_d14",
		"d7_deal_d14_revenue_cohort", "revenue_per_user_d14", "cohort_revenue", "purchase_events", "d7_deal_events",
		"purchase_revenue", "purchase_events_cost_noncohorted",
	} {
		s.Columns = append(s.Columns, sinks.Column{Name: name})
	}
	return s
}

// Each column of a cohort's period is one value of one key, and so is each of an event; others
// aren't there, but the cost of the cohort.
func TestLongForm(t *testing.T) {
	for _, l := range long(t) {
		var got []string
		for _, row := range l.Rows {
			got = append(got, strings.Join(row, " "))
		}
		for _, v := range l.Values {
			line := v.Name + ":"
			for _, row := range l.Rows {
				line += " " + v.From[row[0]]
			}
			got = append(got, line)
		}
		want := map[string][]string{
			"_cohorts": {
				"'d7' 'day' 7 7", "'d14' 'day' 14 14", "'w1' 'week' 1 13", "cohort_size: cohort_size_d7  ",
				"retained_users: retained_users_d7 retained_users_d14 retained_users_w1",
				"retention_rate: retention_rate_d7  ", "roas:  roas_d14 ", "all_revenue_total:  all_revenue_total_d14 ",
				"d7_deal_revenue_cohort:  d7_deal_d14_revenue_cohort ", "cost:   ",
			},
			"_events": {
				"'purchase'", "'d7_deal'", "events: purchase_events d7_deal_events", "revenue: purchase_revenue ",
				"events_cost_noncohorted: purchase_events_cost_noncohorted ",
			},
		}[l.Name]
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s:\n%s\nwant\n%s", l.Name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// A table that has nothing to show, or a column that the view adds, is refused in words.
func TestLongFormIsRefused(t *testing.T) {
	bare := &sinks.Schema{On: "day", Period: "day", About: &sinks.About{},
		Columns: []sinks.Column{{Name: "day", Required: true}, {Name: "installs"}}}
	for what, c := range map[string]struct {
		design  func() error
		message string
	}{
		"no cohorts": {func() error { _, err := Cohorts("t", bare, nil); return err },
			"no metric of a cohort's period, such as retained_users_d7"},
		"no events": {func() error { _, err := Events("t", bare, nil); return err },
			"no metric of an event, such as purchase_events"},
		"no date": {func() error { _, err := Cohorts("t", inLongForm("", ""), nil); return err },
			"the table has no date"},
		"event": {func() error { _, err := Events("t", inLongForm("day", "", "event"), nil); return err },
			"the view t_events adds a column event, and the table has one"},
		"ripe": {func() error { _, err := Cohorts("t", inLongForm("day", "", "ripe"), nil); return err },
			"the view t_cohorts adds a column ripe"},
		"by": {func() error { _, err := Cohorts("t", inLongForm("day", ""), []string{"app"}); return err },
			"--by app: the table has no such dimension"},
	} {
		if err := c.design(); err == nil || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// No day of a zone is over before it is, whatever its clocks do.
func TestAhead(t *testing.T) {
	for zone, want := range map[string]int{
		"UTC+00:00": 0, "UTC+05:30": 330, "UTC-03:00": -180, "Europe/Berlin": 60, "America/New_York": -300,
		"Australia/Sydney": 600, "no such zone": -720,
	} {
		if got := minutesAhead(zone); got != want {
			t.Errorf("%s: %d minutes, want %d", zone, got, want)
		}
		location, err := time.LoadLocation(zone)
		for month := time.January; err == nil && month <= time.December; month++ {
			if _, seconds := time.Date(2026, month, 15, 0, 0, 0, 0, location).Zone(); seconds/60 < want {
				t.Errorf("%s is %d seconds ahead in %s", zone, seconds, month)
			}
		}
	}
}
