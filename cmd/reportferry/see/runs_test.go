package see

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
)

var runBegan = time.Date(2026, 1, 31, 6, 0, 0, 0, time.UTC)

func runOf(id string, code int, results ...ledger.Result) ledger.Run {
	ended := runBegan.Add(90 * time.Second)
	return ledger.Run{ID: id, Trigger: "schedule", Started: runBegan, Ended: &ended, Exit: code, Results: results}
}

const listedRuns = `run                            age  trigger   exit  jobs                  outcome
20260131T060000.001Z           49h  schedule     0  a_table_of_a_long_n…  7 written
20260131T060000.002Z-aaaaaaaa  49h  schedule     3  2 jobs                1 written, 6 failed
20260131T060000.002Z-bbbbbbbb  49h  schedule   130  j                     3 written, stopped
20260131T060000.003Z           49h  schedule     4  j                     held by others
20260131T060000.004Z           49h  schedule     5  j                     2 failed, refused
20260131T060000.005Z           49h  schedule     0  j                     nothing was due
20260131T060000.006Z           49h  schedule     3  j                     something left out
20260131T060000.007Z           49h  schedule                              goes on, or was killed
`

func TestWriteRuns(t *testing.T) {
	failures := func(n int) []ledger.Failure { return make([]ledger.Failure, n) }
	all := []ledger.Run{
		runOf("20260131T060000.001Z-1", jobs.ExitDone, ledger.Result{Job: "a_table_of_a_long_name",
			Outcome: ledger.Outcome{Windows: 1, Written: 7}}),
		runOf("20260131T060000.002Z-aaaaaaaa", jobs.ExitSome,
			ledger.Result{Outcome: ledger.Outcome{Windows: 2, Written: 1, Failed: 6}, Failures: failures(1)},
			ledger.Result{}),
		runOf("20260131T060000.002Z-bbbbbbbb", jobs.ExitInterrupted, ledger.Result{Job: "j", Stopped: true,
			Outcome: ledger.Outcome{Windows: 1, Written: 3}}),
		runOf("20260131T060000.003Z-1", jobs.ExitHeld, ledger.Result{Job: "j",
			Outcome: ledger.Outcome{Windows: 1, Held: 1}}),
		runOf("20260131T060000.004Z-1", jobs.ExitDenied, ledger.Result{Job: "j", Failures: failures(2)}),
		runOf("20260131T060000.005Z-1", jobs.ExitDone, ledger.Result{Job: "j"}),
		runOf("20260131T060000.006Z-1", jobs.ExitSome, ledger.Result{Job: "j",
			Outcome: ledger.Outcome{Windows: 1, Unkept: 1}}),
		{ID: "20260131T060000.007Z-1", Trigger: "schedule", Started: runBegan},
	}
	var b strings.Builder
	writeRuns(&b, all, runBegan.Add(49*time.Hour+30*time.Minute))
	if want := strings.ReplaceAll(listedRuns, " 49h", "  2d"); b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &b, want)
	}
	for d, want := range map[time.Duration]string{-time.Second: "0s", 119 * time.Second: "119s", 2 * time.Minute: "2m",
		3 * time.Hour: "3h", 47 * time.Hour: "47h", 72 * time.Hour: "3d"} {
		if got := shortAge(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

// The errors of a run are shown with the job that they are of, once each and in whole; the units
// that failed stand behind them.
func TestWriteRun(t *testing.T) {
	long := strings.Repeat("x", 600)
	r := runOf("20260131T060000.001Z-1", jobs.ExitSome,
		ledger.Result{Job: "cost", Outcome: ledger.Outcome{Windows: 2, Failed: 2},
			Failures: []ledger.Failure{{Unit: "2026-01-04", Error: long[:500]}, {Unit: "2026-01-11", Error: long[:500]},
				{Unit: "2026-01-11", Error: "y"}}},
		ledger.Result{Job: "cost_files", Outcome: ledger.Outcome{Windows: 1, Written: 1},
			Problems: []ledger.Problem{{What: "2 partitions that can't be fetched any more",
				Advice: "there is nothing to do"}}})
	r.Errors = []string{"cost: " + long + " (2 times)", "cost: y"}
	var b strings.Builder
	writeRun(&b, "", r, map[string]string{"cost_files": "file"}, "")
	for _, want := range []string{
		"run 20260131T060000.001Z-1 (schedule)\n  began       2026-01-31T06:00:00Z\n  ended       " +
			"2026-01-31T06:01:30Z, after 1m30s\n  exit code   3: some units failed",
		"  error       " + long + "\n              (2 times)\n  error       y\n  failed      2026-01-04, 2026-01-11\n",
		"  files       sent 1,", "  2 partitions that can't be fetched any more\n    there is nothing to do\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("got\n%s\nlacks\n%s", &b, want)
		}
	}
	b.Reset()
	if writeRun(&b, "", r, nil, "cost_files"); strings.Contains(b.String(), "xxx") {
		t.Errorf("another job's errors:\n%s", &b)
	}
	b.Reset()
	if writeRun(&b, "", ledger.Run{ID: "x", Started: runBegan}, nil, ""); !strings.Contains(b.String(),
		"still goes on, or was killed") {
		t.Error(&b)
	}
}

func TestFindRun(t *testing.T) {
	all := []ledger.Run{{ID: "20260202T1-b"}, {ID: "20260131T2-a"}, {ID: "20260131T1-a"}}
	for id, want := range map[string]string{"last": "20260202T1-b", "202602": "20260202T1-b",
		"20260131T1-a": "20260131T1-a", "20260131": "2 runs begin with", "x": `no run begins with "x"`} {
		r, err := findRun(all, id)
		if got := errors.Join(err, errors.New(r.ID)).Error(); !strings.Contains(got, want) ||
			(err == nil) != (r.ID != "") {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
	if _, err := findRun(nil, "last"); err == nil {
		t.Error("a run of an empty ledger")
	}
}
