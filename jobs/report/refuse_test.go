package report_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/report"
	"github.com/reportferry/reportferry/sinks"
)

// failOn lets the puts of some partitions fail.
func failOn(days []civil.Date) func(sinks.Part) error {
	return func(p sinks.Part) error {
		for _, d := range days {
			if p.Partition == d {
				return errors.New("no space left")
			}
		}
		return nil
	}
}

// A config whose numbers would mean something else than those recorded is refused before any
// request.
func TestAnotherFingerprintIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*report.Options)
		want   string
	}{
		"currency": {func(o *report.Options) { o.Query.Currency = "EUR" }, `currency was "USD" and is now "EUR"`},
		"dimensions": {func(o *report.Options) { o.Query.Dimensions = o.Query.Dimensions[:3] },
			`dimensions was "app,app_token,campaign,`},
		"a filter": {func(o *report.Options) { o.Query.Filters = map[string][]string{"os_name__in": {"ios"}} },
			`filter os_name__in was "" and is now "ios"`},
		"account": {func(o *report.Options) { o.Account = "other" }, `account was "test" and is now "other"`},
		"a type": {func(o *report.Options) { o.Types = map[string]catalog.Type{"cost": catalog.Double} },
			"column cost was decimal and is now double"},
		"the zone by name": {func(o *report.Options) {
			berlin, err := time.LoadLocation("Europe/Berlin")
			check(t, err)
			o.Query.UTCOffset, o.Query.Zone = "", berlin
		}, `timezone_id was "" and is now "Europe/Berlin"`},
		"the zone": {func(o *report.Options) { o.Query.UTCOffset = "+02:00" },
			`utc_offset was "+00:00" and is now "+02:00"`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, emulator.Options{Seed: 7, Apps: 1, Rate: -1})
				defer r.close()
				r.start(2)
				r.ok()
				before := len(r.server.Requests())
				c.change(&r.options)
				res := r.run(t.Context())
				if len(res.Errs) != 1 || !errors.Is(res.Errs[0], ledger.ErrRefused) ||
					!strings.Contains(res.Errs[0].Error(), c.want) {
					t.Errorf("got %v, want a refusal with %q", res.Errs, c.want)
				}
				if len(r.server.Requests()) != before {
					t.Error("the service was asked all the same")
				}
			})
		})
	}
}

// More metrics, or fewer, are no change of meaning.
func TestMetricsMayComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 7, Apps: 1, Rate: -1})
		defer r.close()
		r.start(2)
		r.ok()
		r.options.Query.Metrics = append([]string{"sessions"}, r.options.Query.Metrics[1:]...)
		time.Sleep(24 * time.Hour)
		if res := r.ok(); res.Outcome.Written == 0 {
			t.Errorf("%+v", res.Outcome)
		}
	})
}

// Answers that can't be trusted publish nothing, and leave nothing in the spool.
func TestBrokenAnswersPublishNothing(t *testing.T) {
	for name, c := range map[string]struct {
		fault emulator.Fault
		want  string
	}{
		"a column renamed": {emulator.Fault{Kind: emulator.FaultDrift, Drift: emulator.DriftRename, Column: "cost"},
			"cost"},
		"a column missing": {emulator.Fault{Kind: emulator.FaultDrift, Drift: emulator.DriftMissing, Column: "cost"},
			"cost"},
		"a page of HTML":  {emulator.Fault{Kind: emulator.FaultHTML}, "a page of HTML"},
		"nothing at all":  {emulator.Fault{Kind: emulator.FaultEmpty}, "empty"},
		"half a row":      {emulator.Fault{Kind: emulator.FaultCut, AfterBytes: 3000}, "unexpected EOF"},
		"a bad request":   {emulator.Fault{Kind: emulator.FaultStatus, Status: 400}, "400"},
		"a forbidden one": {emulator.Fault{Kind: emulator.FaultStatus, Status: 403}, "403"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.fault.Every = 1
				c.fault.Path = "csv_report"
				r := newRig(t, emulator.Options{Seed: 7, Apps: 1, Rate: -1, Faults: []emulator.Fault{c.fault},
					Readings: []string{"report-header=asked"}})
				defer r.close()
				r.start(2)
				r.client.Attempts = 3
				res := r.run(t.Context())
				if len(res.Errs) == 0 || len(r.files()) != 0 || res.Outcome.Failed != 2 {
					t.Fatalf("%+v %v, files %v", res.Outcome, res.Errs, r.files())
				}
				if msg := errors.Join(res.Errs...).Error(); !strings.Contains(msg, c.want) {
					t.Errorf("the message lacks %q: %s", c.want, msg)
				}
				if errors.Is(errors.Join(res.Errs...), jobs.ErrDenied) != (c.fault.Status == 403) {
					t.Errorf("denied or not: %v", res.Errs)
				}
				if left := spooled(t, r.spool); len(left) > 0 {
					t.Errorf("left in the spool: %v", left)
				}
				r.server.SetFaults(nil)
				r.ok()
				r.equalsTruth(civil.DateOf(time.Now()).AddDays(-2), 2)
			})
		})
	}
}

// An answer that breaks off late has begun its files already: they go, and the next attempt begins
// anew.
func TestALongAnswerThatBreaksOff(t *testing.T) {
	slow.Test(t)
	synctest.Test(t, func(t *testing.T) {
		const rows = 30_000
		r := newRig(t, emulator.Options{Seed: 7, Bulk: rows, Rate: -1, Faults: []emulator.Fault{
			{Path: "csv_report", Nth: 1, Kind: emulator.FaultCut, AfterBytes: 2_500_000},
		}})
		defer r.close()
		r.options.Rules.Page = 1
		r.start(1)
		res := r.ok()
		if res.Outcome.Retries != 1 || res.Outcome.Rows != rows || res.Outcome.CSVBytes < 5_000_000 {
			t.Errorf("%+v, want %d rows after one retry", res.Outcome, rows)
		}
		if left := spooled(t, r.spool); len(left) > 0 {
			t.Errorf("left in the spool: %v", left)
		}
	})
}

// emptySecond answers the second request for a report with 204, instead of the service.
type emptySecond struct {
	http.RoundTripper
	reports atomic.Int64
}

func (e *emptySecond) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/csv_report") && e.reports.Add(1) == 2 {
		return &http.Response{StatusCode: http.StatusNoContent, Header: http.Header{}, Body: http.NoBody, Request: r},
			nil
	}
	return e.RoundTripper.RoundTrip(r)
}

// No rows is an answer, also when the one before it broke off.
func TestABrokenAnswerThenNoRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 7, Apps: 1, Days: 3, Rate: -1, Faults: []emulator.Fault{
			{Path: "csv_report", Nth: 1, Kind: emulator.FaultCut, AfterBytes: 100},
		}})
		defer r.close()
		r.options.Rules.Page, r.options.Reconcile = 1, report.ReconcileOff // which would find the rows all the same
		r.start(1)
		r.client.HTTP = &http.Client{Transport: &emptySecond{RoundTripper: r.client.HTTP.Transport}}
		if res := r.ok(); res.Outcome.Retries != 1 || res.Outcome.Empty != 1 {
			t.Errorf("%+v, want an empty day after one retry", res.Outcome)
		}
	})
}

// Days without rows are recorded once they had a complete answer; days that lose their rows are
// guarded.
func TestEmptyDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 7, Apps: 1, Days: 3, Rate: -1, Readings: []string{"report-empty=204"}})
		defer r.close()
		r.start(20) // the service has data for the last three only
		res := r.ok()
		if res.Outcome.Empty == 0 || res.Outcome.Written+res.Outcome.Empty != 20 {
			t.Fatalf("%+v", res.Outcome)
		}
		table, err := r.ledger.Table(t.Context(), "installs")
		check(t, err)
		causes := map[string]int{}
		for _, e := range table.Sorted() {
			causes[e.Cause]++
		}
		if causes["204"] == 0 || causes["no rows of that period"] == 0 || causes[""] != res.Outcome.Written {
			t.Errorf("causes recorded: %v", causes)
		}
	})
}
