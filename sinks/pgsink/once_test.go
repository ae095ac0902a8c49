//go:build servers

package pgsink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/sinktest"
)

// many is a part of n rows of one campaign.
func many(day, campaign string, n int, swapped bool) sinks.Part {
	names := make([]string, n)
	for i := range names {
		names[i] = campaign
	}
	p := testPart(day, names...)
	p.Schema.Partitioned = swapped
	return p
}

// watch polls the table until the test is over: it is empty, or it has so many rows, all of one
// campaign.
func (b *base) watch(t *testing.T, whole int) (stop func()) {
	done := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(2 * time.Millisecond):
			}
			var rows, campaigns int
			err := b.pool.QueryRow(context.Background(),
				"SELECT count(*), count(DISTINCT campaign) FROM "+b.schema+".installs").Scan(&rows, &campaigns)
			if err == nil && (rows != whole || campaigns != 1) {
				t.Errorf("a reader sees %d rows of %d campaigns", rows, campaigns)
				return
			}
		}
	})
	return func() { close(done); reader.Wait() }
}

func eachWay(t *testing.T, run func(t *testing.T, swapped bool)) {
	for name, swapped := range map[string]bool{"deleted": false, "swapped": true} {
		t.Run(name, func(t *testing.T) { t.Parallel(); run(t, swapped) })
	}
}

// Whatever becomes of a connection, a put is done once: it knows its own commit again, and repeats
// what didn't happen.
func TestOnceThroughABadConnection(t *testing.T) {
	eachWay(t, func(t *testing.T, swapped bool) {
		b := newBase(t, theServer(t))
		wire := sinktest.NewWire(t, b.Postgres)
		s := openURL(t, b.URL(wire.Addr, b.schema, "sslmode=disable"))
		last := mustPut(t, s, many("2026-01-31", "first", 3000, swapped))
		defer b.watch(t, 3000)()
		faults := []sinktest.WireFault{
			{Kind: sinktest.WireUnsent, Nth: 1}, {Kind: sinktest.WireLost, Nth: 1},
			{Kind: sinktest.WireLate, Nth: 1, Delay: 300 * time.Millisecond},
		}
		for nth := 1; nth < 25; nth += 3 {
			faults = append(faults, sinktest.WireFault{Kind: sinktest.WireReset, Nth: nth},
				sinktest.WireFault{Kind: sinktest.WireMute, Nth: nth})
		}
		for i, f := range faults {
			next := many("2026-01-31", fmt.Sprintf("%s%d", f.Kind, f.Nth), 3000, swapped)
			next.Over.Version = last.Version
			wire.Break(f)
			r, err := s.Put(t.Context(), next)
			if err != nil || !wire.Broke() && f.Nth < 16 { // a put by deletion has fewer pieces than the most
				t.Fatalf("%+v happened: %v: %v", f, wire.Broke(), err)
			}
			if !strings.HasPrefix(r.Version, fmt.Sprintf("%d-", i+2)) {
				t.Errorf("%+v: after %s the version is %s: it was put twice", f, last.Version, r.Version)
			}
			over, err := s.ConditionOf(t.Context(), "installs", next.Partition, true)
			if err != nil || over.Version != r.Version {
				t.Errorf("%+v: %+v, the receipt says %s: %v", f, over, r.Version, err)
			}
			if got := b.value(t, "SELECT min(campaign) FROM "+b.schema+".installs"); got != fmt.Sprintf("%s%d", f.Kind,
				f.Nth) {
				t.Errorf("%+v: %s is there", f, got)
			}
			last = r
		}
	})
}

// The commit of a put whose run is gone comes late: who puts meanwhile waits for it, and doesn't
// get under it.
func TestALateCommit(t *testing.T) {
	eachWay(t, func(t *testing.T, swapped bool) {
		b := newBase(t, theServer(t))
		wire := sinktest.NewWire(t, b.Postgres)
		dead, s := openURL(t, b.URL(wire.Addr, b.schema, "sslmode=disable")), b.open(t)
		first := mustPut(t, s, many("2026-01-31", "first", 500, swapped))
		defer b.watch(t, 500)()
		wire.Break(sinktest.WireFault{Kind: sinktest.WireLate, Nth: 1, Delay: time.Second})
		older, newer := many("2026-01-31", "older", 500, swapped), many("2026-01-31", "newer", 500, swapped)
		older.Over.Version, newer.Over.Version = first.Version, first.Version
		ctx, gone := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := dead.Put(ctx, older)
			ended <- err
		}()
		for !wire.Broke() {
			time.Sleep(time.Millisecond)
		}
		gone()
		if _, err := s.Put(t.Context(), newer); !errors.Is(err, sinks.ErrConflict) {
			t.Errorf("a put over what was there before the late commit: %v", err)
		}
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the put that is gone: %v", err)
		}
		newer.Over = sinks.Condition{}
		mustPut(t, s, newer)
		time.Sleep(2 * time.Second) // whatever is under way ends
		if got := b.value(t, "SELECT min(campaign) FROM "+b.schema+".installs"); got != "newer" {
			t.Errorf("%s is there at last", got)
		}
	})
}

// stuck is a file that isn't read on from its middle, as in a process that was stopped.
type stuck struct {
	inMemory
	reached, goOn chan struct{}
	once          *sync.Once
}

func (s stuck) ReadAt(b []byte, off int64) (int, error) {
	if off == s.Size() { // the look behind its end
		s.once.Do(func() { close(s.reached) })
		<-s.goOn
	}
	return s.inMemory.ReadAt(b, off)
}

func stuckPart(p sinks.Part) (_ sinks.Part, reached, goOn chan struct{}) {
	reached, goOn = make(chan struct{}), make(chan struct{})
	open, once := p.Open, new(sync.Once)
	p.Open = func() (io.ReadCloser, error) {
		file, err := open()
		return stuck{file.(inMemory), reached, goOn, once}, err
	}
	return p, reached, goOn
}

// A put that hangs with its lock is ended by the next one, and comes to nothing when it wakes up.
func TestAHangingPut(t *testing.T) {
	eachWay(t, func(t *testing.T, swapped bool) {
		b := newBase(t, theServer(t))
		hanging, s := b.open(t), b.open(t)
		first := mustPut(t, s, many("2026-01-31", "first", 500, swapped))
		defer b.watch(t, 500)()
		older, reached, goOn := stuckPart(many("2026-01-31", "older", 500, swapped))
		older.Over.Version = first.Version
		ended := make(chan error)
		go func() {
			_, err := hanging.Put(t.Context(), older)
			ended <- err
		}()
		<-reached
		newer := many("2026-01-31", "newer", 500, swapped)
		newer.Over.Version = first.Version
		began := time.Now()
		mustPut(t, s, newer)
		if took := time.Since(began); took < lockPatience {
			t.Errorf("the other was ended after %s", took)
		}
		close(goOn)
		if err := <-ended; !errors.Is(err, sinks.ErrConflict) {
			t.Errorf("the put that hung: %v", err)
		}
		if got := b.value(t, "SELECT min(campaign) FROM "+b.schema+".installs"); got != "newer" {
			t.Errorf("%s is there at last", got)
		}
	})
}

// A server that crashes in the middle of a put, and comes back, has the old rows until the put is
// repeated.
func TestCrash(t *testing.T) {
	server := sinktest.StartPostgres(t)
	for _, swapped := range []bool{false, true} {
		b := newBase(t, server)
		s := b.open(t)
		mustPut(t, s, many("2026-01-31", "first", 3000, swapped))
		stop := b.watch(t, 3000)
		next, reached, goOn := stuckPart(many("2026-01-31", "next", 3000, swapped))
		ended := make(chan error)
		go func() {
			_, err := s.Put(t.Context(), next)
			ended <- err
		}()
		<-reached
		server.Crash()
		close(goOn)
		time.Sleep(100 * time.Millisecond)
		server.Start(t)
		if err := <-ended; err != nil {
			t.Errorf("a put over a crash: %v", err)
		}
		stop()
		if got := b.value(t, "SELECT min(campaign) || count(*) FROM "+b.schema+".installs"); got != "next3000" {
			t.Errorf("%s is there", got)
		}
	}
}

// A transaction with a snapshot from before a put sees the old rows or the new ones, whole,
// whenever it first looks at the table.
func TestOldSnapshots(t *testing.T) {
	eachWay(t, func(t *testing.T, swapped bool) {
		b := newBase(t, theServer(t))
		s := b.open(t)
		mustPut(t, s, many("2026-01-31", "old", 700, swapped))
		snapshot := func(sql string) pgx.Tx {
			tx, err := b.pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
			if _, err := tx.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
			return tx
		}
		sees := func(tx pgx.Tx) (what string) {
			if err := tx.QueryRow(t.Context(),
				"SELECT min(campaign) || count(*) || max(campaign) FROM "+b.schema+".installs").Scan(&what); err !=
				nil {
				t.Fatal(err)
			}
			return what
		}
		early := snapshot("SELECT 1")
		mustPut(t, s, many("2026-01-31", "new", 900, swapped))
		want := map[bool]string{false: "old700old", true: "new900new"}[swapped]
		if got := sees(early); got != want {
			t.Errorf("a snapshot from before sees %s, want %s", got, want)
		}

		// Who has read the table keeps what it saw: a swap waits for it, and lets others read
		// meanwhile.
		if err := early.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		reading := snapshot("SELECT count(*) FROM " + b.schema + ".installs")
		put := make(chan error)
		go func() {
			_, err := s.Put(t.Context(), many("2026-01-31", "newest", 900, swapped))
			put <- err
		}()
		for range 10 {
			time.Sleep(300 * time.Millisecond)
			began := time.Now()
			b.value(t, "SELECT count(*)::text FROM "+b.schema+".installs")
			if took := time.Since(began); took > exclusiveWait+time.Second {
				t.Errorf("a reader waited for %s", took)
			}
		}
		if got := sees(reading); got != "new900new" {
			t.Errorf("who reads the table sees %s now", got)
		}
		if err := reading.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-put; err != nil {
			t.Error(err)
		}
	})
}
