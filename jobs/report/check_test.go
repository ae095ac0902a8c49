package report_test

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/report"
)

// A changed service knows a metric no more, or only the rows of iOS.
type changed struct {
	http.RoundTripper
	metric string // empty: it knows all
	ios    bool
}

func (f *changed) RoundTrip(r *http.Request) (*http.Response, error) {
	q := r.URL.Query()
	if f.metric != "" && strings.Contains(q.Get("metrics"), f.metric) {
		q.Set("metrics", "no_such_metric")
	}
	if f.ios {
		q.Set("os_name__in", "ios")
	}
	r = r.Clone(r.Context())
	r.URL.RawQuery = q.Encode()
	return f.RoundTripper.RoundTrip(r)
}

// What is compared are the columns that a partition and the service's answer both have: one that
// the table lacks, or has dropped, or that the service has dropped too, is no difference. A changed
// number is, in any partition.
func TestCompareWithOtherColumns(t *testing.T) {
	metrics := []string{"installs", "clicks", "cost"}
	for _, c := range []struct {
		name    string
		metrics []string // of the config by now
		forgets string   // the service
		same    bool
	}{
		{"the same", metrics, "", true},
		{"a column more", append(metrics, "sessions"), "", true},
		{"a column fewer", metrics[:2], "", true},
		{"a column fewer, which the service has dropped", metrics[:2], "cost", true},
		{"another answer", metrics, "", false},
		{"another answer, without the column that the service has dropped", metrics[:2], "cost", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, emulator.Options{Seed: 3, Apps: 2, Rate: -1})
				defer r.close()
				time.Sleep(6 * time.Hour)
				r.options.Rules.Lookback, r.options.Events, r.options.Query.Metrics = 0, nil, metrics
				r.start(5)
				r.ok()
				o := r.options
				o.Query.Metrics = c.metrics
				client := r.client
				client.HTTP = &http.Client{Transport: &changed{client.HTTP.Transport, c.forgets, !c.same}}
				var err error
				o.Client, err = adjust.New(client)
				check(t, err)
				o.Ledger, o.SpoolDir = r.ledger, r.spool
				o.Targets = []ledger.Target{{Name: "out", Sink: r.sink}}
				kind, err := report.New(o)
				check(t, err)
				found, totals, err := kind.Compare(t.Context(), time.Now(), 3, rand.New(rand.NewPCG(1, 1)))
				check(t, err)
				want := map[bool]int{true: 3, false: 5}[c.same] // what differs by its totals isn't fetched again
				if len(found) != want || totals != 5 {
					t.Fatalf("%d partitions are named, and the totals of %d were compared", len(found), totals)
				}
				for _, f := range found {
					if f.Err != nil || f.Same != c.same || (f.Totals == "") != c.same {
						t.Errorf("%s: the same: %v, %v, totals: %q", f.Partition, f.Same, f.Err, f.Totals)
					}
				}
			})
		})
	}
}
