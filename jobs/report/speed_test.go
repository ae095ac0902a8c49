package report_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs/report"
)

// watchedService counts what a client does to the service.
type watchedService struct {
	http.RoundTripper
	sent, sending, most, refused atomic.Int64
}

func (w *watchedService) RoundTrip(r *http.Request) (*http.Response, error) {
	w.sent.Add(1)
	if n := w.sending.Add(1); n > w.most.Load() {
		w.most.Store(n)
	}
	defer w.sending.Add(-1)
	res, err := w.RoundTripper.RoundTrip(r)
	if err == nil && res.StatusCode == http.StatusTooManyRequests {
		w.refused.Add(1)
	}
	return res, err
}

// A year, a day a request, answers that take two seconds, and five requests a second, which the
// service enforces: the limiter is what bounds the time, to three percent, and nothing else is
// waited for.
func TestTheLimiterIsKeptFull(t *testing.T) {
	const (
		days, rate, burst = 365, 5, 1 // the client's default, and the service's
		latency           = 2 * time.Second
		inFlight          = burst + rate*2 + 1 // a burst and what is sent while it is answered
	)
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 3, Apps: 1, Days: days + 5, Rate: rate, Burst: burst, Latency: latency,
			Readings: documented()})
		defer r.close()
		// It is asked for under a lock, and while others wait for one a bubble's clock stands
		// still.
		r.options.Events = nil
		r.options.Rules.Page = 1
		r.options.Query.Dimensions = []string{"day", "app_token"}
		r.options.Query.Metrics = []string{"installs", "cost"}
		r.start(days)
		r.client.Rate, r.client.InFlight, r.parallel = rate, inFlight, inFlight
		service := &watchedService{RoundTripper: r.client.HTTP.Transport}
		r.client.HTTP = &http.Client{Transport: service}

		began := time.Now()
		r.ok()
		took, requests := time.Since(began), service.sent.Load()
		bound := time.Duration(float64(time.Second) * float64(requests-burst) / rate * 1.03)
		t.Logf("%d requests in %v; the limiter allows %v, one answer takes %v; at most %d at once",
			requests, took, time.Duration(requests-burst)*time.Second/rate, latency, service.most.Load())
		if tried := 2 * latency; took > bound+tried+latency { // the first queries for totals and for rows go alone
			t.Errorf("%d requests took %v; at most %v", requests, took, bound+tried+latency)
		}
		if n := service.refused.Load(); n > 0 || requests < days+4 || requests > days+5 {
			t.Errorf("%d requests for rows and totals of %d days, %d of them refused", requests, days, n)
		}
		if n := service.most.Load(); n > inFlight {
			t.Errorf("%d requests at once: the cap of %d bound", n, inFlight)
		}
	})
}

// A service that enforces the very rate that it is asked at refuses nothing, from the first second
// on.
func TestAServiceAtExactlyOurRate(t *testing.T) {
	for _, c := range []struct{ rate, page int }{{10, 7}, {10, 1}, {50, 1}} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, emulator.Options{Seed: 3, Apps: 1, Days: 65, Rate: float64(c.rate), Burst: 1,
				Readings: documented()})
			defer r.close()
			r.options.Events = nil
			r.options.Rules.Page = c.page
			r.start(60)
			r.client.Rate, r.client.InFlight, r.parallel = float64(c.rate), 42, 42
			service := &watchedService{RoundTripper: r.client.HTTP.Transport}
			r.client.HTTP = &http.Client{Transport: service}
			r.ok()
			if sent, refused := service.sent.Load(), service.refused.Load(); refused > 0 || int(sent) < 60/c.page+1 {
				t.Errorf("at %d a second, %d days a window: %d of %d requests were refused", c.rate, c.page, refused,
					sent)
			}
		})
	}
}

const nightRate = 10 // the client's default

// wholeNight makes what a night is: 60 days by 12 apps at the rate that is the default, from a
// service that takes two seconds for an answer, and any number at a time.
func wholeNight(t testing.TB, reconcile report.Reconcile) *rig {
	r := newRig(t, emulator.Options{Seed: 7, Rate: -1, Latency: 2 * time.Second, Readings: documented()})
	r.options.Reconcile = reconcile
	r.client.Rate, r.client.InFlight, r.parallel = nightRate, 42, 42
	r.start(60)
	return r
}

// Totals are asked for beside the rows: a night with them waits for nothing but the turns of its
// requests.
func TestTotalsTakeNoTime(t *testing.T) {
	slow.Test(t)
	took, requests := map[report.Reconcile]time.Duration{}, map[report.Reconcile]int64{}
	for _, reconcile := range []report.Reconcile{report.ReconcileOff, report.ReconcileWarn} {
		synctest.Test(t, func(t *testing.T) {
			r := wholeNight(t, reconcile)
			defer r.close()
			r.options.Events = nil // asked for under a lock, while the clock of a bubble stands still
			r.ok()
			r.options.Rules.IgnoreLedger = true
			began := time.Now()
			res := r.ok()
			took[reconcile], requests[reconcile] = time.Since(began), res.Outcome.Requests
			t.Logf("reconcile %s: %d requests in %v", reconcile, res.Outcome.Requests, took[reconcile])
		})
	}
	turns := time.Duration(requests[report.ReconcileWarn]-requests[report.ReconcileOff]) * time.Second / nightRate
	if with, without := took[report.ReconcileWarn], took[report.ReconcileOff]; with > without*102/100+turns {
		t.Errorf("a night takes %v, and %v without totals, and %v are the turns of their requests", with, without,
			turns)
	}
}

// BenchmarkNight is a night by the clock on the wall, the service's own work in the same process
// included.
func BenchmarkNight(b *testing.B) {
	for _, reconcile := range []report.Reconcile{report.ReconcileOff, report.ReconcileWarn} {
		b.Run(string(reconcile), func(b *testing.B) {
			r := wholeNight(b, reconcile)
			defer r.close()
			r.ok()
			r.options.Rules.IgnoreLedger = true
			for b.Loop() {
				r.ok()
			}
		})
	}
}
