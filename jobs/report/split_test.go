package report_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// A day that takes the service too long is asked for app by app, because the config names the apps
// and the rows say which app they are of.
func TestADayIsSplitByApp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cuts []emulator.Fault // pieces that break off, at different places
		for nth := 1; nth < 40; nth += 3 {
			cuts = append(cuts, emulator.Fault{Nth: nth, Kind: emulator.FaultCut, AfterBytes: int64(9000 - 200*nth)})
		}
		r := newRig(t, emulator.Options{Seed: 7, Apps: 5, Rate: -1, MaxPairs: 2, Faults: cuts})
		defer r.close()
		var tokens []string
		for _, app := range r.server.Apps() {
			tokens = append(tokens, app.Token)
		}
		r.options.Query.Filters = map[string][]string{"app_token__in": tokens}
		r.start(3)
		res := r.ok()
		if res.Outcome.Written != 3 {
			t.Errorf("%+v, want 3 partitions", res.Outcome)
		}
		wide := newRig(t, emulator.Options{Seed: 7, Apps: 5, Rate: -1}) // the same service without the limit
		defer wide.close()
		wide.out, wide.options = r.out, r.options
		wide.equalsTruth(civil.DateOf(time.Now()).AddDays(-3), 3)
	})
}

// Without the list of apps a day can't be split: the rows of an app that the list lacks would be
// missing silently.
func TestADayIsNotSplitBlindly(t *testing.T) {
	for name, change := range map[string]func(*rig){
		"no filter": func(*rig) {},
		"app_token is no dimension": func(r *rig) {
			r.options.Query.Filters = map[string][]string{"app_token__in": {r.server.Apps()[0].Token,
				r.server.Apps()[1].Token}}
			r.options.Query.Dimensions = []string{"day", "network"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, emulator.Options{Seed: 7, Apps: 2, Rate: -1, MaxPairs: 1})
				defer r.close()
				change(r)
				r.start(2)
				r.client.Attempts = 3
				res := r.run(t.Context())
				if len(res.Errs) == 0 || res.Outcome.Failed != 2 || len(r.files()) != 0 {
					t.Errorf("%+v %v, want two failed days", res.Outcome, res.Errs)
				}
				if msg := errors.Join(res.Errs...).Error(); !strings.Contains(msg, "504") {
					t.Errorf("the message doesn't say what came back: %s", msg)
				}
			})
		})
	}
}

// Requests for what is recorded already are never sent: a hole in a window splits its request.
func TestOnlyWhatIsMissingIsRequested(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 7, Apps: 2, Rate: -1})
		defer r.close()
		r.options.Rules.Lookback = 0
		r.start(20)
		sink := watch(r.sink)
		today := civil.DateOf(time.Now())
		bad := []civil.Date{today.AddDays(-3), today.AddDays(-9), today.AddDays(-10)}
		sink.fail = failOn(bad)
		o := r.options
		o.Targets = []ledger.Target{{Name: "out", Sink: sink}}
		res := r.runAs(t.Context(), o)
		if res.Outcome.Failed != 3 || res.Outcome.Written != 17 {
			t.Fatalf("%+v, want 3 failed and 17 written", res.Outcome)
		}
		before := len(r.server.Requests())
		r.ok()
		var asked []string
		for _, q := range r.server.Requests()[before:] {
			if strings.HasSuffix(q.Path, "csv_report") {
				asked = append(asked, q.Query)
			}
		}
		want := []string{bad[2].String() + "%3A" + bad[1].String(), bad[0].String() + "%3A" + bad[0].String()}
		for _, period := range want {
			if !slices.ContainsFunc(asked, func(q string) bool { return strings.Contains(q, "date_period="+period) }) {
				t.Errorf("%s isn't asked for: %v", period, asked)
			}
		}
		if len(asked) != len(want)+1 {
			t.Errorf("%d requests, want %d: for rows, and one for totals", len(asked), len(want)+1)
		}
	})
}

// An app that the service refuses by itself is named, and the run isn't right. The others are
// published where totals vouch for them: those of all apps, or those of the others where the
// service refuses the app there too.
func TestAnAppIsRefusedByItself(t *testing.T) {
	for name, has := range map[string]bool{"that is gone": false, "in totals too": true,
		"in totals too, the first": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, emulator.Options{Seed: 7, Apps: 2, Rate: -1, Readings: alone("unknown-apps=400")})
				defer r.close()
				var log bytes.Buffer
				r.options.Log = slog.New(slog.NewTextHandler(&log, nil))
				r.options.Events = nil
				good, other := r.server.Apps()[0].Token, "gone12345678"
				faults := []emulator.Fault{{Query: "dimensions=day,app,", Every: 1, Times: 2,
					Kind: emulator.FaultStatus, Status: 504}}
				if has {
					other = r.server.Apps()[1].Token
					faults = []emulator.Fault{
						{Query: "app_token__in=" + good + "," + other + "&", Every: 1, Kind: emulator.FaultStatus,
							Status: 504},
						{Query: "app_token__in=" + other + "," + good + "&", Every: 1, Kind: emulator.FaultStatus,
							Status: 504},
						{Query: "app_token__in=" + other + "&", Every: 1, Kind: emulator.FaultStatus, Status: 400},
					}
				}
				r.server.SetFaults(faults)
				list := []string{good, other}
				if strings.HasSuffix(name, "first") {
					slices.Reverse(list)
				}
				r.options.Query.Filters = map[string][]string{"app_token__in": list}
				r.start(1)
				res := r.run(t.Context())
				day := civil.DateOf(time.Now()).AddDays(-1)
				err, e := errors.Join(res.Errs...), r.records()[day]
				said := "the service refuses the apps " + other + ", whose rows aren't in it"
				if !strings.Contains(log.String(), "app="+other) {
					t.Errorf("the app isn't named: %s", log.String())
				}
				if err == nil || !strings.Contains(err.Error(), said) ||
					jobs.ExitCode([]ledger.Result{res}, false, false) != jobs.ExitSome {
					t.Errorf("%v", err)
				}
				if len(r.files()) != 1 || e.Control == nil || e.Control.State != ledger.Reconciled ||
					e.Control.Why != said {
					t.Errorf("%d files, %+v", len(r.files()), e.Control)
				}
				if rows := strings.Join(r.contents(), "\n"); !strings.Contains(rows, good) ||
					strings.Contains(rows, other) {
					t.Errorf("the rows are %.200s", rows)
				}
			})
		})
	}
}

// A window whose answer is longer than one may be is asked for by halves until it fits, and is
// published as one that was never too long.
func TestALongAnswerIsHalved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var whole int64
		var files int
		for _, halved := range []bool{false, true} {
			r := newRig(t, emulator.Options{Seed: 7, Apps: 2, Rate: -1})
			if halved {
				r.client.MaxAnswer = whole / 3
			}
			r.start(6)
			res := r.run(t.Context())
			if err := errors.Join(res.Errs...); err != nil || len(r.files()) < 6 || halved &&
				(len(r.files()) != files || res.Outcome.Requests < 4) {
				t.Errorf("halved %v: %d files, %d requests, %v", halved, len(r.files()), res.Outcome.Requests, err)
			}
			whole, files = res.Outcome.CSVBytes, len(r.files())
			r.close()
		}
	})
}

// An app that the service refuses is left out also where it is all that one address asks for,
// because the list has no room in fewer.
func TestARefusedAppOfAGroup(t *testing.T) {
	const gone = "zgone1234567"
	alone := 0
	for most := 1300; most > 1100 && alone == 0; most -= 6 {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, emulator.Options{Seed: 7, Apps: 60, Rate: -1, Days: 5,
				Readings: append(documented(), "unknown-apps=400")})
			defer r.close()
			r.options.Events, r.client.MaxURL = nil, most
			r.options.Query.Dimensions, r.options.Query.Metrics = []string{"day", "app_token"}, []string{"installs"}
			var list []string
			for _, app := range r.server.Apps() {
				list = append(list, app.Token)
			}
			r.options.Query.Filters = map[string][]string{"app_token__in": append(list, gone)}
			r.start(1)
			res := r.run(t.Context())
			for _, q := range r.server.Requests() {
				if strings.Contains(q.Query, "app_token__in="+gone+"&") &&
					strings.Contains(q.Query, "dimensions=day,app_token") {
					alone++
				}
			}
			if err := errors.Join(res.Errs...); len(r.files()) != 1 || alone > 0 &&
				(err == nil || !strings.Contains(err.Error(), "the service refuses the apps "+gone)) {
				t.Errorf("addresses of %d bytes: %d files, %v", most, len(r.files()), err)
			}
		})
	}
	if alone == 0 {
		t.Error("the app was never asked for alone")
	}
}

// What panics while totals are asked for keeps no other window from asking.
func TestAPanicWhileTotalsAreAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 7, Apps: 1, Rate: -1})
		defer r.close()
		r.options.Events = nil
		next, panicked := r.client.HTTP.Transport, false
		r.client.HTTP = &http.Client{Transport: roundTrip(func(q *http.Request) (*http.Response, error) {
			if v := q.URL.Query(); v.Get("dimensions") == "day" && !panicked {
				panicked = true
				panic("on purpose")
			}
			return next.RoundTrip(q)
		})}
		r.parallel = 4
		r.start(28)
		if res := r.run(t.Context()); !panicked || len(r.files()) != 28 {
			t.Errorf("%d files, %v", len(r.files()), res.Errs)
		}
	})
}
