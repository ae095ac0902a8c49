package ledger

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// What others have done since a run looked at all claims of a table doesn't hide from it, whatever it was.
func TestClaimsByAnOldLook(t *testing.T) {
	for name, meanwhile := range map[string]func(t *testing.T, l *Ledger, claim func() *Claim){
		"nothing":              func(*testing.T, *Ledger, func() *Claim) {},
		"claimed and released": func(t *testing.T, _ *Ledger, claim func() *Claim) { check(t, claim().Release(t.Context())) },
		"twice, the first gone": func(t *testing.T, _ *Ledger, claim func() *Claim) {
			check(t, claim().Release(t.Context()))
			check(t, claim().Release(t.Context()))
		},
		"claimed, released and swept": func(t *testing.T, l *Ledger, claim func() *Claim) {
			check(t, claim().Release(t.Context()))
			table, err := l.Table(t.Context(), "installs")
			check(t, err)
			check(t, table.sweep(t.Context(), 0))
		},
	} {
		for _, before := range []int{0, 1, 2} {
			t.Run(fmt.Sprint(name, " after ", before), func(t *testing.T) {
				everyLedger(t, func(t *testing.T, l *Ledger) {
					ctx := t.Context()
					last := 0
					claim := func() *Claim {
						c, err := l.Claim(ctx, "installs", "u", "other", time.Minute)
						check(t, err)
						last = c.number
						return c
					}
					for range before {
						check(t, claim().Release(ctx))
					}
					seen := l.Claims("installs")
					first, err := seen.Claim(ctx, "v", "a", time.Minute) // looks at u too
					check(t, err)
					meanwhile(t, l, claim)
					c, err := seen.Claim(ctx, "u", "a", time.Minute)
					check(t, err)
					if c.number != last+1 {
						t.Errorf("number %d follows %d", c.number, last)
					}
					check(t, c.Release(ctx))
					c, err = seen.Claim(ctx, "u", "a", time.Minute) // once more: by a look of its own
					check(t, err)
					held := claimHeld(t, l)
					if c.number != last+2 || held.Run != "a" {
						t.Errorf("number %d follows %d, held by %q", c.number, last+1, held.Run)
					}
					check(t, errors.Join(c.Release(ctx), first.Release(ctx)))
				})
			})
		}
	}
}

func claimHeld(t *testing.T, l *Ledger) *HeldError {
	t.Helper()
	var held *HeldError
	if _, err := l.Claim(t.Context(), "installs", "u", "another", time.Minute); !errors.As(err, &held) {
		t.Fatalf("a unit that is held was claimed: %v", err)
	}
	return held
}

// Who was there since the look is named, whether its claim was there then or not.
func TestClaimsOfOthers(t *testing.T) {
	everyLedger(t, func(t *testing.T, l *Ledger) {
		ctx := t.Context()
		early, err := l.Claim(ctx, "installs", "early", "other", time.Minute)
		check(t, err)
		seen := l.Claims("installs")
		first, err := seen.Claim(ctx, "v", "a", time.Minute)
		check(t, err)
		late, err := l.Claim(ctx, "installs", "late", "other", time.Minute)
		check(t, err)
		for _, unit := range []string{"early", "late", "v"} {
			var held *HeldError
			if _, err := seen.Claim(ctx, unit, "a", time.Minute); !errors.As(err, &held) || held.Run != map[string]string{"v": "a"}[unit] && held.Run != "other" {
				t.Errorf("%s: %v", unit, err)
			}
		}
		check(t, errors.Join(early.Release(ctx), late.Release(ctx), first.Release(ctx)))
		over, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := l.Claims("installs").Claim(over, "late", "a", time.Minute); !errors.Is(err, context.Canceled) {
			t.Errorf("a stopped run claims: %v", err)
		}
	})
}

// Many runs with old looks: a unit is never held by two, and no number is used twice.
func TestClaimsAtOnce(t *testing.T) {
	everyLedger(t, func(t *testing.T, l *Ledger) {
		const runs, units, rounds = 6, 3, 8
		var holders [units]atomic.Int32
		var numbers sync.Map
		var all sync.WaitGroup
		for run := range runs {
			all.Go(func() {
				for range rounds {
					seen := l.Claims("installs")
					for _, unit := range rand.Perm(units) {
						c, err := seen.Claim(t.Context(), fmt.Sprint(unit), fmt.Sprint(run), time.Minute)
						var held *HeldError
						if errors.As(err, &held) {
							continue
						}
						if err != nil {
							t.Error(err)
							return
						}
						if n := holders[unit].Add(1); n != 1 {
							t.Errorf("%d hold unit %d", n, unit)
						}
						if _, used := numbers.LoadOrStore(c.key(c.number), true); used {
							t.Errorf("%s is used twice", c.key(c.number))
						}
						holders[unit].Add(-1)
						if err := c.Release(t.Context()); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		all.Wait()
	})
}
