package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A scene is one folder in which commands are given one after the other, a minute apart, on the
// clock of a bubble.
type scene struct {
	t     *testing.T
	clock time.Duration // of the next command, since the bubble's beginning
}

func newScene(t *testing.T) *scene {
	t.Chdir(t.TempDir())
	check(t, os.Mkdir("in", 0o700))
	return &scene{t, 10 * 365 * 24 * time.Hour}
}

// put writes a file that was changed some time before the next command.
func (s *scene) put(path, text string, age time.Duration) {
	s.t.Helper()
	check(s.t, os.WriteFile(path, []byte(text), 0o600))
	at := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(s.clock - age)
	check(s.t, os.Chtimes(path, at, at))
}

func (s *scene) config(jobs string) {
	s.put("reportferry.yml", "service: embedded\nledger: file://./ledger\njobs:\n"+jobs, 0)
}

// say gives a command, and wants a code and some texts.
func (s *scene) say(code int, args string, want ...string) {
	s.t.Helper()
	var out bytes.Buffer
	synctest.Test(s.t, func(t *testing.T) {
		time.Sleep(s.clock)
		defer time.Sleep(time.Second) // the embedded service's last goroutines
		if got := execute(t.Context(), strings.Fields(args), &out, &out); got != code {
			t.Errorf("%s: exit code %d, want %d: %s", args, got, code, &out)
		}
	})
	s.clock += time.Minute
	for _, w := range want {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), w) {
			s.t.Errorf("%s: want %q, said is\n%s", args, w, &out)
		}
	}
}

const spendJob = "kind: spend, rejects: file://./rejects, wait_until_quiet: 0, constants: {cost_type: cpi, " +
	"cost_currency: USD, tag: t}"

// A job without history sends no old files by itself: its ledger may have been lost, or its name
// may be another.
func TestLostLedgerSendsNothingAgain(t *testing.T) {
	s := newScene(t)
	job := func(more string) { s.config("- {source: file://./in/*.csv, " + spendJob + ", " + more + "}\n") }
	job("name: sp")
	s.put("in/bad.csv", "cost_id,cost_amount\nx,1\n", time.Hour)
	s.say(1, "spend push", "too many rejects")
	check(t, os.Remove("in/bad.csv")) // it is on record, and nothing was sent
	s.put("in/a.csv", "cost_id,cost_amount\nlong-enough-id-1,1\nlong-enough-id-2,1\n", 48*time.Hour)
	s.put("in/b.csv", "cost_id,cost_amount\nlong-enough-id-3,1\nshort,1\n", 25*time.Hour)
	s.put("in/c.csv", "cost_id,cost_amount\nlong-enough-id-4,1\n", time.Hour)
	refused := "Files older than a day: 2 of 3; records that would go: 4, also those that were sent before"
	for _, args := range []string{"spend push", "run", "run sp --now", "spend push in/a.csv in/b.csv in/c.csv"} {
		s.say(2, args, refused, "first: true", "--first")
	}
	s.say(2, "plan", refused)
	s.say(3, "spend check", refused)
	s.say(2, "check", refused)
	s.say(0, "spend status", "bad.csv")
	s.say(3, "spend push --first", "sent 3, unchanged 0", "rows 4")
	s.put("in/d.csv", "cost_id,cost_amount\nlong-enough-id-5,1\n", 48*time.Hour)
	s.say(2, "spend push", "what it has pushed is on record since",
		"Files that are older by more than a day: 1 of 1; records that would go: 1,")
	s.say(0, "spend push --first", "sent 1, unchanged 0")
	s.put("in/e.csv", "cost_id,cost_amount\nlong-enough-id-5,1\n", 20*time.Hour)
	s.say(0, "spend push", "sent 1, unchanged 0") // there is history
	check(t, os.Remove("in/e.csv"))
	job("name: other")
	s.say(2, "spend push", "Files older than a day: 3 of 4; records that would go: 5,",
		"The table sp of this ledger has 4 of these files: if the job had another name, table: sp goes on with it.")
	job("name: other, table: sp")
	s.say(0, "spend push", "other: all is up to date")
	check(t, os.RemoveAll("ledger"))
	s.say(2, "spend push", "would go: 5,")
	s.say(0, "spend push in/c.csv", "sent 1, unchanged 0")
	// One new file is no history of theirs.
	s.say(2, "run", "what it has pushed is on record since", "Files that are older by more than a day: 3 of 3;")
	check(t, os.RemoveAll("ledger"))
	job("name: other, first: true")
	s.say(3, "spend push", "sent 4, unchanged 0")

	// New files of a new job go at once, and the day in a name counts, however new the copy is.
	check(t, os.RemoveAll("ledger"))
	s.config("- {name: new, source: \"file://./in/{date}.csv\", " + spendJob + "}\n")
	s.put("in/2009-12-28.csv", "cost_id,cost_amount\nlong-enough-id-1,1\n", time.Minute)
	s.say(0, "spend push", "sent 1, unchanged 0")
	check(t, os.RemoveAll("ledger"))
	s.put("in/2009-12-26.csv", "cost_id,cost_amount\nlong-enough-id-2,1\n", time.Minute)
	s.say(2, "spend push", "Files older than a day: 1 of 2; records that would go: 2,")
}

// Choices are sent in their order, so that an older one that comes again would go over a newer one.
func TestLostLedgerSendsNoChoicesAgain(t *testing.T) {
	s := newScene(t)
	s.config("- {name: c, kind: sharing, source: file://./in/*.csv, rejects: file://./rejects, wait_until_quiet: 0, " +
		"constants: {app_token: abc123def456}}\n")
	s.put("in/a.csv", "idfa,sharing\ndevice-1,disable\n", 48*time.Hour)
	s.say(2, "sharing push", "Files older than a day: 1 of 1; records that would go: 1,")
	s.say(2, "run", "would go: 1,")
	s.say(0, "sharing status", "nothing was pushed yet")
}

// Two jobs that find the same file and take Cost IDs from the same column would send each record
// twice.
func TestTwoJobsOfOneFile(t *testing.T) {
	s := newScene(t)
	s.put("in/new.csv", "cost_id,other_id,cost_amount\nlong-enough-id-1,long-enough-id-2,1\n", time.Hour)
	all, some := "- {name: all, source: file://./in/*.csv, "+spendJob+"}\n",
		"- {name: some, source: file://./in/n*.csv, "+spendJob+"}\n"
	s.config(all + some)
	twice := []string{"the job some finds new.csv, too", "the job all finds new.csv, too"}
	s.say(2, "check", twice...)
	s.say(2, "run", twice...)
	s.say(2, "run all", twice[0])
	s.say(2, "spend push --job some", twice[1])
	s.say(2, "spend push --job some in/new.csv", twice[1])
	s.say(3, "spend check --job some", twice[1])
	s.say(0, "spend status --job all", "nothing was pushed yet")
	s.config(all + strings.Replace(some, "n*.csv", "m*.csv", 1))
	s.say(0, "run all", "sent 1, unchanged 0")
	s.config(all + strings.Replace(some, "file://./in/n*.csv", `"file://./in/{date}.csv"`, 1))
	s.put("in/2009-12-29.csv", "cost_id,cost_amount\nlong-enough-id-3,1\n", time.Hour)
	s.say(2, "run", "the job some finds 2009-12-29.csv, too", "the job all finds 2009-12-29.csv, too")
	s.config(all + strings.Replace(some, "kind: spend", "kind: spend, columns: {cost_id: other_id}", 1))
	s.say(0, "run some", "sent 1, unchanged 0") // other records of the same rows
}

// A file that waits for its time is said, and is not taken for one that is up to date.
func TestFileThatWaitsIsSaid(t *testing.T) {
	s := newScene(t)
	s.config("- {name: sp, schedule: \"30 2 * * *\", source: file://./in/*.csv, " + spendJob + "}\n")
	const waits = "1 file waits for 2009-12-29 02:30 UTC this takes it now: reportferry run sp --now"
	s.say(0, "run", "sp: all is up to date")
	s.put("in/a.csv", "cost_id,cost_amount\nlong-enough-id-1,1\n", time.Minute)
	s.say(0, "plan", "sp: nothing is due "+waits)
	s.say(0, "run", "sp: nothing was due, nothing was requested "+waits)
	s.say(0, "plan --log-format json", `"what":"1 file waits for 2009-12-29 02:30 UTC"`)
	s.say(0, "run sp --now", "sent 1, unchanged 0")
	s.say(0, "run", "sp: all is up to date")
	s.put("in/b.csv", "cost_id,cost_amount\nlong-enough-id-2,1\n", time.Minute)
	s.put("in/c.csv", "cost_id,cost_amount\nlong-enough-id-3,1\n", time.Minute)
	s.say(0, "run", "2 files wait for 2009-12-29 02:30 UTC")
	s.clock += 3 * time.Hour
	s.say(0, "run", "sent 2, unchanged 0")
}

// A check says first what would be sent and how much that is, and then the same of what wouldn't
// be, sum by sum.
func TestCheckSaysTheSums(t *testing.T) {
	s := newScene(t)
	s.config("- {name: sp, source: file://./in/*.csv, " + spendJob + "}\n")
	s.put("in/a.csv", "cost_id,cost_amount\nlong-enough-id-1,1\nlong-enough-id-2,2\n", time.Hour)
	s.say(0, "spend check", "a.csv to send 2 records: cpi USD 3 rows 2 read as CSV, utf-8, comma; decimal point the "+
		"first")
	s.say(0, "spend push")
	s.put("in/b.csv", "cost_id,cost_amount\nlong-enough-id-1,1\nlong-enough-id-2,5\nlong-enough-id-3,"+
		"4\nlong-enough-id-4,8.5\nshort,16\nlong-enough-id-6,1e3\n,\n", time.Hour)
	s.say(3, "spend check", "b.csv to send 2 records: cpi USD 12.5 duplicates 1 row: cpi USD 1 conflicts 1 row: cpi "+
		"USD 5; whose cost_id an earlier row or push has with other content "+
		"refused 2 rows: cpi USD 16 in 1 of them skipped 1 row rows 6 read as CSV",
		"the first cost_id=(16 characters) cost_type=cpi cost_currency=usd cost_amount=4 tag=t")
	s.say(3, "spend push")
	s.say(3, "spend check in/b.csv", "b.csv to send 0 records accepted 2 records: cpi USD 12.5; before duplicates 1 "+
		"row: cpi USD 1 conflicts 1 row: cpi USD 5;")
	s.say(0, "spend check in/a.csv", "a.csv to send 0 records accepted 2 records: cpi USD 3; before rows 2")
}

// What a check or a push lacks in a file it names, unless the first row may be a record.
func TestColumnsAreNamed(t *testing.T) {
	s := newScene(t)
	s.config("- {name: sp, source: file://./in/*.csv, " + spendJob +
		"}\n- {name: c, kind: sharing, source: file://./in/c*.csv, rejects: file://./rejects, constants: " +
		"{app_token: abc123def456}}\n")
	s.put("in/a.csv", "cost_id,Kosten,Datum\nlong-enough-id-1,1,2\n", time.Hour)
	s.say(3, "spend check",
		`none of its columns cost_id, Kosten, Datum is "cost_amount", which cost_amount is taken from`)
	s.put("in/a.csv", "long-enough-id-1,1,2\n", time.Hour)
	s.say(3, "spend check", `none of its 3 columns is "cost_id"`)
	s.put("in/c.csv", "idfa,sharng\ndevice-1,disable\n", time.Hour)
	s.say(3, "sharing check in/c.csv", `no field is taken from the column "sharng"; is its name misspelt`)
	s.put("in/c.csv", "device-1,disable\n", time.Hour)
	s.say(3, "sharing check in/c.csv", `no field is taken from column 1 of 2`)
}

// A file that has changed is one file: what it is now, and what earlier contents of it brought.
func TestStatusListsAFileOnce(t *testing.T) {
	s := newScene(t)
	s.config("- {name: sp, source: file://./in/*.csv, " + spendJob + "}\n")
	for n, text := range []string{"long-enough-id-1,1\n", "long-enough-id-1,1\nlong-enough-id-2,1\n",
		"long-enough-id-1,1\nlong-enough-id-2,1\nlong-enough-id-3,1\n"} {
		s.put("in/a.csv", "cost_id,cost_amount\n"+text, time.Duration(10-n)*time.Second)
		s.say(0, "spend push", "sent 1, unchanged 0")
	}
	s.say(0, "spend status", "rows 3, accepted 1, duplicates 2 earlier 2 contents, accepted 2")
	var out bytes.Buffer
	if execute(t.Context(), []string{"spend", "status"}, &out, &out); strings.Count(out.String(), "a.csv: done") != 1 {
		t.Errorf("the file is listed several times:\n%s", &out)
	}
	s.config("- {name: sp, source: file://./in/*.csv, first: true, " + spendJob + "}\n")
	s.say(0, "spend reconcile --from 2009-12-20 --to 2009-12-31", " - more") // no share of what was pushed
}
