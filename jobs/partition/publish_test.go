package partition

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// shelf is a sink that shows what a reader would see, and can fail before or after the new rows are
// visible.
type shelf struct {
	visible map[civil.Date]string
	puts    int
	fail    error
	landed  bool // the rows are visible although Put answers an error: its answer was lost
}

func newShelf() *shelf { return &shelf{visible: map[civil.Date]string{}} }

func (s *shelf) Put(_ context.Context, p sinks.Part) (sinks.Receipt, error) {
	s.puts++
	if s.fail == nil || s.landed {
		s.visible[p.Partition] = p.Hash
	}
	return sinks.Receipt{Key: p.Partition.String(), Size: p.Size}, s.fail
}

func (s *shelf) Store() string { return "shelf" }

func (s *shelf) Close() error { return nil }

type publisher struct {
	t      *testing.T
	ledger *ledger.Ledger
	target []ledger.Target
}

func newPublisher(t *testing.T, targets ...ledger.Target) *publisher {
	return &publisher{t, memLedger(t), targets}
}

// publishIn leases a partition, publishes it on top of what is recorded then, and ends the lease.
// The answer is the base, too.
func publishIn(t *testing.T, table *Table, p Publication) (base ledger.Record, state ledger.State, err error) {
	t.Helper()
	l, err := table.Table.Begin(t.Context(), "run", []civil.Date{p.Part.Partition})
	check(t, err)
	defer func() { check(t, l.End(t.Context())) }()
	base, _ = table.Record(p.Part.Partition)
	p.Base = base
	state, _, err = table.Publish(t.Context(), l, p)
	return base, state, err
}

// deliverIn begins a window, delivers an answer, and ends the lease.
func deliverIn(t *testing.T, to *Table, d Definition, w refresh.Window, a Answer) (ledger.Outcome, error) {
	t.Helper()
	w, l, err := to.Begin(t.Context(), w)
	check(t, err)
	defer func() { check(t, l.End(t.Context())) }()
	return to.Deliver(t.Context(), l, d, w, a)
}

// again publishes whatever the ledger says.
func (p *publisher) again(hash string, rows int64) (ledger.State, error) {
	_, state, err := publishIn(p.t, openAt(p.t, p.ledger, p.target...), Publication{
		Part: sinks.Part{Table: "installs", Partition: date("2026-01-01"), Rows: rows, Hash: hash}, Again: true,
	})
	return state, err
}

// publish does what a fresh process would do.
func (p *publisher) publish(hash string, rows int64, onEmpty OnEmpty) (ledger.State, error) {
	_, state, err := publishIn(p.t, openAt(p.t, p.ledger, p.target...), Publication{
		Part:    sinks.Part{Table: "installs", Partition: date("2026-01-01"), Rows: rows, Size: 10, Hash: hash},
		Fetched: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), Cause: "204", OnEmpty: onEmpty,
	})
	return state, err
}

// taken is a lease that another run has taken over, after its holder slept.
func taken(t *testing.T, table *Table, partitions ...civil.Date) *ledger.Lease {
	t.Helper()
	l, err := table.Table.Begin(t.Context(), "sleeper", partitions)
	check(t, err)
	time.Sleep(time.Millisecond)
	other, err := openAt(t, table.o.Ledger).Table.Begin(t.Context(), "another", partitions)
	check(t, err)
	t.Cleanup(func() { check(t, errors.Join(l.End(context.Background()), other.End(context.Background()))) })
	return l
}

// openAt reads what the ledger holds of the table.
func openAt(t *testing.T, l *ledger.Ledger, targets ...ledger.Target) *Table {
	t.Helper()
	table, err := Open(t.Context(), Options{Ledger: l, Name: "installs", Targets: targets})
	check(t, err)
	return table
}

func (p *publisher) recorded() ledger.Record {
	e, _ := openAt(p.t, p.ledger).Record(date("2026-01-01"))
	return e
}

func TestPublishPutsOnlyWhatChanged(t *testing.T) {
	s := newShelf()
	p := newPublisher(t, ledger.Target{Name: "s", Sink: s})
	for i, c := range []struct {
		hash string
		want ledger.State
		puts int
	}{{"A", ledger.Written, 1}, {"A", ledger.Unchanged, 1}, {"B", ledger.Written, 2}, {"A", ledger.Written, 3},
		{"A", ledger.Unchanged, 3}} {
		state, err := p.publish(c.hash, 5, GuardEmpty)
		if err != nil || state != c.want || s.puts != c.puts || s.visible[date("2026-01-01")] != c.hash {
			t.Errorf("step %d: %s %v, %d puts, visible %v", i, state, err, s.puts, s.visible)
		}
	}
	delete(s.visible, date("2026-01-01")) // by hand
	if state, err := p.again("A", 5); err != nil || state != ledger.Written || s.visible[date("2026-01-01")] != "A" {
		t.Errorf("asked for again: %s %v, visible %v", state, err, s.visible)
	}
	if e := p.recorded(); e.Hash != "A" || e.Rows != 5 || len(e.Receipts) != 1 || e.Receipts[0].Sink != "s" {
		t.Errorf("recorded %+v", e)
	}
}

// fussy is a sink whose table takes only parts of some schema.
type fussy struct {
	*shelf
	takes *sinks.Schema
	asked int
}

func (f *fussy) Takes(_ context.Context, _ string, s *sinks.Schema) error {
	if f.asked++; s != f.takes {
		return errors.New("the table doesn't fit")
	}
	return nil
}

// A part that a sink's table can't take leaves no trace, in any sink or in the ledger. What fits is
// asked once.
func TestPublishWhatDoesntFit(t *testing.T) {
	plain, table := newShelf(), &fussy{shelf: newShelf(), takes: &sinks.Schema{}}
	p := newPublisher(t, ledger.Target{Name: "plain", Sink: plain}, ledger.Target{Name: "table", Store: "table",
		Sink: table})
	first, second := date("2026-01-01"), date("2026-01-02")
	publish := func(to *Table, day civil.Date, hash string, schema *sinks.Schema) (ledger.State, error) {
		_, state, err := publishIn(t, to, Publication{Part: sinks.Part{Table: "installs", Partition: day, Rows: 1,
			Hash: hash, Schema: schema}})
		return state, err
	}
	to := openAt(t, p.ledger, p.target...)
	for _, day := range []civil.Date{first, second} {
		if state, err := publish(to, day, "A", table.takes); err != nil || state != ledger.Written {
			t.Errorf("%s: %s %v", day, state, err)
		}
	}
	if table.asked != 1 {
		t.Errorf("asked %d times", table.asked)
	}
	was := openAt(t, p.ledger).Records()
	var refused *SinkError
	if _, err := publish(to, first, "B", &sinks.Schema{}); !errors.As(err, &refused) ||
		err.Error() != "put installs/dt=2026-01-01 to table: the table doesn't fit" {
		t.Errorf("another schema: %v", err)
	}
	if now := openAt(t, p.ledger).Records(); !reflect.DeepEqual(now, was) {
		t.Errorf("recorded is\n%+v\nand was\n%+v", now, was)
	}
	if plain.puts != 2 || table.puts != 2 || plain.visible[first] != "A" {
		t.Errorf("%d and %d puts", plain.puts, table.puts)
	}
}

// The same cells under another shape are put: the file that holds them is another one.
func TestPublishUnderAnotherShape(t *testing.T) {
	s := newShelf()
	p := newPublisher(t, ledger.Target{Name: "s", Sink: s})
	for i, c := range []struct {
		shape string
		want  ledger.State
	}{{"euros", ledger.Written}, {"euros", ledger.Unchanged}, {"dollars", ledger.Written},
		{"dollars", ledger.Unchanged}} {
		_, state, err := publishIn(t, openAt(t, p.ledger, p.target...), Publication{
			Part: sinks.Part{Table: "installs", Partition: date("2026-01-01"), Rows: 1, Hash: "A"}, Shape: c.shape,
		})
		if err != nil || state != c.want || p.recorded().Shape != c.shape {
			t.Errorf("step %d: %s %v, recorded %+v", i, state, err, p.recorded())
		}
	}
}

// Content A, then B that lands though its put answers an error, then A again: the third put must
// happen, though the last complete record says A.
func TestPublishAfterALostAnswer(t *testing.T) {
	s := newShelf()
	p := newPublisher(t, ledger.Target{Name: "s", Sink: s})
	_, err := p.publish("A", 5, GuardEmpty)
	check(t, err)
	s.fail, s.landed = errors.New("the answer was lost"), true
	if _, err := p.publish("B", 5, GuardEmpty); !errors.Is(err, s.fail) {
		t.Fatalf("a failed put: %v", err)
	}
	if e := p.recorded(); e.State != ledger.Publishing || e.Rows != 5 {
		t.Errorf("recorded after a failed put: %+v", e)
	}
	s.fail = nil
	if state, err := p.publish("A", 5, GuardEmpty); err != nil || state != ledger.Written {
		t.Errorf("A again: %s %v", state, err)
	}
	if s.visible[date("2026-01-01")] != "A" {
		t.Errorf("visible: %v", s.visible)
	}
}

// A sink that has failed is behind the others: it gets the rows, and the others aren't asked again.
func TestPublishToSeveralSinks(t *testing.T) {
	a, b := newShelf(), newShelf()
	p := newPublisher(t, ledger.Target{Name: "a", Sink: a})
	_, err := p.publish("A", 5, GuardEmpty)
	check(t, err)
	p.target = append(p.target, ledger.Target{Name: "b", Sink: b})
	state, err := p.publish("A", 5, GuardEmpty)
	if err != nil || state != ledger.Written || a.puts != 1 || b.puts != 1 {
		t.Errorf("a sink that is new: %s %v, puts %d and %d", state, err, a.puts, b.puts)
	}
	b.fail = errors.New("full")
	if _, err := p.publish("B", 5, GuardEmpty); err == nil {
		t.Fatal("a failed put is no error")
	}
	b.fail = nil
	if _, err := p.publish("A", 5, GuardEmpty); err != nil {
		t.Fatal(err)
	}
	if a.visible[date("2026-01-01")] != "A" || b.visible[date("2026-01-01")] != "A" {
		t.Errorf("the sinks differ: %v %v", a.visible, b.visible)
	}
}

func TestPublishEmpty(t *testing.T) {
	day := date("2026-01-01")
	for _, c := range []struct {
		name    string
		had     int64 // rows before; -1: never recorded
		onEmpty OnEmpty
		want    ledger.State
		visible string
		rows    int64
		err     string
	}{
		{"never had rows, guard", -1, GuardEmpty, ledger.Empty, "", 0, ""},
		{"never had rows, clear", -1, ClearEmpty, ledger.Empty, "", 0, ""},
		{"never had rows, keep", -1, KeepEmpty, ledger.Empty, "", 0, ""},
		{"was empty, guard", 0, GuardEmpty, ledger.Empty, "", 0, ""},
		{"had rows, guard", 7, GuardEmpty, "", "old", 7,
			"the answer has no rows (204) where 7 were recorded on 2026-01-02"},
		{"had rows, clear", 7, ClearEmpty, ledger.Cleared, "none", 0, ""},
		{"had rows, keep", 7, KeepEmpty, ledger.Kept, "old", 7, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newShelf()
			p := newPublisher(t, ledger.Target{Name: "s", Sink: s})
			if c.had >= 0 {
				hash := "old"
				if c.had == 0 {
					hash = "none"
				}
				_, err := p.publish(hash, c.had, GuardEmpty)
				check(t, err)
			}
			state, err := p.publish("none", 0, c.onEmpty)
			if state != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q %v, want %q %q", state, err, c.want, c.err)
			}
			if s.visible[day] != c.visible {
				t.Errorf("visible %q, want %q", s.visible[day], c.visible)
			}
			if e := p.recorded(); e.Rows != c.rows {
				t.Errorf("recorded %d rows, want %d", e.Rows, c.rows)
			}
			if c.want == ledger.Cleared { // and once more: nothing to put, and still what readers see
				state, err := p.publish("none", 0, GuardEmpty)
				if err != nil || state != ledger.Unchanged || s.puts != 2 {
					t.Errorf("cleared again: %q %v, %d puts", state, err, s.puts)
				}
				if state, err := p.publish("back", 3, GuardEmpty); err != nil || state != ledger.Written {
					t.Errorf("rows come back: %q %v", state, err)
				}
			}
		})
	}
}

// Nothing is put into a sink without conditions once another run has taken the partition over.
func TestPublishUnderALostLease(t *testing.T) {
	s := newShelf()
	p := newPublisher(t, ledger.Target{Name: "s", Sink: s})
	table := openAt(t, p.ledger, p.target...)
	l := taken(t, table, date("2026-01-01"))
	_, _, err := table.Publish(t.Context(), l, Publication{Part: sinks.Part{Table: "installs",
		Partition: date("2026-01-01"), Rows: 5, Hash: "A"}})
	if !errors.Is(err, ledger.ErrLost) || s.puts != 0 {
		t.Errorf("a put under a lost lease: %v, %d puts", err, s.puts)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func date(text string) civil.Date {
	d, err := civil.ParseDate(text)
	if err != nil {
		panic(err)
	}
	return d
}

func moment(text string) time.Time {
	for _, layout := range []string{"2006-01-02T15:04", time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return t
		}
	}
	panic(text)
}

// memLedger is a ledger in memory. Its leases can be taken over at any time.
func memLedger(t *testing.T) *ledger.Ledger {
	l := ledger.Open(ledger.Options{Store: bucket.NewMemory(), URL: "mem://ledger", Task: "task"})
	t.Cleanup(func() { check(t, l.Close()) })
	return l
}

// Once the lease is lost, the parts that are left aren't tried: another run has the window. Their
// files go, and they count as failed.
func TestDeliverStopsWhenTheLeaseIsLost(t *testing.T) {
	s := newShelf()
	p := newPublisher(t, ledger.Target{Name: "s", Sink: s})
	a := Answer{Fetched: time.Date(2026, 1, 3, 6, 0, 0, 0, time.UTC)}
	var days []civil.Date
	for _, day := range []string{"2026-01-01", "2026-01-02", "2026-01-03"} {
		path := filepath.Join(t.TempDir(), day)
		check(t, os.WriteFile(path, []byte("part"), 0o600))
		a.Parts = append(a.Parts, table.Part{Partition: date(day), Path: path, Rows: 1, Size: 4, Hash: day})
		days = append(days, date(day))
	}
	to := openAt(t, p.ledger, p.target...)
	out, err := to.Deliver(t.Context(), taken(t, to, days...), Definition{Schema: &sinks.Schema{}}, refresh.Window{}, a)
	if !errors.Is(err, ledger.ErrLost) || out.Failed != 3 || s.puts != 0 {
		t.Errorf("%+v, %d puts: %v", out, s.puts, err)
	}
	for _, part := range a.Parts {
		if _, err := os.Stat(part.Path); !os.IsNotExist(err) {
			t.Errorf("the file of %s is left: %v", part.Partition, err)
		}
	}
}
