package console

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox"
)

// Each thing that is wrong is listed once, the worst first, with the command that mends it.
func TestTheWorstComesFirst(t *testing.T) {
	damaged := &ledger.DamagedError{Location: "mem://tables/x/1.json", Err: errors.New("checksum"),
		Cost: "its records would be sent again"}
	jobs := madeUp(t).o.Jobs
	s := snapshot{now: noon}
	s.past.Runs = madeUpRuns()
	slices.Reverse(s.past.Runs)
	for _, j := range jobs {
		s.jobs = append(s.jobs, statusOf(t.Context(), j, s.past))
	}
	s.jobs = append(s.jobs, JobStatus{Job: Job{Name: "broken"}, Err: damaged},
		JobStatus{Job: Job{Name: "odd"}, Err: errors.New("no such zone")})
	var got []string
	for _, p := range allProblems(s) {
		command := "-"
		if len(p.Type) > 0 {
			command = p.Type[0]
		}
		got = append(got, fmt.Sprintf("%s %s: %s", p.Job, p.State.Text, command))
	}
	want := []string{
		"broken unreadable: status broken",
		"odd unreadable: status odd",
		"campaigns failed: backfill campaigns --gaps",
		"spend refused: spend check --job spend",
		"apps failed: apps plan --job apps",
		"campaigns interrupted: backfill campaigns --gaps",
		"campaigns missing: backfill campaigns --gaps",
		"campaigns unreconciled: backfill campaigns --from 2026-01-04 --to 2026-01-04 --force",
		"spend in doubt: spend requeue --job spend",
		"campaigns moved and left: backfill campaigns --from 2026-01-03 --to 2026-01-03 --force",
		"campaigns lacking columns: backfill campaigns --missing-columns",
		"campaigns kept: history campaigns",
		"untouched never run: run untouched",
		"campaigns can't be fetched any more: -",
		"campaigns changed after final: history campaigns --from 2026-01-02 --to 2026-01-09",
		"spend some not taken: spend status --job spend",
		" no end: -",
	}
	if !slices.Equal(got, want) {
		t.Errorf("listed are\n%q, want\n%q", got, want)
	}
}

// A failure is shown by itself only when no file or app shows it.
func TestAFailureIsShownOnce(t *testing.T) {
	run := ledger.Run{ID: "r", Ended: &noon, Results: []ledger.Result{{Job: "j",
		Failures: []ledger.Failure{{Unit: "u", Error: "broken ios/1"}}}}}
	past := ledger.Past{Runs: []ledger.Run{run}}
	for name, c := range map[string]struct {
		job  JobStatus
		want int
	}{
		"nothing else": {JobStatus{}, 1},
		"a file":       {JobStatus{Pushed: []outbox.File{{Name: "u", Error: "broken"}}}, 0},
		"another file": {JobStatus{Pushed: []outbox.File{{Name: "v", Error: "broken"}}}, 1},
		"an app":       {JobStatus{Declared: []App{{ID: "ios/1", Condition: AppFailed}}}, 0},
		"a good app":   {JobStatus{Declared: []App{{ID: "ios/1", Condition: AppDone}}}, 1},
	} {
		c.job.Job = Job{Name: "j"}
		if got := failures(past, c.job); len(got) != c.want {
			t.Errorf("%s: %d problems, want %d", name, len(got), c.want)
		}
	}
}

// Files that are done longer than their records are remembered, and those that have been replaced,
// are no problem any more.
func TestOldFilesAreNoProblem(t *testing.T) {
	old := outbox.File{Name: "a", Ended: noon, Last: noon.Add(-outbox.Recent), Rows: 5, Refused: 5}
	mended := []outbox.File{{Name: "b", Ended: noon, Last: noon}, {Name: "b", Error: "no header"}}
	if list := stuck(noon, JobStatus{Pushed: append(mended, old)}); list != nil {
		t.Errorf("problems: %+v", list)
	}
	if got := place("gs://b/x/?region=eu&key=secret", "f.csv"); got != "gs://b/x/f.csv" {
		t.Errorf("the rejects are at %s", got)
	}
}

// However many files are refused, a page names twenty of them.
func TestManyFiles(t *testing.T) {
	var j JobStatus
	for i := range 500 {
		j.Pushed = append(j.Pushed, outbox.File{Name: fmt.Sprint(i), Error: "no header"})
	}
	list := stuck(noon, j)
	if len(list) != mostStuck || !strings.Contains(list[0].Details[1], "480 older files") || len(list[1].Details) != 1 {
		t.Errorf("%d problems, the first %+v", len(list), list[0])
	}
	v := pushedOf(snapshot{now: noon}, j)
	page, err := frame{Path: "jobs/x/index.html", Zone: time.UTC, Body: v.body}.draw(v.template)
	if err != nil || len(page) > 300_000 {
		t.Errorf("%v; a page of %d bytes", err, len(page))
	}
}

// A page names the newest days of a problem, and how many more there are.
func TestManyDays(t *testing.T) {
	var p ledger.Problem
	for i := range mostNamed + 2 {
		d := civil.Date{Year: 2026, Month: 1, Day: 14}.AddDays(-2 * i)
		p.Days = append(p.Days, ledger.ProblemDays{From: d, Through: d, Partitions: 1, Why: "never fetched yet"})
	}
	p.Condition, p.Partitions, p.Advice, p.Command = "missing", len(p.Days), "to fetch what is missing", "run e"
	j := JobStatus{Job: Job{Name: "e", Kind: "events"}}
	j.State.Problems = []ledger.Problem{p}
	list := problemsOfTable(j, civil.Date{})
	if len(list) != 1 || list[0].Type[0] != "run e" || list[0].Advice != "To fetch what is missing:" ||
		len(list[0].Details) != mostNamed+1 ||
		list[0].Details[0] != "2026-01-14: never fetched yet" || list[0].Details[mostNamed] != "and 2 more" {
		t.Errorf("%+v", list)
	}
}

// A damaged month of runs is named, and hides no other one.
func TestADamagedRun(t *testing.T) {
	store := bucket.NewMemory()
	b, l := store.Blob(), ledger.Open(ledger.Options{Store: store, URL: "mem://x"})
	t.Cleanup(func() { _ = l.Close() })
	for _, r := range madeUpRuns() {
		if err := l.SaveRun(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	last := madeUpRuns()[0]
	last.ID, last.Started = "20251231T043000.000Z-00000000", last.Started.AddDate(0, -1, 0)
	if err := errors.Join(l.SaveRun(t.Context(), last), b.WriteAll(t.Context(), "runs/2026-01.json",
		[]byte(`{"v":2,"xxh64":"0","content":{}}`), nil)); err != nil {
		t.Fatal(err)
	}
	c := New(Options{Ledger: l, Now: func() time.Time { return noon }})
	problems, err := c.render(t.Context(), "problems.html")
	if err != nil || strings.Count(string(problems), "can&#39;t be trusted: ") != 1 ||
		!strings.Contains(string(problems), "runs/2026-01.json") {
		t.Errorf("%v: %s", err, problems)
	}
	list, err := c.render(t.Context(), "runs/index.html")
	if err != nil || !strings.Contains(string(list), last.ID) || !strings.Contains(string(list),
		"Not all records of runs can be read") || strings.Count(string(list), `scope="row"`) != 1 {
		t.Errorf("%v: %s", err, list)
	}
}

// A run without an end is told of when it is the newest, and only once it has gone on for long.
func TestARunWithoutAnEnd(t *testing.T) {
	for age, want := range map[time.Duration]int{time.Minute: 0, 2 * time.Hour: 1} {
		s := snapshot{now: noon, past: ledger.Past{Runs: []ledger.Run{{ID: "r", Started: noon.Add(-age)}}}}
		if got := len(allProblems(s)); got != want {
			t.Errorf("after %v: %d problems, want %d", age, got, want)
		}
	}
}
