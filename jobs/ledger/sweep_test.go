package ledger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger/ledgertest"
)

func claimed(t *testing.T, l *Ledger, unit string) *Claim {
	t.Helper()
	c, err := l.Claim(t.Context(), "installs", unit, "run", time.Minute)
	check(t, err)
	return c
}

func sweep(t *testing.T, l *Ledger) {
	t.Helper()
	check(t, openTable(t, l).sweep(t.Context(), 0))
}

func claimKeys(t *testing.T, l *Ledger) []string {
	t.Helper()
	keys, err := l.list(t.Context(), "tables/installs/claims/")
	check(t, err)
	return keys
}

// Claims that were given back are dropped, and their numbers go on; those that weren't stay.
func TestSweep(t *testing.T) {
	everyLedger(t, func(t *testing.T, l *Ledger) {
		live := claimed(t, l, "live")
		for range 3 {
			for _, unit := range []string{"a", "b"} {
				check(t, claimed(t, l, unit).Release(t.Context()))
			}
		}
		check(t, openTable(t, l).sweep(t.Context(), 3))
		if keys := claimKeys(t, l); len(keys) != 3 {
			t.Errorf("swept though there were no more than three: %v", keys)
		}
		sweep(t, l)
		if keys := claimKeys(t, l); len(keys) != 1 || keys[0] != live.key(1) {
			t.Errorf("left after the sweep: %v", keys)
		}
		a := claimed(t, l, "a")
		if a.number != 4 {
			t.Errorf("number %d after three that were swept", a.number)
		}
		check(t, a.Release(t.Context()))
		check(t, live.Release(t.Context()))
		sweep(t, l)
		sweep(t, l)
		// What was to be dropped long ago and is still there doesn't set its number back.
		check(t, l.create(t.Context(), a.key(2), mustEncode(t, claimBody{Released: true})))
		sweep(t, l)
		n, last, err := l.swept(t.Context(), "installs")
		check(t, err)
		if got := fmt.Sprint(n, last); got != "2 map[a:4 b:3 live:1]" {
			t.Errorf("swept %s", got)
		}
		all, err := l.list(t.Context(), "tables/")
		check(t, err)
		if len(all) != 1 {
			t.Errorf("objects left: %v", all)
		}
	})
}

// at runs do once, before the call of that name on a key that ends like that.
func at(d *ledgertest.Store, call, suffix string, do func()) {
	var done atomic.Bool // objects are read side by side
	d.Before = func(c, key string) {
		if c == call && strings.HasSuffix(key, suffix) && done.CompareAndSwap(false, true) {
			do()
		}
	}
}

// A claimant is slow while others claim, give back and sweep: whatever it does next, a unit has one holder.
func TestSlowClaimantMeetsSweeper(t *testing.T) {
	for _, c := range []struct {
		name   string
		before int // claims that were given back before
		call   string
		suffix string
	}{
		{"listed nothing, the number is used and swept meanwhile", 0, "create", "u/000001.json"},
		{"listed one, both are swept meanwhile", 1, "create", "u/000002.json"},
		{"listed one, which is swept before it is read", 1, "read", "u/000001.json"},
		{"listed one, which is swept before it reads what is swept", 1, "list", "swept/"},
		{"listed nothing, before it reads what is swept", 0, "list", "swept/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, d := distantLedger(t, nil)
			for range c.before {
				check(t, claimed(t, l, "u").Release(t.Context()))
			}
			at(d, c.call, c.suffix, func() {
				check(t, claimed(t, l, "u").Release(t.Context()))
				sweep(t, l)
			})
			slow, err := l.Claim(t.Context(), "installs", "u", "slow", time.Minute)
			var held *HeldError
			if err != nil && !errors.As(err, &held) {
				t.Fatal(err)
			}
			fast, ferr := l.Claim(t.Context(), "installs", "u", "fast", time.Minute)
			if (err == nil) == (ferr == nil) {
				t.Errorf("slow: %v, fast: %v; want one holder", err, ferr)
			}
			for _, holder := range []*Claim{slow, fast} {
				if holder == nil {
					continue
				}
				if holder.number != c.before+2 {
					t.Errorf("the holder has number %d after %d that were used", holder.number, c.before+1)
				}
				check(t, holder.Release(t.Context()))
			}
		})
	}
}

// A claimant creates a number that was used and dropped, between a sweeper's listing and what that drops: it must look
// for higher numbers before it reads what was swept, not after.
func TestClaimantBetweenListingAndSweep(t *testing.T) {
	l, d := distantLedger(t, nil)
	table := openTable(t, l)
	at(d, "create", "u/000001.json", func() {
		for range 2 {
			check(t, claimed(t, l, "u").Release(t.Context()))
		}
		at(d, "list", "claims/u/", func() { // the sweeper has listed number 2 alone
			check(t, l.compact(t.Context(), table.prefix("swept"), 1, map[string]int{"u": 2}, func() error {
				return l.drop(t.Context(), "tables/installs/claims/u/000002.json")
			}))
		})
	})
	var held *HeldError
	if c, err := l.Claim(t.Context(), "installs", "u", "slow", time.Minute); !errors.As(err, &held) {
		t.Errorf("holds a number that was used: %v, %v", c.number, err)
	}
	if c := claimed(t, l, "u"); c.number != 3 {
		t.Errorf("the next number is %d", c.number)
	}
}

// What a claimant that was outrun leaves, if it dies at once, holds nobody up: its number counts as swept.
func TestVoidClaimHoldsNobodyUp(t *testing.T) {
	everyLedger(t, func(t *testing.T, l *Ledger) {
		for range 2 {
			check(t, claimed(t, l, "u").Release(t.Context()))
		}
		sweep(t, l)
		check(t, l.create(t.Context(), "tables/installs/claims/u/000002.json", mustEncode(t, claimBody{Run: "dead", Lease: time.Hour})))
		c := claimed(t, l, "u")
		if keys := claimKeys(t, l); c.number != 3 || len(keys) != 1 {
			t.Errorf("number %d, objects %v", c.number, keys)
		}
		check(t, c.Release(t.Context()))
	})
}

// Of two sweepers one wins, and one that is late doesn't bring back numbers.
func TestSlowSweeper(t *testing.T) {
	for _, call := range []string{"create", "list"} {
		t.Run(call, func(t *testing.T) {
			l, d := distantLedger(t, nil)
			check(t, claimed(t, l, "a").Release(t.Context()))
			table := openTable(t, l)
			suffix := map[string]string{"create": "swept/000001.json", "list": "swept/"}[call]
			at(d, call, suffix, func() {
				for range 3 {
					check(t, claimed(t, l, "a").Release(t.Context()))
					check(t, claimed(t, l, "b").Release(t.Context()))
					sweep(t, l)
				}
			})
			check(t, table.sweep(t.Context(), 0))
			sweep(t, l)
			if _, last, err := l.swept(t.Context(), "installs"); err != nil || last["a"] < 4 || last["b"] != 3 {
				t.Errorf("swept %v, %v", last, err)
			}
			if c := claimed(t, l, "a"); c.number != 5 {
				t.Errorf("a's number is %d", c.number)
			}
		})
	}
}

// What a killed writer has left in a folder goes with the end of a run, an hour later: no sooner, because it may live, and nothing else.
func TestLeftoversOfKilledWritersAreSwept(t *testing.T) {
	dir := t.TempDir()
	l, err := openURL(t.Context(), "file://"+dir)
	check(t, err)
	at := func(name string, age time.Duration) string {
		path := filepath.Join(dir, name)
		check(t, os.MkdirAll(filepath.Dir(path), 0o777))
		check(t, os.WriteFile(path, []byte("{"), 0o600))
		check(t, os.Chtimes(path, time.Time{}, time.Now().Add(-age)))
		return path
	}
	gone := []string{at("runs/x.json.1abc9.tmp", 61*time.Minute), at("tables/t/claims/2026-01-01/000001.json.3w5e11264sgsf.tmp", 48*time.Hour)}
	kept := []string{at("tables/t/claims/2026-01-01/000002.json.zz1.tmp", 59*time.Minute), at("tables/t/other.tmp.json", 48*time.Hour), at("notes.tmp", 48*time.Hour)}
	now := time.Now()
	check(t, l.SaveRun(t.Context(), Run{ID: "20260101T000000.000Z-00000000", Started: now}))
	if _, err := os.Stat(gone[0]); err != nil {
		t.Errorf("it is swept before the run has ended: %v", err)
	}
	check(t, l.SaveRun(t.Context(), Run{ID: "20260101T000000.000Z-00000000", Started: now, Ended: &now}))
	for _, path := range gone {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is left", path)
		}
	}
	for _, path := range kept {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%v is gone", err)
		}
	}
}
