package naive

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/report"
)

// randomExpression writes an expression of the part of SQL that naiveReader reads.
func randomExpression(r *rand.Rand, depth int) string {
	leaf := []string{"0", "1", "7", "(-3)", "1000000", "f.a", "f.b", "f.c", "f.none", "{p}"}
	if depth == 0 {
		return leaf[r.IntN(len(leaf))]
	}
	sub := func() string { return randomExpression(r, depth-1) }
	switch r.IntN(10) {
	case 0:
		return "(" + sub() + ")"
	case 1:
		return fmt.Sprintf("CASE WHEN %s>%s THEN %s ELSE %s END", sub(), sub(), sub(), sub())
	case 2:
		return fmt.Sprintf("CASE WHEN f.os='ios' AND NOT %s THEN %s END", sub(), sub())
	case 3:
		return fmt.Sprintf("%s(%s,%s)", []string{"min", "max", "coalesce"}[r.IntN(3)], sub(), sub())
	case 4:
		return fmt.Sprintf("(%s IN (%s,2,%s))", sub(), sub(), sub())
	case 5:
		return fmt.Sprintf("abs(%s)", sub())
	default:
		op := []string{"+", "-", "*", "/", "%", "<", "<=", ">", ">=", "=", "<>", " AND ", " OR "}[r.IntN(13)]
		return sub() + op + sub()
	}
}

func TestNaiveReaderReadsAsSQLite(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 1))
	values := map[string]naiveVal{"f.a": naiveInt(5), "f.b": naiveInt(-12), "f.c": naiveInt(123456),
		"f.none": naiveNull, "f.os": naiveText("ios"), "{p}": naiveInt(3)}
	column := func(name string) (naiveExpr, error) {
		v, ok := values[name]
		if !ok {
			return nil, fmt.Errorf("no column %s", name)
		}
		return func(*naiveScope) naiveVal { return v }, nil
	}
	conn, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	known := 0
	for range 400 {
		sql := randomExpression(r, 1+r.IntN(4))
		e, err := naiveRead(sql, column)
		if err != nil {
			t.Fatal(err)
		}
		var want any
		text := strings.ReplaceAll(sql, "{p}", "3")
		err = conn.QueryRowContext(t.Context(),
			"SELECT "+text+" FROM (SELECT 5 AS a, -12 AS b, 123456 AS c, NULL AS none, 'ios' AS os) f").Scan(&want)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if _, ok := want.(float64); ok {
			continue // too large for an integer
		}
		got := any(nil)
		if v := e(nil); v.kind == 'i' {
			got = v.i
			known++
		}
		if got != want {
			t.Errorf("seed %d: %s is %v, SQLite says %v", seed, sql, got, want)
		}
	}
	if known < 100 {
		t.Errorf("only %d expressions had a value", known)
	}
}

// The small worlds hold too few days to see both ends of every word.
func TestPeriodWordsOnEveryDayEqualNaiveDates(t *testing.T) {
	t.Parallel()
	for day := range 1500 { // of four years from 2024-12-01
		now := time.Date(2024, 12, 1+day, 12, 0, 0, 0, time.UTC)
		for _, word := range []string{"today", "yesterday", "this_week", "last_week", "this_month", "last_month",
			"this_month_until_yesterday", "-40d:-0d"} {
			var q naiveQuery
			if err := q.readDates(word, now); err != nil {
				t.Fatal(err)
			}
			p, err := report.ParsePeriod(word, facts.DayOf(now))
			if err != nil {
				t.Fatal(err)
			}
			from, to := facts.DayTime(p.From).Format(time.DateOnly), facts.DayTime(p.To).Format(time.DateOnly)
			if from != q.from || to != q.to {
				t.Errorf("%s on %s is %s to %s, naively %s to %s", word, now.Format(time.DateOnly), from, to, q.from,
					q.to)
			}
		}
	}
}
