package report_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"
	"gocloud.dev/blob/memblob"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/raw"
	"github.com/reportferry/reportferry/jobs/report"
	"github.com/reportferry/reportferry/sinks"
)

// replay makes partitions again, and fails if that asks the service for anything.
func (r *rig) replay(ask report.Replay) ledger.Result {
	r.t.Helper()
	before := len(r.server.Requests())
	o := r.options
	r.nth++
	client, err := adjust.New(r.client)
	check(r.t, err)
	o.Client, o.Ledger, o.SpoolDir, o.Run = client, r.ledger, r.spool, fmt.Sprintf("replay-%d", r.nth)
	if o.Targets == nil {
		o.Targets = []ledger.Target{{Name: "out", Sink: r.sink}}
	}
	kind, err := report.New(o)
	check(r.t, err)
	runner := &jobs.Runner{Run: o.Run, Lease: time.Hour, Parallel: r.parallel, Log: o.Log}
	list := []jobs.Job{{Name: o.Job, Table: o.Table, Kind: kind.Replay(ask)}}
	res := runner.RunJobs(r.t.Context(), list, jobs.PlanJobs(r.t.Context(), list, time.Now()))[0]
	if after := len(r.server.Requests()); after != before {
		r.t.Errorf("the service got %d requests", after-before)
	}
	if left := spooled(r.t, r.spool); len(left) > 0 {
		r.t.Errorf("left in the spool folder: %v", left)
	}
	return res
}

// replayed is replay without errors.
func (r *rig) replayed(ask report.Replay) ledger.Result {
	r.t.Helper()
	res := r.replay(ask)
	if len(res.Errs) > 0 {
		r.t.Fatal(errors.Join(res.Errs...))
	}
	return res
}

// lose deletes everything that the sink has.
func (r *rig) lose() {
	r.t.Helper()
	entries, err := os.ReadDir(r.out)
	check(r.t, err)
	for _, e := range entries {
		check(r.t, os.RemoveAll(filepath.Join(r.out, e.Name())))
	}
}

// rowsOf is what each partition's file holds, by the rows that another library reads from it.
func (r *rig) rowsOf() map[civil.Date]string {
	r.t.Helper()
	out := map[civil.Date]string{}
	for day, path := range r.files() {
		read := readParquet(r.t, path)
		var lines []string
		for _, row := range read.rows {
			lines = append(lines, strings.Join(row, "|"))
		}
		slices.Sort(lines)
		out[day] = strings.Join(read.names, "|") + "\n" + strings.Join(lines, "\n")
	}
	return out
}

// nights runs the rig so many times, a day apart.
func (r *rig) nights(n int) {
	r.t.Helper()
	for range n {
		r.ok()
		time.Sleep(24 * time.Hour)
	}
}

// What a lost bucket had is there again, row by row, and a second replay has nothing to do. Nights
// with different windows leave answers that several days rest on, and days that rest on pieces by
// app.
func TestReplayOfALostBucket(t *testing.T) {
	slow.Test(t)
	for name, pieces := range map[string]bool{"windows": false, "app by app": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := emulator.Options{Seed: 11, Apps: 5, Rate: -1}
				if pieces {
					o.MaxPairs = 2
				}
				r := newRig(t, o)
				defer r.close()
				var tokens []string
				for _, app := range r.server.Apps() {
					tokens = append(tokens, app.Token)
				}
				r.options.Query.Filters = map[string][]string{"app_token__in": tokens}
				keeping(r, memblob.OpenBucket(nil), true)
				r.from(civil.DateOf(time.Now()).AddDays(-10))
				r.nights(4)
				want, recorded := r.rowsOf(), r.records()
				r.lose()
				time.Sleep(time.Hour)
				if res := r.replayed(report.Replay{}); res.Outcome.Written != 13 || res.Outcome.Requests != 0 {
					t.Errorf("%+v", res.Outcome)
				}
				if got := r.rowsOf(); !maps.Equal(got, want) {
					t.Errorf("%d partitions are there again, %d were; or their rows differ", len(got), len(want))
				}
				for day, e := range r.records() {
					was := recorded[day]
					if e.Hash != was.Hash || e.Shape != was.Shape || !e.Fetched.Equal(was.Fetched) ||
						!e.Since.Equal(was.Since) || e.Reason != "replay" ||
						e.Finality != was.Finality || e.Moved != was.Moved ||
						fmt.Sprint(e.Control) != fmt.Sprint(was.Control) || !slices.Equal(e.Raw, was.Raw) {
						t.Errorf("%s was\n%+v\nand is\n%+v", day, was, e)
					}
				}
				if res := r.replayed(report.Replay{}); res.Outcome.Unchanged != 13 || res.Outcome.Written != 0 {
					t.Errorf("again: %+v", res.Outcome)
				}
				recorded = r.records()
				if r.replayed(report.Replay{}); !maps.EqualFunc(recorded, r.records(),
					func(a, b ledger.Record) bool { return a.Seq == b.Seq }) {
					t.Error("a replay that changes nothing leaves records")
				}
				// The lookback goes on as if nothing had been.
				if res := r.ok(); res.Outcome.Written > 4 || res.Rest.Lacking.Partitions > 0 {
					t.Errorf("the run after: %+v", res.Outcome)
				}
			})
		})
	}
}

// A partition whose answer is damaged, gone or was never kept is named and left alone; the others
// come back.
func TestReplayWithoutSomeAnswers(t *testing.T) {
	slow.Test(t)
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 12, Apps: 3, Rate: -1})
		defer r.close()
		start := civil.DateOf(time.Now()).AddDays(-21)
		r.from(start)
		r.options.Rules.Through = start.AddDays(3)
		r.ok() // without raw
		r.options.Rules.Through = civil.Date{}
		bucket := memblob.OpenBucket(nil)
		store := keeping(r, bucket, true)
		r.ok()
		recorded := r.records()
		broken, gone := recorded[start.AddDays(9)].Raw[0], recorded[start.AddDays(16)].Raw[0]
		data, err := bucket.ReadAll(t.Context(), raw.Key(broken))
		check(t, err)
		data[len(data)/3]++
		check(t, bucket.WriteAll(t.Context(), raw.Key(broken), data, nil))
		check(t, bucket.Delete(t.Context(), raw.Key(gone)))
		want := r.rowsOf()
		r.lose()
		res := r.replay(report.Replay{})
		if code := jobs.ExitCode([]ledger.Result{res}, false, true); code != jobs.ExitSome {
			t.Errorf("exit code %d: %v", code, res.Errs)
		}
		text := errors.Join(res.Errs...).Error()
		for _, part := range []string{store.Location(broken) + " is damaged", store.Location(gone) + " is missing",
			"no raw answer of it is recorded", start.String() + ".." + start.AddDays(3).String()} {
			if !strings.Contains(text, part) {
				t.Errorf("nothing is said of %s in %s", part, text)
			}
		}
		lost := 0
		for day, e := range recorded {
			kept := len(e.Raw) > 0 && e.Raw[0] != broken && e.Raw[0] != gone
			if got, there := r.rowsOf()[day]; there != kept || there && got != want[day] {
				t.Errorf("%s: there %v, want %v", day, there, kept)
			}
			if now := r.records()[day]; !kept && now.Seq != e.Seq {
				t.Errorf("%s has another record: %+v", day, now)
			}
			if !kept {
				lost++
			}
		}
		if res.Outcome.Failed != lost || res.Outcome.Written != len(recorded)-lost || lost < 6 ||
			lost == len(recorded) {
			t.Errorf("%d lost: %+v", lost, res.Outcome)
		}
		r.ok() // a run mends the rest
		r.equalsTruth(start, 21)
	})
}

// Another type is refused by a run, which names replay, and replay gives it to all partitions. The
// run after it fetches what is due anyway, and nothing else.
func TestReplayOfAnotherType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 13, Apps: 3, Rate: -1})
		defer r.close()
		keeping(r, memblob.OpenBucket(nil), true)
		r.from(civil.DateOf(time.Now()).AddDays(-12))
		r.nights(2)
		r.options.Types = map[string]catalog.Type{"ecpi_all": catalog.String, "purchase_revenue": catalog.Double}
		before, plain := r.records(), r.options
		if text := errors.Join(r.run(t.Context()).Errs...).Error(); !strings.Contains(text,
			"column ecpi_all was decimal and is now string") || !strings.Contains(text, "replay") {
			t.Errorf("the run says %s", text)
		}
		if res := r.replayed(report.Replay{}); res.Outcome.Written != 13 {
			t.Errorf("%+v", res.Outcome)
		}
		for day, path := range r.files() {
			read := readParquet(t, path)
			if kind := read.kinds[slices.Index(read.names, "ecpi_all")]; kind.String() != "STRING" {
				t.Errorf("%s: ecpi_all is %v", day, kind)
			}
			was, is := before[day], r.records()[day]
			if is.Moved || !is.Fetched.Equal(was.Fetched) || is.Sums["cost"] != was.Sums["cost"] ||
				is.Sums["purchase_revenue"] == "" {
				t.Errorf("%s was\n%+v\nand is\n%+v", day, was, is)
			}
		}
		if res := r.ok(); res.Outcome.Windows == 0 || res.Outcome.Written+res.Outcome.Unchanged > 5 {
			t.Errorf("the run after: %+v", res.Outcome)
		}
		r.options = plain
		r.options.Query.Currency = "EUR"
		for _, res := range []ledger.Result{r.run(t.Context()), r.replay(report.Replay{})} {
			if err := errors.Join(res.Errs...); !errors.Is(err, ledger.ErrRefused) ||
				!strings.Contains(err.Error(), "currency") {
				t.Errorf("another currency: %v", err)
			}
		}
	})
}

// Columns that the raw answers lack are NULLs and still missing. Those that the job has no more
// stay, until it drops them.
func TestReplayOfOtherColumns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 14, Apps: 3, Rate: -1})
		defer r.close()
		keeping(r, memblob.OpenBucket(nil), true)
		start := civil.DateOf(time.Now()).AddDays(-12)
		r.from(start)
		r.ok()
		// Impressions is new, and clicks and more aren't asked for any more.
		r.options.Query.Metrics = []string{"installs", "impressions", "cost", "ecpi_all"}
		if res := r.replayed(report.Replay{}); res.Outcome.Written != 12 || res.Rest.Lacking.Partitions != 12 {
			t.Errorf("%+v, lacking %+v", res.Outcome, res.Rest.Lacking)
		}
		for day, path := range r.files() {
			read := readParquet(t, path)
			at := slices.Index(read.names, "impressions")
			if !slices.Contains(read.names, "clicks") || at < 0 ||
				slices.ContainsFunc(read.rows, func(row []string) bool { return row[at] != "NULL" }) {
				t.Errorf("%s: %v", day, read.names)
			}
		}
		r.options.Drop = []string{"clicks", "network_cost", "all_revenue", "retention_rate_d1", "roas_d7"}
		if res := r.ok(); res.Outcome.Written != 12 || res.Rest.Lacking.Partitions != 0 {
			t.Errorf("the run after: %+v", res.Outcome)
		}
		r.equalsTruth(start, 12)
		if res := r.replayed(report.Replay{}); res.Outcome.Done() != 0 &&
			slices.Contains(readParquet(t, r.files()[start]).names, "clicks") {
			t.Errorf("a replay brings dropped columns back: %+v", res.Outcome)
		}
	})
}

// What a day said before can be put back. It counts as fetched when it was, so that the next run
// inside the lookback brings the newest numbers again.
func TestReplayOfAnEarlierContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 15, Apps: 3, Rate: -1})
		defer r.close()
		keeping(r, memblob.OpenBucket(nil), true)
		day := civil.DateOf(time.Now()).AddDays(-1)
		r.from(day.AddDays(-3))
		r.ok()
		first, was := r.rowsOf()[day], r.records()[day]
		time.Sleep(24 * time.Hour)
		r.ok()
		second, is := r.rowsOf()[day], r.records()[day]
		if first == second {
			t.Fatal("the day didn't change")
		}
		time.Sleep(time.Hour)
		ask := report.Replay{From: day, Through: day, Seq: was.Seq}
		if res := r.replayed(ask); res.Outcome.Written != 1 || r.rowsOf()[day] != first {
			t.Errorf("%+v", res.Outcome)
		}
		back := r.records()[day]
		if back.Hash != was.Hash || !back.Fetched.Equal(was.Fetched) || !back.Since.Equal(time.Now()) ||
			back.Seq <= is.Seq {
			t.Errorf("%+v", back)
		}
		if r.ok(); r.rowsOf()[day] != second {
			t.Error("the run after doesn't bring the newest numbers")
		}
		for _, wrong := range []report.Replay{{From: day, Through: day, Seq: 999},
			{From: day.AddDays(-1), Through: day, Seq: 1}, {From: day.AddDays(-90), Through: day.AddDays(-90),
				Seq: 1}} {
			if err := errors.Join(r.replay(wrong).Errs...); !errors.Is(err, ledger.ErrRefused) {
				t.Errorf("%+v: %v", wrong, err)
			}
		}
	})
}

// A replay whose puts fail leaves doubts, and another one makes the partitions whole again.
func TestReplayAfterAReplayThatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 16, Apps: 2, Rate: -1})
		defer r.close()
		keeping(r, memblob.OpenBucket(nil), true)
		r.from(civil.DateOf(time.Now()).AddDays(-9))
		r.nights(2)
		want := r.rowsOf()
		r.lose()
		store := r.options.Raw
		r.options.Targets = []ledger.Target{{Name: "out", Sink: refusing{r.sink.(files)}}}
		res := r.replay(report.Replay{})
		if len(res.Errs) == 0 || res.Outcome.Failed != 10 {
			t.Errorf("%+v: %v", res.Outcome, res.Errs)
		}
		doubts := 0
		for _, e := range r.records() {
			if e.State == ledger.Publishing {
				doubts++
			}
		}
		r.options.Targets, r.options.Raw = nil, store
		if res := r.replayed(report.Replay{}); doubts != 10 || res.Outcome.Written != 10 ||
			!maps.Equal(r.rowsOf(), want) {
			t.Errorf("%d doubts, %+v", doubts, res.Outcome)
		}
	})
}

// A files is a sink whose readers find files.
type files interface {
	sinks.Sink
	ConditionOf(ctx context.Context, table string, partition civil.Date, own bool) (sinks.Condition, error)
	List(ctx context.Context, table string) ([]sinks.Object, error)
}

// refusing takes nothing.
type refusing struct{ files }

func (refusing) Put(context.Context, sinks.Part) (sinks.Receipt, error) {
	return sinks.Receipt{}, errors.New("no room")
}

// Under the newer answer's name there is an older one, whole and valid. Its SHA-256 isn't the one
// on record, nor are its rows, which are all that records of earlier versions tell; and so they
// stay out.
func TestReplayOfAnotherAnswer(t *testing.T) {
	for says, summed := range map[string]bool{" is damaged: it is another answer than the one on record": true,
		" gives other rows of ": false} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, emulator.Options{Seed: 17, Apps: 3, Rate: -1})
			defer r.close()
			bucket := memblob.OpenBucket(nil)
			store := keeping(r, bucket, true)
			r.options.Events = nil
			r.options.Query.Dimensions = []string{"day", "network"} // whose rows are as many on the next day
			day := civil.DateOf(time.Now()).AddDays(-1)
			r.from(day)
			r.options.Rules.Through = day
			r.ok()
			older := r.records()[day]
			check(t, r.server.Restate(t.Context(), emulator.Restatement{Day: day.String(),
				Rename: map[string]string{"network": "Renamed"}, Where: map[string]string{"network": "AppLovin"}}))
			r.options.Rules.IgnoreLedger = true
			r.ok()
			r.options.Rules.IgnoreLedger = false
			newer, rows := r.records()[day], r.rowsOf()[day]
			// Only the hash tells them apart.
			if newer.Hash == older.Hash || newer.Rows != older.Rows || newer.Sums["cost"] != older.Sums["cost"] {
				t.Fatalf("the day became %+v of %+v", newer, older)
			}
			data, err := bucket.ReadAll(t.Context(), raw.Key(older.Raw[0]))
			check(t, err)
			check(t, bucket.WriteAll(t.Context(), raw.Key(newer.Raw[0]), data, nil))
			if !summed {
				newer.Raw = []string{raw.Key(newer.Raw[0])}
				table, err := r.ledger.Table(t.Context(), r.options.Table)
				check(t, err)
				check(t, table.Commit(t.Context(), newer))
				newer = r.records()[day]
			}
			res := r.replay(report.Replay{})
			if text := errors.Join(res.Errs...).Error(); !strings.Contains(text, store.Location(newer.Raw[0])+says) ||
				jobs.ExitCode([]ledger.Result{res}, false, true) == jobs.ExitDone {
				t.Errorf("the replay says %s, want %s", text, says)
			}
			if r.rowsOf()[day] != rows || r.records()[day].Seq != newer.Seq {
				t.Error("the older numbers are published")
			}
		})
	}
}
