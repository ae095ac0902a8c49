package icesink

import (
	"fmt"
	"sync"
	"testing"

	"github.com/reportferry/reportferry/sinks"
)

// A load of many days, seven at a time as a window has them, and then one day of it again. The
// table has as many partitions by then.
func BenchmarkLoad(b *testing.B) {
	for _, days := range []int{60, 365, 3650} {
		b.Run(fmt.Sprint(days), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				s := openURL(b, newURL(b))
				b.StartTimer()
				loadDays(b, s, days)
				b.ReportMetric(float64(len(load(b, s).Metadata().Snapshots())), "snapshots")
			}
		})
		b.Run(fmt.Sprint(days, "/again"), func(b *testing.B) {
			u := newURL(b)
			loadDays(b, openURL(b, u), days)
			fresh := openURL(b, u)
			b.ResetTimer()
			for b.Loop() {
				mustPut(b, fresh, testPart(date("2020-01-01").AddDays(days/2).String(), "again"))
			}
		})
	}
}

func loadDays(b *testing.B, s *Sink, days int) {
	b.Helper()
	for first := 0; first < days; first += 7 {
		var wg sync.WaitGroup
		for d := first; d < min(first+7, days); d++ {
			wg.Go(func() {
				p := testPart(date("2020-01-01").AddDays(d).String(), "a", "b", "c")
				p.Over = sinks.Condition{Absent: true}
				if _, err := s.Put(b.Context(), p); err != nil {
					b.Error(err)
				}
			})
		}
		wg.Wait()
	}
}
