package report_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/report"
)

// listing is a rig whose rows are asked for by the apps that the service lists, or that a test
// says; the log is what the runs say.
func listing(t *testing.T, o emulator.Options, list func() ledger.Scope) (*rig, *bytes.Buffer) {
	r := newRig(t, o)
	r.start(3)
	r.options.Listed, r.options.Visible = true, report.Visible
	if list != nil {
		r.options.Visible = func(context.Context, *adjust.Client) ledger.Scope { return list() }
	}
	r.options.Events = nil
	log := &bytes.Buffer{}
	r.options.Log = slog.New(slog.NewTextHandler(log, nil))
	return r, log
}

func (r *rig) tokens() (tokens []string) {
	for _, app := range r.server.Apps() {
		tokens = append(tokens, app.Token)
	}
	slices.Sort(tokens)
	return tokens
}

// Where the service leaves newer trackers out without a list of apps, the list brings them, and no
// total is taken for a difference. Where it doesn't, the table is the same with a list and without.
func TestListedApps(t *testing.T) {
	for _, choice := range []string{"list-of-apps=needed", "list-of-apps=free"} {
		for name, dimensions := range map[string][]string{"by app": {"day", "app_token", "network"},
			"by network": {"day", "network"}} {
			t.Run(choice+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r, _ := listing(t, emulator.Options{Seed: 3, Apps: 3, Rate: -1, Readings: alone(choice)}, nil)
					defer r.close()
					r.options.Query.Dimensions = dimensions
					r.ok()
					free := newRig(t, emulator.Options{Seed: 3, Apps: 3, Rate: -1,
						Readings: alone("list-of-apps=free")})
					defer free.close()
					free.options, free.out = r.options, r.out
					first := civil.DateOf(time.Now()).AddDays(-3)
					if n := free.equalsTruth(first, 3); n < 50 {
						t.Errorf("only %d cells to compare", n)
					}
					if r.rowsOf()[first] == "" || !strings.Contains(r.rowsOf()[first], "AppLovin") {
						t.Errorf("the newer tracker isn't there: %s", r.rowsOf()[first])
					}
					for day, e := range r.records() {
						if e.Control.State != ledger.Reconciled {
							t.Errorf("%s is %+v", day, e.Control)
						}
					}
				})
			})
		}
	}
}

// What the list lacks shows as a difference, because totals are asked for without it too. A new app
// is added and said, and changes no meaning; nor does another setting.
func TestAListThatLacksAnApp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lacks := 1
		var r *rig
		r, log := listing(t, emulator.Options{Seed: 3, Apps: 3, Rate: -1}, func() ledger.Scope {
			return ledger.Scope{Source: "filters_data", Apps: r.tokens()[lacks:]}
		})
		defer r.close()
		r.run(t.Context())
		for day, e := range r.records() {
			if e.Control.State != ledger.Unreconciled || !strings.Contains(e.Control.Say(), r.tokens()[0]) {
				t.Errorf("%s is %+v", day, e.Control)
			}
		}
		time.Sleep(24 * time.Hour)
		lacks = 0
		r.ok()
		if said := "apps are new in the service's list, and are asked for from now on"; strings.Count(log.String(),
			said) != 1 || !strings.Contains(log.String(), "apps="+r.tokens()[0]) {
			t.Errorf("it isn't said once: %s", log)
		}
		for day, e := range r.records() {
			if e.Control.State != ledger.Reconciled {
				t.Errorf("%s is %+v", day, e.Control)
			}
		}
		time.Sleep(24 * time.Hour)
		r.options.Listed = false
		r.ok()
	})
}

// A list is known by what it can't have, and without any list nothing is fetched.
func TestListsOfOtherEndpoints(t *testing.T) {
	for source, want := range map[string]string{
		"events": "the service has no list of apps, so that it is that of events; apps without events aren't in it",
		"csv_report": "the service has no list of apps, so that it is that of csv_report; apps without rows in the " +
			"last 90 days aren't in it",
		"": "",
	} {
		t.Run("by "+source, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r *rig
				r, log := listing(t, emulator.Options{Seed: 3, Apps: 2, Rate: -1}, func() ledger.Scope {
					if source == "" {
						return ledger.Scope{}
					}
					return ledger.Scope{Source: source, Apps: r.tokens()}
				})
				defer r.close()
				res := r.run(t.Context())
				if err := errors.Join(res.Errs...); source == "" &&
					(!errors.Is(err, jobs.ErrStop) || !strings.Contains(err.Error(),
						"app_scope: listed: the service lists no apps") ||
						len(r.server.Requests()) > 0) || source != "" && err != nil {
					t.Errorf("%v after %d requests", err, len(r.server.Requests()))
				}
				if want != "" && strings.Count(log.String(), want) != 1 {
					t.Errorf("it isn't said once: %s", log)
				}
			})
		})
	}
}

// With a list, one day that is too much for the service is asked for app by app, without a person
// naming the apps.
func TestListedAppByApp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := listing(t, emulator.Options{Seed: 3, Apps: 4, Rate: -1, MaxPairs: 2,
			Readings: []string{"app-without-data=none"}}, nil)
		defer r.close()
		r.options.Reconcile = report.ReconcileOff
		r.ok()
		r.options.Query.Filters = nil
		if files := r.files(); len(files) != 3 {
			t.Errorf("%d days", len(files))
		}
	})
}

// A list that makes an address too long is sent in groups where their rows can be added, and is
// refused with what to do where they can't.
func TestALongListOfApps(t *testing.T) {
	const many = 600
	for _, c := range []struct {
		name                string
		dimensions, metrics []string
		want                string
	}{
		{"by app", []string{"day", "app_token", "network"}, []string{"installs", "cost", "ecpi_all"}, ""},
		{"sums", []string{"day", "network"}, []string{"installs", "cost"}, ""},
		{"ratios", []string{"day", "network"}, []string{"installs", "ecpi_all"},
			"bytes, and max_url is 6000: add app_token to the dimensions"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r *rig
				r, _ = listing(t, emulator.Options{Seed: 3, Apps: 3, Rate: -1, Readings: alone("unknown-apps=none")},
					func() ledger.Scope {
						apps := r.tokens()
						for n := len(apps); n < many; n++ {
							apps = append(apps, fmt.Sprintf("none%08d", n))
						}
						slices.Sort(apps)
						return ledger.Scope{Source: "filters_data", Apps: apps}
					})
				defer r.close()
				r.options.Query.Dimensions, r.options.Query.Metrics = c.dimensions, c.metrics
				res := r.run(t.Context())
				if err := errors.Join(res.Errs...); c.want != "" {
					if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, jobs.ErrStop) {
						t.Errorf("%v, want %s", err, c.want)
					}
					return
				} else if err != nil {
					t.Fatal(err)
				}
				longest, sent := 0, map[string]bool{}
				for _, q := range r.server.Requests() {
					v, err := url.ParseQuery(q.Query)
					check(t, err)
					longest = max(longest, len(q.Query))
					for app := range strings.SplitSeq(v.Get("app_token__in"), ",") {
						sent[app] = app != ""
					}
				}
				delete(sent, "")
				if longest > 6000 || longest < 5000 || len(sent) != many {
					t.Errorf("the longest query has %d bytes, and %d apps were asked for", longest, len(sent))
				}
				if n := r.equalsTruth(civil.DateOf(time.Now()).AddDays(-3), 3); n < 50 {
					t.Errorf("only %d cells to compare", n)
				}
			})
		})
	}
}

// The first run says which setting is right, and a later one nothing.
func TestWhichScope(t *testing.T) {
	for _, c := range []struct {
		choice, want string
		listed       bool
		lacks        int
	}{
		{"list-of-apps=needed", "set app_scope: listed", false, 0},
		{"list-of-apps=needed", "", true, 0},
		{"list-of-apps=free", "", false, 0},
		{"list-of-apps=free", "", true, 0},
		{"list-of-apps=free", "set app_scope: account", true, 1},
		{"list-of-apps=free", "", false, 1},
	} {
		for _, how := range []report.Reconcile{report.ReconcileOff, report.ReconcileWarn} {
			t.Run(fmt.Sprintf("%s %v %d %s", c.choice, c.listed, c.lacks, how), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var r *rig
					r, log := listing(t, emulator.Options{Seed: 3, Apps: 3, Rate: -1, Readings: alone(c.choice)},
						func() ledger.Scope {
							return ledger.Scope{Source: "filters_data", Apps: r.tokens()[c.lacks:]}
						})
					defer r.close()
					time.Sleep(12 * time.Hour)
					r.options.Listed, r.options.Reconcile = c.listed, how
					res := r.ok()
					if asked := int64(len(r.server.Requests())); res.Outcome.Requests != asked || !c.listed &&
						c.want == "" && c.lacks == 0 && asked > 3 {
						t.Errorf("%d requests are counted, of %d", res.Outcome.Requests, asked)
					}
					for day, e := range r.records() {
						if how != report.ReconcileOff && !c.listed && e.Control.State != ledger.Reconciled {
							t.Errorf("%s is %+v", day, e.Control)
						}
					}
					time.Sleep(24 * time.Hour)
					r.ok()
					for _, q := range r.server.Requests()[res.Outcome.Requests:] {
						if !c.listed && strings.Contains(q.Query, "app_token__in") {
							t.Errorf("a later run names apps: %s", q.Query)
						}
					}
					if n := strings.Count(log.String(), "set app_scope"); n != min(1, len(c.want)) ||
						!strings.Contains(log.String(), c.want) {
						t.Errorf("it is said %d times, want %q: %s", n, c.want, log)
					}
				})
			})
		}
	}
}

// Totals that nothing is compared with are those of the rows' own scope.
func TestTotalsThatVouchForNothing(t *testing.T) {
	var totals [2]string
	for lacks := range totals {
		synctest.Test(t, func(t *testing.T) {
			var r *rig
			r, _ = listing(t, emulator.Options{Seed: 3, Apps: 3, Rate: -1}, func() ledger.Scope {
				return ledger.Scope{Source: "filters_data", Apps: r.tokens()[lacks:]}
			})
			defer r.close()
			r.options.Listed, r.options.Query.Metrics = false, []string{"daus"}
			r.ok()
			records := r.records()
			for _, day := range slices.SortedFunc(maps.Keys(records), civil.Date.Compare) {
				e := records[day]
				totals[lacks] += fmt.Sprint(e.Partition, e.Control.State, e.Control.Totals)
			}
		})
	}
	if totals[0] != totals[1] || totals[0] == "" {
		t.Errorf("with a list that lacks an app the totals are\n%s\nand with a whole one\n%s", totals[1], totals[0])
	}
}
