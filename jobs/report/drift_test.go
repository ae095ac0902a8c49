package report_test

import (
	"math/rand/v2"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/report"
	"github.com/reportferry/reportferry/sinks"
)

// watched makes a rig of a table with so many days of finals, fetched by its first run, and with a
// run each night. Requests for rows have the dimension campaign.
func watched(t *testing.T, days int) (*rig, *liar) {
	t.Helper()
	r := newRig(t, emulator.Options{Seed: 3, Apps: 2, Rate: -1, Days: days + 5, Readings: documented()})
	schedule, err := refresh.ParseSchedule("0 6 * * *", "UTC")
	check(t, err)
	r.options.Rules.Schedule, r.client.Attempts = schedule, 3
	l := &liar{RoundTripper: r.client.HTTP.Transport}
	r.client.HTTP = &http.Client{Transport: l}
	r.options.Events, r.options.Reconcile = nil, report.ReconcileOff
	r.options.Query.Dimensions = []string{"day", "campaign"}
	r.options.Query.Metrics = []string{"installs", "clicks", "cost"}
	r.options.Rules.Lookback, r.options.Rules.Page, r.options.FinalAfter = 2, 31, 2
	r.options.Drift = report.Drift{Days: 90}
	time.Sleep(5 * time.Hour)
	r.from(civil.DateOf(time.Now()).AddDays(-days))
	r.ok()
	return r, l
}

// restate changes the installs of a day.
func (r *rig) restate(day civil.Date) {
	r.t.Helper()
	check(r.t, r.server.Restate(r.t.Context(), emulator.Restatement{Day: day.String(), Metric: "installs", Delta: 7}))
}

// record is that of a day.
func (r *rig) record(day civil.Date) ledger.Record {
	r.t.Helper()
	table, err := r.ledger.Table(r.t.Context(), r.options.Table)
	check(r.t, err)
	e, _ := table.Record(day)
	return e
}

// looked counts the requests for totals since it was called last.
func (l *liar) looked() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, q := range l.asked {
		if !isRows(q) {
			n++
		}
	}
	l.asked = nil
	return n
}

// Of a year of finals no day that moves stays unseen for longer than a week, at one small request a
// night.
func TestNoFinalMovesUnseen(t *testing.T) {
	slow.Test(t)
	days, nights := 365, 40
	if testing.Short() {
		days, nights = 200, 12
	}
	synctest.Test(t, func(t *testing.T) {
		r, l := watched(t, days)
		defer r.close()
		first := civil.DateOf(time.Now()).AddDays(-days)
		dice := rand.New(rand.NewPCG(18, 3))
		schedule := r.options.Rules.Schedule
		open := map[civil.Date]time.Time{} // days that moved, and since when
		moved, mended := 0, 0
		for night := range nights {
			time.Sleep(6 * time.Hour)
			for range dice.IntN(3) {
				day := first.AddDays(dice.IntN(days - 4 + night))
				if _, is := open[day]; !is && night < nights-8 {
					open[day] = time.Now()
					moved++
					r.restate(day)
				}
			}
			sleepTo(schedule)
			l.looked()
			res := r.ok()
			if n := l.looked(); n > 1 {
				t.Errorf("night %d: %d requests for totals", night, n)
			}
			mended += res.Outcome.Moved
			for day, since := range open {
				e := r.record(day)
				if e.Fetched.After(since) {
					delete(open, day)
					if e.Reason != string(refresh.Drifted) || !e.Moved {
						t.Errorf("%s was fetched for %q, moved %v", day, e.Reason, e.Moved)
					}
				} else if time.Since(since) > 7*24*time.Hour {
					t.Errorf("night %d: %s has moved unseen since %s", night, day, since)
				}
			}
		}
		if len(open) > 0 || mended != moved || moved < nights/4 {
			t.Errorf("%d moved, %d were mended, %v are left", moved, mended, open)
		}
	})
}

// What a look finds is fetched in the same run, or by a later one when that fails; warn leaves the
// rows; a look that fails takes nothing from the rest, and is tried again.
func TestLooks(t *testing.T) {
	slow.Test(t)
	for name, c := range map[string]struct {
		change func(*rig, *liar) // before the night
		want   ledger.Outcome    // of what looks count
		exit   int
		next   ledger.Outcome // of a run right after
	}{
		"it moved": {func(*rig, *liar) {}, ledger.Outcome{Compared: 19, Moved: 1, Windows: 3}, jobs.ExitDone,
			ledger.Outcome{Windows: 1}},
		"warn": {func(r *rig, _ *liar) { r.options.Drift.Warn = true },
			ledger.Outcome{Compared: 19, Drifted: 1, Windows: 2}, jobs.ExitSome,
			ledger.Outcome{Moved: 1, Windows: 1}},
		"off": {func(r *rig, _ *liar) { r.options.Drift.Days = 0 }, ledger.Outcome{Windows: 1}, jobs.ExitDone,
			ledger.Outcome{Compared: 19, Moved: 1, Windows: 3}},
		"a range": {func(r *rig, _ *liar) { r.options.Rules.Through = civil.DateOf(time.Now()) },
			ledger.Outcome{Windows: 1}, jobs.ExitDone,
			ledger.Outcome{Compared: 19, Moved: 1, Windows: 3}},
		"the look fails": {func(_ *rig, l *liar) {
			l.refuse = func(q url.Values) int { return map[bool]int{false: 503}[isRows(q)] }
		}, ledger.Outcome{Unseen: 19, Windows: 2}, jobs.ExitSome, ledger.Outcome{Compared: 19, Moved: 1, Windows: 3}},
		"the fetch fails": {func(r *rig, l *liar) {
			day := civil.DateOf(time.Now()).AddDays(-11).String()
			l.refuse = func(q url.Values) int {
				return map[bool]int{true: 503}[isRows(q) && strings.HasPrefix(q.Get("date_period"), day)]
			}
		}, ledger.Outcome{Compared: 19, Windows: 3}, jobs.ExitSome, ledger.Outcome{Moved: 1, Windows: 1}},
		"too slow for the cell": {func(_ *rig, l *liar) {
			l.refuse = func(q url.Values) int {
				first, last, _ := strings.Cut(q.Get("date_period"), ":")
				return map[bool]int{true: 504}[!isRows(q) && first[:9] != last[:9]]
			}
		}, ledger.Outcome{Compared: 19, Moved: 1, Windows: 3}, jobs.ExitDone, ledger.Outcome{Windows: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, l := watched(t, 20)
				defer r.close()
				r.options.Rules.IgnoreSchedule = true
				r.restate(civil.DateOf(time.Now()).AddDays(-10))
				time.Sleep(24 * time.Hour)
				o := r.options
				c.change(r, l)
				night := func(o report.Options, want ledger.Outcome, exit int) {
					t.Helper()
					res := r.runAs(t.Context(), o)
					got := res.Outcome
					got = ledger.Outcome{Compared: got.Compared, Moved: got.Moved, Drifted: got.Drifted,
						Unseen: got.Unseen, Windows: got.Windows}
					if code := jobs.ExitCode([]ledger.Result{res}, false, true); !reflect.DeepEqual(got, want) ||
						code != exit {
						t.Errorf("%+v, exit %d, want %+v, exit %d: %v", got, code, want, exit, res.Errs)
					}
				}
				night(r.options, c.want, c.exit)
				l.refuse = nil
				night(o, c.next, jobs.ExitDone)
			})
		})
	}
}

// Damaged looks are an error that names them. Without them everything is looked at again.
func TestDamagedLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := watched(t, 20)
		defer r.close()
		time.Sleep(24 * time.Hour)
		r.ok()
		put := func(content map[string]any) {
			d := ledger.NewDocument[map[string]any](r.ledger, "tables/installs/notes.json", "")
			check(t, d.Change(t.Context(),
				ledger.Change[map[string]any]{Apply: func(c *map[string]any) error { *c = content; return nil }}))
		}
		put(map[string]any{"foreign": 1})
		res := r.run(t.Context())
		if len(res.Errs) != 1 || !strings.Contains(res.Errs[0].Error(), "tables/installs/notes.json is damaged") {
			t.Errorf("%v", res.Errs)
		}
		put(nil)
		if res := r.ok(); res.Outcome.Compared == 0 {
			t.Errorf("%+v", res.Outcome)
		}
	})
}

// Weeks and months are watched too, and a table without periods isn't.
func TestLooksAtOtherPeriods(t *testing.T) {
	for name, c := range map[string]struct {
		period   refresh.Period
		compared int
	}{"week": {refresh.Week, 8}, "month": {refresh.Month, 2}, "whole": {refresh.Whole, 0}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, emulator.Options{Seed: 7, Apps: 2, Rate: -1, Readings: []string{"week-start=sunday"}})
				defer r.close()
				time.Sleep(70 * 24 * time.Hour)
				r.options.Events, r.options.Query.Dimensions = nil, []string{name, "campaign"}
				if name == "whole" {
					r.options.Query.Dimensions = []string{"campaign"}
				}
				r.options.Query.Metrics = []string{"installs", "cost"}
				r.options.Rules.Period, r.options.Rules.Page, r.options.Rules.Lookback, r.options.FinalAfter = c.period,
					4, 1, 1
				r.options.Drift.Days = 90
				r.from(civil.Date{Year: 2000, Month: 1, Day: 2})
				r.ok()
				time.Sleep(24 * time.Hour)
				r.restate(civil.Date{Year: 2000, Month: 1, Day: 20})
				res := r.ok()
				compared := slices.Max([]int{res.Outcome.Compared, 0})
				if compared < c.compared-1 || compared > c.compared+1 || (compared > 0) != (res.Outcome.Moved == 1) {
					t.Errorf("%+v", res.Outcome)
				}
			})
		})
	}
}

// A final that one unit fetches again while another looks at it isn't taken for one that can't be
// compared.
func TestALookWhileAFinalIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, l := watched(t, 20)
		defer r.close()
		time.Sleep(24 * time.Hour)
		sleepTo(r.options.Rules.Schedule)
		r.restate(civil.DateOf(time.Now()).AddDays(-10))
		r.options.Drift.Warn = true
		r.ok()
		sleepTo(r.options.Rules.Schedule)
		r.options.Drift.Warn = false
		r.parallel, r.client.InFlight = 4, 4
		l.refuse = func(q url.Values) int { // refuses none: the totals come while the rows are put
			if isRows(q) {
				time.Sleep(10 * time.Second)
			} else {
				time.Sleep(20 * time.Second)
			}
			return 0
		}
		sink := watch(r.sink)
		sink.fail = func(sinks.Part) error { time.Sleep(time.Minute); return nil }
		r.options.Targets = []ledger.Target{{Name: "out", Sink: sink}}
		res := r.ok()
		var finals int
		for day := civil.DateOf(time.Now()).AddDays(-23); day.Before(civil.DateOf(time.Now())); day = day.AddDays(1) {
			if r.record(day).Finality == string(refresh.Final) {
				finals++
			}
		}
		if o := res.Outcome; o.Moved != 1 || o.Compared != finals-1 || o.Unseen != 0 {
			t.Errorf("moved %d, compared %d, not compared %d; of %d finals", o.Moved, o.Compared, o.Unseen, finals)
		}
	})
}
