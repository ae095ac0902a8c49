package jobs

import (
	"log/slog"
	"testing"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
)

const testLease = 2 * time.Minute

// A holder is another run that works on a unit from now on: for some time, and killed at the end or
// not. It renews its lease three times in its length.
type holder struct {
	began  time.Time
	works  time.Duration
	killed bool
}

// held is the error that says so; nil: the unit is free.
func (h *holder) held(unit string) error {
	if h == nil {
		return nil
	}
	now := time.Now()
	renewed := h.began.Add(min(now.Sub(h.began), h.works).Truncate(testLease / 3))
	until := renewed.Add(testLease)
	if now.After(h.began.Add(h.works)) && (!h.killed || !now.Before(until)) {
		return nil
	}
	return &ledger.HeldError{Unit: unit, Run: "another", Until: until, Free: until.Sub(now)}
}

// A run that comes to windows of a dead one waits for the end of its lease and does them; those of
// a live one it leaves.
func TestHeldUnits(t *testing.T) {
	for _, c := range []struct {
		name    string
		works   time.Duration
		killed  bool
		held    int
		longest time.Duration
	}{
		{"its holder is dead", 0, true, 0, testLease + testLease/10},
		{"its holder dies later", testLease / 2, true, 1, testLease},
		{"its holder lives", time.Hour, false, 1, testLease},
		{"its holder is done soon", time.Second, false, 0, testLease},
	} {
		t.Run(c.name, synctested(func(t *testing.T) {
			s := &script{units: []string{"a", "x", "b"}, holders: map[string]*holder{
				"a": {time.Now(), c.works, c.killed}, "b": {time.Now(), c.works, c.killed},
			}}
			r := &Runner{Run: "run", Lease: testLease, Parallel: 2, Log: slog.New(slog.DiscardHandler)}
			start := time.Now()
			list := []Job{{Name: "j", Table: "installs", Kind: s}}
			res := r.RunJobs(t.Context(), list, PlanJobs(t.Context(), list, time.Now()))[0]
			if took := time.Since(start); took > c.longest {
				t.Errorf("took %v, want %v at the most", took, c.longest)
			}
			if o := res.Outcome; o.Windows != 3 || o.Held != 2*c.held || o.Written != 3-2*c.held {
				t.Errorf("%+v, want %d held", o, 2*c.held)
			}
		}))
	}
}

// A dead run leased the months of a window one after the other, so that their leases end one after
// the other, too. The window is done when the last of them has ended.
func TestHeldInTwoMonths(t *testing.T) {
	synctested(func(t *testing.T) {
		s := &script{units: []string{"a"}, holders: map[string]*holder{"a": {time.Now(), 0, true}},
			second: map[string]*holder{"a": {time.Now().Add(300 * time.Millisecond), 0, true}}}
		r := &Runner{Run: "run", Lease: testLease, Parallel: 1, Log: slog.New(slog.DiscardHandler)}
		list := []Job{{Name: "j", Table: "installs", Kind: s}}
		res := r.RunJobs(t.Context(), list, PlanJobs(t.Context(), list, time.Now()))[0]
		if o := res.Outcome; o.Held != 0 || o.Written != 1 {
			t.Errorf("%+v, want it written", o)
		}
	})(t)
}
