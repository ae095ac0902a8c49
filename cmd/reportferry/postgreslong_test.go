//go:build servers

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/cmd/reportferry/see/inspect"
	"github.com/reportferry/reportferry/internal/views"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/sinktest"
)

// The views in long form that are printed for a Postgres can be made there, and have the cells of
// the table.
func TestPostgresViewsInLongForm(t *testing.T) {
	server := sinktest.StartPostgres(t)
	w := newShelf(t, server, server.Addr, startService(t, "--days", "30", "--apps", "2"), 12, living, asked)
	w.edit(t, "metrics: [installs,", "metrics: [retained_users_d1, retained_users_d7, cohort_size_d7, "+
		"retention_rate_d7, installs,")
	w.settle(t, "run")
	out, code := w.run("views", "installs", "--cohorts", "--events")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	out, _, _ = strings.Cut(out, "left out: ")
	out, _, _ = strings.Cut(out, "without rows: ")
	if _, err := w.pool.Exec(t.Context(), out); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	for what, pair := range map[string][2]string{
		"rows": {"SELECT count(*) FROM #.installs_cohorts", "SELECT 2 * count(*) FROM #.installs"},
		"users": {"SELECT sum(retained_users * (10 + period)) FROM #.installs_cohorts WHERE period_unit = 'day'",
			"SELECT sum(11 * retained_users_d1 + 17 * retained_users_d7) FROM #.installs"},
		"rates": {"SELECT sum(retention_rate) FROM #.installs_cohorts",
			"SELECT sum(retained_users_d7 / nullif(cohort_size_d7::double precision, 0)) FROM #.installs"},
		"ripe": {"SELECT count(*) FROM #.installs_cohorts WHERE ripe AND period = 7",
			"SELECT count(*) FROM #.installs WHERE day < (now() AT TIME ZONE 'UTC')::date - 7"},
		"cost": {"SELECT sum(cost) FROM #.installs_cohorts WHERE period = 7", "SELECT sum(cost) FROM #.installs"},
		"events": {"SELECT sum(events + 3 * revenue) FROM #.installs_events WHERE event = 'purchase'",
			"SELECT sum(purchase_events + 3 * purchase_revenue) FROM #.installs"},
	} {
		if got, want := w.number(t, pair[0]), w.number(t, pair[1]); got < want-1e-6*want || got > want+1e-6*want ||
			want <= 0 {
			t.Errorf("%s: the view says %v, the rows %v", what, got, want)
		}
	}
}

// A row is ripe on the day on which the planner fetches its period once more because the cohort's
// is over, in each length of periods.
func TestRipeIsWhatThePlannerTakesForOver(t *testing.T) {
	server := sinktest.StartPostgres(t)
	w := newShelf(t, server, server.Addr, startService(t, "--days", "30", "--apps", "1"), 3, living, "")
	named := func(name string) string { return w.schema + "." + name }
	for _, period := range []refresh.Period{refresh.Day, refresh.Week, refresh.Month, refresh.Quarter, refresh.Year} {
		on := period.String()
		s := &sinks.Schema{On: on, Period: on, About: &sinks.About{Zone: "UTC-12:00"},
			Columns: []sinks.Column{{Name: on, Required: true}, {Name: "sessions_d30"}, {Name: "sessions_w8"}}}
		l, err := inspect.Cohorts("of_"+on, s, nil)
		check(t, err)
		v, err := (views.Place{Dialect: views.Postgres, Table: named, Named: named}).Long(l, "")
		check(t, err)
		today := civil.DateOf(time.Now().UTC().Add(-12 * time.Hour))
		var rows, want []string
		for d := period.Start(today); d.After(period.Start(today.AddDays(-900))); d = period.Start(d.AddDays(-1)) {
			rows = append(rows, fmt.Sprintf("('%s'::date, 1, 2)", d))
			for _, days := range []int{30, 62} {
				if over := period.Next(d).AddDays(days); !today.Before(over) {
					want = append(want, fmt.Sprint(d, days))
				}
			}
		}
		_, err = w.pool.Exec(t.Context(),
			fmt.Sprintf("CREATE TABLE %s AS SELECT * FROM (VALUES %s) AS t (%s, sessions_d30, sessions_w8)",
				named("of_"+on), strings.Join(rows, ", "), on))
		check(t, err)
		var got string
		check(t, w.pool.QueryRow(t.Context(), fmt.Sprintf("SELECT coalesce(string_agg(%s || ' ' || CASE period_unit "+
			"WHEN 'day' THEN 30 ELSE 62 END, ',' ORDER BY %s DESC, period DESC), '') FROM (%s) AS v WHERE ripe", on, on,
			v.Query)).Scan(&got))
		if got != strings.Join(want, ",") || period == refresh.Month && len(want) < 20 {
			t.Errorf("%s: ripe are %s, want %s", on, got, want)
		}
	}
}
