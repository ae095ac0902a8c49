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
		}, 0, lease / 5},
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
