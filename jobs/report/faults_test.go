package report_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/report"
)

var seeds = flag.Int("n", 8, "seeds of fault scripts, and an eighth of it of bad nights")

// drawFaults makes a script of what the real service does on a bad night, from a seed. It has no
// two answers in a row that are nothing of what was asked for, because those are final.
func drawFaults(r *rand.Rand) (faults []emulator.Fault) {
	odd := 0 // the last of them
	for nth := 1; nth <= 40; nth++ {
		f := emulator.Fault{Nth: nth}
		switch r.IntN(12) {
		case 0:
			f.Kind, f.Status = emulator.FaultStatus, 429
		case 1:
			f.Kind, f.Status, f.RetryAfter = emulator.FaultStatus, 429, 1+r.IntN(20)
		case 2:
			f.Kind, f.Status = emulator.FaultStatus, 503
		case 3:
			f.Kind, f.AfterBytes = emulator.FaultCut, int64(r.IntN(60_000))
		case 4:
			f.Kind = emulator.FaultReset
		case 5:
			f.Kind, f.Delay = emulator.FaultSlow, time.Duration(1+r.IntN(5000))*time.Millisecond
		case 6, 7:
			if odd > 0 && nth <= odd+5 { // between two tries, another request may have been sent
				continue
			}
			f.Kind, odd = []emulator.FaultKind{emulator.FaultHTML, emulator.FaultEmpty}[nth%2], nth
		default:
			continue
		}
		faults = append(faults, f)
	}
	return faults
}

// Whatever the service does wrong, the result is the same as without: every part that reaches the
// sink is a whole one, and agrees with the totals, which every other script lets the run ask for.
// Without them the clock shows exactly the waits that the client accounts for.
func TestFaultScripts(t *testing.T) {
	const days, apps = 17, 2
	if testing.Short() { // the race detector slows SQLite down twenty times
		*seeds = min(*seeds, 2)
	}
	clean := faultRun(t, nil, 0, days, apps, report.ReconcileOff)
	if len(clean.hashes) != days {
		t.Fatalf("the clean run wrote %d partitions", len(clean.hashes))
	}
	var retries, splits int64
	for seed := range uint64(*seeds) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			faults := drawFaults(rand.New(rand.NewPCG(seed, 1)))
			pairs := []int{0, apps * 4, apps * 2, apps}[seed%4] // 504 on windows wider than so many days
			reconcile := []report.Reconcile{report.ReconcileOff, report.ReconcileWarn}[seed/4%2]
			got := faultRun(t, faults, pairs, days, apps, reconcile)
			for day, want := range clean.hashes {
				if got.hashes[day] != want {
					t.Errorf("seed %d: %s is %q, the clean run's is %q", seed, day, got.hashes[day], want)
				}
			}
			if seed%8 == 0 {
				if again := faultRun(t, faults, pairs, days, apps, reconcile); again.took != got.took {
					t.Errorf("seed %d: took %v, and %v the second time", seed, got.took, again.took)
				}
			}
			if got.outcome.Unreconciled > 0 {
				t.Errorf("seed %d: %d days don't agree with their totals", seed, got.outcome.Unreconciled)
			}
			if reconcile != report.ReconcileOff {
				return
			}
			retries += got.outcome.Retries
			splits += got.outcome.Requests - clean.outcome.Requests - got.outcome.Retries
		})
	}
	t.Logf("%d seeds, %d retries, %d requests more through splitting", *seeds, retries, splits)
	if retries == 0 || splits <= 0 {
		t.Error("the scripts cause no retries or no splits: they show nothing")
	}
}

type faultResult struct {
	hashes  map[civil.Date]string
	outcome ledger.Outcome
	took    time.Duration
}

func faultRun(t *testing.T, faults []emulator.Fault, pairs, days, apps int,
	reconcile report.Reconcile) (out faultResult) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 7, Apps: apps, Days: 40, Rate: -1, MaxPairs: pairs, Faults: faults})
		defer r.close()
		r.start(days)
		r.options.Query.Metrics, r.options.Reconcile = r.options.Query.Metrics[:5], reconcile
		r.options.Hold = len(faults) % 2 * table.HoldSmall
		sink := watch(r.sink)
		r.options.Targets = []ledger.Target{{Name: "out", Sink: sink}}
		start := time.Now()
		res := r.ok()
		out.took, out.outcome = time.Since(start), res.Outcome

		var slow time.Duration
		for i, q := range r.server.Requests() {
			if q.Fault == string(emulator.FaultSlow) {
				slow += slowness(faults, i+1)
			}
		}
		if want := res.Outcome.Limiter + res.Outcome.Backoff + slow; out.took != want &&
			reconcile == report.ReconcileOff {
			t.Errorf("took %v: %v on the limiter, %v between attempts, %v of slow answers make %v", out.took,
				res.Outcome.Limiter, res.Outcome.Backoff, slow, want)
		}
		out.hashes = map[civil.Date]string{}
		for day, parts := range sink.puts {
			if len(parts) != 1 {
				t.Errorf("%s was put %d times", day, len(parts))
			}
			out.hashes[day] = parts[0].Hash
		}
		if left := spooled(t, r.spool); len(left) > 0 {
			t.Errorf("left in the spool: %v", left)
		}
		r.server.SetFaults(nil)
		r.equalsTruth(civil.DateOf(time.Now().UTC()).AddDays(-days), days)
	})
	return out
}

// slowness is the delay that the script has for the nth request.
func slowness(faults []emulator.Fault, nth int) time.Duration {
	for _, f := range faults {
		if f.Nth == nth {
			return f.Delay
		}
	}
	return 0
}
