//go:build servers

package pgsink

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/sinktest"
)

// The table has the types, the comments and the indexes that the job asks for.
func TestTableIsDescribed(t *testing.T) {
	eachWay(t, func(t *testing.T, swapped bool) {
		b := newBase(t, theServer(t))
		s := b.open(t)
		p := testPart("2026-01-31", "a")
		p.Schema.Partitioned = swapped
		mustPut(t, s, p)
		facts, err := s.tableInfo(t.Context(), s.pool, "installs")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range facts.columns {
			got = append(got, fmt.Sprint(c.name, " ", c.sqlType, " ", c.required))
		}
		if want := "day date true, campaign text true, installs bigint false, cost numeric(18,6) false, ratio " +
			"double precision false"; strings.Join(got, ", ") != want {
			t.Errorf("columns %q", got)
		}
		want := map[bool]string{false: "[[campaign day] [day]]", true: "[[campaign day]]"}[swapped]
		if got := fmt.Sprint(facts.indexes); got != want {
			t.Errorf("indexes %s, want %s", got, want)
		}
		table := "'" + b.schema + ".installs'::regclass"
		if got := b.value(t,
			"SELECT obj_description("+table+", 'pg_class') || '; ' || col_description("+table+", 3)"); got !=
			"What the campaigns' days brought; Installs (count)" {
			t.Error(got)
		}
		if swapped {
			if got := b.value(t, "SELECT string_agg(c.relname || ' ' || pg_get_expr(c.relpartbound, c.oid) || ' ' "+
				"|| (SELECT count(*) FROM pg_index WHERE indrelid = c.oid), '; ')"+
				" FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = "+table); got !=
				"installs$20260131 FOR VALUES FROM ('2026-01-31') TO ('2026-02-01') 1" {
				t.Error(got)
			}
			if got := b.value(t,
				"SELECT count(*)::text FROM pg_constraint WHERE conname = 'reportferry_bounds'"); got != "0" {
				t.Errorf("%s constraints are left", got)
			}
		}
	})
}

// Whether a part fits is seen without changing anything.
func TestTakes(t *testing.T) {
	eachWay(t, func(t *testing.T, swapped bool) {
		b := newBase(t, theServer(t))
		s, p := b.open(t), testPart("2026-01-31", "a")
		p.Schema.Partitioned = swapped
		if err := s.Takes(t.Context(), p.Table, p.Schema); err != nil {
			t.Errorf("a table that isn't there: %v", err)
		}
		if f, err := s.tableInfo(t.Context(), s.pool, "installs"); err != nil || f.kind != "" {
			t.Errorf("the table was made: %+v %v", f, err)
		}
		mustPut(t, s, p)
		wide, other := testPart("2026-01-31", "a").Schema, testPart("2026-01-31", "a").Schema
		wide.Partitioned, other.Partitioned = swapped, !swapped
		wide.Columns = append(wide.Columns, sinks.Column{Name: "more", Type: sinks.Int64})
		other.Columns[2].Type = sinks.String
		if err := s.Takes(t.Context(), p.Table, wide); err != nil {
			t.Error(err)
		}
		err := s.Takes(t.Context(), p.Table, other)
		if err == nil || !strings.Contains(err.Error(), "column installs is bigint, and the job writes text") ||
			!strings.Contains(err.Error(), "partitioned") {
			t.Errorf("another table: %v", err)
		}
		if f, err := s.tableInfo(t.Context(), s.pool, "installs"); err != nil || len(f.columns) != 5 {
			t.Errorf("the table was changed: %+v %v", f, err)
		}
	})
}

// Columns and indexes that are asked for later are added; columns that aren't any more stay, and
// are NULL.
func TestTableGrows(t *testing.T) {
	eachWay(t, func(t *testing.T, swapped bool) {
		b := newBase(t, theServer(t))
		s := b.open(t)
		type narrow struct {
			Day      int32  `parquet:"day,date"`
			Campaign string `parquet:"campaign"`
		}
		part := func(day string) sinks.Part {
			schema := testSchema()
			schema.Columns, schema.Indexes = schema.Columns[:2], nil
			return sinktest.FilePart(day, schema, []narrow{{int32(date(day).In(time.UTC).Unix() / 86400), "narrow"}})
		}
		parts := []sinks.Part{part("2026-01-30"), testPart("2026-01-31", "wide"), part("2026-02-01")}
		parts[1].Schema.Indexes = [][]string{{"installs", "campaign"}}
		for i := range parts {
			parts[i].Schema.Partitioned = swapped
		}
		mustPut(t, s, parts...)
		got := b.value(t, "SELECT string_agg(day || ' ' || campaign || ' ' || coalesce(installs::text, 'NULL') || ' "+
			"' || coalesce(cost::text, 'NULL'), '; ' ORDER BY day) FROM "+b.schema+".installs")
		if want := "2026-01-30 narrow NULL NULL; 2026-01-31 wide 1 1.500000; 2026-02-01 narrow NULL NULL"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		facts, err := s.tableInfo(t.Context(), s.pool, "installs")
		if err != nil || !strings.Contains(fmt.Sprint(facts.indexes), "[installs campaign]") {
			t.Errorf("indexes %v: %v", facts.indexes, err)
		}
	})
}

// A table has partitions of every length, by dates and by hours.
func TestPeriods(t *testing.T) {
	type hourly struct {
		Hour     int64  `parquet:"hour,timestamp(microsecond:local)"`
		Campaign string `parquet:"campaign"`
		Loaded   int64  `parquet:"_loaded_at,timestamp(microsecond:utc)"`
	}
	for period, days := range map[string][2]string{
		"day": {"2026-01-31", "2026-02-01"}, "week": {"2025-12-29", "2026-01-05"},
		"month":   {"2026-01-01", "2026-02-01"},
		"quarter": {"2025-10-01", "2026-01-01"}, "year": {"2024-01-01", "2025-01-01"},
	} {
		eachWay(t, func(t *testing.T, swapped bool) {
			b := newBase(t, theServer(t))
			s := b.open(t)
			put := func(day, campaign string) {
				first := date(day).In(time.UTC)
				end := date(days[1]).In(time.UTC)
				if day == days[1] {
					end = first.Add(24 * time.Hour)
				}
				schema := &sinks.Schema{Period: period, On: "hour", Partitioned: swapped, Columns: []sinks.Column{
					{Name: "hour", Type: sinks.DateTime, Required: true},
					{Name: "campaign", Type: sinks.String, Required: true}, {Name: "_loaded_at", Type: sinks.Instant},
				}}
				mustPut(t, s, sinktest.FilePart(day, schema, []hourly{
					{first.UnixMicro(), campaign, 0}, {end.Add(-time.Hour).UnixMicro(), campaign, 0},
				}))
			}
			put(days[0], "a")
			put(days[1], "b")
			put(days[0], "c")
			b.mustHold(t, "b b c c")
			if got := b.value(t,
				"SELECT (min(hour)::date)::text || ' ' || min(_loaded_at AT TIME ZONE 'UTC') FROM "+b.schema+".installs"); got != days[0]+" 1970-01-01 00:00:00" {
				t.Errorf("%s: %s", period, got)
			}
		})
	}
}

// Many first puts of many tables at once make each table once.
func TestFirstPutsAtOnce(t *testing.T) {
	eachWay(t, func(t *testing.T, swapped bool) {
		b := newBase(t, theServer(t))
		var puts sync.WaitGroup
		for process := range 3 {
			s := b.open(t)
			for i := range 8 {
				p := testPart(fmt.Sprintf("2026-01-%02d", 1+8*process+i), "a", "b")
				p.Schema.Partitioned = swapped
				puts.Go(func() {
					if _, err := s.Put(t.Context(), p); err != nil {
						t.Error(err)
					}
				})
			}
		}
		puts.Wait()
		if got := b.value(t,
			"SELECT count(DISTINCT day) || ' days, ' || count(*) || ' rows' FROM "+b.schema+".installs"); got !=
			"24 days, 48 rows" {
			t.Error(got)
		}
	})
}

// A table that was dropped begins anew: what was known of it counts no more.
func TestDropped(t *testing.T) {
	b := newBase(t, theServer(t))
	s := b.open(t)
	mustPut(t, s, testPart("2026-01-30", "a"), testPart("2026-01-31", "a"))
	b.exec(t, "DROP TABLE "+b.schema+".installs")
	if list, err := s.List(t.Context(), "installs"); err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
	over, err := s.ConditionOf(t.Context(), "installs", date("2026-01-31"), true)
	if err != nil || over != (sinks.Condition{Absent: true}) {
		t.Errorf("%+v, %v", over, err)
	}
	fresh := testPart("2026-01-31", "b")
	fresh.Over = over
	mustPut(t, s, fresh)
	if list, err := s.List(t.Context(), "installs"); err != nil || len(list) != 1 ||
		list[0].Key != "installs$20260131" {
		t.Errorf("%v, %v", list, err)
	}
	b.mustHold(t, "b")
}
