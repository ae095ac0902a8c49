package report_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/report"
	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/blobsink"
)

// targetOf is a sink as a config names it.
func targetOf(t testing.TB, rawURL string) ledger.Target {
	t.Helper()
	s, err := blobsink.Open(t.Context(), rawURL)
	check(t, err)
	t.Cleanup(func() { check(t, s.Close()) })
	return ledger.Target{Name: sinks.Redact(rawURL), Sink: s, Store: s.Store(), NamesMore: sinks.NamesMore(rawURL)}
}

// Files of another layout in the table's folder are refused before any request, also when the
// ledger is new, and whatever a person asks for: readers would find each row twice. Another folder
// takes the new layout, and so does the old one when it is empty.
func TestAnotherLayout(t *testing.T) {
	const flat, deep = "?key={table}/{date}.parquet", "?key={table}/v2/dt={date}/part-0.parquet"
	for name, c := range map[string]struct {
		from, to string
		change   func(*rig)
		refused  bool
	}{
		"flat":           {to: flat, refused: true},
		"back from flat": {from: flat, refused: true},
		"a level deeper": {to: deep, refused: true},
		"a level higher": {from: deep, refused: true},
		"a lost ledger":  {to: flat, refused: true, change: func(r *rig) { r.anotherLedger() }},
		"forced": {to: flat, refused: true, change: func(r *rig) {
			r.options.Rules.IgnoreLedger,
				r.options.Rebaseline = true, true
		}},
		"another folder":  {to: "/new" + flat},
		"by date, beside": {to: "?key={date}/{table}.parquet"},
		"by name, beside": {to: "?key={table}-{date}.parquet"},
		"deleted":         {to: flat, change: func(r *rig) { check(r.t, os.RemoveAll(r.out+"/installs")) }},
		"deleted, and filled in another layout since": {refused: true, change: func(r *rig) {
			check(r.t, os.RemoveAll(r.out+"/installs"))
			r.options.Targets = []ledger.Target{targetOf(r.t, "file://"+r.out+flat)}
			time.Sleep(24 * time.Hour)
			first := civil.DateOf(time.Now()).AddDays(-3).String() // what was put of this day keeps its record
			r.options.Rules.Page = 1
			r.server.SetFaults([]emulator.Fault{{Kind: emulator.FaultStatus, Status: 500, Query: first, Every: 1}})
			if res := r.run(r.t.Context()); res.Outcome.Written != 2 || len(res.Errs) != 1 {
				r.t.Fatalf("%+v, %v", res.Outcome, res.Errs)
			}
			r.server.SetFaults(nil)
		}},
		"set aside": {to: flat, change: func(r *rig) {
			check(r.t, os.Rename(r.out+"/installs", r.out+"/old"))
			check(r.t, os.Mkdir(r.out+"/installs", 0o755))
			check(r.t, os.Rename(r.out+"/old", r.out+"/installs/_old")) // where readers don't look
		}},
		"of another table": {to: flat, change: func(r *rig) {
			check(r.t, os.RemoveAll(r.out+"/installs"))
			r.options.Table = "others"
			r.ok()
			r.options.Table = "installs"
			check(r.t, os.Mkdir(r.out+"/installs", 0o755))
			check(r.t, os.Rename(r.out+"/others", r.out+"/installs/others"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, emulator.Options{Seed: 7, Apps: 1, Rate: -1})
				defer r.close()
				r.options.Events = nil
				r.start(2)
				r.options.Targets = []ledger.Target{targetOf(t, "file://"+r.out+c.from)}
				r.ok()
				if c.change != nil {
					c.change(r)
				}
				before, files := len(r.server.Requests()), parquets(t, r.out)
				where, _, _ := strings.Cut(c.to, "?")
				check(t, os.MkdirAll(r.out+where, 0o755))
				r.options.Targets = []ledger.Target{targetOf(t, "file://"+r.out+c.to)}
				res := r.run(t.Context())
				err := errors.Join(res.Errs...)
				if !c.refused {
					if err != nil || parquets(t, r.out) != files+2 {
						t.Errorf("%v; %d files, were %d", err, parquets(t, r.out), files)
					}
					return
				}
				if !errors.Is(err, ledger.ErrRefused) || !strings.Contains(err.Error(),
					"other keys than those of its layout (2, such as installs/") ||
					!strings.Contains(err.Error(), "another folder") {
					t.Errorf("got %v", err)
				}
				if asked := len(r.server.Requests()) - before; asked > 0 || parquets(t, r.out) != files {
					t.Errorf("%d requests; %d files, were %d", asked, parquets(t, r.out), files)
				}
			})
		})
	}
}

// A copy of a part beside it is no other layout: runs go on, and say that readers find its rows,
// too.
func TestCopyBesideAPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 7, Apps: 1, Rate: -1})
		defer r.close()
		r.options.Events = nil
		r.start(2)
		r.ok()
		for _, path := range r.files() {
			data, err := os.ReadFile(path)
			check(t, err)
			check(t, os.WriteFile(filepath.Dir(path)+"/copy.parquet", data, 0o600))
			check(t, os.WriteFile(filepath.Dir(path)+"/theirs.parquet", bytes.Repeat([]byte("no Parquet"), 9), 0o600))
		}
		for range 2 {
			var log bytes.Buffer
			r.options.Log = slog.New(slog.NewTextHandler(&log, nil))
			r.ok()
			if !strings.Contains(log.String(),
				"out holds files of this table under other keys than those of its layout (4, such as installs/dt=") {
				t.Error(log.String())
			}
		}
	})
}

func parquets(t *testing.T, dir string) (n int) {
	t.Helper()
	check(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".parquet") {
			n++
		}
		return err
	}))
	return n
}

// anotherLedger goes on with a ledger that knows nothing.
func (r *rig) anotherLedger() {
	check(r.t, r.ledger.Close())
	r.ledger = ledger.Open(ledger.Options{Store: bucket.NewMemory(), URL: "mem://another"})
}

// Two ledgers that fill one table are both warned at each run, and the first is refused when the
// other's numbers mean something else.
func TestTwoLedgersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 7, Apps: 1, Rate: -1})
		defer r.close()
		r.options.Events = nil
		r.start(2)
		ledgers := []*ledger.Ledger{r.ledger, ledger.Open(ledger.Options{Store: bucket.NewMemory(),
			URL: "mem://other"})}
		defer func() { check(t, ledgers[1].Close()) }()
		turn := func(who int, change func(*report.Options)) (said string, err error) {
			var log bytes.Buffer
			o := r.options
			o.Log = slog.New(slog.NewTextHandler(&log, nil))
			change(&o)
			defer func(own *ledger.Ledger) { r.ledger = own }(r.ledger)
			r.ledger = ledgers[who]
			time.Sleep(time.Minute)
			err = errors.Join(r.runAs(t.Context(), o).Errs...)
			return log.String(), err
		}
		usual := func(*report.Options) {}
		euro := func(o *report.Options) { o.Query.Currency = "EUR" }
		for night := range 6 {
			said, err := turn(night%2, usual)
			check(t, err)
			if warned := strings.Contains(said,
				"out already holds files of this table (2) that this ledger didn't put there"); warned != (night > 0) {
				t.Errorf("night %d: warned %v: %s", night, warned, said)
			}
		}
		if said, err := turn(1, usual); err != nil || strings.Contains(said, "didn't put there") {
			t.Errorf("twice in a row: %v %s", err, said)
		}
		_, err := turn(0, euro)
		if !errors.Is(err, ledger.ErrRefused) {
			t.Errorf("another currency: %v", err)
		}
		_, err = turn(0, func(o *report.Options) { euro(o); o.Rebaseline = true })
		check(t, err)
		before := len(r.server.Requests())
		_, err = turn(1, usual)
		if asked := len(r.server.Requests()) - before; asked > 0 || !errors.Is(err, ledger.ErrRefused) ||
			!strings.Contains(err.Error(), "Their numbers mean something else") {
			t.Errorf("the other one put euros there: %d requests, %v", asked, err)
		}
		_, err = turn(1, func(o *report.Options) { o.Rules.IgnoreLedger = true })
		check(t, err)
		if r.equalsTruth(civil.DateOf(time.Now()).AddDays(-2), 2) == 0 {
			t.Error("nothing was compared")
		}
	})
}

// A partition that only the other ledger knows is read beside ours.
func TestAnotherLedgersDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 7, Apps: 1, Rate: -1})
		defer r.close()
		r.options.Events = nil
		r.start(5)
		r.ok()
		r.anotherLedger()
		r.start(2)
		r.ok()
		var log bytes.Buffer
		r.options.Log = slog.New(slog.NewTextHandler(&log, nil))
		r.ok()
		if !strings.Contains(log.String(), "files of this table (3) that this ledger didn't put there") {
			t.Error(log.String())
		}
		r.options.Query.Currency, r.options.Rebaseline = "EUR", true
		if err := errors.Join(r.run(t.Context()).Errs...); !errors.Is(err, ledger.ErrRefused) {
			t.Errorf("three days in dollars would stay beside two in euros: %v", err)
		}
		r.start(5)
		r.ok()
		r.start(2)
		r.options.Rebaseline = false
		r.ok()
	})
}

// Events of one name stop a job at its first window, before a report is asked for: all others would
// come to the same.
func TestClashStopsTheJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 7, Apps: 1, Rate: -1})
		defer r.close()
		r.start(30)
		r.options.Events = []report.Selector{{Glob: "purch*", Metrics: []string{"events"}},
			{Glob: "*chase", Metrics: []string{"events"}}}
		res := r.run(t.Context())
		if len(res.Errs) != 1 || !errors.Is(res.Errs[0], ledger.ErrRefused) ||
			!strings.Contains(res.Errs[0].Error(), "two columns are named purchase_events") {
			t.Errorf("got %v", res.Errs)
		}
		for _, request := range r.server.Requests() {
			if strings.HasSuffix(request.Path, "/csv_report") {
				t.Errorf("asked for %s", request.Path)
			}
		}
	})
}
