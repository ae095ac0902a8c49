package partition

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// A rebaseline that is interrupted goes on without being asked, one partition after the other, until none is old.
func TestInterruptedRebaseline(t *testing.T) {
	l, bucket := memLedger(t)
	ctx, fetched := t.Context(), moment("2026-02-01T06:00")
	old, narrow, now := shapeWith("EUR", "day DATE"), shapeWith("USD", "day DATE"), shapeWith("USD", "day DATE", "cost DECIMAL")
	record := func(day int, s ledger.Shape, state ledger.State) {
		t.Helper()
		table := openAt(t, l)
		check(t, table.SaveShape(ctx, s))
		fetched = fetched.Add(time.Minute)
		check(t, table.Commit(ctx, ledger.Record{Partition: date("2026-01-01").AddDays(day), State: state, Rows: 1, Fetched: fetched, Shape: s.ID()}))
	}
	for day := range 3 {
		record(day, old, ledger.Written)
	}
	last := func() ledger.Shape {
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
		check(t, err)
		r := mustSchedule("0 6 * * *", "UTC")
		r.Start, r.Stale, r.LaterColumns, r.Only = date("2026-01-02"), stale, !columns, []refresh.Reason{refresh.Rebased, refresh.NewColumns}
		return describe(refresh.Plan(fetched, r, table.Records()))
	}
	if err := ledger.CheckShape("installs", last(), now); !errors.Is(err, ledger.ErrRefused) {
		t.Errorf("another currency: %v", err)
	}
	if got := due(false); got != "2025-12-28 01-01=rebaseline 01-02=rebaseline 01-03=rebaseline\n" {
		t.Errorf("before: %s", got)
	}
	record(1, now, ledger.Publishing) // its put was cut, or refused: the table still is what it was, under its own config too
	check(t, ledger.CheckShape("installs", last(), old))
	if err := ledger.CheckShape("installs", last(), now); !errors.Is(err, ledger.ErrRefused) {
		t.Errorf("what is in doubt has a say in the meaning: %v", err)
	}
	record(0, now, ledger.Publishing)
	record(2, now, ledger.Publishing)
	check(t, ledger.CheckShape("installs", last(), old)) // all is in doubt, and it is what it was before
	record(2, old, ledger.Written)
	record(1, now, ledger.Written)
	record(0, old, ledger.Kept) // an empty answer kept the old rows
	check(t, ledger.CheckShape("installs", last(), now))
	record(2, narrow, ledger.Written)
	if got := due(false); got != "" {
		t.Errorf("rows that were kept, before the next tick: %s", got)
	}
	fetched = fetched.AddDate(0, 0, 1)
	if got := due(true); got != "2025-12-28 01-01=rebaseline 01-03=missing columns\n" {
		t.Errorf("half way: %s", got)
	}
	check(t, bucket.Delete(ctx, "tables/installs/shapes/"+narrow.ID()+".json"))
	var damaged *ledger.DamagedError
	if _, err := openAt(t, l).Shapes(ctx); !errors.As(err, &damaged) {
		t.Errorf("a shape that is gone: %v", err)
	}
}

func shapeWith(currency string, columns ...string) ledger.Shape {
	s := ledger.Shape{Fingerprint: map[string]string{"currency": currency, ledger.FingerprintPeriod: "day"}}
	for _, c := range columns {
		name, typ, _ := strings.Cut(c, " ")
		source := name
		if strings.HasSuffix(typ, " null") {
			typ, source = strings.TrimSuffix(typ, " null"), ""
		}
		s.Columns = append(s.Columns, ledger.Column{Name: name, Type: typ, Source: source})
	}
	return s
}

func mustSchedule(expr, zone string) refresh.Rules {
	s, err := refresh.ParseSchedule(expr, zone)
	if err != nil {
		panic(err)
	}
	return refresh.Rules{Period: refresh.Day, Page: 7, Start: date("2026-01-01"), Lookback: 2, Location: time.UTC, Schedule: s}
}

// describe writes a plan as text: cell, then each partition with its reason.
func describe(windows []refresh.Window) string {
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
