//go:build servers

package main

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/sinks/sinktest"
)

// The views that are printed for a Postgres can be made there, twice, and say what the rows of the table say: sums, ratios of sums,
// the rows that are final, what is told of every partition, and how fresh the table is.
func TestPostgresViews(t *testing.T) {
	server := sinktest.StartPostgres(t)
	s := startService(t, "--days", "30", "--apps", "2")
	w := newShelf(t, server, server.Addr, s, 12, living, asked)
	make := func() {
		t.Helper()
		out, code := w.run("views", "installs", "--by", "app_token")
		if code != 0 {
			t.Fatalf("exit code %d: %s", code, out)
		}
		out, _, _ = strings.Cut(out, "left out: ")
		out, _, _ = strings.Cut(out, "without rows: ")
		if _, err := w.pool.Exec(t.Context(), out); err != nil {
			t.Fatalf("%v:\n%s", err, out)
		}
	}
	number := func(sql string) (n float64) {
		t.Helper()
		check(t, w.pool.QueryRow(t.Context(), fmt.Sprintf("SELECT coalesce((%s), -1)::double precision", strings.ReplaceAll(sql, "#", w.schema))).Scan(&n))
		return n
	}
	w.settle(t, "run")
	make()
	make()
	for what, pair := range map[string][2]string{
		"groups":   {"SELECT count(*) FROM #.installs_by_day_app_token", "SELECT count(DISTINCT (day, app_token)) FROM #.installs"},
		"installs": {"SELECT sum(installs) FROM #.installs_by_day_app_token", "SELECT sum(installs) FROM #.installs"},
		"cost of a day": {"SELECT sum(cost) FROM #.installs_by_day_app_token WHERE day = (SELECT max(day) FROM #.installs)",
			"SELECT sum(cost) FROM #.installs WHERE day = (SELECT max(day) FROM #.installs)"},
		"ratios": {"SELECT sum(ecpi_all) FROM #.installs_by_day_app_token", "SELECT sum(r) FROM (SELECT sum(cost)::double precision / nullif(sum(installs), 0) AS r FROM #.installs GROUP BY day, app_token) AS q"},
		"final rows": {"SELECT count(*) FROM #.installs_final",
			"SELECT count(*) FROM #.installs JOIN #._reportferry_partitions_installs ON day = partition_date WHERE state = 'final'"},
		"partitions": {"SELECT count(*) FROM #._reportferry_partitions WHERE table_name = 'installs'", "SELECT count(DISTINCT day) FROM #.installs"},
		"restated":   {"SELECT count(*) FROM #._reportferry_restatements", "SELECT 0"},
		"fresh rows": {"SELECT row_count FROM #._reportferry_freshness WHERE table_name = 'installs' AND state = 'filled'", "SELECT count(*) FROM #.installs"},
		"newest day": {"SELECT last_period - date '2020-01-01' FROM #._reportferry_freshness", "SELECT max(day) - date '2020-01-01' FROM #.installs"},
	} {
		got, want := number(pair[0]), number(pair[1])
		if math.Abs(got-want) > 1e-9*math.Abs(want) || want < 0 || want == 0 && what != "restated" {
			t.Errorf("%s: the view says %v, the rows %v", what, got, want)
		}
	}
	if age := number("SELECT age_minutes FROM #._reportferry_freshness"); age < 0 || age > 5 {
		t.Errorf("the table is %v minutes old, and was filled a moment ago", age)
	}

	// A restatement is in the view of them, once it was made again.
	w.allNumbers(t)
	w.edit(t, s.url, s.restated(t, "11", "--days", "30", "--apps", "2").url)
	w.settle(t, "run", "--force")
	make()
	if n := number("SELECT count(*) FROM #._reportferry_restatements WHERE metric = 'cost' AND delta <> 0"); n < 12 {
		t.Errorf("%v restatements of cost, want one a day of 12 days", n)
	}
}
