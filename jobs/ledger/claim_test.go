package ledger

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/bucket"
)

func TestClaimIsExclusiveUntilReleased(t *testing.T) {
	everyLedger(t, func(t *testing.T, l *Ledger) {
		ctx := t.Context()
		a, err := l.Claim(ctx, "installs", "2026-01-04", "a", time.Minute)
		check(t, err)
		var held *HeldError
		if _, err := l.Claim(ctx, "installs", "2026-01-04", "b", time.Minute); !errors.As(err, &held) || held.Run != "a" {
			t.Fatalf("a second claim: %v, want held by a", err)
		}
		if _, err := l.Claim(ctx, "installs", "2026-01-11", "b", time.Minute); err != nil {
			t.Errorf("another unit: %v", err)
		}
		check(t, a.Release(ctx))
		b, err := l.Claim(ctx, "installs", "2026-01-04", "b", time.Minute)
		check(t, err)
		if b.number != 2 {
			t.Errorf("the second claim has number %d", b.number)
		}
		check(t, b.Release(ctx))
	})
}

// A holder that dies is followed after its lease; one that lives keeps its claim however long it works.
func TestClaimLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memLedger(t)
		ctx := t.Context()
		dead, err := l.Claim(ctx, "installs", "u", "dead", time.Minute)
		check(t, err)
		dead.stop() // no more signs of life, and no release: as after SIGKILL
		<-dead.stopped
		time.Sleep(59 * time.Second)
		var held *HeldError
		if _, err := l.Claim(ctx, "installs", "u", "b", time.Minute); !errors.As(err, &held) {
			t.Fatalf("inside the lease: %v", err)
		}
		if held.Free != time.Second {
			t.Errorf("free in %v, want 1s", held.Free)
		}
		time.Sleep(1001 * time.Millisecond)
		b, err := l.Claim(ctx, "installs", "u", "b", time.Minute)
		check(t, err)

		if _, _, err := dead.Guard(ctx); !errors.Is(err, ErrLost) {
			t.Errorf("the dead one may put: %v", err)
		}
		time.Sleep(time.Hour)
		if _, err := l.Claim(ctx, "installs", "u", "c", time.Minute); !errors.As(err, &held) {
			t.Errorf("an hour of work under one claim: %v", err)
		}
		guarded, done, err := b.Guard(ctx)
		check(t, err)
		if guarded.Err() != nil {
			t.Error("the put's context has ended though the lease lives")
		}
		done()
		check(t, b.Release(ctx))
		check(t, dead.Release(ctx))
		keys, err := l.list(ctx, "tables/installs/claims/")
		check(t, err)
		if len(keys) != 1 {
			t.Errorf("claims left: %v", keys)
		}
	})
}

// When the store stops answering, a put's context ends before the lease does, so that it can't land after another's.
func TestGuardEndsBeforeTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, store := distantLedger(t, nil)
		ctx := t.Context()
		start := time.Now()
		c, err := l.Claim(ctx, "installs", "u", "a", time.Minute)
		check(t, err)
		guarded, done, err := c.Guard(ctx)
		check(t, err)
		defer done()
		store.Dead.Store(true) // every renewal fails from here
		<-guarded.Done()
		if took := time.Since(start); took >= time.Minute || took < 50*time.Second {
			t.Errorf("the put's context ended after %v of a lease of one minute", took)
		}
		if cause := context.Cause(guarded); !errors.Is(cause, ErrLost) {
			t.Errorf("cause: %v", cause)
		}
		check(t, c.Release(ctx)) // of a lost claim: nothing to give back
	})
}

// Whoever was listing while others came and went must not take a number that was used before.
func TestClaimByStaleListing(t *testing.T) {
	everyLedger(t, func(t *testing.T, l *Ledger) {
		ctx := t.Context()
		for range 3 {
			c, err := l.Claim(ctx, "installs", "u", "a", time.Minute)
			check(t, err)
			check(t, c.Release(ctx))
		}
		// Numbers 1 and 2 are gone; a process whose listing was empty creates number 1 now.
		stale := l.newClaim("installs", "u", "", time.Minute)
		var held *HeldError
		if err := stale.take(ctx, used{}); !errors.As(err, &held) {
			t.Errorf("took a used number: %v", err)
		}
	})
}

// A store's client that repeats a creation whose answer was lost is told that the object exists: it is the claim's own.
func TestClaimWhoseAnswerWasLost(t *testing.T) {
	l, d := distantLedger(t, nil)
	d.Answer = func(key string, err error) error {
		if err == nil && strings.Contains(key, "/claims/") {
			return bucket.ErrConflict
		}
		return err
	}
	c, err := l.Claim(t.Context(), "installs", "u", "a", time.Minute)
	check(t, err)
	d.Answer = nil
	_, done, err := c.Guard(t.Context())
	check(t, err)
	done()
	var held *HeldError
	if _, err := l.Claim(t.Context(), "installs", "u", "a", time.Minute); !errors.As(err, &held) {
		t.Errorf("a second claim of the same run: %v", err)
	}
	check(t, c.Release(t.Context()))
}

// A claim is made whole or not at all: a process that is stopped in the middle leaves none that the next one waits for.
func TestClaimIsNotCutShort(t *testing.T) {
	for _, at := range []string{"create", "list"} {
		ctx, cancel := context.WithCancel(t.Context())
		created := false
		l, _ := distantLedger(t, func(call, _ string) {
			if created = created || call == "create"; created && call == at {
				cancel()
			}
		})
		if c, err := l.Claim(ctx, "installs", "u", "a", time.Minute); err == nil {
			check(t, c.Release(t.Context()))
		}
		if ctx.Err() == nil {
			t.Fatalf("no %s after the creation", at)
		}
		next, err := l.Claim(t.Context(), "installs", "u", "b", time.Minute)
		if err != nil {
			t.Errorf("cut short at %s: %v", at, err)
			continue
		}
		check(t, next.Release(t.Context()))
	}
}

// A claim that can't be read is no record: it is over when its lease is.
func TestUnreadableClaimExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memLedger(t)
		check(t, l.create(t.Context(), "tables/installs/claims/u/000001.json", nil))
		if _, err := l.Claim(t.Context(), "installs", "u", "b", time.Minute); err == nil {
			t.Error("taken at once: its holder may live")
		}
		time.Sleep(61 * time.Second)
		c, err := l.Claim(t.Context(), "installs", "u", "b", time.Minute)
		check(t, err)
		check(t, c.Release(t.Context()))
	})
}
