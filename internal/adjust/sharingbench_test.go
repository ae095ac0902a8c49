package adjust

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/reportferry/reportferry/internal/adjust/transport"
)

// BenchmarkShareThirdParty sends records over loopback to a receiver in the same process that reads
// each form and says OK: both sides' work on the same cores.
func BenchmarkShareThirdParty(b *testing.B) {
	for _, inFlight := range []int{1, 8, 32} {
		b.Run(fmt.Sprintf("in_flight=%d", inFlight), func(b *testing.B) {
			var arrived atomic.Int64
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.PostFormValue("s2s") == "1" && r.PostFormValue("gps_adid") != "" {
					arrived.Add(1)
				}
				shared200(w, r)
			}))
			defer s.Close()
			web := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: inFlight}}
			c, err := New(Options{S2SURL: s.URL, SharingAuth: RecordAuth{Key: &fixed{tokens: []string{"s2s"}}},
				Options: transport.Options{Rate: 1e6, InFlight: inFlight, HTTP: web}})
			if err != nil {
				b.Fatal(err)
			}
			defer web.CloseIdleConnections()
			b.ReportAllocs()
			b.ResetTimer()
			var next atomic.Int64
			var wg sync.WaitGroup
			for range inFlight {
				wg.Go(func() {
					for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
						if err := share(b.Context(), c, Sharing{AppToken: "abc123xyz",
							GPSAdID:  fmt.Sprintf("38400000-8cf0-11bd-b23e-%012x", n),
							Partners: `{"all":{"all":false},"facebook":{"install":true}}`}); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
			b.StopTimer()
			if got := arrived.Load(); got != int64(b.N) {
				b.Errorf("%d records arrived, want %d", got, b.N)
			}
		})
	}
}
