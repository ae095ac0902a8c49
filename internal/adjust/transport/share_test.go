package transport

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Processes that begin at any moment keep to the rate together, in every second wherever it begins,
// and use nearly all of it.
func TestSharesAddUpToTheRate(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			dice := rand.New(rand.NewPCG(seed, 0))
			count, perSecond := 1+dice.IntN(12), []float64{0.5, 3, 10, 16}[dice.IntN(4)]
			if count == 1 {
				count = 8
			}
			var mu sync.Mutex
			var at []time.Time
			var wg sync.WaitGroup
			const each = 40
			for i := range count {
				o := Options{Rate: perSecond, Share: Share{Index: i, Count: count}}.withShare()
				l := newLimiter(o.Rate, o.Burst, newTurns(o.Share, o.Rate))
				start := time.Duration(dice.Int64N(int64(5 * time.Second)))
				wg.Go(func() {
					time.Sleep(start)
					for range each {
						if err := l.wait(t.Context(), &wait{}); err != nil {
							t.Error(err)
						}
						mu.Lock()
						at = append(at, time.Now())
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			slices.SortFunc(at, time.Time.Compare)
			most := max(1, int(perSecond))
			for i := range at[:len(at)-most] {
				if d := at[i+most].Sub(at[i]); perSecond >= 1 && d < time.Second-time.Microsecond {
					t.Fatalf("seed %d: %d requests within %v of %v a second by %d processes", seed, most+1, d,
						perSecond, count)
				}
			}
			took, want := at[len(at)-1].Sub(at[0]).Seconds(), float64(count*each)/perSecond
			if took > want*1.05+5+float64(count)/perSecond {
				t.Errorf("seed %d: %d requests take %.1f s, %.1f would do", seed, count*each, took, want)
			}
		})
	}
}

func TestShareRefused(t *testing.T) {
	for _, s := range []Share{{1, 1}, {-1, 2}, {0, -1}, {3, 2}} {
		if _, err := New(Options{Share: s}); err == nil {
			t.Errorf("share %v is taken", s)
		}
	}
	one := Options{Rate: 10, InFlight: 4, Burst: 20}
	if got := one.withShare(); got.Rate != 10 || got.InFlight != 4 || got.Burst != 20 {
		t.Errorf("alone it is %+v", got)
	}
	one.Share = Share{7, 8}
	if got := one.withShare(); got.Rate != 1.25 || got.Burst != 1 {
		t.Errorf("one of eight is %+v", got)
	}
	for count := 1; count < 12; count++ {
		sum := 0
		for i := range count {
			sum += Share{i, count}.part(8)
		}
		if sum != 8 {
			t.Errorf("%d processes have %d places together", count, sum)
		}
	}
}
