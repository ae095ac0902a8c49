package adjust

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"

	"github.com/reportferry/reportferry/internal/adjust/transport"
)

// loopback serves an emulator on a socket of this machine, and returns its address.
func loopback(tb testing.TB, o emulator.Options) (*emulator.Server, string) {
	tb.Helper()
	s, err := emulator.New(emutest.With(o))
	if err != nil {
		tb.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	web := &http.Server{Handler: s}
	done := make(chan error, 1)
	go func() { done <- web.Serve(l) }()
	tb.Cleanup(func() {
		if err := web.Close(); err != nil {
			tb.Error(err)
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			tb.Error(err)
		}
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s, "http://" + l.Addr().String()
}

// BenchmarkSubmitSpend sends records over loopback to an emulator in the same process: both sides'
// work on the same cores. kept is an emulator that writes every record to a file before it answers.
func BenchmarkSubmitSpend(b *testing.B) {
	for _, kept := range []bool{false, true} {
		for _, inFlight := range []int{8, 32, 64} {
			b.Run(fmt.Sprintf("kept=%t/in_flight=%d", kept, inFlight), func(b *testing.B) {
				o := emulator.Options{}
				if kept {
					o.DB = b.TempDir() + "/facts.db"
				}
				s, at := loopback(b, o)
				c, err := New(Options{CostURL: at, SpendAuth: RecordAuth{Key: &fixed{tokens: []string{"partner"}}},
					Options: transport.Options{Rate: 1e6, InFlight: inFlight}})
				if err != nil {
					b.Fatal(err)
				}
				var ids []string
				for e := range s.Engagements(time.Now().AddDate(0, 0, -6), time.Now(), b.N/70+1) {
					ids = append(ids, e.CostID)
				}
				b.ReportAllocs()
				b.ResetTimer()
				var next atomic.Int64
				var wg sync.WaitGroup
				for range inFlight {
					wg.Go(func() {
						for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
							if err := submit(b.Context(), c, Spend{"cpc", "usd", "0.25", ids[n%int64(len(ids))],
								"benchmark"}); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
				b.StopTimer()
				if got := s.Spend(); got.Statuses[http.StatusOK] != b.N {
					b.Errorf("%d records arrived, want %d", got.Statuses[http.StatusOK], b.N)
				}
			})
		}
	}
}
