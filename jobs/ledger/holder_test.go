package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"gocloud.dev/blob/memblob"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// A unit is held while its claim lives: neither before, nor once it was given back, nor after its lease.
func TestHolders(t *testing.T) {
	l := ledger.Open(ledger.Options{Bucket: memblob.OpenBucket(nil), URL: "mem://"})
	defer l.Close()
	ctx := t.Context()
	for _, unit := range []string{"2026-01-01", "2026-01-08", "2026-01-15"} {
		claim, err := l.Claim(ctx, "x", unit, "run-of-"+unit, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if unit == "2026-01-08" {
			claim.Release(ctx)
			if claim, err = l.Claim(ctx, "x", unit, "another", time.Minute); err != nil {
				t.Fatal(err)
			}
			defer claim.Release(ctx)
			continue
		}
		if unit == "2026-01-15" {
			claim.Release(ctx)
			continue
		}
		defer claim.Release(ctx)
	}
	held, err := l.Holders(ctx, "x", []string{"2026-01-08", "2026-01-15", "2026-01-22"})
	if err != nil || fmt.Sprint(held) != "map[2026-01-08:another]" {
		t.Errorf("%v, %v", held, err)
	}
}
