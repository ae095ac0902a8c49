package partition

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// A warehouse tells of a table what BigQuery tells: when it was made and how many rows it has, and
// of partitions by a query only. Its puts have no conditions.
type warehouse struct {
	made   string // the version of the table; empty: there is none
	rows   map[civil.Date]int64
	oldest civil.Date
	calls  []string

	refused error // of counts
	counted map[string]bool
	before  func() // once, before a put's rows are visible
	fail    error  // of that put, although they are

	puts    []string
	leases  []string   // of the puts, in the order in which they began
	earlier [][]string // likewise
	visible string
}

func newWarehouse() *warehouse {
	return &warehouse{rows: map[civil.Date]int64{}, counted: map[string]bool{}}
}

func (s *warehouse) Put(_ context.Context, p sinks.Part) (sinks.Receipt, error) {
	var failed error
	s.leases, s.earlier = append(s.leases, p.Lease), append(s.earlier, p.Earlier)
	if f := s.before; f != nil {
		s.before, failed = nil, s.fail
		f()
	}
	if p.Partition.Before(s.oldest) {
		return sinks.Receipt{}, &sinks.NotKept{Oldest: s.oldest, Because: "it is full"}
	}
	if s.made == "" {
		s.made = fmt.Sprint("made before put ", len(s.puts))
	}
	s.puts = append(s.puts, p.Partition.String())
	if !errors.Is(failed, sinks.ErrUnchanged) {
		s.rows[p.Partition], s.visible = p.Rows, p.Hash
	}
	if failed != nil {
		return sinks.Receipt{}, failed
	}
	return sinks.Receipt{Key: p.Partition.String(), Size: p.Size, Version: s.made}, nil
}

func (s *warehouse) List(context.Context, string) ([]sinks.Object, error) {
	s.calls = append(s.calls, "list")
	if s.made == "" {
		return nil, nil
	}
	o := sinks.Object{Key: "installs", Version: s.made, Table: true, Counted: true, Oldest: s.oldest}
	for _, n := range s.rows {
		o.Rows += n
	}
	return []sinks.Object{o}, nil
}

func (s *warehouse) Count(_ context.Context, _, once string) (list []sinks.Object, err error) {
	s.calls = append(s.calls, "count "+once)
	switch {
	case s.refused != nil:
		return nil, s.refused
	case once != "" && s.counted[once]:
		return nil, sinks.ErrCounted
	}
	s.counted[once] = true
	for at, n := range s.rows {
		if n > 0 {
			list = append(list, sinks.Object{Key: at.String(), Partition: at, Counted: true, Rows: n})
		}
	}
	slices.SortFunc(list, func(a, b sinks.Object) int { return strings.Compare(a.Key, b.Key) })
	return list, nil
}

func (s *warehouse) Store() string { return "wh" }
func (s *warehouse) Close() error  { return nil }

// asked gives the calls since it was asked last.
func (s *warehouse) asked() string {
	defer func() { s.calls = nil }()
	return strings.Join(s.calls, ", ")
}

// do publishes a day as a run does that has just begun it.
func do(t *testing.T, l *ledger.Ledger, run string, day civil.Date, rows int64, hash string,
	targets ...ledger.Target) (ledger.State, error) {
	t.Helper()
	table := openAt(t, l, targets...)
	_, err := table.FindChanged(t.Context())
	check(t, err)
	return put(t, table, run, day, rows, hash)
}

// put publishes a day of a table that was looked at.
func put(t *testing.T, table *Table, run string, day civil.Date, rows int64, hash string) (ledger.State, error) {
	t.Helper()
	_, state, err := publishIn(t, table, Publication{
		Run: run, Part: sinks.Part{Table: "installs", Partition: day, Rows: rows, Size: 10, Hash: hash},
		Fetched: day.In(time.UTC).AddDate(0, 0, 20), OnEmpty: ClearEmpty,
	})
	return state, err
}

// A put that slept while another run took its partition over, and is done when it wakes up: which
// rows are visible isn't known, so that the next run puts them again.
func TestALateLoadLeavesADoubt(t *testing.T) {
	day := date("2026-01-01")
	for name, c := range map[string]struct {
		fail  error
		doubt bool
	}{
		"the job was done": {fmt.Errorf("job X was done by then, so the new rows are visible: %w", ledger.ErrLost),
			true},
		"it was cancelled": {fmt.Errorf("%w; job X is cancelled, %w", ledger.ErrLost, sinks.ErrUnchanged), false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newWarehouse()
			l := memLedger(t)
			target := ledger.Target{Name: "wh", Sink: s}
			s.fail, s.before = c.fail, func() {
				if state, err := do(t, l, "B", day, 5, "new", target); err != nil || state != ledger.Written ||
					s.visible != "new" {
					t.Errorf("B: %s %v", state, err)
				}
			}
			if _, err := do(t, l, "A", day, 5, "old", target); !errors.Is(err, ledger.ErrLost) {
				t.Fatal(err)
			}
			e, _ := openAt(t, l).Record(day)
			if doubt := e.State == ledger.Publishing; doubt != c.doubt || (s.visible == "old") != c.doubt {
				t.Fatalf("recorded as %s, and %q is visible", e.State, s.visible)
			}
			state, err := do(t, l, "C", day, 5, "new", target)
			if err != nil || s.visible != "new" || (state == ledger.Written) != c.doubt {
				t.Errorf("C: %s %v, and %q is visible", state, err, s.visible)
			}
			want := [][]string{nil, {s.leases[0]}, {s.leases[0]}}[:len(s.leases)]
			if !reflect.DeepEqual(s.earlier, want) || s.leases[0] == s.leases[1] {
				t.Errorf("under leases %q, earlier ones were %q", s.leases, s.earlier)
			}
		})
	}
}

// A process whose machine slept learns from its own clock that it has lost, whatever the sink's
// error says.
func TestALateLoadAfterASleep(t *testing.T) {
	s := newWarehouse()
	b := bucket.NewMemory()
	began, slept := time.Now(), new(atomic.Int64)
	past := func() time.Duration { return time.Duration(slept.Load()) }
	asleep := ledger.Open(ledger.Options{Store: b, URL: "mem://ledger", Task: "task",
		Clock: func() (time.Time, time.Duration) { return time.Now().Add(past()), time.Since(began) + past() }})
	awake := ledger.Open(ledger.Options{Store: b, URL: "mem://ledger", Task: "task"})
	t.Cleanup(func() { check(t, awake.Close()) })
	target, day := ledger.Target{Name: "wh", Sink: s}, date("2026-01-01")
	s.fail, s.before = errors.New("broken pipe"), func() {
		_, err := do(t, awake, "B", day, 5, "new", target)
		check(t, err)
		slept.Store(int64(time.Hour))
	}
	if _, err := do(t, asleep, "A", day, 5, "old", target); err == nil || s.visible != "old" {
		t.Fatalf("%v, and %q is visible", err, s.visible)
	}
	if e, _ := openAt(t, awake).Record(day); e.State != ledger.Publishing {
		t.Errorf("recorded as %s", e.State)
	}
}

// What a run makes of a warehouse's table that others have changed, and what it asks for that.
func TestATableThatOthersChanged(t *testing.T) {
	first, days := date("2026-01-01"), 3
	for _, c := range []struct {
		name    string
		change  func(*warehouse)
		changed string // days, by their last digit
		asks    string // a second look asks the same
		says    string
		differs string // in check
	}{
		{"nothing", func(*warehouse) {}, "", "list", "", ""},
		{"it is gone", func(s *warehouse) { s.made, s.rows = "", map[civil.Date]int64{} }, "1 2 3", "list", "",
			"is missing; is missing; is missing"},
		{"it was made anew, and filled by halves", func(s *warehouse) {
			s.made = "second"
			delete(s.rows,
				date("2026-01-02"))
		}, "1 2 3", "list", "", "isn't what was put there; holds 0 rows, the ledger says 6; isn't what was put there"},
		{"it was made anew with the same rows", func(s *warehouse) { s.made = "second" }, "1 2 3", "list", "",
			"isn't what was put there; isn't what was put there; isn't what was put there"},
		{"its rows are deleted", func(s *warehouse) { clear(s.rows) }, "1 2 3", "list", "",
			"holds 0 rows, the ledger says 5; holds 0 rows, the ledger says 6; holds 0 rows, the ledger says 7"},
		{"a day's rows are deleted", func(s *warehouse) { delete(s.rows, date("2026-01-02")) }, "2",
			"list, count 2026-06-01", "", "holds 0 rows, the ledger says 6"},
		{"some rows are deleted", func(s *warehouse) { s.rows[date("2026-01-03")]-- }, "3", "list, count 2026-06-01",
			"", "holds 6 rows, the ledger says 7"},
		{"rows are added", func(s *warehouse) { s.rows[date("2026-01-01")]++ }, "1", "list, count 2026-06-01", "",
			"holds 6 rows, the ledger says 5"},
		{"as many are added as deleted",
			func(s *warehouse) { s.rows[date("2026-01-01")]--; s.rows[date("2026-01-02")]++ }, "", "list", "",
			"holds 4 rows, the ledger says 5; holds 7 rows, the ledger says 6"},
		{"rows of another day are added", func(s *warehouse) { s.rows[date("2025-12-31")] = 9 }, "",
			"list, count 2026-06-01", "", "has 9 rows that no record names"},
		{"nobody may count", func(s *warehouse) { s.rows[date("2026-01-01")]--; s.refused = errors.New("no right to") },
			"", "list, count 2026-06-01", "no right to",
			"has 17 rows, which isn't what the ledger says; where isn't known: no right to"},
		{"it was counted today", func(s *warehouse) { s.rows[date("2026-01-01")]--; s.counted["2026-06-01"] = true },
			"", "list, count 2026-06-01", "counted today already", "holds 4 rows, the ledger says 5"},
		{"a put of another day was interrupted", func(*warehouse) {}, "", "list, count 2026-06-01", "",
			"has 9 rows that no record names"},
		{"one was interrupted, and a day's rows are deleted", func(s *warehouse) { delete(s.rows, date("2026-01-02")) },
			"2", "list, count 2026-06-01", "", "holds 0 rows, the ledger says 6; has 9 rows that no record names"},
		{"one was interrupted, and it was counted today", func(s *warehouse) { s.counted["2026-06-01"] = true }, "",
			"list, count 2026-06-01", "", "has 9 rows that no record names"},
		{"it deletes what is old",
			func(s *warehouse) {
				s.oldest = date("2026-01-02")
				clear(
					s.rows)
				s.rows[date("2026-01-03")] = 7
			}, "", "list", "", ""},
		{"it deletes what is old, and lost the rest",
			func(s *warehouse) { s.oldest = date("2026-01-02"); clear(s.rows) }, "3", "list", "", "holds 0 rows, " +
				"the ledger says 7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(moment("2026-06-01T06:00")))
				s := newWarehouse()
				l := memLedger(t)
				target := ledger.Target{Name: "wh", Sink: s}
				for i := range days {
					_, err := do(t, l, "A", first.AddDays(i), int64(5+i), fmt.Sprint("h", i), target)
					check(t, err)
				}
				if strings.Contains(c.name, "interrupted") {
					s.fail, s.before = errors.New("the answer is lost"), func() {}
					if _, err := do(t, l, "A", date("2026-01-09"), 9, "h9", target); err == nil {
						t.Error("no error")
					}
				}
				c.change(s)
				s.asked()
				var said bytes.Buffer
				table, err := Open(t.Context(), Options{Ledger: l, Name: "installs", Run: "r",
					Targets: []ledger.Target{target}, Log: slog.New(slog.NewTextHandler(&said, nil))})
				check(t, err)
				changed, err := table.FindChanged(t.Context())
				check(t, err)
				var days []string
				for _, d := range slices.SortedFunc(maps.Keys(changed), civil.Date.Compare) {
					days = append(days, fmt.Sprint(d.Day))
				}
				if got := strings.Join(days, " "); got != c.changed {
					t.Errorf("changed are %q, want %q", got, c.changed)
				}
				if got := s.asked(); got != c.asks {
					t.Errorf("it asks %q, want %q", got, c.asks)
				}
				if !strings.Contains(said.String(), c.says) || (c.says == "") != (said.Len() == 0) {
					t.Errorf("it says %q, want %q", said.String(), c.says)
				}
				list, err := openAt(t, l, target).Discrepancies(t.Context(), target, s)
				check(t, err)
				var texts []string
				for _, d := range list {
					texts = append(texts, d.Text)
				}
				if got := strings.Join(texts, "; "); got != c.differs {
					t.Errorf("it differs in %q, want %q", got, c.differs)
				}
				// What was found is put again, and then all is as it should be.
				for _, d := range slices.SortedFunc(maps.Keys(changed), civil.Date.Compare) {
					if state, err := put(t, table, "B", d, int64(4+d.Day), fmt.Sprint("h", d.Day-1)); err != nil ||
						state != ledger.Written {
						t.Errorf("%s: %s, %v", d, state, err)
					}
				}
				if again, err := openAt(t, l, target).FindChanged(t.Context()); err != nil || len(again) > 0 {
					t.Errorf("after it: %v, %v", again, err)
				}
			})
		})
	}
}

// A check says that it couldn't compare.
func TestDiscrepanciesThatNobodyMayCount(t *testing.T) {
	s := newWarehouse()
	l := memLedger(t)
	target := ledger.Target{Name: "wh", Sink: s}
	_, err := do(t, l, "A", date("2026-01-01"), 5, "h", target)
	check(t, err)
	s.refused = errors.New("no right to")
	if list, err := openAt(t, l, target).Discrepancies(t.Context(), target, s); !errors.Is(err, s.refused) ||
		len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// Receipts of earlier versions don't say when the table was made. They are accepted while it is
// there.
func TestReceiptsWithoutAVersion(t *testing.T) {
	s := newWarehouse()
	l := memLedger(t)
	target, day := ledger.Target{Name: "wh", Sink: s}, date("2026-01-01")
	table := openAt(t, l)
	check(t, table.Commit(t.Context(), ledger.Record{
		Partition: day, Run: "run", Fetched: moment("2026-02-01T06:00"), State: ledger.Written, Rows: 5, Hash: "h",
		Receipts: []sinks.Receipt{{Sink: "wh", Key: day.String(), Size: 10}},
	}))
	s.made, s.rows[day] = "first", 5
	look := func() int {
		changed, err := openAt(t, l, target).FindChanged(t.Context())
		check(t, err)
		return len(changed)
	}
	if n := look(); n != 0 {
		t.Errorf("%d changed", n)
	}
	s.made, s.rows = "", map[civil.Date]int64{}
	if n := look(); n != 1 {
		t.Errorf("%d changed when the table is gone", n)
	}
	_, err := do(t, l, "B", day, 5, "h", target)
	check(t, err)
	if e, _ := openAt(t, l).Record(day); !strings.HasPrefix(e.Receipts[0].Version, "made") {
		t.Errorf("the receipt became %+v", e.Receipts[0])
	}
}

// What no target would keep isn't fetched. Days that were fetched before are released.
func TestWhatIsTooOld(t *testing.T) {
	for _, c := range []struct {
		name   string
		reason refresh.Reason
		oldest string
		due    int
		err    string
	}{
		{"it keeps all", refresh.Missing, "2026-01-01", 2, ""},
		{"one is too old", refresh.Missing, "2026-01-02", 1, ""},
		{"both are", refresh.Missing, "2026-03-01", 0,
			"fetch 2026-01-01 of installs: partitions before 2026-03-01 aren't kept"},
		{"both were asked for", refresh.Forced, "2026-03-01", 0, "aren't kept"},
		{"both were fetched before", refresh.Lookback, "2026-03-01", 0, ""},
		{"both meant something else", refresh.Rebased, "2026-03-01", 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newWarehouse()
			s.made, s.oldest = "first", date(c.oldest)
			l := memLedger(t)
			table := openAt(t, l, ledger.Target{Name: "wh", Sink: s})
			_, err := table.FindChanged(t.Context())
			check(t, err)
			w := refresh.Window{Period: refresh.Day, Due: []refresh.Due{{Partition: date("2026-01-01"),
				Reason: c.reason}, {Partition: date("2026-01-02"), Reason: c.reason}}}
			left, lease, err := table.Begin(t.Context(), w)
			if err == nil {
				check(t, lease.End(t.Context()))
			}
			if err == nil && len(left.Due) != c.due || (err == nil) != (c.err == "") || err != nil &&
				!strings.Contains(err.Error(), c.err) {
				t.Errorf("%d are due, %v; want %d, %q", len(left.Due), err, c.due, c.err)
			}
			both := openAt(t, l, ledger.Target{Name: "wh", Sink: s}, ledger.Target{Name: "s", Sink: newShelf()})
			_, err = both.FindChanged(t.Context())
			check(t, err)
			if left, _, err := both.Begin(t.Context(), w); err != nil || len(left.Due) != 2 {
				t.Errorf("with another sink, which keeps all: %d are due, %v", len(left.Due), err)
			}
		})
	}
}

// A table that is made by the put says only then what it keeps. Beside a sink that keeps all it
// gets a receipt without rows, alone it fails, and the next window isn't fetched.
func TestAPutThatIsTooOld(t *testing.T) {
	s, other := newWarehouse(), newShelf()
	s.oldest = date("2026-03-01")
	l := memLedger(t)
	day := date("2026-01-01")
	alone := openAt(t, l, ledger.Target{Name: "wh", Sink: s})
	_, _, err := publishIn(t, alone, Publication{Part: sinks.Part{Table: "installs", Partition: day, Rows: 5,
		Hash: "h"}})
	var old *sinks.NotKept
	if !errors.As(err, &old) {
		t.Errorf("alone: %v", err)
	}
	if _, _, err := alone.Begin(t.Context(), refresh.Window{Period: refresh.Day,
		Due: []refresh.Due{{Partition: day.AddDays(7), Reason: refresh.Missing}}}); err == nil {
		t.Error("the next window is fetched")
	}
	targets := []ledger.Target{{Name: "wh", Sink: s}, {Name: "s", Sink: other}}
	if state, err := do(t, l, "B", day, 5, "h", targets...); err != nil || state != ledger.Written ||
		other.visible[day] != "h" {
		t.Errorf("beside another: %s, %v", state, err)
	}
	s.made = "first"
	if state, err := do(t, l, "C", day, 5, "h", targets...); err != nil || state != ledger.Unchanged {
		t.Errorf("once more: %s, %v", state, err)
	}
}

// A fitted warehouse has settings.
type fitted struct {
	*warehouse
	fits []time.Duration
}

func (s *fitted) Configure(_ context.Context, _ string, schema *sinks.Schema, _ func(error)) error {
	s.fits = append(s.fits, schema.Expiration)
	return nil
}

func (s *fitted) Oldest(_ context.Context, _ string, expiration time.Duration) (civil.Date, error) {
	return date("2026-01-09").AddDays(int(-expiration / (24 * time.Hour))), nil
}

// Somebody made the table anew, to keep its partitions for less than the config says. What the
// config keeps is due in the same run.
func TestTheConfigSaysWhatIsKept(t *testing.T) {
	for _, c := range []struct{ days, due int }{{9, 2}, {8, 1}, {7, 0}} {
		s := &fitted{warehouse: newWarehouse()}
		l := memLedger(t)
		for _, day := range []string{"2026-01-01", "2026-01-02"} {
			_, err := do(t, l, "A", date(day), 5, "h", ledger.Target{Name: "wh", Sink: s})
			check(t, err)
		}
		s.made, s.oldest = "anew", date("2026-01-08")
		clear(s.rows)
		table := openAt(t, l, ledger.Target{Name: "wh", Sink: s})
		table.o.Warehouse = &sinks.Schema{Expiration: time.Duration(c.days) * 24 * time.Hour}
		changed, err := table.FindChanged(t.Context())
		if err != nil || len(changed) != c.due {
			t.Errorf("%d days: %v is due, %v; want %d", c.days, changed, err, c.due)
		}
	}
}

// A put brings a table's settings to the config. Where nothing is put, because nothing has changed,
// the sink is asked to.
func TestSettingsWithoutAPut(t *testing.T) {
	s := &fitted{warehouse: newWarehouse()}
	l := memLedger(t)
	to := openAt(t, l, ledger.Target{Name: "wh", Sink: s})
	d := Definition{Schema: &sinks.Schema{Expiration: time.Hour}, Rules: refresh.Rules{Period: refresh.Day,
		Location: time.UTC}}
	for i, want := range []int{0, 1} {
		w, lease, err := to.Begin(t.Context(),
			refresh.Window{Due: []refresh.Due{{Partition: date("2026-01-01"), Seq: i}}})
		check(t, err)
		out, err := to.Deliver(t.Context(), lease, d, w, Answer{Fetched: moment("2026-01-09T06:00"),
			Parts: []table.Part{{Partition: date("2026-01-01"), Rows: 1, Hash: "h"}}})
		if err != nil || len(s.fits) != want || out.Unchanged != want {
			t.Errorf("%d unchanged, fits %v, %v; want %d", out.Unchanged, s.fits, err, want)
		}
		check(t, lease.End(t.Context()))
	}
	if s.fits[0] != time.Hour {
		t.Errorf("it fits to %v", s.fits[0])
	}
}

// Tables that tell of tables go by months, of which a warehouse may keep the newest only. That
// fails nothing.
func TestATableBesideThatIsTooOld(t *testing.T) {
	s := newWarehouse()
	s.oldest = date("2026-03-01")
	l := memLedger(t)
	of := openAt(t, l, ledger.Target{Name: "wh", Sink: s})
	to := of.Derived("states")
	_, state, err := publishIn(t, to, Publication{Part: sinks.Part{Table: to.Name(), Partition: date("2026-01-01"),
		Rows: 5, Hash: "h"}})
	if err != nil || state != ledger.Written || len(s.puts) > 0 {
		t.Errorf("%s, %v", state, err)
	}
}

// While a run has put a part and not recorded it yet, others who look take it neither for a
// stranger's nor for a change.
func TestAPutThatIsUnderWay(t *testing.T) {
	l, day := memLedger(t), date("2026-01-01")
	target := newTarget(t, "file://"+t.TempDir())
	for _, content := range []string{"A", "BB"} {
		running := openAt(t, l, target)
		lease, err := running.Table.Begin(t.Context(), "running", []civil.Date{day})
		check(t, err)
		base, _ := running.Record(day)
		a := &attempt{Publication: &Publication{Base: base, Part: fileOf(content)}, targets: []ledger.Target{target}}
		check(t, running.conditions(t.Context(), a))
		part := a.Part
		part.Over = a.conditions[0]
		receipt, err := target.Sink.Put(t.Context(), part)
		check(t, err)
		other := openAt(t, l, target)
		changed, err := other.FindChanged(t.Context())
		if parts, _ := other.others(target); err != nil || len(changed)+len(parts) > 0 {
			t.Errorf("%s: %v changed, %v are others', %v", content, changed, parts, err)
		}
		receipt.Sink, receipt.Store = target.Name, target.Identity()
		e := ledger.Record{Partition: day, After: base.Seq, State: ledger.Written, Rows: part.Rows, Hash: part.Hash,
			Receipts: []sinks.Receipt{receipt}}
		check(t, errors.Join(running.CommitAll(t.Context(), lease, []ledger.Record{e})[0], lease.End(t.Context())))
	}
}
