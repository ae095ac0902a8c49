package report_test

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/report"
	"github.com/reportferry/reportferry/sinks"
)

// seesApps lets the job ask which apps the token shows, as the program does.
func (r *rig) seesApps() { r.options.Visible = report.Visible }

// night runs at the next tick and gives the result and the exit code.
func (r *rig) night() (ledger.Result, int) {
	r.t.Helper()
	sleepTo(r.options.Rules.Schedule)
	res := r.run(r.t.Context())
	return res, jobs.ExitCode([]ledger.Result{res}, false, false)
}

// installs are the recorded sums of days that are over, by how many days ago they are.
func (r *rig) installs(first civil.Date, days int) (sums []string) {
	for i := range days {
		sums = append(sums, r.record(first.AddDays(i)).Sums["installs"])
	}
	return sums
}

// The token's user loses an app: rows and totals lack it alike. No day that had its numbers loses
// them, however many nights it takes, until a person accepts it.
func TestAppIsHidden(t *testing.T) {
	slow.Test(t)
	synctest.Test(t, func(t *testing.T) {
		r, _ := watched(t, 60)
		defer r.close()
		r.seesApps()
		r.options.Reconcile = report.ReconcileWarn
		first := civil.DateOf(time.Now()).AddDays(-60)
		for range 3 {
			r.night()
		}
		before := r.installs(first, 62)
		r.server.SetFaults([]emulator.Fault{{Every: 1, Kind: emulator.FaultHideApp, App: r.server.Apps()[0].Token}})
		for night := range 8 {
			res, exit := r.night()
			if want := map[bool]int{true: jobs.ExitSome}[res.Outcome.HeldBack > 0]; exit != want {
				t.Errorf("night %d: exit code %d, want %d: %+v", night, exit, want, res.Outcome)
			}
			if night == 0 && res.Outcome.HeldBack < 2 || night == 7 && res.Outcome.StillHeld < 2 {
				t.Errorf("night %d: %+v", night, res.Outcome)
			}
			if res.Outcome.Moved > 0 {
				t.Errorf("night %d: finals have moved: %+v", night, res.Outcome)
			}
		}
		if now := r.installs(first, 62); fmt.Sprint(now) != fmt.Sprint(before) {
			t.Errorf("the days had %v\nand have %v", before, now)
		}
		if why := r.record(first.AddDays(61)).HeldBack; why == nil ||
			!strings.Contains(why.Why, "the token shows no more "+r.server.Apps()[0].Token) {
			t.Errorf("held back: %+v", why)
		}
		r.accept(first.AddDays(61))
		if res, _ := r.night(); res.Outcome.Written == 0 {
			t.Errorf("the night after it was accepted: %+v", res.Outcome)
		}
		e := r.record(first.AddDays(61))
		if e.Sums["installs"] == before[61] || e.HeldBack != nil || e.Accepted == nil || e.Accepted.Reason != "sold" {
			t.Errorf("accepted, and recorded %+v", e)
		}
	})
}

// lacking answers requests for some paths, or with some query, as a service does that hasn't these.
type lacking struct {
	http.RoundTripper
	what []string
}

func (l lacking) RoundTrip(q *http.Request) (*http.Response, error) {
	if !slices.ContainsFunc(l.what, func(what string) bool { return strings.Contains(q.URL.String(), what) }) {
		return l.RoundTripper.RoundTrip(q)
	}
	return &http.Response{StatusCode: http.StatusNotFound, Status: "404 Not Found", Request: q,
		Body: io.NopCloser(strings.NewReader("not found"))}, nil
}

// Which apps the token shows is known by the first list that the service has, and a vanished app's
// rows stay by each of them.
func TestSourcesOfTheScope(t *testing.T) {
	for source, lacks := range map[string][]string{
		"filters_data": nil,
		"csv_report":   {"filters_data"},
		"events":       {"filters_data", "dimensions=app_token&"},
		"":             {"filters_data", "dimensions=app_token&", "/events"},
	} {
		t.Run("by "+source, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, _ := watched(t, 10)
				defer r.close()
				r.client.HTTP = &http.Client{Transport: lacking{r.client.HTTP.Transport, lacks}}
				r.options.Guard = 1 // so that nothing else holds an answer back
				r.seesApps()
				var tokens []string
				for _, app := range r.server.Apps() {
					tokens = append(tokens, app.Token)
				}
				slices.Sort(tokens)
				if source == "" {
					tokens = nil
				}
				client, err := adjust.New(r.client)
				check(t, err)
				if s := report.Visible(t.Context(), client); s.Source != source ||
					!slices.Equal(allBut(s.Apps, withoutData), tokens) {
					t.Fatalf("the scope is %+v, want %q by %q", s, tokens, source)
				}
				r.night()
				r.night()
				last := civil.DateOf(time.Now()).AddDays(-1)
				before := r.record(last)
				r.server.SetFaults([]emulator.Fault{{Every: 1, Kind: emulator.FaultHideApp,
					App: r.server.Apps()[0].Token}})
				r.night()
				if now := r.record(last); (now.HeldBack != nil) != (source != "") ||
					(now.Hash == before.Hash) != (source != "") {
					t.Errorf("an app is hidden, and the record is %+v, before %+v", now, before)
				}
			})
		})
	}
}

// A put of restated rows was cut off, and in the next night the service leaves something out. What
// is visible is the old rows or the restated ones. Compared with the old ones, which are on record,
// the answer takes away too much: it is held back, until the service mends it or a person accepts
// it.
func TestAfterAPutThatWasCutOff(t *testing.T) {
	slow.Test(t)
	for name, fault := range map[string]emulator.Fault{
		"an app is hidden": {Every: 1, Kind: emulator.FaultHideApp},
		"half is gone":     {Every: 1, Kind: emulator.FaultHalve, Of: emulator.OfAny, Column: "installs"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, _ := watched(t, 10)
				defer r.close()
				r.seesApps()
				r.night()
				day := civil.DateOf(time.Now()).AddDays(-1)
				check(t, r.server.Restate(t.Context(), emulator.Restatement{Day: day.String(), Metric: "installs",
					Factor: 0.95}))
				sink := watch(r.sink)
				sink.fail = func(p sinks.Part) error {
					if p.Partition == day {
						return errors.New("the put is cut off")
					}
					return nil
				}
				r.options.Targets = []ledger.Target{{Name: "out", Sink: sink}}
				r.night()
				if e := r.record(day); e.State != ledger.Publishing || e.Rows == 0 {
					t.Fatalf("recorded %+v", e)
				}
				r.options.Targets = nil
				fault.App = r.server.Apps()[0].Token
				r.server.SetFaults([]emulator.Fault{fault})
				res, exit := r.night()
				if e := r.record(day); !e.Waits() || exit != jobs.ExitSome || res.Outcome.HeldBack == 0 {
					t.Errorf("exit code %d, %+v, recorded %+v", exit, res.Outcome, e)
				}
				if in, err := r.inspect(r.options); err != nil || !slices.ContainsFunc(in.Problems,
					func(p ledger.Problem) bool {
						return p.Condition == string(refresh.HeldBack) && strings.HasPrefix(p.Command, "accept ") &&
							slices.ContainsFunc(p.Days, func(d ledger.ProblemDays) bool { return d.From == day })
					}) {
					t.Errorf("the status says %+v, %v", in.Problems, err)
				}
				r.server.SetFaults(nil)
				header, rows := r.truth(day)
				r.night()
				sameRows(t, day, readParquet(t, r.files()[day]), header, rows)
				if e := r.record(day); e.Waits() || e.State != ledger.Written {
					t.Errorf("in the end recorded %+v", e)
				}
			})
		})
	}
}

// A rebaseline under a token that sees less replaces no day that had the app, until the app is
// back.
func TestAppIsHiddenFromARebaseline(t *testing.T) {
	slow.Test(t)
	synctest.Test(t, func(t *testing.T) {
		r, _ := watched(t, 10)
		defer r.close()
		r.seesApps()
		r.night()
		day := civil.DateOf(time.Now()).AddDays(-5)
		header, rows := r.truth(day)
		r.server.SetFaults([]emulator.Fault{{Every: 1, Kind: emulator.FaultHideApp, App: r.server.Apps()[0].Token}})
		r.options.Query.Currency, r.options.Rebaseline = "EUR", true
		res, exit := r.night()
		if res.Outcome.HeldBack != 10 || exit != jobs.ExitSome {
			t.Errorf("exit code %d: %+v", exit, res.Outcome)
		}
		sameRows(t, day, readParquet(t, r.files()[day]), header, rows)
		r.server.SetFaults(nil)
		r.night()
		header, rows = r.truth(day)
		sameRows(t, day, readParquet(t, r.files()[day]), header, rows)
	})
}

// inspect is what status says by a config.
func (r *rig) inspect(o report.Options) (refresh.Inspection, error) {
	client, err := adjust.New(r.client)
	check(r.t, err)
	o.Client, o.Ledger, o.Rebaseline = client, r.ledger, false
	kind, err := report.New(o)
	check(r.t, err)
	plan, err := kind.Plan(r.t.Context(), time.Now())
	if err != nil {
		return refresh.Inspection{}, err
	}
	return plan.Table.Inspect(r.t.Context(), ledger.Past{})
}

// accept does what the command does.
func (r *rig) accept(day civil.Date) {
	r.t.Helper()
	table, err := r.ledger.Table(r.t.Context(), r.options.Table)
	check(r.t, err)
	e, _ := table.Record(day)
	held := *e.HeldBack
	held.Accepted, e.HeldBack = &ledger.Acceptance{At: time.Now(), Reason: "sold"}, &held
	check(r.t, table.Commit(r.t.Context(), e))
}

// The service leaves an app out, for one night or for good, although the token shows it. Finals
// keep its numbers.
func TestAppIsLeftOut(t *testing.T) {
	slow.Test(t)
	for _, nights := range []int{1, 8} {
		synctest.Test(t, func(t *testing.T) {
			r, _ := watched(t, 60)
			defer r.close()
			r.seesApps()
			r.options.Reconcile = report.ReconcileWarn
			first := civil.DateOf(time.Now()).AddDays(-60)
			for range 3 {
				r.night()
			}
			before := r.installs(first, 58)
			r.server.SetFaults([]emulator.Fault{{Every: 1, Kind: emulator.FaultDropApp, App: r.server.Apps()[0].Token,
				Of: emulator.OfAny}})
			for range nights {
				r.night()
			}
			r.server.SetFaults(nil)
			for range 3 {
				r.night()
			}
			if now := r.installs(first, 58); fmt.Sprint(now) != fmt.Sprint(before) {
				t.Errorf("after %d nights: the days had %v\nand have %v", nights, before, now)
			}
			if e := r.record(first.AddDays(40)); e.HeldBack != nil {
				t.Errorf("when the service is right again, something is still held back: %+v", e.HeldBack)
			}
		})
	}
}

// Another account behind the token: the run ends before anything is fetched.
func TestAnotherAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := watched(t, 10)
		defer r.close()
		r.seesApps()
		r.night()
		other, err := emulator.New(emulator.Options{Seed: 77, Apps: 2, Rate: -1, Days: 20})
		check(t, err)
		defer func() { check(t, other.Close()) }()
		r.client.HTTP = other.Client()
		before := r.installs(civil.DateOf(time.Now()).AddDays(-9), 9)
		res, exit := r.night()
		if exit != jobs.ExitDenied || res.Outcome.Done() != 0 || res.Outcome.Requests != 1 { // for the apps
			t.Errorf("exit code %d, %v, %+v", exit, res.Errs, res.Outcome)
		}
		if now := r.installs(civil.DateOf(time.Now()).AddDays(-10), 9); fmt.Sprint(now) != fmt.Sprint(before) {
			t.Errorf("the days had %v\nand have %v", before, now)
		}
	})
}

// An answer that is cut, and whose totals are cut alike, is held back. When the service is asked on
// three days and says the same, it is published.
func TestShrunkAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := watched(t, 10)
		defer r.close()
		r.options.Rules.Lookback = 6
		r.night()
		day := civil.DateOf(time.Now()).AddDays(-1)
		before := r.record(day)
		check(t, r.server.Restate(t.Context(), emulator.Restatement{Day: day.String(), Metric: "cost", Factor: 0.3}))
		for night, want := range []struct{ held, standing int }{{1, 0}, {0, 1}, {0, 0}} {
			res, exit := r.night()
			if res.Outcome.HeldBack != want.held || res.Outcome.StillHeld != want.standing ||
				exit != map[bool]int{true: jobs.ExitSome}[want.held > 0] {
				t.Errorf("night %d: exit code %d, %+v", night, exit, res.Outcome)
			}
			e := r.record(day)
			if kept := night < 2; kept != (e.Hash == before.Hash) || kept != e.Waits() {
				t.Errorf("night %d: %+v, held back %+v", night, e, e.HeldBack)
			}
		}
		if e := r.record(day); e.Accepted == nil || !strings.Contains(e.Accepted.Reason, "answers on 3 days agreed: ") {
			t.Errorf("%+v", e.Accepted)
		}
	})
}

// Rows of an unfinished day, which nothing could be compared with, are replaced by those of the
// whole day, though these differ.
func TestUncheckedIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := watched(t, 3)
		defer r.close()
		r.options.Rules.Lookback = 3
		r.night() // reconcile is off in this rig
		day := civil.DateOf(time.Now()).AddDays(-1)
		before := r.record(day)
		r.options.Reconcile = report.ReconcileWarn
		r.server.SetFaults([]emulator.Fault{{Every: 1, Kind: emulator.FaultDropRows, EveryRow: 7}})
		r.night()
		if e := r.record(day); e.Waits() || !e.Differs() || e.Hash == before.Hash {
			t.Errorf("%+v, held back %+v", e, e.HeldBack)
		}
	})
}

// Rows that agree with the totals aren't replaced by rows that don't, until that has lasted for
// three nights.
func TestUnreconciledNeverReplacesReconciled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := watched(t, 10)
		defer r.close()
		r.options.Reconcile, r.options.Rules.Lookback = report.ReconcileWarn, 6
		r.options.Rules.IgnoreLedger = true
		r.ok()
		r.options.Rules.IgnoreLedger = false
		r.night()
		day := civil.DateOf(time.Now()).AddDays(-2)
		before := r.record(day)
		r.server.SetFaults([]emulator.Fault{{Every: 1, Kind: emulator.FaultDropRows, EveryRow: 7}})
		for night := range 3 {
			r.night()
			if e := r.record(day); (night < 2) != (e.Hash == before.Hash) || (night < 2) != e.Waits() {
				t.Errorf("night %d: %+v, held back %+v", night, e, e.HeldBack)
			}
		}
		if e := r.record(day); e.Control.State != ledger.Unreconciled {
			t.Errorf("%+v", e.Control)
		}
		r.server.SetFaults(nil)
		r.night()
		if e := r.record(day); e.Control.State != ledger.Reconciled {
			t.Errorf("%+v", e.Control)
		}
	})
}

var honest = flag.Int("honest", 600, "how many honest answers TestHonestAnswers judges at least")

// What the service restates day by day holds nothing back: late installs and cost, fraud that takes
// up to 40 % of a day, campaigns that are renamed, hours and days of a few rows, for one app and
// for several.
func TestHonestAnswers(t *testing.T) {
	slow.Test(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	shapes := [][]string{{"day"}, {"day", "app_token", "network"}, {"hour", "network"},
		{"day", "campaign", "country_code"}, {"day", "os_name"}, {"week", "network"}}
	judged := 0
	for round := 0; judged < *honest; round++ {
		synctest.Test(t, func(t *testing.T) {
			dice := rand.New(rand.NewPCG(seed, uint64(round)))
			r := newRig(t, emulator.Options{Seed: int64(round), Apps: 1 + dice.IntN(3), Rate: -1, Days: 40})
			defer r.close()
			r.seesApps()
			r.options.Events, r.options.Reconcile, r.options.Drift = nil, report.ReconcileWarn, report.Drift{Days: 90}
			r.options.Query.Dimensions = shapes[round%len(shapes)]
			r.options.Query.Metrics = []string{"installs", "clicks", "cost", "network_cost", "ad_revenue",
				"all_revenue_total_d7", "gross_profit"}
			r.options.Rules.Lookback, r.options.Rules.Horizons = 14, []int{8, 15}
			if slices.Contains(r.options.Query.Dimensions, "week") {
				r.options.Rules.Period = refresh.Week
			}
			r.from(civil.DateOf(time.Now()).AddDays(-20))
			changed := map[string]bool{}
			for night := range 12 {
				res := r.ok()
				judged += res.Outcome.Done()
				if res.Outcome.HeldBack+res.Outcome.StillHeld > 0 {
					for _, e := range r.records() {
						if e.Waits() {
							t.Errorf("seed %d, round %d, night %d, %v: held back %s: %s", seed, round, night,
								r.options.Query.Dimensions, e.Partition, e.HeldBack.Why)
						}
					}
				}
				for range dice.IntN(3) {
					day := civil.DateOf(time.Now()).AddDays(-dice.IntN(16)).String()
					change := []emulator.Restatement{
						{Metric: "installs", Factor: 0.6 + dice.Float64()/2}, // fraud, or late ones
						{Metric: "cost", Factor: 0.7 + dice.Float64()},
						{Metric: "network_cost", Delta: 1 + float64(dice.IntN(500))}, // it comes late
						{Metric: "revenue", Factor: 0.6 + dice.Float64()},
						{Rename: map[string]string{"campaign": "renamed"},
							Where: map[string]string{"network": "AppLovin"}},
					}[dice.IntN(5)]
					change.Day, change.Until = day, day
					if changed[day+change.Metric] { // half of a day isn't taken away twice
						continue
					}
					changed[day+change.Metric] = true
					check(t, r.server.Restate(t.Context(), change))
				}
				time.Sleep(24 * time.Hour)
			}
		})
	}
	t.Logf("%d answers about partitions, none held back", judged)
}

// A final day whose totals have moved by less than guard is held back all the same: finals are
// restated less.
func TestShrunkFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := watched(t, 40)
		defer r.close()
		r.night()
		day := civil.DateOf(time.Now()).AddDays(-30)
		before := r.record(day)
		check(t, r.server.Restate(t.Context(), emulator.Restatement{Day: day.String(), Metric: "installs",
			Factor: 0.8}))
		for night := 0; night < 12 && !r.record(day).Waits(); night++ {
			r.night()
		}
		if e := r.record(day); !e.Waits() || e.Hash != before.Hash || e.Reason == "drift" {
			t.Fatalf("%+v, held back %+v", e, e.HeldBack)
		}
		r.night()
		r.night()
		if e := r.record(day); e.Hash == before.Hash || e.Accepted == nil || e.Reason != "drift" {
			t.Errorf("after three nights: %+v", e)
		}
	})
}

// A day is missing in rows and totals alike, and its neighbours are there: it is asked for on three
// days more, and then believed to be empty. When the service has it by then, it is filled.
func TestMissingDayIsAskedForAgain(t *testing.T) {
	for _, back := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r, _ := watched(t, 30)
			defer r.close()
			r.options.Reconcile = report.ReconcileWarn
			day := civil.DateOf(time.Now()).AddDays(-32)
			r.from(day.AddDays(-2))
			fault := []emulator.Fault{{Every: 1, Kind: emulator.FaultDropDay, Day: day.String(), Of: emulator.OfAny}}
			r.server.SetFaults(fault)
			// The days before those of the rig are missing.
			if res, exit := r.night(); exit != jobs.ExitSome || res.Outcome.Suspected != 1 {
				t.Errorf("exit code %d, %+v", exit, res.Outcome)
			}
			if e := r.record(day); e.State != ledger.Empty || e.Asked != 0 {
				t.Fatalf("%+v", e)
			}
			asked := 0
			for night := range 6 {
				if back && night == 1 {
					r.server.SetFaults(nil)
				}
				seq := r.record(day).Seq
				if res, exit := r.night(); exit != 0 || res.Outcome.Suspected != 0 { // it stood before
					t.Errorf("night %d: exit code %d, %+v", night, exit, res.Outcome)
				}
				if r.record(day).Seq != seq {
					asked++
				}
			}
			e := r.record(day)
			if back && (asked != 2 || e.State != ledger.Written) || !back && (asked != 3 || e.State != ledger.Empty) {
				t.Errorf("the service has it again: %v; asked for %d times more, and it is %+v", back, asked, e)
			}
		})
	}
}

// Rows that differ from the totals in the same way on three days are asked for no more, fail no
// run, and stand until a person accepts them.
func TestDifferenceThatStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, l := watched(t, 3)
		defer r.close()
		r.options.Reconcile, r.options.FinalAfter, r.options.Rules.Lookback = report.ReconcileWarn, 1, 1
		l.totals = func(_ int, _ url.Values, a [][]string) [][]string {
			for _, row := range a[1:] {
				row[slices.Index(a[0], "installs")] = "7"
			}
			return a
		}
		r.night()
		day := civil.DateOf(time.Now()).AddDays(-1)
		if e := r.record(day); !e.Differs() {
			t.Fatalf("%+v", e)
		}
		var exits []int
		held, stand := 0, 0
		for range 12 {
			res, exit := r.night()
			exits, held, stand = append(exits, exit), held+res.Outcome.HeldBack+res.Outcome.StillHeld,
				stand+res.Outcome.StillDiffers
		}
		e := r.record(day)
		if !e.Stands() || !e.AwaitsPerson() || e.Asked != 2 {
			t.Errorf("%+v", e)
		}
		if held > 0 || stand == 0 {
			t.Errorf("%d are held back and %d differ as before, want none and some", held, stand)
		}
		seq := e.Seq
		e.Accepted = &ledger.Acceptance{At: time.Now(), Reason: "known", Person: true}
		table, err := r.ledger.Table(t.Context(), r.options.Table)
		check(t, err)
		check(t, table.Commit(t.Context(), e))
		r.night()
		if e = r.record(day); e.AwaitsPerson() || e.Seq != seq+1 && e.Accepted == nil {
			t.Errorf("accepted, and %+v", e)
		}
		if exits[0] != jobs.ExitSome { // a new day differs each night
			t.Errorf("exit codes %v", exits)
		}
	})
}
