package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"

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
		if report.Unknown != 0 || report.Accepted < 96 || report.Accepted > 104 || int(report.Accepted) != len(r.service.got) {
			t.Errorf("%+v, %d arrived", report, len(r.service.got))
		}
		p.Send = r.service.once
		if report = r.do(p); report.Doubtful != 0 || report.Accepted != 1000 || report.Sent > 904 {
			t.Errorf("%+v", report)
		}
	})
}

// A kill in the middle of a stop leaves no more in doubt either: what waits to be sent again is so already, and makes no room
// for others.
func TestKillWhileStopping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const window = (1 + mostAhead) * 4
		r := newRig(t)
		r.o.Flush = 100 * time.Millisecond
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
		looks := 0
		p.Observe = func(File) {
			files, err := r.open().Files(t.Context()) // what a kill now would leave
			if err != nil || len(files) != 1 || files[0].Unknown > window {
				t.Errorf("%+v, %v", files, err)
			}
			looks++
		}
		if _, err := doFile(ctx, r.Outbox, p); !errors.Is(err, context.Canceled) || looks == 0 {
			t.Fatal(looks, err)
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

// No more than eight times what is in flight is sent beyond what is on record, however long the ledger takes.
func TestInFlight(t *testing.T) {
	t.Parallel()
	const rows = 6000 // of which so many segments are written that they are folded, more than once
	dir := t.TempDir()
	r := newRig(t)
	var sent, flushed atomic.Int64
	o := fileBox(t, dir, time.Minute)
	_, err := doFile(t.Context(), o, Task[string]{
		Name: "f", Source: many(rows), InFlight: 8,
		Send: func(ctx context.Context, line string) (int, error) {
			if n := sent.Add(1); n > flushed.Load()+(1+mostAhead)*8 {
				t.Errorf("%d sent, %d on record", n, flushed.Load())
			}
			return r.service.once(ctx, line)
		},
		Observe: func(f File) {
			flushed.Store(f.Accepted)
			if keys, err := o.table.Folder.Keys(t.Context(), ""); err != nil || len(keys) > foldAbove+3 {
				t.Errorf("%d objects, %v", len(keys), err)
			}
		},
	})
	if err != nil || sent.Load() != rows {
		t.Fatal(sent.Load(), err)
	}
	keys, err := o.table.Folder.Keys(t.Context(), "")
	if err != nil || len(keys) != 2 { // the records and one segment
		t.Errorf("%v, %v", keys, err)
	}
}

func fileBox(t *testing.T, dir string, lease time.Duration) *Outbox {
	bucket, err := fileblob.OpenBucket(dir, &fileblob.Options{CreateDir: true, NoTempDir: true, Metadata: fileblob.MetadataDontWrite})
	if err != nil {
		t.Fatal(err)
	}
	return New(Options{
		Ledger: ledger.Open(ledger.Options{Bucket: bucket, Dir: dir, URL: "file://" + dir}),
		Table:  "spend", Run: "run", Lease: lease, SpoolDir: t.TempDir(), Log: slog.New(slog.DiscardHandler),
	})
}

// breakLedger makes what is below a table unwritable, for root too. A segment that is just being written may make the folder
// again in between.
func breakLedger(t *testing.T, dir, folder string) {
	path := filepath.Join(dir, "tables", "spend", folder)
	var err error
	for n := range 100 {
		if err = os.Rename(path, fmt.Sprintf("%s.away%d", path, n)); err != nil {
			break
		}
		if err = os.WriteFile(path, nil, 0o600); err == nil {
			return
		}
	}
	t.Error(err)
}

func TestLedgerFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := fileBox(t, dir, time.Minute)
	o.o.ReadAhead = 100
	sent := 0
	_, err := doFile(t.Context(), o, Task[string]{Name: "f", Source: many(1000), InFlight: 1, Send: func(context.Context, string) (int, error) {
		if sent++; sent == 10 {
			breakLedger(t, dir, "outbox")
		}
		return 0, nil
	}})
	if !errors.Is(err, ledger.ErrBucket) || !strings.Contains(err.Error(), "may be sent again") || sent > 100 {
		t.Errorf("%d sent, %v", sent, err)
	}
}

func TestLeaseEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := fileBox(t, dir, 300*time.Millisecond)
	var sent atomic.Int64
	_, err := doFile(t.Context(), o, Task[string]{Name: "f", Source: many(1000), InFlight: 1, Send: func(context.Context, string) (int, error) {
		if sent.Add(1) == 1 {
			breakLedger(t, dir, "claims")
		}
		time.Sleep(5 * time.Millisecond)
		return 0, nil
	}})
	if !errors.Is(err, ledger.ErrLost) || sent.Load() > 60 {
		t.Errorf("%d sent, %v", sent.Load(), err)
	}
}

// Another process has gone on with the push, because this one was suspended.
func TestTakenOver(t *testing.T) {
	r := newRig(t)
	r.o.ReadAhead = 4
	p := r.push("f", many(100))
	p.Send = func(ctx context.Context, line string) (int, error) {
		if line == "id20 1" {
			pushes, err := r.table.List(t.Context())
			if err != nil {
				t.Error(err)
			}
			for n := range 3 { // one of them may be there
				_, _ = r.table.Folder.Create(t.Context(), pushes[0].Key(pushes[0].Last+1+n), store.Segment{Base: 1, Writer: "another"})
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

// A writer that slept through newer segments, which have swept its number, has lost: that it could create it is no proof.
func TestASleepingWriterLoses(t *testing.T) {
	r := newRig(t)
	p := &store.Push{ID: "20260101T000000.000Z-0", Head: store.Head{Name: "f"}}
	next := func(p *store.Push) error { return r.table.Append(t.Context(), p, p.Whole("run")) }
	if err := next(p); err != nil {
		t.Fatal(err)
	}
	other := *p
	for range 2 {
		if err := next(&other); err != nil {
			t.Fatal(err)
		}
	}
	if err := next(p); !errors.Is(err, ledger.ErrLost) {
		t.Errorf("the writer of segment 2, when 3 is there: %v", err)
	}
	if err := next(&other); err != nil || r.keys() != other.Key(4) {
		t.Errorf("%v; there is %s", err, r.keys())
	}
}

// Numbers of more than six digits are numbers like others.
func TestSevenDigits(t *testing.T) {
	r := newRig(t)
	r.do(r.push("f", lines("a 1")))
	pushes, _, err := r.table.Pushes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := pushes[0]
	p.Last, p.Base = 999_998, 999_998
	for range 3 {
		if err := r.table.Append(t.Context(), p, p.Whole("run")); err != nil {
			t.Fatal(err)
		}
	}
	r.Outbox = r.open()
	if pushes, _, err = r.table.Pushes(t.Context()); err != nil || pushes[0].Last != 1_000_001 {
		t.Errorf("%+v, %v", pushes, err)
	}
	if report := r.do(r.push("f", lines("a 1"))); !report.Same {
		t.Errorf("%+v", report)
	}
}

// A table is pushed under one claim: while one process has it, no other pushes or drops what was pushed.
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

// A kill leaves in doubt what may have been sent, and no more than is in flight beside it: of a night's 300 records, killed
// after 37, the others are pending, whether what is in doubt is parked or sent again.
func TestOnlyWhatMayHaveBeenSentIsInDoubt(t *testing.T) {
	for _, park := range []bool{false, true} {
		r := newRig(t)
		n := &night{rig: r}
		p := r.push("f", many(300))
		p.InFlight, p.ParkUnknown = 8, park
		var sent atomic.Int64
		var survivor *blob.Bucket
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
		r.bucket = survivor
		files, err := r.open().Files(t.Context())
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		f := files[0]
		if f.Accepted+f.Unknown+f.Pending != 300 || f.Accepted+f.Unknown < 37 || f.Accepted+f.Unknown > 37+4*8 || f.Unknown > 4*8 {
			t.Errorf("park %v: %d accepted, %d in doubt, %d pending", park, f.Accepted, f.Unknown, f.Pending)
		}
	}
}
