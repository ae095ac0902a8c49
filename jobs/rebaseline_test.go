package jobs

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// A rebaseline that is interrupted goes on without being asked, one partition after the other, until none is old.
func TestInterruptedRebaseline(t *testing.T) {
	l, bucket := memLedger_p(t)
	ctx, fetched := t.Context(), moment_p("2026-02-01T06:00")
	old, narrow, now := shapeWith_p("EUR", "day DATE"), shapeWith_p("USD", "day DATE"), shapeWith_p("USD", "day DATE", "cost DECIMAL")
	record := func(day int, s Shape, state State) {
		t.Helper()
		table := openAt(t, l)
		check_p(t, table.SaveShape(ctx, s))
		fetched = fetched.Add(time.Minute)
		check_p(t, table.Record(ctx, Entry{Partition: date_p("2026-01-01").AddDays(day), State: state, Rows: 1, Fetched: fetched, Shape: s.ID()}))
	}
	for day := range 3 {
		record(day, old, Written)
	}
	last := func() Shape {
		t.Helper()
		s, known, err := openAt(t, l).LastShape(ctx)
		if !known || err != nil {
			t.Fatal(known, err)
		}
		return s
	}
	due := func(columns bool) string {
		t.Helper()
		table := openAt(t, l)
		stale, err := table.Stale(ctx, now)
		check_p(t, err)
		r := mustSchedule_p("0 6 * * *", "UTC")
		r.Start, r.Stale, r.LaterColumns, r.Only = date_p("2026-01-02"), stale, !columns, []Reason{Rebased, NewColumns}
		return describe_p(PlanWindows(fetched, r, table.Entries()))
	}
	if err := CheckShape("installs", last(), now); !errors.Is(err, ErrRefused) {
		t.Errorf("another currency: %v", err)
	}
	if got := due(false); got != "2025-12-28 01-01=rebaseline 01-02=rebaseline 01-03=rebaseline\n" {
		t.Errorf("before: %s", got)
	}
	record(1, now, Publishing) // its put was cut
	check_p(t, CheckShape("installs", last(), now))
	record(1, now, Written)
	record(0, old, Kept) // an empty answer kept the old rows
	check_p(t, CheckShape("installs", last(), now))
	record(2, narrow, Written)
	if got := due(false); got != "" {
		t.Errorf("rows that were kept, before the next tick: %s", got)
	}
	fetched = fetched.AddDate(0, 0, 1)
	if got := due(true); got != "2025-12-28 01-01=rebaseline 01-03=missing columns\n" {
		t.Errorf("half way: %s", got)
	}
	check_p(t, bucket.Delete(ctx, "tables/installs/shapes/"+narrow.ID()+".json"))
	var damaged *DamagedError
	if _, err := openAt(t, l).Shapes(ctx); !errors.As(err, &damaged) {
		t.Errorf("a shape that is gone: %v", err)
	}
}

func shapeWith_p(currency string, columns ...string) Shape {
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

func mustSchedule_p(expr, zone string) Rules {
	s, err := ParseSchedule(expr, zone)
	if err != nil {
		panic(err)
	}
	return Rules{Period: Day, Page: 7, Start: date_p("2026-01-01"), Lookback: 2, Location: time.UTC, Schedule: s}
}

// describe_p writes a plan as text: cell, then each partition with its reason.
func describe_p(windows []Window) string {
	s := ""
	for _, w := range windows {
		s += w.Cell.String()
		for _, d := range w.Due {
			s += fmt.Sprintf(" %s=%s", d.Partition.String()[5:], d.Reason)
		}
		s += "\n"
	}
	return s
}
