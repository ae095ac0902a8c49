package main

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigquery"
	"cloud.google.com/go/civil"
	"google.golang.org/api/option"

	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/sinks/bqsink/bqtest"
)

// drop deletes the table, as anybody may.
func (w *warehouse) drop(t *testing.T) {
	t.Helper()
	answer := httptest.NewRecorder()
	w.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodDelete,
		"http://x/bigquery/v2/projects/proj/datasets/ds/tables/installs", nil))
	if answer.Code != http.StatusNoContent {
		t.Fatal(answer.Body)
	}
}

// query runs a statement, as anybody may.
func (w *warehouse) query(t *testing.T, sql string) {
	t.Helper()
	_, at, _ := strings.Cut(w.url, "endpoint=")
	client, err := bigquery.NewClient(t.Context(), "proj", option.WithEndpoint(at+"/bigquery/v2/"),
		option.WithoutAuthentication())
	check(t, err)
	q := client.Query(sql)
	q.Location = "EU"
	job, err := q.Run(t.Context())
	check(t, err)
	status, err := job.Wait(t.Context())
	check(t, err)
	check(t, status.Err())
	check(t, client.Close())
}

// calls counts the calls since the last time, by their names, but for those that wait for jobs.
func (w *warehouse) calls(after int) (said string, n int) {
	all := w.Requests()
	counts := map[string]int{}
	for _, r := range all[after:] {
		counts[r.Call]++
	}
	delete(counts, "jobs.get") // as many as a job takes time
	said, _ = taken(counts)
	return strings.TrimSpace(said), len(all)
}

// What others do to a table of BigQuery is found by the next run and by check, and fetched again:
// nothing is left that only the ledger knows. A night where nothing is put costs one call of
// tables.get, and one where something is put costs none.
func TestBigQueryIsAsked(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := startService(t, "--days", "30", "--apps", "2")
	w := newWarehouse(t, s, 7, living)
	w.edit(t, "ledger: ", "state_tables: false\nledger: ")
	today := civil.DateOf(time.Now().UTC())
	first, last := today.AddDays(-7), today.AddDays(-1)
	want := s.truth(t, first, last)
	between := func(from, to civil.Date) string {
		return fmt.Sprintf("DELETE FROM `%s` WHERE `day` >= DATE '%s' AND `day` < DATE '%s'", warehouseTable, from, to)
	}
	mend := fmt.Sprintf("backfill installs --from %s --to %s --force", first, last)
	seen := 0
	for _, c := range []struct {
		name    string
		harm    func()
		fetched string // in the last lines of the run
		says    []string
		calls   string
	}{
		{"a first load", nil, "written 7", nil, "datasets.get 1 jobs.insert 7 tables.get 3 tables.insert 1"},
		{"a night", nil, "", nil, "tables.get 1"},
		{"the table is dropped", func() { w.drop(t) }, "written 7", []string{"7 not as recorded, of 7 partitions",
			first.String() + ".." + last.String() + "  is missing", mend},
			"datasets.get 1 jobs.insert 7 tables.get 3 tables.insert 1"},
		{"all rows are deleted", func() { w.query(t, between(first, today)) }, "written 7",
			[]string{"7 not as recorded", "holds 0 rows", mend}, "datasets.get 1 jobs.insert 7 tables.get 1"},
		{"two days are deleted", func() { w.query(t, between(first.AddDays(2), first.AddDays(4))) }, "written 2",
			[]string{"2 not as recorded", "reportferry run installs"},
			"datasets.get 1 jobs.getQueryResults 2 jobs.insert 3 tables.get 1"},
		{"another night", nil, "", nil, "tables.get 1"},
	} {
		if c.harm != nil {
			c.harm()
			out, code := w.run("check")
			for _, text := range c.says {
				if code != 3 || !strings.Contains(out, text) || strings.Contains(out, "All of it works") {
					t.Errorf("%s: check ends with %d, want %q:\n%s", c.name, code, text, out)
				}
			}
			_, seen = w.calls(0)
		}
		out, code := w.run("run", "--now")
		if code != 0 || !strings.Contains(out, c.fetched) {
			t.Errorf("%s: exit code %d, want %q: %s", c.name, code, c.fetched, out)
		}
		w.holds(t, want)
		var got string
		if got, seen = w.calls(seen); got != c.calls {
			t.Errorf("%s takes %s\nwant %s", c.name, got, c.calls)
		}
	}
	out, code := w.run("check")
	if code != 0 || !strings.Contains(out, "7 partitions, whose rows are as many as recorded") ||
		!strings.Contains(out, "All of it works.") {
		t.Errorf("check at the end: %d, %s", code, out)
	}
	w.SetDenied("bigquery.tables.list")
	out, code = w.run("check")
	if code != 0 || !strings.Contains(out, "not compared: count the partitions of installs") ||
		!strings.Contains(out, "All that was tried works, and 1 table not compared.") {
		t.Errorf("check without the right to: %d, %s", code, out)
	}
	w.query(t, between(first, first.AddDays(1)))
	if out, code := w.run("run", "--now"); code != 0 || !strings.Contains(unfolded(out),
		"which partitions these are isn't known") {
		t.Errorf("a run without the right to: %d, %s", code, out)
	}
}

// A table that the dataset's default has deleted is filled again from the job's beginning, and a
// dataset that deletes partitions isn't asked to take old ones.
func TestADatasetThatDeletes(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := startService(t, "--days", "30", "--apps", "1")
	today := civil.DateOf(time.Now().UTC())
	w := openWarehouse(t, s, 8, living, bqtest.Options{PartitionExpiration: 4 * 24 * time.Hour}, "")
	w.edit(t, "ledger: ", "state_tables: false\nledger: ")
	out, code := w.run("run", "--now")
	if code != 3 || !strings.Contains(unfolded(out), "as is the default of its dataset") ||
		!strings.Contains(unfolded(out), "the table deletes a partition after 4 days") {
		t.Errorf("exit code %d: %s", code, out)
	}
	before := len(s.requests(t))
	out, code = w.run("run", "--now")
	if code != 1 || !strings.Contains(unfolded(out), "aren't kept") {
		t.Errorf("the next run: exit code %d: %s", code, out)
	}
	for _, r := range s.requests(t)[before:] {
		if strings.Contains(fmt.Sprint(r), "date_period") {
			t.Errorf("it asks the service for %v", r)
		}
	}
	w.holds(t, s.truth(t, today.AddDays(-4), today.AddDays(-1)))

	w = openWarehouse(t, s, 3, living, bqtest.Options{TableExpiration: 24 * time.Hour}, "")
	if out, code := w.run("run", "--now"); code != 0 || !strings.Contains(unfolded(out),
		"deletes the table installs as a whole on") {
		t.Errorf("exit code %d: %s", code, out)
	}
	w.Advance(25 * time.Hour)
	if out, code := w.run("run", "--now"); code != 0 || !strings.Contains(out, "written 3") {
		t.Errorf("exit code %d: %s", code, out)
	}
	w.holds(t, s.truth(t, today.AddDays(-3), today.AddDays(-1)))
}

// taken names counts by kind, and their sum, and forgets them.
func taken(counts map[string]int) (said string, sum int) {
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		said += fmt.Sprintf(" %s %d", kind, counts[kind])
		sum += counts[kind]
	}
	clear(counts)
	return said, sum
}
