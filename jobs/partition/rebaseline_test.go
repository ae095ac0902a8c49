package partition

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// A rebaseline that is interrupted goes on without being asked, one partition after the other,
// until none is old.
func TestInterruptedRebaseline(t *testing.T) {
	l := memLedger(t)
	ctx, fetched := t.Context(), moment("2026-02-01T06:00")
	old, narrow, now := shapeWith("EUR", "day DATE"), shapeWith("USD", "day DATE"),
		shapeWith("USD", "day DATE", "cost DECIMAL")
	record := func(day int, s ledger.Shape, state ledger.State) {
		t.Helper()
		table := openAt(t, l)
		check(t, table.SaveShape(ctx, s))
		fetched = fetched.Add(time.Minute)
		check(t, table.Commit(ctx, ledger.Record{Partition: date("2026-01-01").AddDays(day), State: state, Rows: 1,
			Fetched: fetched, Shape: s.ID()}))
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
		r.Start, r.Stale, r.LaterColumns, r.Only = date("2026-01-02"), stale, !columns,
			[]refresh.Reason{refresh.Rebased, refresh.NewColumns}
		return describe(refresh.Plan(fetched, r, table.Records()))
	}
	if err := ledger.CheckShape("installs", last(), now); !errors.Is(err, ledger.ErrRefused) {
		t.Errorf("another currency: %v", err)
	}
	if got := due(false); got != "2025-12-28 01-01=rebaseline 01-02=rebaseline 01-03=rebaseline\n" {
		t.Errorf("before: %s", got)
	}
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
	return refresh.Rules{Period: refresh.Day, Page: 7, Start: date("2026-01-01"), Lookback: 2, Location: time.UTC,
		Schedule: s}
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

// Before the first part of another meaning is put, and before anything is recorded, notice is
// given, once; where it fails nothing is put. Also of a partition that is new, because it comes to
// stand beside others; not of one that only has another column. Whatever an interrupted put has
// left, its record has the old meaning.
func TestNoticeOfARebaseline(t *testing.T) {
	s := newShelf()
	p := newPublisher(t, ledger.Target{Name: "s", Sink: s})
	euros, wider, dollars := shapeWith("EUR", "day DATE"), shapeWith("EUR", "day DATE", "cost DECIMAL"),
		shapeWith("USD", "day DATE")
	broken, notices := errors.New("the store is down"), 0
	var fails error
	var table *Table
	give := func(context.Context) error {
		notices++
		if _, recorded := table.Record(date("2026-01-03")); recorded || s.visible[date("2026-01-03")] != "" {
			t.Error("something was recorded or put before")
		}
		return fails
	}
	open := func() {
		t.Helper()
		table = openAt(t, p.ledger, p.target...)
		table.BeforeRebaseline(give)
	}
	publish := func(day string, shape ledger.Shape, hash string) error {
		t.Helper()
		check(t, table.SaveShape(t.Context(), shape))
		_, _, err := publishIn(t, table, Publication{
			Part: sinks.Part{Table: "installs", Partition: date(day), Rows: 1, Hash: hash}, Shape: shape.ID(),
			Fetched: moment("2026-02-01T06:00"),
		})
		return err
	}
	open()
	check(t, publish("2026-01-01", euros, "A"))
	check(t, publish("2026-01-02", euros, "B"))
	check(t, publish("2026-01-02", wider, "C"))
	if notices != 0 {
		t.Fatalf("%d notices of one meaning", notices)
	}
	open()
	fails = broken
	puts := s.puts
	if err := publish("2026-01-01", dollars, "D"); !errors.Is(err, broken) || s.puts != puts || notices != 1 {
		t.Errorf("no notice could be given: %v, %d puts more", err, s.puts-puts)
	}
	fails = nil
	check(t, publish("2026-01-03", dollars, "D"))
	s.fail = errors.New("no space left")
	if err := publish("2026-01-01", dollars, "E"); err == nil || notices != 2 {
		t.Errorf("a failed put: %v, %d notices", err, notices)
	}
	if e := p.recorded(); e.State != ledger.Publishing || e.Shape != euros.ID() {
		t.Errorf("of the interrupted put is recorded: %+v", e)
	}
	s.fail = nil
	check(t, publish("2026-01-01", dollars, "E"))
	if e := p.recorded(); e.State != ledger.Written || e.Shape != dollars.ID() || notices != 2 {
		t.Errorf("recorded %+v after %d notices", e, notices)
	}
}
