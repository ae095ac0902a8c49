//go:build servers

package pgsink

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/civil"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/sinktest"
)

// shared is one server for the tests that leave it alone.
var shared struct {
	sync.Once
	server *sinktest.Postgres
	stop   func()
}

// TestMain stops the shared server at the end.
func TestMain(m *testing.M) {
	code := m.Run()
	if shared.stop != nil {
		shared.stop()
	}
	os.Exit(code)
}

// outliving is a test whose cleanup comes when all tests are done.
type outliving struct {
	testing.TB
	cleanups []func()
}

func (o *outliving) Cleanup(f func()) { o.cleanups = append(o.cleanups, f) }

func theServer(t testing.TB) *sinktest.Postgres {
	t.Helper()
	shared.Do(func() {
		o := &outliving{TB: t}
		shared.stop = func() {
			for _, f := range slices.Backward(o.cleanups) {
				f()
			}
		}
		shared.server = sinktest.StartPostgres(o)
	})
	if shared.server == nil {
		t.Fatal("the server didn't start")
	}
	return shared.server
}

// A base is a schema of a server, and connections of its owner to it.
type base struct {
	*sinktest.Postgres
	schema string
	pool   *pgxpool.Pool
}

func newBase(t testing.TB, server *sinktest.Postgres) *base {
	t.Helper()
	b := &base{Postgres: server}
	var statement string
	b.schema, statement = sinktest.NewSchema()
	_, config, err := parseURL(server.URL(server.Addr, b.schema))
	if err != nil {
		t.Fatal(err)
	}
	if b.pool, err = pgxpool.NewWithConfig(context.Background(), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.pool.Close)
	b.exec(t, statement)
	return b
}

func (b *base) exec(t testing.TB, sql string) {
	t.Helper()
	if _, err := b.pool.Exec(context.Background(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// value is the one value that a query gives, as a text.
func (b *base) value(t testing.TB, sql string) (text string) {
	t.Helper()
	if err := b.pool.QueryRow(context.Background(), sql).Scan(&text); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return text
}

func (b *base) open(t testing.TB, more ...string) *Sink {
	t.Helper()
	return openURL(t, b.URL(b.Addr, b.schema, more...))
}

func openURL(t testing.TB, rawURL string) *Sink {
	t.Helper()
	s, err := Open(context.Background(), rawURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.(*Sink)
}

// visible gives the suite's rows of all tables that a reader finds.
func (b *base) visible(t *testing.T) (all []sinktest.Row) {
	t.Helper()
	tables, err := collect[string](b,
		"SELECT table_name::text FROM information_schema.tables WHERE table_schema = '"+b.schema+
			"' AND table_name NOT LIKE '\\_%' AND table_name NOT LIKE '%$%'")
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		day := "day::text"
		if b.value(t,
			"SELECT count(*)::text FROM information_schema.columns WHERE table_schema = '"+b.schema+"' AND table_name = '"+table+"' AND column_name = 'day'") == "0" {
			day = "'0001-01-01'"
		}
		rows, err := b.pool.Query(context.Background(), "SELECT "+day+", name, number FROM "+b.schema+"."+quote(table))
		if err != nil {
			t.Fatal(err)
		}
		row := sinktest.Row{Table: table}
		var on string
		if _, err = pgx.ForEachRow(rows, []any{&on, &row.Name, &row.Number}, func() (err error) {
			row.Partition, err = civil.ParseDate(on)
			all = append(all, row)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func collect[T any](b *base, sql string) ([]T, error) {
	rows, err := b.pool.Query(context.Background(), sql)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[T])
}

type testRow struct {
	Day      int32   `parquet:"day,date"`
	Campaign string  `parquet:"campaign"`
	Installs *int64  `parquet:"installs,optional"`
	Cost     *int64  `parquet:"cost,optional,decimal(6:18)"`
	Ratio    float64 `parquet:"ratio"`
}

func testSchema() *sinks.Schema {
	return &sinks.Schema{
		Period: "day", On: "day", Indexes: [][]string{{"campaign", "day"}},
		About: &sinks.About{Text: "What the campaigns' days brought", Job: "installs"},
		Columns: []sinks.Column{
			{Name: "day", Type: sinks.Date, Required: true, Description: "Day in the report's zone"},
			{Name: "campaign", Type: sinks.String, Required: true, Description: "Campaign"},
			{Name: "installs", Type: sinks.Int64, Description: "Installs", Unit: "count"},
			{Name: "cost", Type: sinks.Decimal, Description: "Spend"},
			{Name: "ratio", Type: sinks.Double},
		},
	}
}

var date = sinktest.Date

// testPart is a part of one row for each name.
func testPart(day string, names ...string) sinks.Part {
	var rows []testRow
	for i, name := range names {
		installs, cost := int64(i+1), int64(1_500_000)
		rows = append(rows, testRow{int32(date(day).In(time.UTC).Unix() / 86400), name, &installs, &cost, 0.25})
	}
	return sinktest.FilePart(day, testSchema(), rows)
}

type inMemory = sinktest.InMemory

func mustPut(t testing.TB, s *Sink, parts ...sinks.Part) (r sinks.Receipt) {
	t.Helper()
	for _, p := range parts {
		var err error
		if r, err = s.Put(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// mustHold wants these campaigns to be visible in the table.
func (b *base) mustHold(t testing.TB, want string) {
	t.Helper()
	if got := b.value(t,
		"SELECT coalesce(string_agg(campaign, ' ' ORDER BY campaign), '') FROM "+b.schema+".installs"); got != want {
		t.Errorf("the table holds %q, want %q", got, want)
	}
}

// golden compares a text with a file, but for the names that are other ones each time.
func (b *base) golden(t *testing.T, name, got string) {
	t.Helper()
	got = strings.NewReplacer(b.schema, "SCHEMA", b.Addr, "HOST:PORT").Replace(got)
	golden(t, name, regexp.MustCompile(`role_\d+`).ReplaceAllString(got, "role"))
}
