package status_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/status"
	"github.com/reportferry/reportferry/sinks"
)

var (
	first = civil.Date{Year: 2026, Month: 1, Day: 1}
	now   = time.Date(2026, 2, 10, 8, 0, 0, 0, time.UTC)
)

// table is one of forty days that are all as they should be.
func table() (refresh.Rules, ledger.Records) {
	done := ledger.Records{}
	for i := range 40 {
		day := first.AddDays(i)
		done[day] = ledger.Record{Partition: day, Seq: 1, Run: "r", Fetched: now.Add(-time.Hour), State: ledger.Written,
			Rows: 5, Shape: "s", Control: &ledger.Control{State: ledger.Reconciled}}
	}
	return refresh.Rules{Period: refresh.Day, Page: 7, Start: first, Location: time.UTC, Lookback: 3}, done
}

func stored(e *ledger.Record, how refresh.Condition) map[civil.Date]refresh.Condition {
	return map[civil.Date]refresh.Condition{e.Partition: how}
}

// Whatever may be wrong with a partition is said with its day, a reason and the command that ends
// it, and the record of a run says the same.
func TestEveryCondition(t *testing.T) {
	day := first.AddDays(20)
	differs := &ledger.Control{State: ledger.Unreconciled, Differences: []ledger.Difference{{Metric: "cost", Rows: "1",
		Total: "2"}}}
	backfill := "backfill daily --from 2026-01-21 --to 2026-01-21 --force"
	for condition, c := range map[refresh.Condition]struct {
		change  func(*refresh.Rules, *ledger.Record)
		gone    bool // nothing is recorded of the day
		why     string
		command string
		wrong   bool
	}{
		refresh.Absent: {gone: true, why: "never fetched yet", command: "backfill daily --gaps", wrong: true},
		refresh.TooOld: {
			change: func(r *refresh.Rules, _ *ledger.Record) {
				r.Stored, r.Oldest, r.Start = map[civil.Date]refresh.Condition{}, day.AddDays(1), day
			}, gone: true, why: "older than what the table keeps", wrong: true,
		},
		refresh.Expired: {change: func(r *refresh.Rules, e *ledger.Record) {
			r.Stored, r.Oldest, r.Start = map[civil.Date]refresh.Condition{}, day.AddDays(1), day
			e.State, e.After = ledger.Publishing, 1
		}},
		refresh.CutOff: {change: func(_ *refresh.Rules, e *ledger.Record) { e.State = ledger.Publishing },
			why: "interrupted put", command: "backfill daily --gaps", wrong: true},
		refresh.Mixed: {change: func(r *refresh.Rules, e *ledger.Record) {
			e.Shape, r.Stale = "old", map[string]ledger.Stale{"old": {Rebased: true}}
		}, command: "run daily --rebaseline --now", wrong: true},
		refresh.Deleted: {change: func(r *refresh.Rules, e *ledger.Record) { r.Stored = stored(e, refresh.Deleted) },
			command: backfill, wrong: true},
		refresh.Replaced: {change: func(r *refresh.Rules, e *ledger.Record) { r.Stored = stored(e, refresh.Replaced) },
			command: backfill, wrong: true},
		refresh.HeldBack: {change: func(_ *refresh.Rules, e *ledger.Record) {
			e.HeldBack = &ledger.HeldBack{Why: "rows 5 instead of 50", Since: now}
		},
			why:     "since 2026-02-10: rows 5 instead of 50",
			command: "accept daily --days 2026-01-21:2026-01-21 --reason TEXT", wrong: true},
		refresh.DiffersAlike: {change: func(_ *refresh.Rules, e *ledger.Record) { e.Control, e.Same = differs, 2 },
			why:     "cost 2 by the service's total, 1 in the rows",
			command: "accept daily --days 2026-01-21:2026-01-21 --reason TEXT", wrong: true},
		refresh.Differs: {change: func(_ *refresh.Rules, e *ledger.Record) { e.Control = differs },
			why: "cost 2 by the service's total, 1 in the rows", command: backfill, wrong: true},
		refresh.Suspicious: {change: func(r *refresh.Rules, e *ledger.Record) {
			e.State, e.Rows, r.Suspected = ledger.Empty, 0, map[civil.Date]bool{e.Partition: true}
		}, command: backfill, wrong: true},
		refresh.MovedAndLeft: {change: func(r *refresh.Rules,
			e *ledger.Record) {
			r.MovedButLeft = map[civil.Date]time.Time{e.Partition: now}
		}, command: backfill, wrong: true},
		refresh.ChangedFinal: {change: func(_ *refresh.Rules, e *ledger.Record) { e.Moved = true },
			command: "history daily --from 2026-01-21 --to 2026-01-21"},
		status.Lacking: {change: func(r *refresh.Rules, e *ledger.Record) {
			e.Shape, r.Stale = "old", map[string]ledger.Stale{"old": {Lacks: []string{"clicks"}}}
		}, command: "backfill daily --missing-columns"},
		status.Near: {change: func(_ *refresh.Rules, e *ledger.Record) {
			e.Control = &ledger.Control{State: ledger.Reconciled, Differences: differs.Differences}
		}, command: "history daily"},
		status.Kept: {change: func(_ *refresh.Rules, e *ledger.Record) { e.State = ledger.Kept },
			command: "history daily"},
	} {
		r, done := table()
		e := done[day]
		if c.change != nil {
			c.change(&r, &e)
		}
		if done[day] = e; c.gone {
			delete(done, day)
		}
		maps.DeleteFunc(done, func(d civil.Date, _ ledger.Record) bool { return d.Before(r.Start) })
		list := status.Inspect(now, "daily", "report", r, done, ledger.Past{}).Problems
		if len(list) != 1 {
			t.Errorf("%s: %+v", condition, list)
			continue
		}
		p := list[0]
		if p.Condition != string(condition) || p.Partitions != 1 || !strings.HasPrefix(p.What, "1 partition ") ||
			p.Command != c.command || p.Wrong != c.wrong || p.Advice == "" {
			t.Errorf("%s: %+v", condition, p)
		}
		if of := condition != status.Lacking && condition != status.Kept && condition != status.Near; of &&
			(len(p.Days) != 1 || p.Days[0].From != day || p.Days[0].Through != day || p.Days[0].Why != c.why) {
			t.Errorf("%s: days %+v", condition, p.Days)
		}
		for i := range p.Days {
			p.Days[i].Run = ""
		}
		brief := status.Brief(now, "daily", "report", r, done, ledger.Past{}, nil).Problems
		// A run says that when it happens.
		if said := condition != refresh.ChangedFinal; said && !reflect.DeepEqual(brief, list) || !said &&
			len(brief) > 0 {
			t.Errorf("%s: a run's record has %+v", condition, brief)
		}
		if wrong := status.Wrong(list); (wrong == 1) != c.wrong {
			t.Errorf("%s: %d partitions are wrong", condition, wrong)
		}
	}
	if r, done := table(); status.Inspect(now, "daily", "report", r, done, ledger.Past{}).Problems != nil {
		t.Error("a table that is as it should be has problems")
	}
}

// No condition of a partition is left without words: those that need nobody are named here.
func TestNoConditionIsForgotten(t *testing.T) {
	quiet := []refresh.Condition{refresh.Running, refresh.NotYet, refresh.WithoutRows, refresh.Partial,
		refresh.Restating, refresh.Final}
	for _, c := range refresh.Conditions {
		in := refresh.Inspection{Calendar: []refresh.Entry{{Partition: first, Condition: c,
			Record: ledger.Record{HeldBack: &ledger.HeldBack{}, Control: &ledger.Control{}}}}}
		if list := status.Of("j", "report", in, nil); (len(list) == 0) != slices.Contains(quiet, c) {
			t.Errorf("%s: %+v", c, list)
		}
	}
}

// What failed in the last run, and no day shows, is a problem by itself: behind what is wrong with
// days, before what is only to be known.
func TestTheLastRunFailed(t *testing.T) {
	failing := func(units ...ledger.Failure) ledger.Past {
		return ledger.Past{Runs: []ledger.Run{{ID: "c", Results: []ledger.Result{{Job: "other"}}},
			{ID: "b", Results: []ledger.Result{{Job: "daily", Failures: units}}},
			{ID: "a", Results: []ledger.Result{{Job: "daily", Failures: []ledger.Failure{{Error: "older"}}}}}}}
	}
	rules, _ := table()
	gap, other := ledger.Failure{Unit: rules.Cell(first.AddDays(37)).String(), Error: "broken"},
		ledger.Failure{Unit: "2026-01-01", Error: "unwell"}
	for name, c := range map[string]struct {
		past ledger.Past
		what string
		errs []string
	}{
		"nothing failed": {failing(), "", nil},
		"a day shows it": {failing(gap), "", nil},
		"two units": {failing(gap, other, ledger.Failure{Unit: "2026-01-08", Error: "unwell"}),
			"its last run failed: 2 units", []string{"2026-01-01, 2026-01-08: unwell"}},
		"one unit": {failing(other), "its last run failed: 1 unit", []string{"2026-01-01: unwell"}},
		"it wasn't planned": {failing(ledger.Failure{Error: "no bucket"}),
			"its last run failed: it couldn't be planned or ended", []string{"no bucket"}},
		"it was refused": {failing(ledger.Failure{Error: "table daily: refused, because of EUR"}),
			"its last run failed: it couldn't be planned or ended", []string{"table daily: refused, because of EUR"}},
		"a connection was": {failing(ledger.Failure{Error: "dial: connection refused: why"}),
			"its last run failed: it couldn't be planned or ended", []string{"dial: connection refused: why"}},
		"no run is recorded": {ledger.Past{}, "", nil},
	} {
		r, done := table()
		if _, res := c.past.Last("daily"); res != nil && slices.Contains(res.Failures, gap) {
			delete(done, first.AddDays(37))
		}
		e := done[first]
		e.Moved = true
		done[first] = e
		list := status.Inspect(now, "daily", "report", r, done, c.past).Problems
		at := slices.IndexFunc(list, func(p ledger.Problem) bool { return p.Condition == string(status.RunFailed) })
		if c.what == "" {
			if at >= 0 {
				t.Errorf("%s: %+v", name, list)
			}
			continue
		}
		want := ledger.Problem{
			Condition: string(status.RunFailed), What: c.what, Run: "b", Errors: c.errs, Wrong: true,
			Advice: "what is published stays, and the next run tries again; to try now", Command: "run daily --now",
		}
		if name == "it was refused" {
			want.Advice = "what is published stays; once what the error names is changed"
		}
		if at != len(list)-2 || !reflect.DeepEqual(list[at], want) || !status.AnyWrong(list[at:]) {
			t.Errorf("%s: %+v", name, list)
		}
		if brief := status.Brief(now, "daily", "report", r, done, c.past, nil).Problems; slices.ContainsFunc(brief,
			func(p ledger.Problem) bool { return p.Run != "" }) {
			t.Errorf("%s: the run says of itself: %+v", name, brief)
		}
	}
	var many []ledger.Failure
	for i := range 9 {
		many = append(many, ledger.Failure{Unit: first.AddDays(i).String(), Error: "same"},
			ledger.Failure{Error: string(rune('a' + i))})
	}
	p := status.Failed("daily", "b", many, 2)
	if p.What != "9 units" || len(p.Errors) != 3 || !strings.HasSuffix(p.Errors[0], "2026-01-06 and 3 more: same") ||
		p.Errors[2] != "and 8 more" {
		t.Errorf("many: %+v", p)
	}
}

// What a table keeps is known, where no sink is asked, from the last run that asked.
func TestWhatTheLastRunSawOfAges(t *testing.T) {
	for _, oldest := range []civil.Date{first.AddDays(20), first.AddDays(-3)} {
		r, done := table()
		r.Start, r.Oldest = first.AddDays(-10), oldest
		list := status.Brief(now, "daily", "report", r, done, ledger.Past{}, nil).Problems
		r.Oldest = civil.Date{}
		past := ledger.Past{Runs: []ledger.Run{{ID: "a", Started: now,
			Results: []ledger.Result{{Job: "daily", Problems: list}}}}}
		if known := status.Inspect(now, "daily", "report", r, done, past).Problems; !reflect.DeepEqual(known, list) ||
			len(list) != 2 {
			t.Errorf("%s: %+v, and the run said %+v", oldest, known, list)
		}
	}
}

// What a sink has lost is known, where no sink is asked, from the last run that asked: until the
// partition is fetched again, and not when that run is about another job. What was lost before the
// table's start is as the sink's own rules want it.
func TestWhatTheLastRunSaw(t *testing.T) {
	r, done := table()
	day := first.AddDays(20)
	e := done[day]
	r.Stored = map[civil.Date]refresh.Condition{}
	for i := range 9 {
		r.Stored[day.AddDays(2*i)] = refresh.Deleted
	}
	brief := status.Brief(now, "daily", "report", r, done, ledger.Past{}, nil)
	r.Stored = nil
	past := ledger.Past{Runs: []ledger.Run{
		{ID: "c", Started: now, Results: []ledger.Result{{Job: "other"}}},
		{ID: "b", Started: now, Results: []ledger.Result{{Job: "daily", Problems: brief.Problems}}},
		{ID: "a", Started: now, Results: []ledger.Result{{Job: "daily"}}},
	}}
	if list := status.Inspect(now, "daily", "report", r, done, past).Problems; !reflect.DeepEqual(list,
		brief.Problems) || len(list) != 1 || list[0].Partitions != 9 {
		t.Errorf("%+v, and the run said %+v", list, brief.Problems)
	}
	e.Fetched = now.Add(time.Minute)
	done[day] = e
	if list := status.Inspect(now, "daily", "report", r, done, past).Problems; len(list) != 1 ||
		list[0].Partitions != 8 {
		t.Errorf("after a fetch: %+v", list)
	}
	past.Runs[1].Results[0].Problems = nil
	if list := status.Inspect(now, "daily", "report", r, done, past).Problems; list != nil {
		t.Errorf("the last run saw nothing: %+v", list)
	}
	r.Stored, r.Start = map[civil.Date]refresh.Condition{day: refresh.Deleted}, day.AddDays(1)
	if list := status.Inspect(now, "daily", "report", r, done, past).Problems; list != nil {
		t.Errorf("before the start: %+v", list)
	}
}

// A day that changed after being final, and that has moved again and is left as it is, isn't as it
// should be.
func TestChangedBeforeAndLeftNow(t *testing.T) {
	r, done := table()
	e := done[first]
	e.Moved, r.MovedButLeft = true, map[civil.Date]time.Time{first: now}
	done[first] = e
	if list := status.Inspect(now, "daily", "report", r, done, ledger.Past{}).Problems; len(list) != 1 ||
		list[0].Condition != string(refresh.MovedAndLeft) || !list[0].Wrong {
		t.Errorf("%+v", list)
	}
}

// What a person has accepted is as it should be, and a difference that is accepted isn't said
// again.
func TestAccepted(t *testing.T) {
	r, done := table()
	e := done[first]
	e.Control, e.Same, e.Accepted = &ledger.Control{State: ledger.Unreconciled}, 2, &ledger.Acceptance{Person: true}
	done[first] = e
	if list := status.Inspect(now, "daily", "report", r, done, ledger.Past{}).Problems; list != nil {
		t.Errorf("%+v", list)
	}
}

// Days that follow one another are one row if the same is to be said of them, the newest rows come
// first, and the command is about all.
func TestRowsOfDays(t *testing.T) {
	r, done := table()
	for _, i := range []int{3, 4, 5, 9, 20, 21} {
		delete(done, first.AddDays(i))
	}
	r.Start = first
	p := status.Inspect(now, "e", "events", r, done, ledger.Past{}).Problems[0]
	var rows []string
	for _, d := range p.Days {
		rows = append(rows, d.From.String()+".."+d.Through.String())
	}
	if got := strings.Join(rows, " "); got != "2026-01-21..2026-01-22 2026-01-10..2026-01-10 2026-01-04..2026-01-06" ||
		p.Partitions != 6 || p.Command != "run e" {
		t.Errorf("%s, %+v", got, p)
	}
	for i := range 40 {
		if i%2 == 0 {
			e := done[first.AddDays(i)]
			e.Partition, e.State = first.AddDays(i), ledger.Publishing
			done[first.AddDays(i)] = e
		}
	}
	list := status.Brief(now, "daily", "report", r, done, ledger.Past{}, nil).Problems
	if cut := list[0]; len(cut.Days) != 5 || cut.Partitions != 20 || !cut.Wrong ||
		cut.Days[0].From != first.AddDays(38) {
		t.Errorf("%+v", list)
	}
}

// A table that has never been fetched isn't wrong; what is missing is said all the same.
func TestNeverRun(t *testing.T) {
	r, _ := table()
	list := status.Inspect(now, "daily", "report", r, nil, ledger.Past{}).Problems
	if len(list) != 1 || list[0].Partitions != 40 || status.Wrong(list) != 0 {
		t.Errorf("%+v", list)
	}
	if r.Period = refresh.Whole; status.Backfill("j", sinks.Whole, sinks.Whole) != "run j --now" ||
		status.History("j", sinks.Whole, sinks.Whole) != "history j" {
		t.Error("commands about a table without periods name days")
	}
}

// A table whose cohorts differ from the service's totals every night is said to be one, with the
// key to set, in one row of days. Where a few do, or other metrics too, each day is told by itself.
func TestCohortsThatDifferEveryNight(t *testing.T) {
	for name, c := range map[string]struct {
		of   string
		days int
		once bool
	}{
		"every night": {ledger.OfCohort, 7, true}, "half of the nights": {ledger.OfCohort, 6, false},
		"another metric": {"", 7, false},
	} {
		r, done := table()
		r.Start = first.AddDays(28) // so that twelve days are left
		for day := range done {
			if day.Before(r.Start) {
				delete(done, day)
			}
		}
		for n := 1; n <= c.days; n++ {
			e := done[r.Start.AddDays(n)]
			e.Control = &ledger.Control{State: ledger.Unreconciled,
				Differences: []ledger.Difference{{Metric: "m", Rows: fmt.Sprint(100 - n), Total: "100", Of: c.of}}}
			done[e.Partition] = e
		}
		list := status.Inspect(now, "daily", "report", r, done, ledger.Past{}).Problems
		if len(list) != 1 || list[0].Partitions != c.days || (len(list[0].Days) == 1) != c.once ||
			strings.Contains(list[0].Advice, "differ by up to 7.0%; reconcile: {cohorts: 8%} takes that as it is") !=
				c.once {
			t.Errorf("%s: %+v", name, list)
		}
	}
}
