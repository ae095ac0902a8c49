package report_test

import (
	"errors"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/report"
)

// Finals of which no total is on record aren't counted as compared.
func TestWhatHasNoSumsIsNotCompared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for metric, compared := range map[string]int{"events": 17, "d1_events_per_conversion_cohort": 0} {
			r := newRig(t, emulator.Options{Seed: 3, Apps: 2, Rate: -1, Days: 25})
			defer r.close()
			r.options.Events = []report.Selector{{Name: "Purchase", Metrics: []string{metric}, As: "purchase"}}
			r.options.Query.Dimensions, r.options.Query.Metrics = []string{"day", "campaign"}, []string{"ecpi_all"}
			r.options.Rules.Lookback, r.options.Rules.Page, r.options.FinalAfter = 2, 31, 2
			r.options.Reconcile = report.ReconcileOff
			r.options.Drift = report.Drift{Days: 90}
			r.from(civil.DateOf(time.Now()).AddDays(-20))
			r.ok()
			time.Sleep(24 * time.Hour)
			if o := r.ok().Outcome; (o.Compared > 0) != (compared > 0) || o.Unseen > 0 {
				t.Errorf("%s: %d finals are compared, %d unseen", metric, o.Compared, o.Unseen)
			}
		}
	})
}

// Credentials that are refused for the totals are refused, whatever becomes of the rows.
func TestTotalsWithRefusedCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 7, Apps: 2, Rate: -1})
		defer r.close()
		l := &liar{RoundTripper: r.client.HTTP.Transport,
			refuse: func(q url.Values) int { return map[bool]int{false: http.StatusForbidden}[isRows(q)] }}
		r.client.HTTP, r.client.Attempts = &http.Client{Transport: l}, 2
		r.options.Events = nil
		r.start(2)
		res := r.run(t.Context())
		if err := errors.Join(res.Errs...); !errors.Is(err, jobs.ErrDenied) || res.Outcome.Unreconciled != 2 {
			t.Errorf("%d unreconciled: %v", res.Outcome.Unreconciled, err)
		}
	})
}
