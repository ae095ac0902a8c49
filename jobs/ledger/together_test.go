package ledger

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Units of one process that put partitions of the same month share one swap, and none of them waits
// longer than a second for the others.
func TestCommitsOfAMonthShareASwap(t *testing.T) {
	for _, c := range []struct {
		name  string
		puts  []time.Duration // when each unit has put its partition; 0: it fails then
		ends  []time.Duration // when it is over
		swaps int64
	}{
		{"together", []time.Duration{100, 400, 900}, []time.Duration{900, 900, 900}, 1},
		{"one is slow", []time.Duration{100, 5000}, []time.Duration{1100, 5000}, 2},
		{"one is alone", []time.Duration{100}, []time.Duration{100}, 1},
		{"one fails, and gives back", []time.Duration{100, 0}, []time.Duration{500, 500}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var swaps atomic.Int64
				l, _ := distantLedger(t, func(call, key string) {
					if call == "write" && strings.Contains(key, "2026-01.json") {
						swaps.Add(1)
					}
				})
				table, began := openTable(t, l), time.Now()
				var leases []*Lease
				for i := range c.puts {
					leases = append(leases, begin(t, table, "run", i))
				}
				swaps.Store(0)
				for i, by := range leases {
					go func() {
						if c.puts[i] == 0 {
							time.Sleep(500 * time.Millisecond)
						} else {
							time.Sleep(c.puts[i] * time.Millisecond)
							check(t, commitUnder(t, by, record(i, "run")))
						}
						check(t, by.End(t.Context()))
						if over := time.Since(began); over != c.ends[i]*time.Millisecond {
							t.Errorf("unit %d is over after %v, want %d ms", i, over, c.ends[i])
						}
					}()
				}
				time.Sleep(10 * time.Second)
				if n := swaps.Load(); n != c.swaps {
					t.Errorf("%d swaps, want %d", n, c.swaps)
				}
			})
		})
	}
}
