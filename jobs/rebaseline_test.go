package jobs

import (
	"errors"
	"testing"
	"time"
)

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
