package report_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/report"
	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/blobsink"
)

// Two ledgers never fill one table with numbers of two meanings. What an older ledger has put there
// is refused before any request, unless a person asks for it to be replaced, or it means the same.
func TestFilesOfAnotherLedger(t *testing.T) {
	week := func(o *report.Options) {
		o.Query.Dimensions = []string{"week", "network"}
		o.Rules.Period = refresh.Week
		o.Rules.Page = 4
	}
	for name, c := range map[string]struct {
		change  func(*report.Options)
		refused string // a piece of the error; empty: the run goes on
		warned  bool
	}{
		"the same": {change: func(*report.Options) {}, warned: true},
		"a metric less": {change: func(o *report.Options) { o.Query.Metrics = o.Query.Metrics[:2] },
			refused: "with columns that the config lacks: cost, network_cost, all_revenue, ecpi_all, " +
				"retention_rate_d1, roas_d7. A fetch"},
		"a metric dropped": {change: func(o *report.Options) {
			o.Drop, o.Query.Metrics = o.Query.Metrics[2:],
				o.Query.Metrics[:2]
		}, warned: true},
		"a metric more": {change: func(o *report.Options) { o.Query.Metrics = append(o.Query.Metrics, "sessions") },
			warned: true},
		"the same, forced": {change: func(o *report.Options) { o.Rules.IgnoreLedger = true }, warned: true},
		"a dimension": {change: func(o *report.Options) { o.Query.Dimensions = o.Query.Dimensions[:3] },
			refused: "the columns day, app, app_token, os_name, country_code, network, campaign, installs,"},
		"the currency": {change: func(o *report.Options) { o.Query.Currency = "EUR" }, refused: "currency"},
		"the account":  {change: func(o *report.Options) { o.Account = "other" }, refused: "run --rebaseline"},
		"weeks":        {change: week, refused: "give this job another table"},
		"rebaseline": {change: func(o *report.Options) { o.Query.Currency, o.Rebaseline = "EUR", true },
			warned: true},
		"rebaseline, a day": {change: func(o *report.Options) {
			o.Query.Currency, o.Rebaseline = "EUR", true
			was := o.Start
			o.Start = func(today civil.Date) civil.Date { return was(today).AddDays(1) }
		},
			refused: "would leave the older ones with their meaning: let start be "},
		"force": {change: func(o *report.Options) { o.Query.Currency, o.Rules.IgnoreLedger = "EUR", true },
			warned: true},
		"weeks, rebaseline": {change: func(o *report.Options) { week(o); o.Rebaseline = true },
			refused: "old ones would stay beside the new"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, emulator.Options{Seed: 7, Apps: 1, Rate: -1})
				defer r.close()
				r.options.Events = nil
				r.start(2)
				r.ok()
				before := len(r.server.Requests())
				check(t, r.ledger.Close())
				r.ledger = ledger.Open(ledger.Options{Store: bucket.NewMemory(), URL: "mem://another"})
				var said bytes.Buffer
				r.options.Log = slog.New(slog.NewTextHandler(&said, nil))
				c.change(&r.options)
				res := r.run(t.Context())
				asked := len(r.server.Requests()) > before
				if err := errors.Join(res.Errs...); c.refused == "" && (err != nil || !asked) {
					t.Errorf("got %v, asked %v", err, asked)
				} else if c.refused != "" && (!errors.Is(err, ledger.ErrRefused) ||
					!strings.Contains(err.Error(), c.refused) || asked) {
					t.Errorf("got %v, asked %v, want a refusal with %q", err, asked, c.refused)
				}
				if warned := strings.Contains(said.String(), "didn't put there"); warned != c.warned {
					t.Errorf("warned: %v in %s", warned, &said)
				}
			})
		})
	}
}

// One file doesn't speak for all: the newest may be cut, and a rebaseline may have come half way.
func TestFilesOfTwoMeanings(t *testing.T) {
	for name, spoil := range map[string]func(r *rig, paths []string){
		"the newest is cut": func(r *rig, paths []string) {
			check(r.t, os.Truncate(paths[2], 100))
			r.options.Query.Currency = "EUR"
		},
		"half way": func(r *rig, paths []string) {
			old, err := os.ReadFile(paths[0])
			check(r.t, err)
			r.options.Query.Currency, r.options.Rebaseline = "EUR", true
			r.ok()
			check(r.t, os.WriteFile(paths[0], old, 0o600))
			r.options.Rebaseline = false
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, emulator.Options{Seed: 7, Apps: 1, Rate: -1})
				defer r.close()
				r.options.Events = nil
				r.start(3)
				r.ok()
				paths := slices.Sorted(maps.Values(r.files()))
				spoil(r, paths)
				check(t, r.ledger.Close())
				r.ledger = ledger.Open(ledger.Options{Store: bucket.NewMemory(), URL: "mem://another"})
				before, err := os.ReadFile(paths[1])
				check(t, err)
				if res := r.run(t.Context()); !errors.Is(errors.Join(res.Errs...), ledger.ErrRefused) {
					t.Errorf("got %+v", res)
				}
				if after, err := os.ReadFile(paths[1]); err != nil || !bytes.Equal(after, before) {
					t.Errorf("it was replaced (%v)", err)
				}
			})
		})
	}
}

// The ledger's own files are known, also where the run that put them didn't come to record it; a
// sink that is added may hold somebody else's.
func TestFilesOfThisLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 7, Apps: 1, Rate: -1})
		defer r.close()
		var said bytes.Buffer
		r.options.Log = slog.New(slog.NewTextHandler(&said, nil))
		r.options.Events = nil
		r.start(2)
		r.options.Targets = []ledger.Target{{Name: "out", Sink: lossy{r.sink.(*blobsink.Sink)}}}
		if res := r.run(t.Context()); len(res.Errs) == 0 || len(r.files()) != 2 {
			t.Fatal("the answers of the puts arrived", r.files())
		}
		r.options.Targets = nil
		r.ok()
		r.ok()
		if strings.Contains(said.String(), "didn't put there") {
			t.Error(said.String())
		}
		check(t, os.RemoveAll(r.out+"/installs"))
		check(t, r.ledger.Close())
		r.ledger = ledger.Open(ledger.Options{Store: bucket.NewMemory(), URL: "mem://another"})
		meanwhile := sync.OnceFunc(func() { r.options.Targets = nil; r.ok() })
		r.options.Targets = []ledger.Target{{Name: "out", Sink: &busy{r.sink.(*blobsink.Sink), meanwhile}}}
		if r.ok(); strings.Contains(said.String(), "didn't put there") {
			t.Error("files of another process:", said.String())
		}
		dir := t.TempDir()
		check(t, os.CopyFS(dir, os.DirFS(r.out)))
		another, err := blobsink.Open(t.Context(), "file://"+dir)
		check(t, err)
		defer another.Close() //nolint:errcheck // only read
		r.options.Targets = []ledger.Target{{Name: "out", Sink: r.sink}, {Name: "another", Sink: another}}
		r.ok()
		r.ok()
		if strings.Count(said.String(), "didn't put there") != 1 ||
			!strings.Contains(said.String(), "another already holds files of this table (2)") {
			t.Error(said.String())
		}
	})
}

// Files that can't be read may be anybody's, so that nothing is put over them.
func TestFilesThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 7, Apps: 1, Rate: -1})
		defer r.close()
		r.options.Events = nil
		r.start(2)
		r.ok()
		check(t, r.ledger.Close())
		r.ledger = ledger.Open(ledger.Options{Store: bucket.NewMemory(), URL: "mem://another"})
		before := len(r.server.Requests())
		r.options.Targets = []ledger.Target{{Name: "out", Sink: deaf{r.sink.(*blobsink.Sink)}}}
		res := r.run(t.Context())
		if err := errors.Join(res.Errs...); !errors.Is(err, os.ErrDeadlineExceeded) ||
			len(r.server.Requests()) > before {
			t.Errorf("got %v after %d requests", err, len(r.server.Requests())-before)
		}
	})
}

// A deaf sink's files can't be read.
type deaf struct{ *blobsink.Sink }

func (deaf) At(context.Context, string) io.ReaderAt { return deafFile{} }

type deafFile struct{}

func (deafFile) ReadAt([]byte, int64) (int, error) { return 0, os.ErrDeadlineExceeded }

// A lossy sink puts, and its answer is lost.
type lossy struct{ *blobsink.Sink }

func (s lossy) Put(ctx context.Context, p sinks.Part) (sinks.Receipt, error) {
	_, err := s.Sink.Put(ctx, p)
	return sinks.Receipt{}, errors.Join(errors.New("the answer is lost"), err)
}

// A busy sink is one that another process of the same ledger fills before it is looked at.
type busy struct {
	*blobsink.Sink
	meanwhile func()
}

func (s *busy) List(ctx context.Context, table string) ([]sinks.Object, error) {
	s.meanwhile()
	return s.Sink.List(ctx, table)
}
