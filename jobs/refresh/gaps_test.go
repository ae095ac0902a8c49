package refresh

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/sinks"
)

func failure(unit, text string) ledger.Failure { return ledger.Failure{Unit: unit, Error: text} }

func TestGaps(t *testing.T) {
	r := mustSchedule("0 6 * * *", "UTC")
	r.Start = date("2026-01-01") // cells from 2025-12-28, 01-04, 01-11
	failedRun := func(id, job string, failures ...ledger.Failure) ledger.Run {
		return ledger.Run{ID: id, Results: []ledger.Result{{Job: "other",
			Failures: []ledger.Failure{failure("2025-12-28", "not ours")}}, {Job: job, Failures: failures}}}
	}
	with := func(l ledger.Records, day string, e ledger.Record) ledger.Records {
		l[date(day)] = e
		return l
	}
	some := []string{"2026-01-01", "2026-01-02", "2026-01-05"}
	for _, c := range []struct {
		name string
		now  string
		done ledger.Records
		runs []ledger.Run
		want string
	}{
		{"nothing at all", "2026-01-04T07:00", nil, nil, "01-01..01-03 3 never fetched yet"},
		{"the newest isn't due yet", "2026-01-04T05:00", nil, nil,
			"01-01..01-02 2 never fetched yet; 01-03..01-03 1 not due yet"},
		{"all there", "2026-01-03T07:00", daysFetched("2026-01-03T06:00", some...), nil, ""},
		{"between", "2026-01-06T07:00", daysFetched("2026-01-06T06:00", some...), nil,
			"01-03..01-04 2 never fetched yet"},
		{"their windows failed", "2026-01-06T07:00", daysFetched("2026-01-06T06:00", some...),
			[]ledger.Run{failedRun("r2", "j", failure("2026-01-04", "504")),
				failedRun("r1", "j", failure("2026-01-04", "older"), failure("2025-12-28", "503"))},
			"01-03..01-03 1 failed r1 503; 01-04..01-04 1 failed r2 504"},
		{"the newest plan failed", "2026-01-06T07:00", daysFetched("2026-01-06T06:00", some...),
			[]ledger.Run{failedRun("r2", "j", failure("", "refused")),
				failedRun("r1", "j", failure("2026-01-04", "older"))},
			"01-03..01-04 2 failed r2 refused"},
		{"an older plan failed", "2026-01-06T07:00", daysFetched("2026-01-06T06:00", some...),
			[]ledger.Run{failedRun("r2", "j"), failedRun("r1", "j", failure("", "refused"))},
			"01-03..01-04 2 never fetched yet"},
		{"interrupted", "2026-01-03T07:00", with(daysFetched("2026-01-03T06:00", "2026-01-01"), "2026-01-02",
			ledger.Record{State: ledger.Publishing, Run: "r5"}),
			nil, "01-02..01-02 1 interrupted put r5"},
		{"interrupted, and failed since", "2026-01-03T07:00", with(daysFetched("2026-01-03T06:00", "2026-01-01"),
			"2026-01-02", ledger.Record{State: ledger.Publishing, Run: "r5"}),
			[]ledger.Run{failedRun("r6", "j", failure("2025-12-28", "403")), failedRun("r4", "j")},
			"01-02..01-02 1 failed r6 403"},
		{"interrupted, after a failure", "2026-01-03T07:00", with(daysFetched("2026-01-03T06:00", "2026-01-01"),
			"2026-01-02", ledger.Record{State: ledger.Publishing, Run: "r5"}),
			[]ledger.Run{failedRun("r4", "j", failure("2025-12-28", "403"))}, "01-02..01-02 1 interrupted put r5"},
	} {
		var got []string
		for _, g := range Gaps(moment(c.now), "j", r, c.done, c.runs) {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s..%s %d %s %s %s", g.Partition.String()[5:],
				g.Through.String()[5:], g.Partitions, g.Reason, g.Run, g.Error)))
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, text, c.want)
		}
	}
	r.Period = Whole
	if gaps := Gaps(moment("2026-01-06T07:00"), "j", r, nil, nil); len(gaps) != 1 || gaps[0].Partition != sinks.Whole {
		t.Errorf("of a table without periods: %v", gaps)
	}
	r.Period, r.Today = Month, true
	if gaps := Gaps(moment("2026-03-06T07:00"), "j", r, nil, nil); len(gaps) != 1 || gaps[0].Partitions != 3 {
		t.Errorf("of months with the unfinished one: %v", gaps)
	}
}

// What a run leaves: columns that partitions with rows lack, rows that were kept, and snapshots
// that were never taken.
func TestRest(t *testing.T) {
	r := mustSchedule("0 6 * * *", "UTC")
	r.Start, r.LaterColumns = date("2026-01-01"), true
	r.Stale = map[string]ledger.Stale{"old": {Rebased: true, Lacks: []string{"x"}}, "a": {Lacks: []string{"clicks"}},
		"b": {Lacks: []string{"clicks", "cost"}}}
	done := ledger.Records{}
	for i, e := range []ledger.Record{
		{Shape: "now", Rows: 1, State: ledger.Written}, {Shape: "a", Rows: 1, State: ledger.Written},
		{Shape: "b", Rows: 1, State: ledger.Kept}, {Shape: "b", State: ledger.Empty},
		{Shape: "b", State: ledger.Cleared}, {Shape: "old", Rows: 1, State: ledger.Written},
		{Shape: "a", Rows: 1, State: ledger.Publishing},
	} {
		done[date("2026-01-01").AddDays(i)] = e
	}
	now := moment("2026-01-12T07:00")
	if got := fmt.Sprint(RestOf(r, done, Gaps(now, "", r, done, nil))); got != "{{2 [clicks cost] true} 0 1}" {
		t.Errorf("of a report: %s", got)
	}
	// One was cut, four weren't taken, and today's can still be.
	r.Snapshots, r.Today, r.LaterColumns = true, true, false
	if got := fmt.Sprint(RestOf(r, done, Gaps(now, "", r, done, nil))); got != "{{2 [clicks cost] false} 5 1}" {
		t.Errorf("of snapshots: %s", got)
	}
	in := Inspect(now, "j", r, done, ledger.Past{})
	if n := in.Missing(); n != 1 || len(in.Gaps) != 3 {
		t.Errorf("missing %d: %+v", n, in.Gaps)
	}
}

func TestFreshness(t *testing.T) {
	quiet, sad := map[string]time.Time{"j": moment("2026-01-09T06:00")},
		map[string]time.Time{"other": moment("2026-01-09T06:00")}
	for _, c := range []struct {
		name   string
		period Period
		now    string
		done   ledger.Records
		last   map[string]time.Time
		want   string
	}{
		{"this morning", Day, "2026-01-09T07:00", daysFetched("2026-01-09T06:00", "2026-01-08"), nil, ""},
		{"right before the next run", Day, "2026-01-10T05:59", daysFetched("2026-01-09T06:00", "2026-01-08"), nil, ""},
		{"a run was missed", Day, "2026-01-10T08:01", daysFetched("2026-01-09T06:00", "2026-01-08"), nil,
			"the last success was 26h1m0s ago"},
		{"runs succeed, and a day is missing", Day, "2026-01-09T07:00", daysFetched("2026-01-09T06:00", "2026-01-05"),
			nil,
			"the next period ended 55h0m0s ago, and the newest recorded is 2026-01-05"},
		{"the newest is unfinished", Day, "2026-01-08T07:00", daysFetched("2026-01-06T06:00", "2026-01-06"), nil,
			"the next period ended 151h0m0s ago, and none is recorded"},
		{"never run", Day, "2026-01-09T07:00", nil, nil, "the next period ended 175h0m0s ago, and none is recorded"},
		{"never run, and just begun", Day, "2026-01-02T07:00", nil, nil, ""},
		{"a month in the middle of the next", Month, "2026-02-20T06:00", daysFetched("2026-02-19T06:00", "2026-01-01"),
			nil, ""},
		{"a run that had nothing to do", Month, "2026-02-20T06:00", daysFetched("2026-02-10T06:00", "2026-01-01"),
			quiet,
			"the last success was 240h0m0s ago"},
		{"a run that had nothing to do, lately", Day, "2026-01-10T01:00",
			daysFetched("2026-01-08T01:00", "2026-01-07", "2026-01-08"), quiet, ""},
		{"a run that failed", Day, "2026-01-09T07:00", daysFetched("2026-01-08T01:00", "2026-01-07"), sad,
			"the last success was 30h0m0s ago"},
		{"the whole", Whole, "2026-01-09T07:00", daysFetched("2026-01-09T06:00", "0001-01-01"), nil, ""},
		{"the whole, two days behind", Whole, "2026-01-11T07:00", daysFetched("2026-01-09T06:00", "0001-01-01"), nil,
			"the next period ended 31h0m0s ago, and the newest recorded is 2026-01-08"},
	} {
		r := Rules{Period: c.period, Page: 1, Start: date("2026-01-01"), Location: time.UTC}
		f := FreshnessOf("j", r, c.done, ledger.Past{Success: c.last})
		if got := f.Stale(moment(c.now), 26*time.Hour); got != c.want {
			t.Errorf("%s: %q, want %q (%+v)", c.name, got, c.want, f)
		}
	}
}
