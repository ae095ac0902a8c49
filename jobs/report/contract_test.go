package report_test

import (
	"errors"
	"maps"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/report"
)

// bytes are those of all files.
func (r *rig) bytes() map[civil.Date]string {
	r.t.Helper()
	all := map[civil.Date]string{}
	for day, path := range r.files() {
		text, err := os.ReadFile(path)
		check(r.t, err)
		all[day] = string(text)
	}
	return all
}

// What the service or the config changes in the columns of a table ends a frozen job before
// anything is published. Without a contract the job does as it always did: evolves says whether it
// publishes.
func TestContract(t *testing.T) {
	level := report.Selector{Glob: "level_*", Metrics: []string{"events"}}
	drift := func(how, column string) func(*testing.T, *rig) {
		return func(_ *testing.T, r *rig) {
			r.server.SetFaults([]emulator.Fault{{Kind: emulator.FaultDrift, Drift: how, Column: column, Every: 1,
				Query: "app_token"}})
		}
	}
	for name, c := range map[string]struct {
		change  func(*testing.T, *rig)
		want    []string
		config  bool // the config changes: nothing is asked
		evolves bool
	}{
		"nothing": {change: func(*testing.T, *rig) {}, evolves: true},
		"a column more": {drift(emulator.DriftExtra, ""), []string{`holds without being asked for "extra"`}, false,
			true},
		"a column more, once": {func(_ *testing.T, r *rig) {
			client := *r.client.HTTP
			client.Transport = &slowStart{RoundTripper: client.Transport}
			r.client.HTTP = &client
			r.server.SetFaults([]emulator.Fault{{Kind: emulator.FaultDrift, Drift: emulator.DriftExtra, Nth: 1,
				Query: "dimensions=day,app_token"}})
		}, []string{`holds without being asked for "extra"`}, false, true},
		"a column less": {drift(emulator.DriftMissing, "cost"), []string{`lacks "cost"`}, false, false},
		"a column renamed": {drift(emulator.DriftRename, "cost"), []string{`lacks "cost"`, `"cost_v2"`}, false,
			false},
		"a metric is unknown": {refuse("cost"), []string{"Unsupported metric: cost"}, false, false},
		"an event is gone": {event("purchase", "Bought"),
			[]string{"purchase_events has no values any more, because its event is gone"}, false, true},
		"an event is new": {event("tutorial_complete", "Level 99"), []string{"level_99_events is new"}, false,
			true},
		"a metric is added": {metrics("installs", "cost", "clicks", "sessions"), []string{"sessions is new"}, true,
			true},
		"a metric is taken out": {metrics("installs", "clicks"), []string{"cost is gone"}, true, true},
		"a metric is renamed": {func(_ *testing.T, r *rig) { r.options.Rename = map[string]string{"cost": "spend"} },
			[]string{"spend is new", "cost is gone"}, true, true},
		"another type": {func(_ *testing.T,
			r *rig) {
			r.options.Types = map[string]catalog.Type{"clicks": catalog.Double}
		},
			[]string{"column clicks was int64 and is now double"}, true, false},
	} {
		for _, frozen := range []bool{true, false} {
			t.Run(name+map[bool]string{true: ", frozen", false: ""}[frozen], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t, emulator.Options{Seed: 3, Apps: 2, Rate: -1, Days: 20})
					defer r.close()
					r.parallel, r.client.InFlight, r.client.Attempts = 3, 3, 2
					r.options.Events = []report.Selector{{Slug: "purchase", Metrics: []string{"events"}}, level}
					r.options.Query.Dimensions, r.options.Query.Metrics = []string{"day", "app_token"},
						[]string{"installs", "cost", "clicks"}
					r.options.Rules.Page, r.options.Rules.Lookback, r.options.NullMissing = 2, 9, !frozen
					time.Sleep(7 * time.Hour)
					r.from(civil.DateOf(time.Now()).AddDays(-9))
					r.ok()
					r.options.Frozen = frozen
					r.ok()
					before, records, asked := r.bytes(), r.records(), len(r.server.Requests())
					c.change(t, r)
					time.Sleep(48 * time.Hour)
					res := r.run(t.Context())
					err := errors.Join(res.Errs...)
					if !frozen || c.want == nil {
						if res.Outcome.Written >= 2 != c.evolves {
							t.Errorf("without a contract: %v, %+v", err, res.Outcome)
						}
						return
					}
					for _, text := range append(c.want,
						"; undo the change, or let a run with contract: evolve take it into the table") {
						if (err == nil || !strings.Contains(err.Error(), text)) && name != "another type" {
							t.Errorf("the run says %v, want %q", err, text)
						}
					}
					code := map[bool]int{true: jobs.ExitUsage, false: jobs.ExitFailed}[c.config]
					if got := jobs.ExitCode([]ledger.Result{res}, false, true); got != code ||
						errors.Is(err, ledger.ErrRefused) != c.config {
						t.Errorf("exit code %d, want %d: %v", got, code, err)
					}
					if c.config && len(r.server.Requests()) != asked {
						t.Error("the service was asked")
					}
					if res.Outcome.Done() > 0 || !maps.Equal(r.bytes(), before) ||
						!maps.EqualFunc(r.records(), records, func(a, b ledger.Record) bool { return a.Seq == b.Seq }) {
						t.Errorf("the table has been touched: %+v", res.Outcome)
					}
				})
			})
		}
	}
}

// slowStart lets the first answer with rows come late, so that what needn't wait for it comes
// before.
type slowStart struct {
	http.RoundTripper
	begun atomic.Bool
}

func (s *slowStart) RoundTrip(q *http.Request) (*http.Response, error) {
	rows := strings.HasPrefix(q.URL.Query().Get("dimensions"), "day,app_token")
	res, err := s.RoundTripper.RoundTrip(q)
	if rows && s.begun.CompareAndSwap(false, true) {
		time.Sleep(5 * time.Second)
	}
	return res, err
}

func metrics(names ...string) func(*testing.T, *rig) {
	return func(_ *testing.T, r *rig) { r.options.Query.Metrics = names }
}

func event(slug, name string) func(*testing.T, *rig) {
	return func(t *testing.T, r *rig) {
		t.Helper()
		check(t, r.server.RenameEvent(slug, name))
	}
}

func refuse(metric string) func(*testing.T, *rig) {
	return func(_ *testing.T, r *rig) {
		client := *r.client.HTTP
		client.Transport = refusingMetric{client.Transport, metric}
		r.client.HTTP = &client
	}
}
