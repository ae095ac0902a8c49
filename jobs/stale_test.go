package jobs

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func shapeWith(currency string, columns ...string) Shape {
	s := Shape{Fingerprint: map[string]string{"currency": currency, FingerprintPeriod: "day"}}
	for _, c := range columns {
		name, typ, _ := strings.Cut(c, " ")
		source := name
		if strings.HasSuffix(typ, " null") {
			typ, source = strings.TrimSuffix(typ, " null"), ""
		}
		s.Columns = append(s.Columns, ShapeColumn{Name: name, Type: typ, Source: source})
	}
	return s
}

func TestShapesCompared(t *testing.T) {
	now := shapeWith("USD", "day DATE", "installs INT64", "cost DECIMAL")
	for _, c := range []struct {
		name        string
		was         Shape
		same, lacks bool
	}{
		{"the same", now, true, false},
		{"another currency", shapeWith("EUR", "day DATE", "installs INT64", "cost DECIMAL"), false, false},
		{"another type", shapeWith("USD", "day DATE", "installs DOUBLE", "cost DECIMAL"), false, false},
		{"fewer columns", shapeWith("USD", "day DATE", "installs INT64"), true, true},
		{"more columns", shapeWith("USD", "day DATE", "installs INT64", "cost DECIMAL", "clicks INT64"), true, false},
		{"a column of NULLs", shapeWith("USD", "day DATE", "installs INT64", "cost DECIMAL null"), true, true},
		{"another order", shapeWith("USD", "cost DECIMAL", "installs INT64", "day DATE"), true, false},
	} {
		if got := c.was.SameMeaning(now); got != c.same {
			t.Errorf("%s: same meaning: %v", c.name, got)
		}
		if got := c.was.Lacks(now); (got != nil) != c.lacks {
			t.Errorf("%s: lacks: %v", c.name, got)
		}
		if err := CheckShape("t", c.was, now); (err == nil) != c.same || err != nil && !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	weekly := shapeWith("EUR")
	weekly.Fingerprint[FingerprintPeriod] = "week"
	if err := CheckRebaseline("t", weekly, now); !errors.Is(err, ErrRefused) {
		t.Errorf("a rebaseline from weeks to days: %v", err)
	}
	if err := CheckRebaseline("t", shapeWith("EUR"), now); err != nil {
		t.Error(err)
	}
}

// A rebaseline that is interrupted goes on without being asked, one partition after the other, until none is old.
func TestInterruptedRebaseline(t *testing.T) {
	everyLedger(t, func(t *testing.T, l *Ledger) {
		ctx, fetched := t.Context(), moment("2026-02-01T06:00")
		old, narrow, now := shapeWith("EUR", "day DATE"), shapeWith("USD", "day DATE"), shapeWith("USD", "day DATE", "cost DECIMAL")
		record := func(day int, s Shape, state State) {
			t.Helper()
			table := openTable(t, l)
			check(t, table.SaveShape(ctx, s))
			fetched = fetched.Add(time.Minute)
			check(t, table.Record(ctx, Entry{Partition: date("2026-01-01").AddDays(day), State: state, Rows: 1, Fetched: fetched, Shape: s.ID()}))
		}
		for day := range 3 {
			record(day, old, Written)
		}
		last := func() Shape {
			t.Helper()
			s, known, err := openTable(t, l).LastShape(ctx)
			if !known || err != nil {
				t.Fatal(known, err)
			}
			return s
		}
		due := func(columns bool) string {
			t.Helper()
			table := openTable(t, l)
			stale, err := table.Stale(ctx, now)
			check(t, err)
			r := mustSchedule("0 6 * * *", "UTC")
			r.Start, r.Stale, r.LaterColumns, r.Only = date("2026-01-02"), stale, !columns, []Reason{Rebased, NewColumns}
			return describe(PlanWindows(fetched, r, table.Entries()))
		}
		if err := CheckShape("installs", last(), now); !errors.Is(err, ErrRefused) {
			t.Errorf("another currency: %v", err)
		}
		if got := due(false); got != "2025-12-28 01-01=rebaseline 01-02=rebaseline 01-03=rebaseline\n" {
			t.Errorf("before: %s", got)
		}
		record(1, now, Publishing) // its put was cut
		check(t, CheckShape("installs", last(), now))
		record(1, now, Written)
		record(0, old, Kept) // an empty answer kept the old rows
		check(t, CheckShape("installs", last(), now))
		record(2, narrow, Written)
		if got := due(false); got != "" {
			t.Errorf("rows that were kept, before the next tick: %s", got)
		}
		fetched = fetched.AddDate(0, 0, 1)
		if got := due(true); got != "2025-12-28 01-01=rebaseline 01-03=missing columns\n" {
			t.Errorf("half way: %s", got)
		}
		check(t, l.bucket.Delete(ctx, "tables/installs/shapes/"+narrow.ID()+".json"))
		var damaged *DamagedError
		if _, err := openTable(t, l).Shapes(ctx); !errors.As(err, &damaged) {
			t.Errorf("a shape that is gone: %v", err)
		}
	})
}
