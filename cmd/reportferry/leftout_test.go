package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/status"
)

// The jobs of leftOutConfig, each with the keys that they all have.
const (
	campaignsJob = `
  - name: campaigns
    kind: report
    schedule: "0 6 * * *"
    sinks: [file://./out]
    start: -12d
    lookback: 2
    codec: snappy
    currency: USD
    dimensions: [day, app_token]
    metrics: [installs, cost]
`
	eventsJobText = `
  - {name: slugs, kind: events, sinks: [file://./out], codec: snappy}
`
	spendJobText = `
  - {name: spend_files, kind: spend, source: "file://./in/*.csv", rejects: "file://./rejects"}
`
)

// A shell gives command lines in a folder, each at a moment of its own: from the morning of
// 2009-12-29 on, a minute apart.
type shell struct {
	t     *testing.T
	clock time.Duration
}

func newShell(t *testing.T, jobs string) *shell {
	t.Helper()
	t.Chdir(t.TempDir())
	check(t, os.MkdirAll("in", 0o755))
	check(t, os.WriteFile("reportferry.yml", []byte("service: embedded\nledger: file://./ledger\nspool_dir: "+
		"spool\njobs:"+jobs), 0o600))
	return &shell{t, 10*365*24*time.Hour + 7*time.Hour}
}

// says runs a command line and wants each text in what it says, but those behind an exclamation
// mark.
func (s *shell) says(args string, code int, wants ...string) string {
	s.t.Helper()
	var out, err bytes.Buffer
	synctest.Test(s.t, func(t *testing.T) {
		time.Sleep(s.clock)
		if got := execute(t.Context(), strings.Fields(args), &out, &err); got != code {
			t.Errorf("%s: exit code %d, want %d: %s%s", args, got, code, &out, &err)
		}
	})
	s.clock += time.Minute
	said := err.String() + out.String()
	for _, want := range wants {
		text, without := strings.CutPrefix(want, "!")
		if strings.Contains(said, text) == without {
			s.t.Errorf("%s says\n%swant %q", args, said, want)
		}
	}
	for line := range strings.Lines(out.String()) {
		if len(line) > 81 && len(strings.Fields(line)) > 1 && !strings.Contains(line, "error") &&
			!strings.Contains(line, "stale: ") && !strings.Contains(args, "json") {
			s.t.Errorf("%s: %d characters wide: %s", args, len(line)-1, line)
		}
	}
	return said
}

// An added metric is fetched for all partitions that have rows, by the next run, without being
// asked for: readers of the folder refuse files of two shapes.
func TestAddedMetric(t *testing.T) {
	slow.Test(t)
	s := newShell(t, campaignsJob)
	s.says("run", 0, "written 12")
	s.says("run", 0, "all is up to date")
	change(t, "metrics: [installs, cost]", "metrics: [installs, cost, instals]")()
	s.says("plan", 0, "12 partitions", "7 for instals, which the catalogue doesn't know", "did you mean installs?",
		"!added column")
	change(t, "metrics: [installs, cost, instals]", "metrics: [installs, cost, clicks]")()
	s.says("plan", 0, "12 partitions", "7 for an added column")
	s.says("status", 0, "12 partitions lack clicks", "the next run")
	s.says("run", 0, "written 12", "!lack")
	s.says("run", 0, "all is up to date", "!lack")
	s.says("check --live --seed 1", 0, "as recorded: ")
	s.says("status", 0, "!lack")
}

// An event that is added is fetched for older days too, though a plan asks nothing of the service.
func TestAddedEvent(t *testing.T) {
	s := newShell(t, campaignsJob)
	s.says("run", 0, "written 12")
	change(t, "cost]\n", "cost]\n    events: [{name: Purchase, metrics: [events, revenue], as: purchase}, {glob: "+
		"'level*', metrics: [events]}]\n")()
	s.says("plan", 0, "12 partitions", "7 for an added column")
	s.says("run", 0, "written 12")
	s.says("run", 0, "all is up to date")
	change(t, "metrics: [events, revenue]", "metrics: [events, revenue, d7_revenue_cohort]")()
	s.says("status", 0, "12 partitions lack purchase_d7_revenue_cohort")
	s.says("run", 0, "written 12")
	change(t, ", {glob: 'level*', metrics: [events]}", "")()
	s.says("run", 0, "all is up to date")
	change(t, "{name: Purchase, ", "{slug: buy, ")() // another way to the same columns
	s.says("plan", 0, "nothing is due")
	change(t, "as: purchase}", "as: bought}")()
	s.says("status", 0, "12 partitions lack bought_d7_revenue_cohort and 2 more")
}

// With new_columns: later older partitions stay as they are, and every command says so.
func TestAddedMetricForLater(t *testing.T) {
	slow.Test(t)
	s := newShell(t, strings.Replace(campaignsJob, "lookback: 2", "lookback: 2\n    new_columns: later", 1))
	s.says("run", 0, "written 12")
	change(t, "metrics: [installs, cost]", "metrics: [installs, cost, clicks, sessions]")()
	lack, command := "12 partitions lack clicks, sessions", "backfill campaigns --missing-columns"
	s.says("plan", 0, "nothing is due", lack, command)
	s.says("plan --log-format json", 0, `"lacking":{"partitions":12,"columns":["clicks","sessions"],"later":true}`)
	s.says("status", 0, lack, command)
	s.says("status --json", 0, `"partitions": 12`, `"clicks",`)
	said := s.says("run", 0, lack, command)
	if lines := strings.Split(strings.TrimSpace(said), "\n"); lines[len(lines)-1] !=
		"Something is left out, as said above." {
		t.Errorf("the last line is %q", lines[len(lines)-1])
	}
	s.says("run --log-format json", 0, `"lacking":12`)
	s.says("check --live --seed 1", 0, "as recorded: ", "!other values")
	s.clock += 24 * time.Hour
	s.says("run", 0, "written 3,", "10 partitions lack clicks, sessions") // two were in the lookback
	s.says("backfill campaigns --missing-columns", 0, "written 10", "!lack")
	s.says("run", 0, "all is up to date", "!lack")
	s.says("check --live --seed 1", 0, "as recorded: ")
}

// A column that the config dropped stays in older parts, and makes no difference in the others.
func TestCheckLiveWithFewerColumns(t *testing.T) {
	s := newShell(t, campaignsJob)
	s.says("run", 0, "written 12")
	change(t, "metrics: [installs, cost]", "metrics: [installs]")()
	s.says("check --live --seed 1", 0, "as recorded: ", "!other values")
}

// Days of an events job that nobody can fetch any more are told apart from those that a run brings.
func TestGapsThatNobodyCanClose(t *testing.T) {
	s := newShell(t, eventsJobText)
	s.says("status", 3, "1 partition missing", "run slugs")
	s.says("run", 0, "written 1")
	s.says("status", 0, "no gaps")
	s.clock += 3 * 24 * time.Hour
	s.says("status", 3, "1 partition missing", "2010-01-01", "run slugs", "2 partitions that can't be fetched any more",
		"2009-12-30..2009-12-31", "!backfill")
	s.says("run", 0, "written 1")
	s.says("status", 0, "!missing", "2 partitions that can't be fetched any more", "2009-12-30..2009-12-31")
	s.says("status --json", 0, `"closable": false`, `"partitions": 2`, `!"closable": true`)
	s.says("run", 0, "2 partitions that can't be fetched any more", "!all is up to date, ")
}

// Gaps that a backfill closes are 3; a period whose schedule hasn't fired yet isn't one of them.
// gaps is another name of status.
func TestStatusExitCode(t *testing.T) {
	s := newShell(t, campaignsJob)
	s.says("gaps", 3, "nothing recorded yet", "12 partitions missing", "backfill campaigns --gaps")
	s.says("backfill campaigns --gaps", 0, "written 12")
	s.says("status", 0, "no gaps", "!missing")
	s.clock += 17*time.Hour + 30*time.Minute // half past midnight: due at six
	s.says("status", 0, "not due yet")
	s.clock += 8 * time.Hour
	s.says("status", 3, "never fetched yet")
}

// A rebaseline replaces a period that a run has fetched before its schedule was due, too.
func TestRebaselineBeforeTheSchedule(t *testing.T) {
	s := newShell(t, campaignsJob)
	s.says("run", 0, "written 12")
	s.clock += 17*time.Hour + 30*time.Minute // half past midnight: due at six
	s.says("run --now", 0, "written 1,")
	change(t, "currency: USD", "currency: EUR")()
	s.says("run --rebaseline", 0, "written 13")
	s.says("status", 0, "!of another meaning")
}

// A table of one partition and a start that hasn't come are likely slips.
func TestPlanWarns(t *testing.T) {
	s := newShell(t, strings.Replace(campaignsJob, "dimensions: [day, ", "dimensions: [", 1)+
		strings.Replace(strings.Replace(campaignsJob, "name: campaigns", "name: later", 1), "start: -12d",
			"start: 2011-01-01", 1))
	for _, command := range []string{"plan", "check"} {
		s.says(command, 0, "none of the dimensions is a date, so the table is one partition",
			"the start, 2011-01-01, is in the future job=later\n")
	}
	s.says("plan campaigns", 0, "job=campaigns", "!job=later")
}

// A job's last success is kept, however many runs of other jobs come after it.
func TestLastSuccessIsKept(t *testing.T) {
	slow.Test(t)
	s := newShell(t, spendJobText+strings.Replace(spendJobText, "spend_files", "others", 1))
	s.says("run spend_files", 0)
	for range 101 {
		s.says("run others", 0)
	}
	s.says("status spend_files --max-age 26h", 0, "spend_files: last success 1h42m0s ago")
	s.says("status --max-age 1h", 3, "spend_files: last success 1h43m0s ago", "stale: the last success was 1h43m0s ago")
	s.says("runs", 0, "100 more runs since 2009-12-01 did nothing, the last one 4m ago.\n")
	s.says("runs last", 0, "others: all is up to date")
	s.says("runs --job others", 0, "!did nothing")
	s.says("ledger list runs/", 0, "  runs/2009-12.json\n1 object\n")
	s.says("ledger list runs/ --output json", 0, `{"key":"runs/2009-12.json","size":`)
	s.says("ledger show runs/2009-12.json", 0, `"idle": {`, `"runs": 100,`, `"spend_files": "2009-12-29`)
}

// Whatever a run leaves out, its last line and its exit code say so, and no line of that job says
// that all is up to date.
func TestLastLineSaysWhatIsLeftOut(t *testing.T) {
	const left, interrupted, upToDate = "Something is left out", "Interrupted. ",
		"all is up to date, nothing was requested"
	for _, c := range []struct {
		name  string
		res   ledger.Result
		named bool // a person asked for this job
		exit  int
		line  string // in the last one
		says  string
	}{
		{"nothing was due", ledger.Result{}, true, 0, upToDate, ""},
		{"all that was due", ledger.Result{Outcome: ledger.Outcome{Windows: 1, Written: 7}}, true, 0, "rows",
			"written 7"},
		{"others hold some", ledger.Result{Outcome: ledger.Outcome{Windows: 2, Held: 1, Written: 7}}, true, 0, left,
			"1 of them held by another run"},
		{"others hold all, of a schedule", ledger.Result{Outcome: ledger.Outcome{Windows: 1, Held: 1}}, false, 0, left,
			"held by another run"},
		{"others hold all", ledger.Result{Outcome: ledger.Outcome{Windows: 1, Held: 1}}, true, 4, left,
			"held by another run"},
		{"the deadline came", ledger.Result{Left: 3, Outcome: ledger.Outcome{Windows: 1, Written: 7}}, false, 130,
			interrupted, "3 windows for the next run: the deadline is near"},
		{"the deadline came first", ledger.Result{Left: 3}, false, 130, interrupted,
			"3 windows for the next run: the deadline is near"},
		{"stopped", ledger.Result{Left: 3, Stopped: true, Outcome: ledger.Outcome{Windows: 1}}, false, 130, interrupted,
			"3 windows for the next run: this one was stopped"},
		{"not begun", ledger.Result{Left: 1, Stopped: true}, false, 130, interrupted,
			"job: not begun\n  left        1 window for the next run"},
		{"not planned", ledger.Result{Stopped: true}, false, 130, interrupted,
			"job: not begun\n  left        all of it"},
		{"a file that may still grow", ledger.Result{Outcome: ledger.Outcome{Windows: 2, Written: 1, Waiting: 1}}, true,
			0, left, "1 window that may still be growing"},
		{"columns for later", ledger.Result{Rest: ledger.Rest{Lacking: ledger.Lacking{Partitions: 1,
			Columns: []string{"clicks", "cost", "revenue", "sessions", "waus"}, Later: true}}}, true, 0, left,
			"1 partition lacks clicks, cost, revenue and 2 more\n    to fetch them: reportferry backfill job " +
				"--missing-columns"},
		{"columns that were found meanwhile", ledger.Result{Outcome: ledger.Outcome{Windows: 1, Written: 1},
			Rest: ledger.Rest{Lacking: ledger.Lacking{Partitions: 2, Columns: []string{"a"}}}},
			true, 0, left,
			"2 partitions lack a\n    the next run fetches them; to do it now:\n      reportferry backfill job " +
				"--missing-columns"},
		{"a column that is misspelt", ledger.Result{Rest: ledger.Rest{Lacking: ledger.Lacking{Partitions: 2,
			Columns: []string{"cost", "instals"}}}}, true, 0, left,
			"the catalogue doesn't know instals; did you mean installs?\n    if the service has it, 2 partitions " +
				"get it by:\n      reportferry backfill job --missing-columns"},
		{"rows that were kept", ledger.Result{Outcome: ledger.Outcome{Windows: 1, Kept: 1}, Rest: ledger.Rest{Kept: 1}},
			true, 0, left, "1 partition with older rows"},
		{"rows that were kept earlier", ledger.Result{Rest: ledger.Rest{Kept: 1}}, true, 0,
			"when each was fetched: reportferry history job", "nothing was due"},
		{"days that nobody can fetch any more", ledger.Result{Rest: ledger.Rest{Lost: 2}}, true, 0,
			"the service has no past of it", "nothing was due"},
		{"some failed", ledger.Result{Outcome: ledger.Outcome{Windows: 2, Written: 1, Failed: 1},
			Errs: []error{errors.New("503")}}, true, 3, left, "error       503"},
		{"no plan", ledger.Result{Errs: []error{ledger.ErrRefused}}, true, 2, left, "error       refused"},
	} {
		for _, others := range [][]ledger.Result{nil, {{Job: "other"}}} {
			c.res.Job = "job"
			in := refresh.Inspection{Rest: c.res.Rest}
			for day := range c.res.Rest.Lost {
				in.Calendar = append(in.Calendar, refresh.Entry{Partition: civil.Date{Year: 2026, Month: 1,
					Day: day + 1}, Condition: refresh.Gone})
			}
			c.res.Problems = status.Of("job", "report", in, nil)
			results := append([]ledger.Result{c.res}, others...)
			ended := time.Now()
			r := ledger.Run{Ended: &ended, Results: results, Exit: jobs.ExitCode(results, c.res.Stopped, c.named)}
			if r.Exit != c.exit {
				t.Errorf("%s: exit code %d, want %d", c.name, r.Exit, c.exit)
			}
			var out bytes.Buffer
			newDisplay(program("", "text"), &out, &out).summary(r)
			lines := slices.Collect(strings.Lines(out.String()))
			last := lines[len(lines)-1]
			general := c.line == left || c.line == interrupted
			if (others == nil || general) && !strings.Contains(last, c.line) {
				t.Errorf("%s: the last line is %q, want %q", c.name, last, c.line)
			}
			if others != nil && c.line == left && !strings.Contains(last, "in 1 of 2 jobs") {
				t.Errorf("%s: with another job the last line is %q", c.name, last)
			}
			if !strings.Contains(out.String(), c.says) || c.line != upToDate &&
				strings.Contains(out.String(), "job: all is up to date") {
				t.Errorf("%s: says\n%swant %q", c.name, &out, c.says)
			}
			out.Reset()
			newDisplay(program("", "json"), &out, &out).summary(r)
			if said := strings.Contains(out.String(), `"left_out":1`); said != general {
				t.Errorf("%s: as JSON\n%s", c.name, &out)
			}
		}
	}
	var out bytes.Buffer
	newDisplay(program("", "text"), &out, &out).summary(ledger.Run{Trigger: "backfill",
		Results: []ledger.Result{{Job: "job"}}})
	if out.String() != "job: what was asked for is there, nothing was requested\n" {
		t.Errorf("a backfill of what is there says %s", &out)
	}
}

// Ctrl-C in the first job: the second was not begun, and the run's words, its JSON and its record
// say so.
func TestInterruptedInTheFirstJob(t *testing.T) {
	t.Parallel()
	s := startService(t, "--apps", "1", "--days", "30", "--latency", "1m")
	for format, want := range map[string]string{
		"text": "others: not begun\n  left        3 windows for the next run: this one was stopped\nInterrupted. ",
		"json": `"left":3,"stopped":true`,
	} {
		p := newPlace(t, s, 1, 1, living)
		path := filepath.Join(p.dir, "reportferry.yml")
		data, err := os.ReadFile(path)
		check(t, err)
		_, first, _ := strings.Cut(string(data), "jobs:\n")
		second := strings.NewReplacer("name: installs", "name: others", "start: -1d", "start: -5d").Replace(first)
		check(t, os.WriteFile(path, append(data, second...), 0o600))
		run, out := p.command(context.Background(), "run", "--log-format", format)
		check(t, run.Start())
		for begun, deadline := false, time.Now().Add(20*time.Second); !begun; time.Sleep(20 * time.Millisecond) {
			leased, err := filepath.Glob(filepath.Join(p.dir, "ledger/tables/installs/months/2*.json"))
			check(t, err)
			if begun = len(leased) > 0; time.Now().After(deadline) {
				t.Fatalf("nothing is leased: %s", out)
			}
		}
		check(t, run.Process.Signal(os.Interrupt))
		_ = run.Wait() // its exit code tells
		if code := run.ProcessState.ExitCode(); code != 130 || !strings.Contains(out.String(), want) ||
			strings.Contains(out.String(), "up to date") {
			t.Errorf("exit code %d: %s", code, out)
		}
		said, _ := p.run("status", "--json")
		if strings.Count(said, `"stopped": true`) < 2 || !strings.Contains(said, `"left": 3`) {
			t.Errorf("the record: %s", said)
		}
	}
}

// A full disk fails every window with the name of another file, and is one error all the same.
func TestAFullDiskIsOneError(t *testing.T) {
	var errs []error
	for i := range 20 {
		errs = append(errs, fmt.Errorf("fetch t/2026-01-%02d: %w", i+1,
			&fs.PathError{Op: "write", Path: fmt.Sprintf("/spool/reportferry-%x", 7919*i), Err: syscall.ENOSPC}))
	}
	if got := grouped(append(errs, errors.New("another"))); len(got) != 2 ||
		!strings.HasPrefix(got[0], "no space left on the device") || !strings.HasSuffix(got[0], "(20 times)") ||
		got[1] != "another" {
		t.Errorf("%q", got)
	}
}

// A config without jobs does for the commands that need none, as a list that is empty and without
// the key.
func TestNoJobs(t *testing.T) {
	for _, list := range []string{"jobs: []\n", ""} {
		t.Chdir(t.TempDir())
		check(t, os.WriteFile("reportferry.yml", []byte("service: embedded\nledger: file://./ledger\n"+list), 0o600))
		for args, want := range map[string]int{"status": 2, "run": 2, "runs": 0,
			"report --dimensions day --metrics installs --currency USD": 0} {
			var out bytes.Buffer
			code := execute(t.Context(), strings.Fields(args), &out, &out)
			if code != want || want == 2 && !strings.Contains(out.String(), "the config has no jobs") {
				t.Errorf("%q: %s: exit code %d, want %d: %.300s", list, args, code, want, &out)
			}
		}
	}
}
