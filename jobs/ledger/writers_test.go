package ledger

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

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
			e := record(1, run)
			// Else history would keep only the first of both, and nobody could tell who has had
			// which number.
			e.Hash = run
			check(t, other.Commit(ctx, e))
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

// clocks are what a process of a test goes by.
type clocks struct {
	// Ns the machine has slept, its running clock standing still; by which the wall's was put
	// forward.
	asleep, set atomic.Int64
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
				l, _ := distantLedger(t, func(string, string) {
					if suspended.Load() {
						<-block
					}
				})
				l.clock = mine.now
				lease := begin(t, openTable(t, l), "a", 1)
				defer func() { check(t, lease.End(context.Background())) }()
				suspended.Store(true)
				time.Sleep(slept)
				mine.asleep.Store(int64(c.asleep))
				mine.set.Store(int64(c.set))
				suspended.Store(false)
				close(block)
				if _, _, err := lease.Within(t.Context()); !errors.Is(err, ErrLost) {
					t.Errorf("a put under a lease that ended meanwhile: %v", err)
				}
			})
		})
	}
}

// A process that knows the store's time from before it slept takes no lease that is over already:
// another one would take the partition over at once.
func TestALeaseAfterSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slept := time.Duration(0) // of the process, while the store's clock went on
		store := &bucket.Memory{Now: func() time.Time { return time.Now().Add(slept) }}
		l := Open(Options{Store: store.Open(), URL: "mem://ledger"})
		table := openTable(t, l)
		check(t, begin(t, table, "a", 1).End(t.Context()))
		slept = 10 * time.Minute
		lease := begin(t, table, "a", 1)
		defer func() { check(t, lease.End(t.Context())) }()
		other := openTable(t, l)
		var held *HeldError
		if _, err := other.Begin(t.Context(), "b", []civil.Date{record(1, "").Partition}); !errors.As(err, &held) ||
			held.Free != l.lease {
			t.Errorf("the second run got %v, %+v", err, held)
		}
	})
}

// A renewal that was on its way while the machine slept doesn't renew a lease that ended meanwhile.
func TestARenewalIsAnsweredTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mine clocks
		l, _ := distantLedger(t, func(call, key string) {
			if call == "write" && strings.Contains(key, "/months/") && time.Since(start2000) > 10*time.Second {
				time.Sleep(2 * time.Minute)
				mine.asleep.Add(int64(2 * time.Minute))
			}
		})
		l.clock = mine.now
		lease := begin(t, openTable(t, l), "a", 1)
		time.Sleep(161 * time.Second)
		if _, _, err := lease.Within(t.Context()); !errors.Is(err, ErrLost) {
			t.Errorf("a put under a lease that ended during its renewal: %v", err)
		}
	})
}

// When the store stops answering, a put's context ends before the lease does, so that it can't
// arrive after another's.
func TestPutsEndBeforeTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, store := distantLedger(t, nil)
		start, a := time.Now(), begin(t, openTable(t, l), "a", 1)
		within, done, err := a.Within(t.Context())
		check(t, err)
		defer done()
		store.Dead.Store(true) // every renewal fails from here
		<-within.Done()
		if took := time.Since(start); took >= l.lease || took < l.lease*5/6 ||
			!errors.Is(context.Cause(within), ErrLost) {
			t.Errorf("after %v of a lease of %v: %v", took, l.lease, context.Cause(within))
		}
		a.Stop()
	})
}

var start2000 = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // of every bubble

func TestAStoreThatCreatesTwiceIsRefused(t *testing.T) {
	d := &ledgertest.Store{Memory: &bucket.Memory{}, Careless: true}
	l := Open(Options{Store: d.Open(), URL: "s3://alike"})
	defer func() { check(t, l.Close()) }()
	_, err := openTable(t, l).Begin(t.Context(), "a", []civil.Date{date("2026-01-02")})
	if !errors.Is(err, ErrUnsafe) || !errors.Is(err, ErrRefused) ||
		!strings.Contains(err.Error(), ".reportferry-probe.json") {
		t.Errorf("a lease: %v", err)
	}
	if err := openTable(t, l).Commit(t.Context(), record(1, "a")); !errors.Is(err, ErrUnsafe) {
		t.Errorf("a record: %v", err)
	}
}

// Receipts of earlier versions name no store, and count for the URL that they have when it is all
// that the config says.
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
