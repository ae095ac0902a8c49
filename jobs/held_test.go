package jobs

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/ledger/ledgertest"
)

// A run that comes to windows of a dead one waits for the end of its lease and does them; those of a live one it leaves.
func TestSecondLook(t *testing.T) {
	const lease = 2 * time.Minute
	for _, c := range []struct {
		name    string
		holder  func(*ledger.Claim, *ledgertest.Store)
		held    int
		longest time.Duration
	}{
		{"its holder is dead", func(_ *ledger.Claim, s *ledgertest.Store) { s.Dead.Store(true) }, 0, lease + lease/5},
		{"its holder lives", func(*ledger.Claim, *ledgertest.Store) {}, 1, lease/3 + lease/5},
		{"its holder is done soon", func(c *ledger.Claim, _ *ledgertest.Store) {
			go func() {
				time.Sleep(time.Second)
				if err := c.Release(context.Background()); err != nil {
					t.Error(err)
				}
			}()
		}, 0, 4 * time.Second},
	} {
		t.Run(c.name, synctested(func(t *testing.T) {
			l, store := storeLedger(t)
			for _, unit := range []string{"a", "b"} {
				other, theirs := another(store)
				claim, err := other.Claim(t.Context(), "installs", unit, "holder of "+unit, lease)
				check(t, err)
				c.holder(claim, theirs)
				defer func() { check(t, claim.Release(t.Context())) }()
			}
			s := &script{units: []string{"a", "x", "b"}}
			r := &Runner{Ledger: l, Run: "run", Lease: lease, Parallel: 2, Log: slog.New(slog.DiscardHandler)}
			start := time.Now()
			list := []Job{{Name: "j", Table: "installs", Kind: s}}
			res := r.RunJobs(t.Context(), list, PlanJobs(t.Context(), list, time.Now()))[0]
			if took := time.Since(start); took > c.longest {
				t.Errorf("took %v, want %v at the most", took, c.longest)
			}
			if o := res.Outcome; o.Windows != 3 || o.Held != 2*c.held || o.Written != 3-2*c.held {
				t.Errorf("%+v, %d held", o, 2*c.held)
			}
		}))
	}
}

// A holder that lives may need the claim for a unit of its own: it has put the others aside, as they were held when it came to them. They are
// tried once more at the end.
func TestUnitsThatShareAClaimAreNotLeft(t *testing.T) {
	const lease = 2 * time.Minute
	synctested(func(t *testing.T) {
		l, store := storeLedger(t)
		shared, _ := another(store)
		claim, err := shared.Claim(t.Context(), "installs", "week", "holder", lease)
		check(t, err)
		time.AfterFunc(lease/2, func() { check(t, claim.Release(context.Background())) })
		dead, theirs := another(store)
		_, err = dead.Claim(t.Context(), "installs", "b", "dead", lease)
		check(t, err)
		theirs.Dead.Store(true)
		s := &script{units: []string{"a1", "a2", "b"}}
		list := []Job{{Name: "j", Table: "installs", Kind: s}}
		plans := PlanJobs(t.Context(), list, time.Now())
		for i := range 2 {
			plans[0].Units[i].Claims = []string{"week"}
		}
		r := &Runner{Ledger: l, Run: "run", Lease: lease, Parallel: 3, Log: slog.New(slog.DiscardHandler)}
		if o := r.RunJobs(t.Context(), list, plans)[0].Outcome; o.Windows != 3 || o.Held != 0 || o.Written != 3 {
			t.Errorf("%+v", o)
		}
	})(t)
}

// The tables that tell of a job's table are written after whoever writes them at the same time, for as long as that one shows
// life; a dead one is waited for until its lease is over, and one that goes on and on isn't waited for without end.
func TestStatesWaitForTheirTurn(t *testing.T) {
	const lease = 2 * time.Minute
	for name, c := range map[string]struct {
		takes  time.Duration
		dead   bool
		writes int
		after  time.Duration // at most
	}{
		"a long turn": {takes: 5 * lease, writes: 1, after: 5*lease + lease/4},
		"a dead one":  {takes: time.Hour, dead: true, writes: 1, after: 2 * lease},
		"too long":    {takes: time.Hour, after: 11 * lease},
	} {
		t.Run(name, synctested(func(t *testing.T) {
			l, store := storeLedger(t)
			other, theirs := another(store)
			claim, err := other.Claim(t.Context(), "installs", "state", "holder", lease)
			check(t, err)
			theirs.Dead.Store(c.dead)
			over := time.AfterFunc(c.takes, func() { _ = claim.Release(context.Background()) }) // a dead one can't write
			defer func() {
				if over.Stop() {
					_ = claim.Release(context.Background())
				}
			}()
			writes := 0
			list := []Job{{Name: "j", Table: "installs", Kind: &script{units: []string{"a"}}}}
			plans := PlanJobs(t.Context(), list, time.Now())
			plans[0].States = &States{Claim: "state", Write: func(context.Context, ledger.Hold) error { writes++; return nil }}
			r := &Runner{Ledger: l, Run: "run", Lease: lease, Parallel: 1, Log: slog.New(slog.DiscardHandler)}
			begun := time.Now()
			res := r.RunJobs(t.Context(), list, plans)[0]
			if took := time.Since(begun); writes != c.writes || (len(res.Errs) == 0) != (c.writes == 1) || took > c.after {
				t.Errorf("%d writes after %v: %v", writes, took, res.Errs)
			}
		}))
	}
}
