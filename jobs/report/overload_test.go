package report_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/slow"
)

// An overloaded service counts the answers that say so.
type overloaded struct {
	http.RoundTripper
	sent, refused atomic.Int64
}

func (o *overloaded) RoundTrip(q *http.Request) (*http.Response, error) {
	if strings.HasSuffix(q.URL.Path, "csv_report") {
		o.sent.Add(1)
	}
	res, err := o.RoundTripper.RoundTrip(q)
	if err == nil && res.StatusCode == http.StatusInternalServerError {
		o.refused.Add(1)
	}
	return res, err
}

// yearUnderLoad fetches 365 days from a service that works on some reports at a time. It gives how
// long that took, and how many it refused. With a fixed number, always as many are asked for at
// once.
func yearUnderLoad(t *testing.T, works string, fixed int) (took time.Duration, sent, refused int64) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 3, Apps: 1, Days: 370, Rate: -1, Latency: 2 * time.Second,
			Readings: []string{"overload=" + works},
			Faults:   []emulator.Fault{{Every: 1, Kind: emulator.FaultSlow, Delay: 4 * time.Second, Random: true}}})
		defer r.close()
		r.options.Events = nil
		r.options.Query.Dimensions = []string{"day", "app_token"}
		r.options.Query.Metrics = []string{"installs", "cost"}
		r.start(365)
		r.client.Rate, r.client.InFlight, r.client.Reports, r.parallel = 0, fixed, fixed, 8 // 0: the defaults
		service := &overloaded{RoundTripper: r.client.HTTP.Transport}
		r.client.HTTP = &http.Client{Transport: service}
		began := time.Now()
		r.ok()
		took, sent, refused = time.Since(began), service.sent.Load(), service.refused.Load()
		if files := len(r.files()); files != 365 {
			t.Errorf("%d days are there", files)
		}
	})
	return took, sent, refused
}

// At default settings a year of days comes whole from a service that works on a few reports at a
// time, with few refusals, and in little more time than with the number that happens to be right.
func TestOverload(t *testing.T) {
	slow.Test(t)
	for _, c := range []struct {
		works   string
		best    int   // number at once
		refused int64 // at most
	}{{"none", 8, 0}, {"12", 8, 0}, {"6", 6, 3}, {"3", 3, 6}, {"2", 2, 12}} {
		t.Run("overload="+c.works, func(t *testing.T) {
			took, sent, refused := yearUnderLoad(t, c.works, 0)
			best, _, bad := yearUnderLoad(t, c.works, c.best)
			if bad > 0 {
				t.Fatalf("%d are refused of %d at once", bad, c.best)
			}
			t.Logf("%d requests in %v, %d of them refused; with the best number %v", sent, took, refused, best)
			if refused > c.refused || float64(took) > 1.5*float64(best) {
				t.Errorf("%d are refused, at most %d may be; it takes %v, and %v with the best number", refused,
					c.refused, took, best)
			}
		})
	}
}
