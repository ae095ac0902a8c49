package ledger

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/jobs/ledger/ledgertest"
	"github.com/reportferry/reportferry/sinks"
)

// A writer that slept through two newer records has lost.
func TestASleeperHasLost(t *testing.T) {
	everyLedger(t, func(t *testing.T, l *Ledger) {
		ctx, sleeper := t.Context(), openTable(t, l)
		check(t, sleeper.Commit(ctx, record(1, "first")))
		for _, run := range []string{"second", "third"} {
			other := openTable(t, l)
			check(t, other.Commit(ctx, record(1, run)))
			check(t, other.Commit(ctx, record(2, run)))
			check(t, other.Tidy(ctx))
		}
		if err := sleeper.Commit(ctx, record(1, "sleeper")); !errors.Is(err, ErrLost) {
			t.Errorf("a record on top of one that was replaced: %v", err)
		}
		if got, _ := openTable(t, l).Record(record(1, "").Partition); got.Run != "third" || got.Seq != 3 {
			t.Errorf("the newest record is %+v", got)
		}
	})
}

func TestNumbersBeyondAMillion(t *testing.T) {
	for _, n := range []int{0, 7, 999_999, 1_000_000, 12_345_678} {
		key := sweptKey("installs", n)
		if got, ok := numbered(key); !ok || got != n {
			t.Errorf("%s is read as %d, %v", key, got, ok)
		}
	}
	for _, bad := range []string{"x/12.json", "x/0000012.json", "x/-00001.json", "x/00001a.json"} {
		if n, ok := numbered(bad); ok {
			t.Errorf("%s is read as %d", bad, n)
		}
	}
	everyLedger(t, func(t *testing.T, l *Ledger) {
		for _, n := range []int{999_999, 1_000_000} {
			body := claimBody{Run: "old", Lease: time.Minute, Released: true}
			check(t, l.create(t.Context(), (&Claim{prefix: "tables/installs/claims/u/"}).key(n), mustEncode(t, body)))
		}
		check(t, openTable(t, l).sweep(t.Context(), 1))
		for range 3 {
			c, err := l.Claim(t.Context(), "installs", "u", "run", time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			check(t, c.Release(t.Context()))
		}
	})
}

// clocks are what a process of a test goes by.
type clocks struct {
	asleep, set atomic.Int64 // ns the machine has slept, its running clock standing still; by which the wall's was put forward
}

func (c *clocks) now() (time.Time, time.Duration) {
	now := time.Now().Round(0)
	return now.Add(time.Duration(c.set.Load())), now.Sub(time.Unix(0, 0)) - time.Duration(c.asleep.Load())
}

func TestALeaseEndsWhileTheMachineSleeps(t *testing.T) {
	const slept = 5 * time.Minute
	for name, c := range map[string]struct{ asleep, set time.Duration }{
		"asleep":                            {slept, 0},
		"the wall's clock was put back":     {0, -time.Hour},
		"put back by as much as it slept":   {0, -slept},
		"asleep, and the wall put forwards": {slept, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mine clocks
				block := make(chan struct{})
				var suspended atomic.Bool
				store, _ := distantLedger(t, func(string, string) {
					if suspended.Load() {
						<-block
					}
				})
				store.clock = mine.now
				claim, err := store.Claim(t.Context(), "installs", "u", "a", time.Minute)
				check(t, err)
				defer func() { check(t, claim.Release(context.Background())) }()
				suspended.Store(true)
				time.Sleep(slept)
				mine.asleep.Store(int64(c.asleep))
				mine.set.Store(int64(c.set))
				suspended.Store(false)
				close(block)
				if _, _, err := claim.Guard(t.Context()); !errors.Is(err, ErrLost) {
					t.Errorf("a put under a lease that ended meanwhile: %v", err)
				}
			})
		})
	}
}

// A heartbeat that finds a higher number loses the claim, though the lease isn't over by any clock.
func TestAHeartbeatFindsAHigherNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := distantLedger(t, nil)
		claim, err := l.Claim(t.Context(), "installs", "u", "a", time.Minute)
		check(t, err)
		guarded, done, err := claim.Guard(t.Context())
		check(t, err)
		defer done()
		check(t, l.create(t.Context(), claim.key(2), mustEncode(t, claimBody{Run: "b", Lease: time.Minute})))
		time.Sleep(21 * time.Second)
		if !errors.Is(context.Cause(guarded), ErrLost) {
			t.Errorf("after a heartbeat the put goes on: %v", context.Cause(guarded))
		}
		check(t, claim.Release(context.Background()))
	})
}

// A heartbeat that was on its way while the machine slept doesn't renew a lease that ended meanwhile.
func TestAHeartbeatIsAnsweredTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mine clocks
		l, _ := distantLedger(t, func(call, key string) {
			if call == "write" && strings.Contains(key, "/claims/") && time.Since(start2000) > 10*time.Second {
				time.Sleep(time.Minute)
				mine.asleep.Add(int64(time.Minute))
			}
		})
		l.clock = mine.now
		claim, err := l.Claim(t.Context(), "installs", "u", "a", time.Minute)
		check(t, err)
		time.Sleep(81 * time.Second)
		if _, _, err := claim.Guard(t.Context()); !errors.Is(err, ErrLost) {
			t.Errorf("a put under a lease that ended during its heartbeat: %v", err)
		}
		check(t, claim.Release(context.Background()))
	})
}

var start2000 = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // of every bubble

func TestAStoreThatCreatesTwiceIsRefused(t *testing.T) {
	d := &ledgertest.Store{Memory: &bucket.Memory{}, Careless: true}
	l := Open(Options{Store: d.Open(), URL: "s3://alike"})
	defer func() { check(t, l.Close()) }()
	_, err := l.Claim(t.Context(), "installs", "u", "a", time.Minute)
	if !errors.Is(err, ErrUnsafe) || !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), ".reportferry-probe.json") {
		t.Errorf("a claim: %v", err)
	}
	if err := openTable(t, l).Commit(t.Context(), record(1, "a")); !errors.Is(err, ErrUnsafe) {
		t.Errorf("a record: %v", err)
	}
}

// Receipts of earlier versions name no store, and count for the URL that they have when it is all that the config says.
func TestOldReceipts(t *testing.T) {
	old := sinks.Receipt{Sink: "file://./out"}
	for _, c := range []struct {
		target Target
		want   bool
	}{
		{Target{Name: "file://./out", Store: "file://./out"}, true},
		{Target{Name: "file://./out", Store: "file://./out?key=v2", NamesMore: true}, false},
		{Target{Name: "file://./elsewhere", Store: "file://./elsewhere"}, false},
	} {
		if got := c.target.Gave(old); got != c.want {
			t.Errorf("%+v: %v", c.target, got)
		}
	}
	now := sinks.Receipt{Sink: "s3://b", Store: "s3://b?endpoint=http%3A%2F%2F127.0.0.1%3A1"}
	if (Target{Name: "s3://b", Store: "s3://b?region=us-east-1"}).Gave(now) {
		t.Error("a receipt of another endpoint counts")
	}
}
