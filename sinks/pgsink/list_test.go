//go:build servers

package pgsink

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/sinktest"
)

var _ sinks.Conditional = (*Sink)(nil)

// What is left of each partition when others have changed rows is counted, in tables of both kinds.
func TestRowsAreCounted(t *testing.T) {
	for _, partitioned := range []bool{false, true} {
		for _, c := range []struct{ name, sql, want string }{
			{"nothing", "SELECT 1", "0130 2, 0131 3, 0203 1"},
			{"all is deleted", "TRUNCATE %s.installs", "0130 0, 0131 0, 0203 0"},
			{"a day is deleted", "DELETE FROM %s.installs WHERE day = '2026-01-31'", "0130 2, 0131 0, 0203 1"},
			{"a row is deleted", "DELETE FROM %s.installs WHERE day = '2026-01-30' AND campaign = 'a'",
				"0130 1, 0131 3, 0203 1"},
			{"rows are added", "INSERT INTO %[1]s.installs SELECT * FROM %[1]s.installs WHERE day = '2026-02-03'",
				"0130 2, 0131 3, 0203 2"},
			{"the newest day is deleted, of a table with another date",
				"ALTER TABLE %[1]s.installs ADD month date NOT NULL DEFAULT '2026-01-01'; DELETE FROM " +
					"%[1]s.installs WHERE day = '2026-02-03'", "0130 2, 0131 3, 0203 0"},
		} {
			t.Run(fmt.Sprint(c.name, " ", partitioned), func(t *testing.T) {
				b := newBase(t, theServer(t))
				s := b.open(t)
				for day, names := range map[string][]string{"2026-01-30": {"a", "b"}, "2026-01-31": {"a", "b", "c"},
					"2026-02-03": {"a"}} {
					p := testPart(day, names...)
					p.Schema.Partitioned = partitioned
					mustPut(t, s, p)
				}
				if strings.Contains(c.sql, "%") {
					c.sql = fmt.Sprintf(c.sql, b.schema)
				}
				for _, sql := range strings.Split(c.sql, "; ") {
					b.exec(t, sql)
				}
				list, err := s.List(t.Context(), "installs")
				var got []string
				for _, o := range list {
					got = append(got, fmt.Sprintf("%s %d", strings.TrimPrefix(o.Key, "installs$2026"), o.Rows))
					if !o.Counted {
						t.Errorf("%s isn't counted", o.Key)
					}
				}
				if err != nil || strings.Join(got, ", ") != c.want {
					t.Errorf("%s, %v; want %s", got, err, c.want)
				}
			})
		}
	}
}

// A night's listing is one query, and others are sent only for a table that has other rows than
// were loaded.
func TestQueriesOfAList(t *testing.T) {
	b := newBase(t, theServer(t))
	s := b.open(t)
	mustPut(t, s, testPart("2026-01-30", "a"), testPart("2026-01-31", "a", "b"))
	queries := func() int {
		counting := &counter{}
		config := s.pool.Config()
		config.ConnConfig.Tracer = counting
		pool, err := pgxpool.NewWithConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		if _, err := (&Sink{target: s.target, pool: pool}).List(t.Context(), "installs"); err != nil {
			t.Error(err)
		}
		return counting.selects
	}
	if n := queries(); n != 1 {
		t.Errorf("%d queries", n)
	}
	b.exec(t, "TRUNCATE "+b.schema+".installs")
	if n := queries(); n < 2 {
		t.Errorf("%d queries of a table without its rows", n)
	}
}

// A counter counts the queries of a connection.
type counter struct{ selects int }

func (c *counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if strings.HasPrefix(q.SQL, "SELECT") {
		c.selects++
	}
	return ctx
}

func (c *counter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// A table may begin with a date that its partitions don't go by.
func TestRowsAreCountedByTheRightDate(t *testing.T) {
	type row struct {
		Month int32 `parquet:"month,date"`
		Day   int32 `parquet:"day,date"`
	}
	b := newBase(t, theServer(t))
	s := b.open(t)
	schema := &sinks.Schema{Period: "day", On: "day", Columns: []sinks.Column{{Name: "month", Type: sinks.Date,
		Required: true}, {Name: "day", Type: sinks.Date, Required: true}}}
	for i, day := range []string{"2026-01-01", "2026-01-02", "2026-01-03"} {
		first := int32(date("2026-01-01").In(time.UTC).Unix() / 86400)
		mustPut(t, s, sinktest.FilePart(day, schema, []row{{first, first + int32(i)}, {first, first + int32(i)}}))
	}
	b.exec(t, "DELETE FROM "+b.schema+".installs WHERE day = '2026-01-03'")
	list, err := s.List(t.Context(), "installs")
	if err != nil || len(list) != 3 || list[0].Rows != 2 || list[1].Rows != 2 || list[2].Rows != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}
