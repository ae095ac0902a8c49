package ledger_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// A unit is held while its claim lives: neither before, nor once it was given back, nor after its lease.
func TestHolders(t *testing.T) {
	l := ledger.Open(ledger.Options{Store: bucket.NewMemory(), URL: "mem://"})
	t.Cleanup(func() { _ = l.Close() })
	ctx := t.Context()
	claim := func(unit, run string) *ledger.Claim {
		t.Helper()
		c, err := l.Claim(ctx, "x", unit, run, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Release(context.WithoutCancel(ctx)) })
		return c
	}
	claim("2026-01-01", "not asked about")
	for _, unit := range []string{"2026-01-08", "2026-01-15"} {
		if err := claim(unit, "over").Release(ctx); err != nil {
			t.Fatal(err)
		}
	}
	claim("2026-01-08", "another")
	held, err := l.Holders(ctx, "x", []string{"2026-01-08", "2026-01-15", "2026-01-22"})
	if err != nil || fmt.Sprint(held) != "map[2026-01-08:another]" {
		t.Errorf("%v, %v", held, err)
	}
}
