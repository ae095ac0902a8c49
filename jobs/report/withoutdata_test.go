package report_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
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

// withoutData is the app that the emulator lists under some readings, and has no data of.
const withoutData = "0app0no0data"

func allBut(list []string, app string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(one string) bool { return one == app })
}

// An app that the service lists and has no data of costs nobody else's rows: it is named where the
// service refuses it, and the others are there.
func TestAppsWithoutData(t *testing.T) {
	for _, choice := range []string{"none", "empty", "400", "403"} {
		for _, named := range []bool{false, true} {
			t.Run(fmt.Sprintf("app-without-data=%s/named=%t", choice, named), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r, log := listing(t, emulator.Options{Seed: 3, Apps: 3, Rate: -1,
						Readings: alone("app-without-data=" + choice)}, nil)
					defer r.close()
					visible := func() ledger.Scope {
						client, err := adjust.New(r.client)
						check(t, err)
						return report.Visible(t.Context(), client)
					}()
					if has := slices.Contains(visible.Apps, withoutData); has != (choice != "none") ||
						len(visible.Apps) < 3 {
						t.Fatalf("the service lists %q", visible.Apps)
					}
					if r.options.Rules.Page = 1; named {
						r.options.Listed = false
						r.options.Query.Filters = map[string][]string{"app_token__in": visible.Apps}
					}
					res := r.run(t.Context())
					said := "the service refuses the apps " + withoutData + ", whose rows aren't in it"
					err := errors.Join(res.Errs...)
					if refused := choice == "400" || choice == "403"; refused {
						if code := jobs.ExitCode([]ledger.Result{res}, false, false); code != jobs.ExitSome ||
							strings.Count(fmt.Sprint(err), withoutData+", whose") != 1 {
							t.Errorf("exit code %d, %v", code, err)
						}
						if n := strings.Count(log.String(), "app="+withoutData); n != 1 {
							t.Errorf("the app is named %d times: %s", n, log)
						}
					} else if err != nil {
						t.Error(err)
					}
					for day, e := range r.records() {
						if e.Control == nil || e.Control.State != ledger.Reconciled ||
							strings.Contains(e.Control.Why, said) != (choice == "400" || choice == "403") {
							t.Errorf("%s is %+v", day, e.Control)
						}
					}
					r.options.Query.Filters = nil
					if n := r.equalsTruth(civil.DateOf(time.Now()).AddDays(-3), 3); n < 50 {
						t.Errorf("only %d cells to compare", n)
					}
				})
			})
		}
	}
}

// An app without rows is named where a day is asked for app by app, whichever way the service says
// that there are none.
func TestByAppWithoutData(t *testing.T) {
	for _, choice := range []string{"report-empty=204", "report-empty=header", "app-without-data=400",
		"app-without-data=403"} {
		t.Run(choice, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				readings := append(alone("app-without-data=empty"), choice)
				r, log := listing(t, emulator.Options{Seed: 7, Apps: 5, Rate: -1, MaxPairs: 1, Readings: readings}, nil)
				defer r.close()
				r.options.Listed = false
				// By itself among halves of halves.
				r.options.Query.Filters = map[string][]string{"app_token__in": slices.Insert(r.tokens(), 3,
					withoutData)}
				r.start(1)
				res := r.run(t.Context())
				day := civil.DateOf(time.Now()).AddDays(-1)
				if e := r.records()[day]; e.Control == nil || e.Control.State != ledger.Reconciled ||
					!strings.Contains(log.String(), withoutData) {
					t.Errorf("%v, %+v, log %s", res.Errs, e.Control, log)
				}
				// The same service without the limit.
				wide := newRig(t, emulator.Options{Seed: 7, Apps: 5, Rate: -1, Readings: alone("unknown-apps=none")})
				defer wide.close()
				wide.out, wide.options = r.out, r.options
				if n := wide.equalsTruth(day, 1); n < 50 {
					t.Errorf("only %d cells to compare", n)
				}
			})
		})
	}
}

// A service that refuses an app in every list, and has rows of it.
type refusesApp struct {
	http.RoundTripper
	app string
}

func (s *refusesApp) RoundTrip(q *http.Request) (*http.Response, error) {
	if slices.Contains(strings.Split(q.URL.Query().Get("app_token__in"), ","), s.app) {
		return &http.Response{
			StatusCode: http.StatusForbidden, Header: http.Header{"Content-Type": {"application/json"}}, Request: q,
			Body: io.NopCloser(strings.NewReader(`{"error_code":"auth_error","error_desc":"no access to ` + s.app +
				`"}`)),
		}, nil
	}
	return s.RoundTripper.RoundTrip(q)
}

// Rows of an app that is refused from one night on stay, and what totals without a list have of it
// isn't called reconciled.
func TestAnAppIsRefusedLater(t *testing.T) {
	for _, named := range []bool{false, true} {
		t.Run(fmt.Sprintf("named=%t", named), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, _ := listing(t, emulator.Options{Seed: 3, Apps: 3, Rate: -1, Readings: alone("list-of-apps=free")},
					nil)
				defer r.close()
				tokens := r.tokens()
				if named {
					r.options.Listed, r.options.Query.Filters = false, map[string][]string{"app_token__in": tokens}
				}
				r.ok()
				before := r.contents()
				time.Sleep(24 * time.Hour)
				r.client.HTTP = &http.Client{Transport: &refusesApp{r.server.Client().Transport, tokens[1]}}
				res := r.run(t.Context())
				after := r.contents()
				if slices.ContainsFunc(before, func(row string) bool { return !slices.Contains(after, row) }) ||
					!strings.Contains(strings.Join(before, "\n"), tokens[1]) {
					t.Error("rows of the app are gone")
				}
				if e := r.records()[civil.DateOf(time.Now()).AddDays(-1)]; named != (e.Control != nil) || named &&
					e.Control.State != ledger.Reconciled {
					t.Errorf("of the new day there is %+v", e.Control)
				}
				if code := jobs.ExitCode([]ledger.Result{res}, false, false); code != jobs.ExitSome &&
					code != jobs.ExitFailed {
					t.Errorf("exit code %d: %v", code, res.Errs)
				}
				if err := errors.Join(res.Errs...); !strings.Contains(fmt.Sprint(err),
					"the service refuses the apps "+tokens[1]) {
					t.Errorf("the app isn't named: %v", err)
				}
			})
		})
	}
}

// The only app, and all apps of a list, are no apps beside others: their refusal is the job's.
func TestAllAppsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := listing(t, emulator.Options{Seed: 3, Apps: 1, Rate: -1, Readings: alone("list-of-apps=free")}, nil)
		defer r.close()
		r.client.HTTP = &http.Client{Transport: &refusesApp{r.server.Client().Transport, r.tokens()[0]}}
		res := r.run(t.Context())
		if code := jobs.ExitCode([]ledger.Result{res}, false, false); code != jobs.ExitDenied || len(r.files()) > 0 {
			t.Errorf("exit code %d, %d files: %v", code, len(r.files()), res.Errs)
		}
	})
}
