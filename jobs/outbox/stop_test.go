package outbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/bucket/buckettest"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox/store"
)

func many(n int) *memo {
	m := &memo{version: "1", age: time.Hour}
	for i := range n {
		m.lines = append(m.lines, fmt.Sprintf("id%d 1", i))
	}
	return m
}

// A stop lets what is on its way arrive, sends nothing more, and leaves nothing in doubt.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		p := r.push("f", many(1000))
		p.InFlight = 4
		p.Send = func(ctx context.Context, line string) (int, error) {
			if line == "id99 1" {
				stop()
			}
			select {
			case <-time.After(50 * time.Millisecond):
				return r.service.once(ctx, line)
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
		report, err := doFile(ctx, r.Outbox, p)
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if report.Unknown != 0 || report.Accepted < 96 || report.Accepted > 104 ||
			int(report.Accepted) != len(r.service.got) {
			t.Errorf("%+v, %d arrived", report, len(r.service.got))
		}
		p.Send = r.service.once
		if report = r.do(p); report.Doubtful != 0 || report.Accepted != 1000 || report.Sent > 904 {
			t.Errorf("%+v", report)
		}
	})
}

// doubting looks at each segment how many records a kill would leave in doubt now.
func (r *rig) doubting(most int64) (reads *int) {
	reads = new(int)
	r.fate = func(c bucket.Call) (f buckettest.Fate) {
		if c.Op == bucket.OpPut && strings.HasPrefix(c.Key, "pushes/spend/") {
			files, err := r.open().Files(r.t.Context())
			if err != nil || len(files) > 1 || len(files) == 1 && files[0].Unknown > most {
				r.t.Errorf("%+v, %v", files, err)
			}
			*reads++
		}
		return f
	}
	r.Outbox = r.open()
	return reads
}

// A kill in the middle of a stop leaves no more in doubt either: what waits to be sent again is so
// already, and makes no room for others.
func TestKillWhileStopping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const window = (1 + mostAhead) * 4
		r := newRig(t)
		looks := r.doubting(window)
		r.options.Flush = 100 * time.Millisecond
		ctx, stop := context.WithCancel(t.Context())
		p := r.push("f", many(100))
		p.InFlight = 4
		p.Send = func(ctx context.Context, line string) (int, error) {
			switch line {
			case "id0 1", "id1 1", "id2 1":
				<-ctx.Done() // between two attempts
				return 1, ErrUnknown
			case "id10 1":
				time.Sleep(time.Second)
				stop()
				time.Sleep(time.Second) // segments are written in the meantime
			}
			return 0, nil
		}
		if _, err := doFile(ctx, r.Outbox, p); !errors.Is(err, context.Canceled) || *looks == 0 {
			t.Fatal(*looks, err)
		}
	})
}

// What doesn't arrive within the time of grace is in doubt, whatever Send says then.
func TestStopWhileTheServiceHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		ctx, stop := context.WithCancel(t.Context())
		p := r.push("f", many(100))
		p.InFlight = 3
		p.Send = func(ctx context.Context, line string) (int, error) {
			stop()
			<-ctx.Done()
			return 0, ctx.Err()
		}
		start := time.Now()
		report, err := doFile(ctx, r.Outbox, p)
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if took := time.Since(start); took > 8*time.Second {
			t.Errorf("it took %v", took)
		}
		if report.Unknown < 1 || report.Unknown > 3 || report.Unknown+report.Pending != 100 {
			t.Errorf("%+v", report)
		}
	})
}

// No more than eight times what is in flight is sent beyond what is on record, however long the
// ledger takes.
func TestInFlight(t *testing.T) {
	t.Parallel()
	const rows = 6000 // of which so many segments are written that they are folded, more than once
	r := newRig(t)
	r.doubting((1 + mostAhead) * 8)
	p := r.push("f", many(rows))
	p.InFlight = 8
	if report := r.do(p); report.Sent != rows {
		t.Fatal(report.Sent)
	}
	pushes, err := r.table.Pushes(t.Context(), all)
	if err != nil || pushes[0].Head.Last < 2*foldAbove || pushes[0].Head.Whole != pushes[0].Head.Last {
		t.Errorf("%+v, %v", pushes[0], err)
	}
}

// failing makes what a test names fail from a moment on.
func (r *rig) failing(key string) (fail func()) {
	var failing atomic.Bool
	r.fate = func(c bucket.Call) (f buckettest.Fate) {
		if failing.Load() && c.Op == bucket.OpPut && strings.HasPrefix(c.Key, key) {
			f.Never, f.Err = true, errors.New("the store is out of order")
		}
		return f
	}
	r.Outbox = r.open()
	return func() { failing.Store(true) }
}

func TestLedgerFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		fail := r.failing("pushes/spend/")
		r.options.ReadAhead = 100
		sent := 0
		p := r.push("f", many(1000))
		p.Send = func(context.Context, string) (int, error) {
			if sent++; sent == 10 {
				fail()
			}
			return 0, nil
		}
		if _, err := doFile(t.Context(), r.Outbox, p); !errors.Is(err, ledger.ErrBucket) ||
			!strings.Contains(err.Error(), "may be sent again") || sent > 100 {
			t.Errorf("%d sent, %v", sent, err)
		}
	})
}

func TestLeaseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		fail := r.failing("pushes/spend.json")
		sent := 0
		p := r.push("f", many(1000))
		p.Send = func(context.Context, string) (int, error) {
			sent++
			fail()
			time.Sleep(time.Second)
			return 0, nil
		}
		if _, err := doFile(t.Context(), r.Outbox, p); !errors.Is(err, ledger.ErrLost) || sent > 60 || sent < 50 {
			t.Errorf("%d sent, %v", sent, err)
		}
	})
}

// Another process has gone on with the push, because this one was suspended.
func TestTakenOver(t *testing.T) {
	r := newRig(t)
	r.options.ReadAhead = 4
	p := r.push("f", many(100))
	p.Send = func(ctx context.Context, line string) (int, error) {
		if line == "id20 1" {
			other := r.open().options.Ledger
			for n := range 40 { // most of them are there
				_, _ = other.CreateOnce(t.Context(), fmt.Sprintf("pushes/spend/%06d.json", n+1), store.Segment{})
			}
		}
		return r.service.once(ctx, line)
	}
	if _, err := doFile(t.Context(), r.Outbox, p); !errors.Is(err, ledger.ErrLost) {
		t.Fatal(err)
	}
	if n := len(r.service.got); n > 30 {
		t.Errorf("%d were sent", n)
	}
}

// Whoever takes a push over has one that sleeps lose at once, by its own number and whatever the
// document says; and one that did nothing yet loses, too.
func TestASleepingWriterLoses(t *testing.T) {
	r := newRig(t)
	take := func() *Lease {
		t.Helper()
		l, err := r.open().table.Take(t.Context(), "run")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	write := func(l *Lease) error {
		p := &store.Push{Head: store.Head{ID: "20260101T000000.000Z-0", Name: "f"}, States: &store.States{}}
		return l.Append(t.Context(), p, p.Whole())
	}
	first := take()
	if err := write(first); err != nil {
		t.Fatal(err)
	}
	r.memory.Now = func() time.Time { return time.Now().Add(2 * time.Minute) }
	second := take()
	if err := write(first); !errors.Is(err, ledger.ErrLost) {
		t.Errorf("the one that slept: %v", err)
	}
	r.memory.Now = func() time.Time { return time.Now().Add(4 * time.Minute) }
	third := take()
	for _, l := range []*Lease{first, second, third} {
		if err := l.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if keys := r.keys(); keys != "spend.json\nspend/000001.json\nspend/000002.json\nspend/000003.json" {
		t.Error(keys)
	}
}

// A table is pushed under one lease: while one process has it, no other pushes or drops what was
// pushed.
func TestOneAtATime(t *testing.T) {
	r := newRig(t)
	var other error
	p := r.push("f", lines("a 1"))
	p.Send = func(ctx context.Context, line string) (int, error) {
		_, other = doFile(ctx, r.open(), r.push("g", lines("a 1")))
		if err := r.open().Prune(ctx, time.Now().Add(10*day)); err != nil {
			t.Errorf("another process prunes: %v", err)
		}
		return r.service.once(ctx, line)
	}
	r.do(p)
	var held *ledger.HeldError
	if !errors.As(other, &held) {
		t.Errorf("another process: %v", other)
	}
	r.want(r.do(r.push("h", lines("a 1\nb 2"))).File, "1 accepted, 1 duplicates, ended")
	r.sent("a 1, b 2")
}

// A kill leaves in doubt what may have been sent, and no more than is in flight beside it: of a
// night's 300 records, killed after 37, the others are pending, whether what is in doubt is parked
// or sent again.
func TestOnlyWhatMayHaveBeenSentIsInDoubt(t *testing.T) {
	for _, park := range []bool{false, true} {
		r := newRig(t)
		n := &night{rig: r}
		p := r.push("f", many(300))
		p.InFlight, p.ParkUnknown = 8, park
		var sent atomic.Int64
		var survivor *bucket.Memory
		var dying sync.RWMutex
		p.Send = func(context.Context, string) (int, error) {
			if sent.Add(1) == 37 {
				dying.Lock() // others that are on their way stay so
				defer dying.Unlock()
				survivor = n.bury()
				return 0, nil
			}
			dying.RLock()
			defer dying.RUnlock()
			return 0, nil
		}
		r.do(p)
		r.memory = survivor
		files, err := r.open().Files(t.Context())
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		f := files[0]
		if f.Accepted+f.Unknown+f.Pending != 300 || f.Accepted+f.Unknown < 37 || f.Accepted+f.Unknown > 37+4*8 ||
			f.Unknown > 4*8 {
			t.Errorf("park %v: %d accepted, %d in doubt, %d pending", park, f.Accepted, f.Unknown, f.Pending)
		}
	}
}
