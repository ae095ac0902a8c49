package report_test

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/jobs"
)

// A metric, dimension or filter that the service doesn't know costs one request and one error,
// however many windows there are and however many may be under way at once.
func TestARefusedQueryIsSentOnce(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*rig)
		want   string
	}{
		"a metric": {func(r *rig) {
			r.options.Query.Metrics = []string{"instals"}
			r.options.Types = map[string]catalog.Type{"instals": catalog.Int64}
		}, "did you mean installs?"},
		"an app": {func(r *rig) {
			r.options.Query.Filters = map[string][]string{"app_token__in": {"nosuchapp"}}
		}, "no apps matching nosuchapp"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, emulator.Options{Seed: 7, Apps: 1, Rate: -1, Latency: 300 * time.Millisecond,
					Readings: []string{"error-body=model", "unknown-apps=400"}})
				defer r.close()
				r.options.Events = nil
				c.change(r)
				r.start(365)
				r.parallel, r.client.InFlight = 20, 20
				res := r.run(t.Context())
				if n := len(r.server.Requests()); n != 1 {
					t.Errorf("%d requests, want 1", n)
				}
				if len(res.Errs) != 1 || !errors.Is(res.Errs[0], jobs.ErrStop) ||
					!strings.Contains(res.Errs[0].Error(), c.want) {
					t.Errorf("%d errors, want one with %q; the first is %v", len(res.Errs), c.want, res.Errs[0])
				}
				if len(res.Failures) != 1 {
					t.Errorf("%d failures are kept, want 1", len(res.Failures))
				}
			})
		})
	}
}

// The first query for totals of a new table goes alone until it is answered, and then the first for
// rows until its answer begins, or each for ten seconds: then the others go at once.
func TestTheFirstQueryHoldsUpTheOthersShortly(t *testing.T) {
	for name, c := range map[string]struct {
		latency time.Duration
		within  time.Duration
	}{
		"a quick answer": {time.Second, 4 * time.Second},
		"a slow answer":  {time.Minute, 85 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, emulator.Options{Seed: 7, Apps: 1, Rate: -1, Latency: c.latency, Readings: documented()})
				defer r.close()
				r.options.Events = nil
				r.start(70)
				r.parallel, r.client.InFlight = 20, 24 // eleven windows, and the totals of all
				began := time.Now()
				r.ok()
				if took := time.Since(began); took > c.within {
					t.Errorf("it took %v, want at most %v", took, c.within)
				}
				time.Sleep(24 * time.Hour)
				began = time.Now()
				r.ok()
				if took := time.Since(began); took > c.latency+time.Second {
					t.Errorf("a night later it took %v: the query is known to be good", took)
				}
			})
		})
	}
}

// An address that is too long is so for all days: the first refusal ends the job, and says what to
// do.
func TestAnAddressThatIsTooLong(t *testing.T) {
	for _, status := range []int{414, 431} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, emulator.Options{Seed: 7, Apps: 1, Rate: -1,
				Faults: []emulator.Fault{{Path: "csv_report", Every: 1, Kind: emulator.FaultStatus, Status: status}}})
			defer r.close()
			r.start(28)
			r.parallel, r.client.InFlight = 4, 4
			res := r.run(t.Context())
			if text := errors.Join(res.Errs...); text == nil || !strings.Contains(text.Error(),
				"bytes, which is too long for the service: set a smaller max_url under service, or divide the "+
					"metrics") {
				t.Errorf("%d: errors %v", status, res.Errs)
			}
			if res.Outcome.Requests > 2 {
				t.Errorf("%d: %d requests", status, res.Outcome.Requests)
			}
		})
	}
}

// A 400 about some days says nothing of the others.
func TestARefusedPeriodStopsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 7, Apps: 1, Rate: -1, Faults: []emulator.Fault{
			{Path: "csv_report", Nth: 2, Kind: emulator.FaultStatus, Status: 400},
		}})
		defer r.close()
		r.start(28)
		r.parallel, r.client.InFlight = 4, 4
		if res := r.run(t.Context()); len(res.Errs) != 1 || res.Outcome.Written < 20 {
			t.Errorf("%+v %v, want one window failed and the others published", res.Outcome, res.Errs)
		}
	})
}

// Where nothing listens one request tries for as long as its patience allows, and the job then
// ends, however many windows it has.
func TestNothingListens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 7, Apps: 1, Rate: -1})
		defer r.close()
		r.start(365)
		r.parallel, r.client.InFlight, r.client.Attempts = 8, 8, 8
		tried := 0
		var mu sync.Mutex
		r.client.HTTP = &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			tried++
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
		})}
		began := time.Now()
		res := r.run(t.Context())
		if len(res.Errs) != 1 || !errors.Is(res.Errs[0], jobs.ErrStop) || tried > 8+8 ||
			time.Since(began) > 3*time.Minute {
			t.Errorf("%d requests in %v, want one that is tried eight times, and at most one try of each window "+
				"beside it: %v", tried, time.Since(began), res.Errs)
		}
	})
}
