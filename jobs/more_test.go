package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// finder is a kind of one unit, look, which brings to light others by name, and one of these, nest,
// which brings another.
type finder struct {
	script
	finds []string
	fails error
}

func (f *finder) Plan(context.Context, time.Time) (Plan, error) {
	p := planOf([]string{"look"}, f.do)
	p.Units[0].More = func() []Unit {
		more := planOf(f.finds, f.do).Units
		for i := range more {
			if more[i].Name == "nest" {
				more[i].More = func() []Unit { return planOf([]string{"egg"}, f.do).Units }
			}
		}
		return more
	}
	if f.fails != nil {
		do := p.Units[0].Do
		p.Units[0].Do = func(ctx context.Context) (ledger.Outcome, error) {
			out, _ := do(ctx)
			return out, f.fails
		}
	}
	return p, nil
}

// What comes to light while a unit is done is done in the same run: counted, within the deadline.
func TestMoreUnits(t *testing.T) {
	for name, c := range map[string]struct {
		finder   *finder
		deadline time.Duration
		holds    string // a unit that another run holds
		lives    bool   // that run does
		did      []string
		want     ledger.Outcome
		left     int
		units    int // of the last progress
	}{
		"nothing": {finder: &finder{}, did: []string{"look"},
			want: ledger.Outcome{Windows: 1, Written: 1, Rows: 10}, units: 1},
		"two": {finder: &finder{finds: []string{"a", "b"}}, did: []string{"a", "b", "look"},
			want: ledger.Outcome{Windows: 3, Written: 3, Rows: 30}, units: 3},
		"more of those": {finder: &finder{finds: []string{"nest"}}, did: []string{"egg", "look", "nest"},
			want: ledger.Outcome{Windows: 3, Written: 3, Rows: 30}, units: 3},
		"one of them fails": {finder: &finder{finds: []string{"hopeless", "a"}},
			did: []string{"a", "hopeless", "look"}, want: ledger.Outcome{Windows: 3, Written: 2, Failed: 3, Rows: 20},
			units: 3},
		"the finder fails": {finder: &finder{finds: []string{"a"}, fails: errors.New("half of it")},
			did: []string{"a", "look"}, want: ledger.Outcome{Windows: 2, Written: 2, Rows: 20}, units: 2},
		"the job is denied": {finder: &finder{finds: []string{"a"}, fails: ErrDenied}, did: []string{"look"},
			want: ledger.Outcome{Windows: 1, Written: 1, Rows: 10}, units: 2},
		"no time is left": {finder: &finder{finds: []string{"a", "b"}}, deadline: 15 * time.Second,
			did: []string{"look"}, want: ledger.Outcome{Windows: 1, Written: 1, Rows: 10}, left: 2, units: 3},
		"the run is stopped": {finder: &finder{finds: []string{"stop", "b"}}, did: []string{"look", "stop"},
			want: ledger.Outcome{Windows: 2, Written: 1, Rows: 10}, left: 2, units: 3},
		"one is another's": {finder: &finder{finds: []string{"a", "b"}}, holds: "a", lives: true,
			did: []string{"b", "look"}, want: ledger.Outcome{Windows: 3, Held: 1, Written: 2, Rows: 20}, units: 3},
		"one was a dead run's": {finder: &finder{finds: []string{"a", "b"}}, holds: "a",
			did:  []string{"a", "b", "look"},
			want: ledger.Outcome{Windows: 3, Written: 3, Rows: 30}, units: 3},
		"the finder was a dead run's": {finder: &finder{finds: []string{"a", "nest"}}, holds: "look",
			did:  []string{"a", "egg", "look", "nest"},
			want: ledger.Outcome{Windows: 4, Written: 4, Rows: 40}, units: 4},
	} {
		t.Run(name, synctested(func(t *testing.T) {
			if c.holds != "" {
				c.finder.holders = map[string]*holder{c.holds: {time.Now(),
					map[bool]time.Duration{true: time.Hour}[c.lives], !c.lives}}
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c.finder.stop = cancel
			last := 0
			r := &Runner{Run: "run", Lease: testLease, Parallel: 1, Log: slog.New(slog.DiscardHandler),
				Observe: func(p Progress) { last = p.Units }}
			if c.deadline > 0 {
				r.Deadline = time.Now().Add(c.deadline)
			}
			list := []Job{{Name: "j", Table: "installs", Kind: c.finder}}
			plans := PlanJobs(ctx, list, time.Now())
			if c.deadline > 0 {
				do := plans[0].Units[0].Do
				plans[0].Units[0].Do = func(ctx context.Context) (ledger.Outcome, error) {
					time.Sleep(time.Minute)
					return do(ctx)
				}
			}
			res := r.RunJobs(ctx, list, plans)[0]
			slices.Sort(c.finder.done)
			if got := fmt.Sprint(c.finder.done); got != fmt.Sprint(c.did) || !reflect.DeepEqual(res.Outcome, c.want) ||
				res.Left != c.left || last != c.units {
				t.Errorf("did %s with %+v, left %d, of %d; want %v with %+v, left %d, of %d", got, res.Outcome,
					res.Left, last, c.did, c.want, c.left, c.units)
			}
		}))
	}
}
