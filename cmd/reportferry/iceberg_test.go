//go:build servers && iceberg

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/civil"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"

	"github.com/reportferry/reportferry/sinks/sinktest"
)

// A lake is a namespace of a REST catalog, and a place whose job puts its table there. Its reader
// is the library's own.
type lake struct {
	*place
	catalog   catalog.Catalog
	namespace string
}

// newLake is a lake whose program reaches the catalog at an address, which is the server's own or
// that of a front.
func newLake(t *testing.T, server *sinktest.Catalog, uri string, s *service, days int, lease string) *lake {
	t.Helper()
	l := &lake{place: newPlace(t, s, days, 2, lease), namespace: sinktest.NewNamespace()}
	l.edit(t, "sinks: [file://"+l.dir+"/out]", `sinks: ["`+l.url(uri)+`"]`)
	c, err := rest.NewCatalog(t.Context(), "lake", server.URI)
	check(t, err)
	l.catalog = c
	t.Cleanup(func() { check(t, c.Close()) })
	return l
}

func (l *lake) url(uri string) string {
	return "iceberg://lake/" + l.namespace + "?type=rest&uri=" + url.QueryEscape(uri)
}

// table is the job's table as the catalog has it now.
func (l *lake) table(ctx context.Context) (*table.Table, error) {
	return l.catalog.LoadTable(ctx, table.Identifier{l.namespace, "installs"})
}

// snapshots are those of the job's table, the oldest first.
func (l *lake) snapshots(t *testing.T) []table.Snapshot {
	t.Helper()
	of, err := l.table(t.Context())
	check(t, err)
	return of.Metadata().Snapshots()
}

var lakeColumns = strings.Split("day app_token country_code network campaign installs clicks cost all_revenue "+
	"ecpi_all purchase_events purchase_revenue", " ")

// rows are those of the job's table, as truth writes them.
func (l *lake) rows(ctx context.Context, options ...table.ScanOption) (rows [][]string, err error) {
	of, err := l.table(ctx)
	if err != nil {
		return nil, err
	}
	_, batches, err := of.Scan(options...).ToArrowRecords(ctx)
	if err != nil {
		return nil, err
	}
	for batch, err := range batches {
		if err != nil {
			return nil, err
		}
		for i := range int(batch.NumRows()) {
			row := make([]string, len(lakeColumns))
			for j, name := range lakeColumns {
				row[j] = lakeCell(batch.Column(batch.Schema().FieldIndices(name)[0]), i)
			}
			rows = append(rows, row)
		}
		batch.Release()
	}
	slices.SortFunc(rows, slices.Compare)
	return rows, nil
}

func lakeCell(column arrow.Array, i int) string {
	decimal, is := column.(*array.Decimal128)
	if !is || decimal.IsNull(i) {
		return column.ValueStr(i)
	}
	text := decimal.Value(i).ToString(decimal.DataType().(*arrow.Decimal128Type).Scale)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// holds wants the table, or an earlier snapshot of it, to be equal to the service's own rows.
func (l *lake) holds(t *testing.T, want [][]string, options ...table.ScanOption) {
	t.Helper()
	got, err := l.rows(t.Context(), options...)
	check(t, err)
	if !slices.EqualFunc(got, want, slices.Equal) {
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || !slices.Equal(got[i], want[i]) {
				t.Fatalf("%d rows, want %d; the first that differs:\n%q, want\n%q", len(got), len(want),
					got[min(i, len(got)-1)], want[min(i, len(want)-1)])
			}
		}
	}
}

// content tells apart whatever was written: the description of the table that is its newest, and
// the files of the warehouse.
func (l *lake) content(t *testing.T) string {
	t.Helper()
	of, err := l.table(t.Context())
	check(t, err)
	names := []string{of.MetadataLocation()}
	check(t, filepath.WalkDir(strings.TrimPrefix(of.Location(), "file://"),
		func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				names = append(names, path)
			}
			return err
		}))
	return strings.Join(names, "\n")
}

// settle runs the program until all is done. A run that lost a partition to a late commit leaves it
// to the next one.
func (l *lake) settle(t *testing.T, args ...string) string {
	t.Helper()
	var out string
	var code int
	for range 60 {
		if out, code = l.run(args...); code == 0 && !strings.Contains(unfolded(out), "held by another run") {
			return out
		}
		if code != 0 && code != 3 && code != 4 {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	t.Fatalf("exit code %d: %s", code, out)
	return ""
}

// Sixty days by twelve apps land equal to the service's own answer, in few commits; a second run
// writes nothing; a day fetched again replaces only itself, and leaves no row of campaigns that are
// gone. The state before can still be read.
func TestIcebergHoldsTheTruth(t *testing.T) {
	server := sinktest.StartCatalog(t)
	const days = 60
	s := startService(t, "--days", "80", "--apps", "12")
	other := s.restated(t, "11", "--days", "80", "--apps", "12")
	today := civil.DateOf(time.Now().UTC())
	first, day, last := today.AddDays(-days), today.AddDays(-5), today.AddDays(-1)
	want := s.truth(t, first, last)
	front := server.NewFront(t)
	l := newLake(t, server, front.URI, s, days, living)
	l.edit(t, "page: 2d", "page: 7d")
	start := time.Now()
	if out, code := l.run("run"); code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	took := time.Since(start)
	l.holds(t, want)
	before := l.snapshots(t)
	t.Logf("%d rows of %d days in %d commits of the table, %v; the catalog was sent %d commits and %d loads in all",
		len(want), days, len(before),
		took.Round(100*time.Millisecond), front.Seen(sinktest.CatalogCommit), front.Seen(sinktest.CatalogLoad))
	if len(before) > days/3 {
		t.Errorf("%d commits for %d days: they share too few", len(before), days)
	}
	content := l.content(t)
	if out, code := l.run("run", "--now"); code != 0 || l.content(t) != content {
		t.Errorf("a second run: exit code %d, and wrote something: %s", code, out)
	}
	l.edit(t, "lookback: 0", "lookback: 60")
	if out, code := l.run("run", "--now"); code != 0 || l.content(t) != content ||
		!strings.Contains(unfolded(out), "written 0, unchanged 60") {
		t.Errorf("all fetched again, and the same: exit code %d, and wrote something: %s", code, out)
	}
	l.allNumbers(t)
	l.edit(t, s.url, other.url)
	if out, code := l.run("backfill", "installs", "--from", day.String(), "--to", day.String(), "--force"); code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	l.holds(t, slices.Concat(s.truth(t, first, day.AddDays(-1)), other.truth(t, day, day),
		s.truth(t, day.AddDays(1), last)))
	l.holds(t, want, table.WithSnapshotID(before[len(before)-1].SnapshotID))
	if out, code := l.run("run", "--now"); code != 0 || !strings.Contains(unfolded(out), "written 59, unchanged 1") {
		t.Fatalf("all is restated: exit code %d: %s", code, out)
	}
	l.holds(t, other.truth(t, first, last))
	l.holds(t, want, table.WithSnapshotID(before[len(before)-1].SnapshotID))
	if out, code := l.run("check"); code != 0 {
		t.Errorf("check: exit code %d: %s", code, out)
	}
}

// The secrets of the URL are nowhere: not in what is printed, not in logs, errors, receipts, the
// ledger, pages or the warehouse, though the catalog's own refusal repeats them.
func TestIcebergKeepsTheSecret(t *testing.T) {
	server := sinktest.StartCatalog(t)
	s := startService(t, "--days", "30", "--apps", "2")
	const token, key, refused = "token+of/the=catalog", "key+of/the=bucket", "not-the-token"
	var greeted, turnedAway atomic.Int64
	addr := server.Behind(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
			if given != token {
				turnedAway.Add(1)
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusUnauthorized)
				fmt.Fprintf(w,
					`{"error":{"message":"the token %s isn't known","type":"NotAuthorizedException","code":401}}`,
					given)
				return
			}
			greeted.Add(1)
			next.ServeHTTP(w, r)
		})
	})
	l := newLake(t, server, "http://"+addr, s, 2, living)
	l.edit(t, "?type=rest", "?type=rest&token=${ICEBERG_TOKEN}&s3.secret-access-key=${ICEBERG_KEY}")
	l.edit(t, "ledger: ", "export: file://"+l.dir+"/pages\nledger: ")
	escaped := []string{token, key, refused, url.QueryEscape(token), url.QueryEscape(key)}
	told := func(text string) bool {
		return slices.ContainsFunc(escaped, func(secret string) bool { return strings.Contains(text, secret) })
	}
	tell := func(args ...string) {
		t.Helper()
		for _, more := range [][]string{nil, {"--log-format", "json", "--log-level", "debug"}} {
			if out, _ := l.run(append(args, more...)...); told(out) || out == "" {
				t.Errorf("%v: %s", args, out)
			}
		}
	}
	each := func() {
		for _, args := range []string{"run --now", "run --force --result result.json", "plan", "check", "status",
			"status --json --records", "runs last", "history installs",
			"show", "views installs", "config --json"} {
			tell(strings.Fields(args)...)
		}
	}
	l.env = []string{"ICEBERG_TOKEN=" + url.QueryEscape(token), "ICEBERG_KEY=" + url.QueryEscape(key)}
	each()
	if greeted.Load() == 0 || turnedAway.Load() != 0 {
		t.Fatalf("the catalog was given the token %d times, and another one %d times", greeted.Load(),
			turnedAway.Load())
	}
	today := civil.DateOf(time.Now().UTC())
	l.holds(t, s.truth(t, today.AddDays(-2), today.AddDays(-1)))
	server.Crash()
	if out, code := l.run("check"); code == 0 || told(out) { // tries for a while
		t.Errorf("check without a catalog: exit code %d: %s", code, out)
	}
	server.Start(t)
	l.env[0] = "ICEBERG_TOKEN=" + refused
	each()
	if out, code := l.run("run", "--force"); turnedAway.Load() == 0 || code != 5 ||
		!strings.Contains(unfolded(out), "credential=ID:SECRET or token=TOKEN") {
		t.Errorf("a token that is refused: exit code %d: %s", code, out)
	}
	l.env = l.env[1:]
	tell("run", "--now")
	l.env = append(l.env, "ICEBERG_TOKEN="+url.QueryEscape(token))
	l.edit(t, "type=rest", "type=rest&typo=1")
	tell("run", "--now")
	l.edit(t, "iceberg://", "iceberg:// ")
	tell("run", "--now")
	for _, root := range []string{l.dir, strings.TrimPrefix(server.Warehouse, "file://")} {
		files := 0
		check(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			files++
			data, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if told(string(data)) {
				t.Errorf("a secret is in %s", path)
			}
			return err
		}))
		if files == 0 {
			t.Errorf("%s has no files", root)
		}
	}
}

// What a catalog is asked: one load of the table tells a night what there is.
func TestIcebergCalls(t *testing.T) {
	server := sinktest.StartCatalog(t)
	front := server.NewFront(t)
	l := newLake(t, server, front.URI, startService(t, "--apps", "3"), 60, living)
	seen := map[sinktest.CatalogCall]int{}
	l.asks(t, []int{90, 2, 12, 2}, func() (said string, sum int) {
		for _, call := range []sinktest.CatalogCall{sinktest.CatalogConfig, sinktest.CatalogLoad,
			sinktest.CatalogCreate, sinktest.CatalogCommit} {
			n := front.Seen(call) - seen[call]
			seen[call] += n
			said += fmt.Sprintf(" %s %d", call, n)
			sum += n
		}
		return said, sum
	})
}

// The table of states has the name that the config asks for, and so have the views that read it.
func TestNamesOfStateTablesInIceberg(t *testing.T) {
	server := sinktest.StartCatalog(t)
	l := newLake(t, server, server.URI, startService(t, "--days", "30", "--apps", "1"), 3, living)
	l.edit(t, "ledger: ", named)
	l.untilCode(0, "run")
	var names []string
	for id, err := range l.catalog.ListTables(t.Context(), table.Identifier{l.namespace}) {
		check(t, err)
		names = append(names, id[len(id)-1])
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "installs reportferry_partitions_installs" {
		t.Errorf("the namespace has %s", got)
	}
	for _, dialect := range []string{"trino", "spark", "duckdb"} {
		out, code := l.run("views", "installs", "--dialect", dialect)
		if code != 0 || !strings.Contains(unfolded(out), "reportferry_partitions_installs") ||
			!strings.Contains(unfolded(out), "reportferry_freshness") ||
			strings.Contains(unfolded(out), "_reportferry_") {
			t.Errorf("exit code %d, %s: %s", code, dialect, out)
		}
	}
}
