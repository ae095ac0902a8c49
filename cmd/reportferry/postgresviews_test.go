//go:build servers

package main

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/sinks/sinktest"
)

// The views that are printed for a Postgres can be made there, twice, and say what the rows of the
// table say: sums, ratios of sums, the rows that are final, what is told of every partition, and
// how fresh the table is.
func TestPostgresViews(t *testing.T) {
	server := sinktest.StartPostgres(t)
	s := startService(t, "--days", "30", "--apps", "2")
	w := newShelf(t, server, server.Addr, s, 12, living, asked)
	number := func(sql string) float64 { return w.number(t, sql) }
	w.settle(t, "run")
	w.views(t)
	w.views(t)
	for what, pair := range map[string][2]string{
		"groups": {"SELECT count(*) FROM #.installs_by_day_app_token",
			"SELECT count(DISTINCT (day, app_token)) FROM #.installs"},
		"installs": {"SELECT sum(installs) FROM #.installs_by_day_app_token", "SELECT sum(installs) FROM #.installs"},
		"cost of a day": {"SELECT sum(cost) FROM #.installs_by_day_app_token WHERE day = (SELECT max(day) FROM " +
			"#.installs)",
			"SELECT sum(cost) FROM #.installs WHERE day = (SELECT max(day) FROM #.installs)"},
		"ratios": {"SELECT sum(ecpi_all) FROM #.installs_by_day_app_token",
			"SELECT sum(r) FROM (SELECT sum(cost)::double precision / nullif(sum(installs), 0) AS r FROM #.installs " +
				"GROUP BY day, app_token) AS q"},
		"final rows": {"SELECT count(*) FROM #.installs_final",
			"SELECT count(*) FROM #.installs JOIN #._reportferry_partitions_installs ON day = partition_date WHERE " +
				"state = 'final'"},
		"partitions": {"SELECT count(*) FROM #._reportferry_partitions WHERE table_name = 'installs'",
			"SELECT count(DISTINCT day) FROM #.installs"},
		"restated": {"SELECT count(*) FROM #._reportferry_restatements", "SELECT 0"},
		"fresh rows": {"SELECT row_count FROM #._reportferry_freshness WHERE table_name = 'installs' AND state = " +
			"'filled'", "SELECT count(*) FROM #.installs"},
		"newest day": {"SELECT last_period - date '2020-01-01' FROM #._reportferry_freshness",
			"SELECT max(day) - date '2020-01-01' FROM #.installs"},
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
	w.views(t)
	if n := number("SELECT count(*) FROM #._reportferry_restatements WHERE metric = 'cost' AND delta <> 0"); n < 12 {
		t.Errorf("%v restatements of cost, want one a day of 12 days", n)
	}
}

// The tables of states have the names that the config asks for, and so have the views that read
// them.
func TestNamesOfStateTablesInPostgres(t *testing.T) {
	server := sinktest.StartPostgres(t)
	w := newShelf(t, server, server.Addr, startService(t, "--days", "30", "--apps", "1"), 3, living, "")
	w.edit(t, "ledger: ", named)
	w.settle(t, "run")
	w.views(t)
	for _, name := range []string{"reportferry_partitions", "reportferry_partitions_installs",
		"reportferry_freshness"} {
		if n := w.number(t, "SELECT count(*) FROM #."+name); n < 1 {
			t.Errorf("%s has no rows", name)
		}
	}
}

// views makes the views of the job's table.
func (w *shelf) views(t *testing.T) {
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

// number asks for one, -1 for NULL. # stands for the schema.
func (w *shelf) number(t *testing.T, sql string) (n float64) {
	t.Helper()
	check(t, w.pool.QueryRow(t.Context(), fmt.Sprintf("SELECT coalesce((%s), -1)::double precision",
		strings.ReplaceAll(sql, "#", w.schema))).Scan(&n))
	return n
}

// A table of 100 days is rebaselined from EUR to USD and stops after 41 of them. Whoever reads the
// views, at any moment of it, never sees euros beside dollars, and then the dollars of the 41 days;
// when the rest is done, those of all.
func TestPostgresViewsOfTwoMeanings(t *testing.T) {
	server := sinktest.StartPostgres(t)
	s := startService(t, "--days", "120", "--apps", "2")
	const days, replaced = 100, 41
	first := civil.DateOf(time.Now().UTC()).AddDays(-days)
	w := newShelf(t, server, server.Addr, s, days, living, asked)
	w.edit(t, "page: 2d", "page: 1d")
	w.edit(t, "attempts: 4", "attempts: 1")
	w.edit(t, "currency: USD", "currency: EUR")
	w.settle(t, "run")
	w.views(t)
	_, err := w.pool.Exec(t.Context(),
		strings.ReplaceAll("CREATE TABLE #.euros AS SELECT day, app_token, sum(cost) AS cost FROM #.installs GROUP "+
			"BY 1, 2", "#", w.schema))
	check(t, err)
	// Those of a view's sums of a day and an app that are euros, and those that aren't.
	counts := func(view string) (euros, others int) {
		t.Helper()
		sql := "SELECT count(*) FILTER (WHERE v.cost = e.cost), count(*) FILTER (WHERE v.cost <> e.cost) FROM " +
			"(SELECT day, app_token, sum(cost) AS cost FROM #." + view +
			" GROUP BY 1, 2) AS v JOIN #.euros AS e USING (day, app_token) WHERE e.cost > 0"
		check(t, w.pool.QueryRow(t.Context(), strings.ReplaceAll(sql, "#", w.schema)).Scan(&euros, &others))
		return euros, others
	}
	if euros, others := counts("installs_final"); euros < 2*80 || others > 0 {
		t.Fatalf("%d sums of euros are final, and %d of something else", euros, others)
	}
	mixed := make(chan error)
	stop := make(chan struct{})
	go func() {
		defer close(mixed)
		for reads, both := 0, 0; ; reads++ {
			select {
			case <-stop:
				if both == 0 {
					mixed <- fmt.Errorf("the table itself had one meaning in each of %d reads", reads)
				}
				return
			default:
			}
			if euros, others := counts("installs"); euros > 0 && others > 0 {
				both++
			}
			for _, view := range []string{"installs_final", "installs_by_day_app_token"} {
				if euros, others := counts(view); euros > 0 && others > 0 {
					mixed <- fmt.Errorf("%s has %d sums of euros and %d of dollars", view, euros, others)
					<-stop
					return
				}
			}
		}
	}()
	w.edit(t, "currency: EUR", "currency: USD")
	var list []emulator.Fault
	for day := replaced; day < days; day++ {
		date := first.AddDays(day).String()
		list = append(list, emulator.Fault{Kind: emulator.FaultStatus, Status: 503,
			Query: "date_period=" + date + ":" + date, Every: 1})
	}
	s.admin(t, http.MethodPut, "faults", list)
	out, code := w.run("run", "--now", "--rebaseline")
	close(stop)
	if code != 3 || !strings.Contains(unfolded(out),
		"until the run has ended, the views that reportferry views makes have no rows of the table") {
		t.Fatalf("exit code %d: %s", code, out)
	}
	for err := range mixed {
		t.Error(err)
	}
	dollars := func(n int) (want float64) {
		t.Helper()
		for _, row := range s.grouped(t, "day", "cost", first, first.AddDays(n-1)) {
			cost, err := strconv.ParseFloat(row[1], 64)
			check(t, err)
			want += cost
		}
		return want
	}
	holds := func(when string, view string, n int) {
		t.Helper()
		got, want, of := w.number(t, "SELECT sum(cost) FROM #."+view), dollars(n),
			w.number(t, "SELECT count(DISTINCT day) FROM #."+view)
		if math.Abs(got-want) > 0.01*float64(n) || of != float64(n) {
			t.Errorf("%s: %s has %v of %v days, the service says %v of %d", when, view, got, of, want, n)
		}
	}
	for _, view := range []string{"installs_final", "installs_by_day_app_token"} {
		holds("stopped", view, replaced)
	}
	for row, want := range map[string]float64{"state = 'final' AND currency = 'USD'": replaced,
		"state = 'other meaning' AND currency = 'EUR' AND zone = '+00:00'": days - replaced} {
		if got := w.number(t, "SELECT count(*) FROM #._reportferry_partitions WHERE "+row); got != want {
			t.Errorf("%v partitions with %s, want %v", got, row, want)
		}
	}
	s.admin(t, http.MethodPut, "faults", []emulator.Fault{})
	w.settle(t, "run", "--now")
	holds("done", "installs_by_day_app_token", days)
	if euros, others := counts("installs_final"); euros > 0 || others < 2*80 {
		t.Errorf("done: %d sums of euros are final, and %d of dollars", euros, others)
	}
}
