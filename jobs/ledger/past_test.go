package ledger

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/bucket/buckettest"
	"github.com/reportferry/reportferry/internal/slow"
)

// ranAt is a run that began at a moment and took a minute. A result without windows is of a job of
// which nothing was due.
func ranAt(at string, id string, results ...Result) Run {
	began := moment(at)
	ended := began.Add(time.Minute)
	return Run{ID: began.Format("20060102T150405.000Z") + "-" + id, Trigger: "schedule", Started: began, Ended: &ended,
		Results: results}
}

func busy(job string) Result { return Result{Job: job, Outcome: Outcome{Windows: 1, Written: 1}} }

// begin is a run as it is before its end.
func saved(r Run) Run {
	return Run{ID: r.ID, Trigger: r.Trigger, Started: r.Started}
}

// ids are the runs that are on record, the newest first, without their times.
func (p Past) ids() string {
	var ids []string
	for _, r := range p.Runs {
		_, id, _ := strings.Cut(r.ID, "-")
		if r.Ended == nil {
			id += "…"
		}
		ids = append(ids, id)
	}
	return strings.Join(ids, " ")
}

func pastOf(t *testing.T, l *Ledger, n int) Past {
	t.Helper()
	p, err := l.Past(t.Context(), n)
	check(t, err)
	return p
}

func TestRuns(t *testing.T) {
	everyPlace(t, func(t *testing.T, p place) {
		l, other := p.open(t), p.open(t)
		if none := pastOf(t, l, 9); none.Runs != nil || len(none.Success) > 0 {
			t.Fatal(none)
		}
		failed := Result{Job: "b", Outcome: Outcome{Windows: 1, Failed: 1}, Failures: []Failure{{"u", "no"}}}
		first, second, third := ranAt("2026-01-30T06:00", "1", busy("a"), failed),
			ranAt("2026-01-31T06:00", "2", busy("a")), ranAt("2026-02-01T06:00", "3", busy("b"))
		check(t, l.SaveRun(t.Context(), saved(first)))
		check(t, other.SaveRun(t.Context(), saved(second)))
		check(t, l.SaveRun(t.Context(), first))
		if got := pastOf(t, l, 9); got.ids() != "2… 1" || len(got.Success) != 1 {
			t.Errorf("%s, %v", got.ids(), got.Success)
		}
		check(t, other.SaveRun(t.Context(), second))
		check(t, l.SaveRun(t.Context(), third))
		for n, want := range map[int]string{1: "3", 2: "3 2", 9: "3 2 1"} {
			got := pastOf(t, other, n)
			if got.ids() != want || !got.Success["a"].Equal(*second.Ended) || !got.Success["b"].Equal(*third.Ended) {
				t.Errorf("the last %d: %s, %v", n, got.ids(), got.Success)
			}
		}
		if !l.LastSuccess("b").Equal(*third.Ended) || !l.LastSuccess("c").IsZero() {
			t.Errorf("b succeeded last at %v", l.LastSuccess("b"))
		}
		check(t, l.ForgetRun(t.Context(), second))
		check(t, l.ForgetRun(t.Context(), third))
		keys, err := l.list(t.Context(), "runs/")
		if got := pastOf(t, other, 9); err != nil || got.ids() != "1" ||
			!slices.Equal(keys, []string{"runs/2026-01.json"}) {
			t.Errorf("once two are forgotten: %s, %v %v", got.ids(), keys, err)
		}
	})
}

// Runs of many processes that begin and end at once, in a month that nobody has begun, are all on
// record, and the last success of a job never goes back.
func TestRunsAtOnce(t *testing.T) {
	everyPlace(t, func(t *testing.T, p place) {
		check(t, p.open(t).SaveRun(t.Context(), ranAt("2026-01-05T06:00", "before", busy("early"))))
		var all sync.WaitGroup
		for i := range 6 {
			l := p.open(t)
			all.Go(func() {
				r := ranAt(fmt.Sprintf("2026-02-01T06:%02d", (i*7)%6), fmt.Sprint(i), busy("all"),
					busy(fmt.Sprint("job", i)))
				for _, state := range []Run{saved(r), r} {
					if err := l.SaveRun(t.Context(), state); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		got := pastOf(t, p.open(t), 100)
		if len(got.Runs) != 7 || strings.Contains(got.ids(), "…") || len(got.Success) != 8 ||
			!got.Success["all"].Equal(moment("2026-02-01T06:06")) {
			t.Errorf("%s, %v", got.ids(), got.Success)
		}
	})
}

// An answer that is lost doubles no run and no number, and takes none away, also when another run
// has made a number of this one meanwhile.
func TestALostAnswerDoublesNoRun(t *testing.T) {
	for _, arrives := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			memory := &bucket.Memory{}
			other := Open(Options{Store: memory.Open()})
			lose, between := false, Run{}
			l := Open(Options{Store: buckettest.NewFaulty(memory, func(c bucket.Call) (f buckettest.Fate) {
				if c.Op == bucket.OpPut && lose && strings.HasPrefix(c.Key, "runs/") {
					lose = false
					f = buckettest.Fate{Never: !arrives, Err: errors.New("the answer was lost")}
					time.AfterFunc(0, func() { check(t, other.SaveRun(t.Context(), between)) })
				}
				return f
			})})
			for i, results := range [][]Result{{{Job: "a"}}, {busy("a")}, {{Job: "a"}}} {
				mine := ranAt(fmt.Sprintf("2026-01-1%dT06:00", i), fmt.Sprint("mine", i), results...)
				between = ranAt(fmt.Sprintf("2026-01-1%dT06:30", i), fmt.Sprint("other", i), Result{Job: "a"})
				check(t, l.SaveRun(t.Context(), saved(mine)))
				lose = true
				check(t, l.SaveRun(t.Context(), mine))
				time.Sleep(time.Minute)
			}
			if got := pastOf(t, l, 9); got.ids() != "other2 mine1" || got.Idle.Runs != 4 {
				t.Errorf("arrives %v: %s and %d that did nothing", arrives, got.ids(), got.Idle.Runs)
			}
		})
	}
}

// Of runs that did nothing the last one of each job is on record, and the others are counted, each
// once.
func TestIdleRunsAreCounted(t *testing.T) {
	l := memLedger(t)
	night := func(at, id string, results ...Result) {
		t.Helper()
		r := ranAt(at, id, results...)
		check(t, l.SaveRun(t.Context(), saved(r)))
		check(t, l.SaveRun(t.Context(), r))
	}
	waits, compares := Result{Job: "a", Outcome: Outcome{Waiting: 1}}, Result{Job: "a", Outcome: Outcome{Compared: 3}}
	night("2026-01-01T06:00", "works", busy("a"), busy("b"))
	night("2026-01-01T07:00", "b", Result{Job: "b"})
	for minute := range 50 {
		night(fmt.Sprintf("2026-01-01T08:%02d", minute), fmt.Sprint("a", minute), Result{Job: "a"})
	}
	if got := pastOf(t, l, 99); got.ids() != "a49 b works" || got.Idle != (Idle{49, moment("2026-01-01T08:49")}) ||
		!got.Success["a"].Equal(moment("2026-01-01T08:50")) {
		t.Errorf("%s, %+v, %v", got.ids(), got.Idle, got.Success)
	}
	night("2026-01-01T09:00", "waits", waits)
	night("2026-01-01T10:00", "compares", compares)
	refused := ranAt("2026-01-01T11:00", "refused", Result{Job: "a"})
	refused.Exit = 5
	check(t, l.SaveRun(t.Context(), refused))
	night("2026-01-01T12:00", "both", Result{Job: "a"}, Result{Job: "b"})
	if got := pastOf(t, l, 99); got.ids() != "both refused compares waits works" || got.Idle.Runs != 51 {
		t.Errorf("%s, %+v", got.ids(), got.Idle)
	}
	doc := l.runsOf("runs/2026-01.json")
	if size := doc.Size(); size > 10_000 {
		t.Errorf("the document has %d bytes", size)
	}
}

// A month begins with the successes of the months before it, also with one that came late, and
// readers know it before that.
func TestSuccessesAreCarriedOn(t *testing.T) {
	l := memLedger(t)
	late := ranAt("2026-01-31T23:30", "late", busy("late"))
	check(t, l.SaveRun(t.Context(), ranAt("2026-01-05T06:00", "1", busy("early"))))
	check(t, l.SaveRun(t.Context(), saved(late)))
	check(t, l.SaveRun(t.Context(), ranAt("2026-02-01T00:10", "2", busy("a"))))
	ended := moment("2026-02-01T00:40")
	late.Ended = &ended
	check(t, l.SaveRun(t.Context(), late))
	if got := pastOf(t, l, 0).Success; len(got) != 3 || !got["late"].Equal(ended) {
		t.Errorf("in February: %v", got)
	}
	for month := 3; month <= 9; month++ {
		check(t, l.SaveRun(t.Context(), ranAt(fmt.Sprintf("2026-%02d-01T06:00", month), "x", busy("a"))))
		if got := pastOf(t, l, 0).Success; len(got) != 3 || !got["late"].Equal(ended) ||
			got["a"].Month() != time.Month(month) {
			t.Errorf("in month %d: %v", month, got)
		}
		keys, err := l.list(t.Context(), "runs/")
		check(t, err)
		if want := fmt.Sprintf("runs/2026-%02d.json", month-3); keys[0] != want && month > 5 || len(keys) > 5 {
			t.Errorf("in month %d there are %v", month, keys)
		}
	}
	replay := ranAt("2026-09-02T06:00", "replay", busy("replayed"))
	replay.Trigger = Replayed
	check(t, l.SaveRun(t.Context(), replay))
	if got := pastOf(t, l, 0).Success; len(got) != 3 {
		t.Errorf("a replay is a success: %v", got)
	}
}

// Of runs that ended in the last 90 days none goes because of its age, whenever a month begins.
func TestRunsAreKeptFor90Days(t *testing.T) {
	l := memLedger(t)
	start := moment("2027-01-01T12:00")
	for day := range 800 {
		now := start.AddDate(0, 0, day)
		check(t, l.SaveRun(t.Context(), ranAt(now.Format("2006-01-02T15:04"), "x", busy("a"))))
		runs := pastOf(t, l, 1000).Runs
		oldest := runs[len(runs)-1]
		if age := now.Sub(oldest.Started); day >= 91 && age < 90*24*time.Hour || age > 153*24*time.Hour {
			t.Fatalf("%v: the oldest run is of %v", now, oldest.Started)
		}
	}
}

// A month of runs every five minutes, each of which does something, has less than a mebibyte. The
// newest runs are there, the last one of each job, and the number of the others.
func TestABusyMonthIsBounded(t *testing.T) {
	slow.Test(t)
	l := memLedger(t)
	dice := rand.New(rand.NewPCG(1, 2))
	result := func(job string, began time.Time) Result {
		res := Result{Job: job, Table: job, Took: time.Duration(dice.Int64N(1e11)), Outcome: Outcome{
			Windows: 7, Written: 7, Rows: dice.Int64N(1e6), CSVBytes: dice.Int64N(1e9), ParquetBytes: dice.Int64N(1e8),
			Limiter: time.Duration(dice.Int64N(1e10)), Convert: time.Duration(dice.Int64N(1e10)),
		}}
		for range 7 {
			res.Timings = append(res.Timings, TimingOf("2026-01-01", began.Add(time.Duration(dice.Int64N(1e11))),
				time.Duration(dice.Int64N(1e11)), Outcome{Convert: time.Duration(dice.Int64N(1e10)),
					Put: time.Duration(dice.Int64N(1e10)), Requests: 3}))
		}
		return res
	}
	began, written, doc := moment("2026-01-01T00:00"), 1, l.runsOf("runs/2026-01.json")
	check(t, l.SaveRun(t.Context(), ranAt("2026-01-01T00:00", "rare", busy("rare"))))
	next := func() Run {
		at := began.Add(time.Duration(written) * 5 * time.Minute)
		written++
		return ranAt(at.Format("2006-01-02T15:04"), fmt.Sprintf("%08x", dice.Uint32()), result("a", at),
			result("b", at))
	}
	for written < 14*600 {
		check(t, doc.Change(t.Context(), Change[runMonth]{Apply: func(m *runMonth) error {
			for range 599 { // at once, because a swap of them all takes long
				m.Runs = append(m.Runs, next())
			}
			return nil
		}}))
		newest := next()
		check(t, l.SaveRun(t.Context(), newest))
		objects, err := l.Objects(t.Context(), "runs/")
		check(t, err)
		if m := doc.Last(); objects[0].Size > 1<<20 || m.Runs[len(m.Runs)-1].ID != newest.ID ||
			m.find("20260101T000000.000Z-rare") != 0 || len(m.Runs)+m.Dropped != written {
			t.Fatalf("after %d runs: %d bytes with %d of them and %d dropped", written, objects[0].Size, len(m.Runs),
				m.Dropped)
		}
	}
	if m := doc.Last(); len(m.Runs) < 500 || m.Dropped == 0 {
		t.Errorf("%d runs are left, and %d dropped", len(m.Runs), m.Dropped)
	}
}

// A month that can't be trusted is left out and named, and what it says to do is right: nothing is
// fetched again.
func TestADamagedMonthOfRuns(t *testing.T) {
	everyLedger(t, func(t *testing.T, l *Ledger) {
		check(t, l.SaveRun(t.Context(), ranAt("2025-12-05T06:00", "1", busy("a"))))
		check(t, l.SaveRun(t.Context(), ranAt("2026-01-05T06:00", "2", busy("b"))))
		overwrite(t, l, "runs/2026-01.json", []byte("{}\n"))
		// Of an earlier version, or somebody else's.
		overwrite(t, l, "runs/20260105T060000.000Z-00000000.json", []byte("{}\n"))
		got := pastOf(t, l, 9)
		if len(got.Damaged) != 1 || got.ids() != "1" || got.SuccessOf("a") == nil || got.SuccessOf("b") != nil {
			t.Errorf("%s, %v; left out are %v", got.ids(), got.Success, got.Damaged)
		}
		err := l.SaveRun(t.Context(), ranAt("2026-01-06T06:00", "3", busy("b")))
		var damaged *DamagedError
		if !errors.As(err, &damaged) || !strings.Contains(err.Error(), "runs/2026-01.json") ||
			!strings.Contains(err.Error(), "no table changes") || strings.Contains(err.Error(), "fetched again") {
			t.Errorf("a run of that month: %v", err)
		}
		check(t, l.SaveRun(t.Context(), ranAt("2026-02-06T06:00", "4", busy("b"))))
		if got := pastOf(t, l, 9); got.ids() != "4 1" || got.SuccessOf("a") == nil {
			t.Errorf("in the next month: %s, %v", got.ids(), got.Success)
		}
	})
}

// What runs and readers ask of the store: the calls are what is paid for.
func TestCallsOfRuns(t *testing.T) {
	memory, calls := &bucket.Memory{}, map[bucket.Op]int{}
	client := func() *Ledger {
		return Open(Options{Store: buckettest.NewFaulty(memory, func(c bucket.Call) buckettest.Fate {
			if strings.HasPrefix(c.Key, "runs/") {
				calls[c.Op]++
			}
			return buckettest.Fate{}
		})})
	}
	wants := func(what string, gets, puts, lists int) {
		t.Helper()
		if calls[bucket.OpGet] != gets || calls[bucket.OpPut] != puts || calls[bucket.OpList] != lists ||
			calls[bucket.OpDelete] > 0 {
			t.Errorf("%s takes %v", what, calls)
		}
		clear(calls)
	}
	for month := 1; month <= 3; month++ {
		l := client()
		r := ranAt(fmt.Sprintf("2026-%02d-05T06:00", month), "1", busy("a"))
		check(t, l.SaveRun(t.Context(), saved(r)))
		wants("the first run of a month", min(month, 3), 1, 1)
		l.LastSuccess("a")
		check(t, l.SaveRun(t.Context(), r))
		wants("its end", 0, 1, 0)
	}
	l := client()
	pastOf(t, l, 1)
	wants("a reader", 2, 0, 1)
	pastOf(t, l, 2)
	wants("a reader who has read", 0, 0, 1)
	check(t, client().SaveRun(t.Context(), saved(ranAt("2026-03-06T06:00", "2"))))
	wants("another run", 1, 1, 0)
}
