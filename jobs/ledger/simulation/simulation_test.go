package simulation

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"testing/cryptotest"
	"time"

	"github.com/reportferry/reportferry/internal/slow"
)

var (
	seeds = flag.Int("n", 100, "seeds of the simulation")
	first = flag.Uint64("seed", 1, "the first seed")
	show  = flag.Bool("trace", false, "print what happens in the first seed")
	stop  = flag.Bool("stop", false, "end with the first seed that violates an invariant")
)

// stats are what was met, so that a reader sees that things do happen.
type stats struct {
	processes, calls, kills, suspensions, late, lost, refused, leases, older, indexes, restatements, torn, steps,
	lines int
}

func (s *stats) add(w *world) {
	s.processes += w.born
	s.calls += w.calls
	s.refused += w.lake.refused + w.ledger.refused
	s.kills += w.stats.kills
	s.suspensions += w.stats.suspensions
	s.late += w.stats.late
	s.lost += w.stats.lost
	s.leases += w.stats.leases
	s.older += w.stats.older
	s.indexes += w.stats.indexes
	s.restatements += w.stats.restatements
	s.torn += w.stats.torn
	s.steps += w.stats.steps
	s.lines += w.stats.lines
}

func (s stats) String() string {
	return fmt.Sprintf("%d processes, %d calls, %d kills, %d suspensions, %d late writes, %d lost answers, %d "+
		"refused by a condition, "+
		"%d runs lost a lease, %d objects of history, %d indexes, %d restatements, %d files torn, %d steps of "+
		"records checked, %d lines of history read",
		s.processes, s.calls, s.kills, s.suspensions, s.late, s.lost, s.refused, s.leases, s.older, s.indexes,
		s.restatements, s.torn, s.steps, s.lines)
}

// simulate runs one seed.
func simulate(t *testing.T, seed uint64, data *account, keep bool) *world {
	cryptotest.SetGlobalRandom(t, seed)
	w := newWorld(t, seed, data, keep)
	w.run()
	return w
}

// TestSimulation runs seeds: whatever happens to processes and calls, what readers see is never
// older than what is recorded, and one clean run at the end reaches the truth.
func TestSimulation(t *testing.T) {
	if testing.Short() {
		*seeds = min(*seeds, 20)
	}
	data := askAccount(t)
	var sum stats
	var traces uint64
	begun, broken := time.Now(), 0
	for i := range *seeds {
		seed := *first + uint64(i)
		w := simulate(t, seed, data, *show && i == 0)
		sum.add(w)
		traces = traces*31 + w.trace.Sum64()
		if *show && i == 0 {
			t.Log("\n" + w.String())
		}
		if w.broken == "" {
			continue
		}
		broken++
		t.Errorf("seed %d: %s: %s", seed, w.broken, w.details)
		if broken == 1 && !*show {
			lines := simulate(t, seed, data, true).lines
			t.Logf("the end of its trace; all of it: -args -n 1 -seed %d -trace\n%s", seed,
				strings.Join(lines[max(0, len(lines)-60):], "\n"))
		}
		if *stop {
			return
		}
	}
	took := time.Since(begun)
	t.Logf("seeds %d to %d in %v, %.1f a second, %d violations, hash of the traces %016x: %v", *first,
		*first+uint64(*seeds)-1,
		took.Round(time.Millisecond), float64(*seeds)/took.Seconds(), broken, traces, sum)
}

// TestASeedRepeatsItself: the same seed gives the same world, call by call, where no tables of
// states are written: after those a run has leases of several months to renew, and one that wakes
// up renews them and goes on in an order that is nobody's.
func TestASeedRepeatsItself(t *testing.T) {
	slow.Test(t)
	data := askAccount(t)
	for seed := range uint64(40) {
		a, b := simulate(t, seed, data, true), simulate(t, seed, data, true)
		if a.fate.states || a.trace.Sum64() == b.trace.Sum64() {
			continue
		}
		for i, line := range a.lines {
			if i >= len(b.lines) || b.lines[i] != line {
				t.Fatalf("seed %d, step %d: once\n%s\nand once\n%s", seed, i, line,
					strings.Join(b.lines[min(i, len(b.lines)):min(i+1, len(b.lines))], ""))
			}
		}
		t.Fatalf("seed %d: %d steps and %d", seed, len(a.lines), len(b.lines))
	}
}
