package ledger

import (
	"context"
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

// A run that is stopped while a unit waits for others records what that unit has put.
func TestStoppedUnitIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := distantLedger(t, func(string, string) {})
		table := openTable(t, l)
		by, other := begin(t, table, "run", 0), begin(t, table, "run", 1)
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(500*time.Millisecond, stop)
		e := record(0, "run")
		was, _ := table.Recorded(e.Partition)
		e.After = was.Seq
		check(t, table.CommitAll(ctx, by, []Record{e})[0])
		check(t, by.End(ctx))
		check(t, other.End(ctx))
		check(t, table.Refresh(t.Context()))
		if is, _ := table.Recorded(e.Partition); is.Seq != e.After+1 || is.Doubt {
			t.Errorf("recorded is %+v", is)
		}
	})
}
