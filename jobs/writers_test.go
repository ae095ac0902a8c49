package jobs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"
	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"

	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/blobsink"
)

// A writer that slept through two newer records, of which one was folded away, creates a number that was used.
func TestASleeperFindsItsNumberUsed(t *testing.T) {
	everyLedger(t, func(t *testing.T, l *Ledger) {
		l.foldAbove = 1
		ctx, sleeper := t.Context(), openTable(t, l)
		check(t, sleeper.Record(ctx, entry(1, "first")))
		for _, run := range []string{"second", "third"} {
			other := openTable(t, l)
			check(t, other.Record(ctx, entry(1, run)))
			check(t, other.Record(ctx, entry(2, run)))
			check(t, other.Fold(ctx))
		}
		if err := sleeper.Record(ctx, entry(1, "sleeper")); !errors.Is(err, ErrLost) {
			t.Errorf("a record under a number that was used: %v", err)
		}
		if got, _ := openTable(t, l).Entry(entry(1, "").Partition); got.Run != "third" || got.Seq != 3 {
			t.Errorf("the newest record is %+v", got)
		}
	})
}

// The same with the number itself in the segment: nobody is higher, and the record is another one.
func TestASleeperFindsItsNumberFolded(t *testing.T) {
	everyLedger(t, func(t *testing.T, l *Ledger) {
		l.foldAbove = 1
		ctx, sleeper, other := t.Context(), openTable(t, l), openTable(t, l)
		check(t, other.Record(ctx, entry(1, "other")))
		check(t, other.Record(ctx, entry(2, "other")))
		check(t, other.Fold(ctx))
		if err := sleeper.Record(ctx, entry(1, "sleeper")); !errors.Is(err, ErrLost) {
			t.Errorf("a record under a number that is in a segment: %v", err)
		}
	})
}

func TestNumbersBeyondAMillion(t *testing.T) {
	for _, n := range []int{0, 7, 999_999, 1_000_000, 12_345_678} {
		key := segmentKey("installs", n)
		if got, ok := numbered(key); !ok || got != n {
			t.Errorf("%s is read as %d, %v", key, got, ok)
		}
		if _, seq, ok := parseEntryKey(entryKey("installs", date("2026-01-01"), n)); !ok || seq != n {
			t.Errorf("record %d is read as %d, %v", n, seq, ok)
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
	d := &distant{Bucket: memblob.OpenBucket(nil), careless: true}
	l := OpenLedger(LedgerOptions{Bucket: blob.NewBucket(d), URL: "s3://alike"})
	defer func() { check(t, l.Close()) }()
	_, err := l.Claim(t.Context(), "installs", "u", "a", time.Minute)
	if !errors.Is(err, ErrUnsafe) || !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "s3://alike/probe.json") {
		t.Errorf("a claim: %v", err)
	}
	if err := openTable(t, l).Record(t.Context(), entry(1, "a")); !errors.Is(err, ErrUnsafe) {
		t.Errorf("a record: %v", err)
	}
}

// Pages of any length lie in the same cells of claims.
func TestPagesShareClaims(t *testing.T) {
	claims := func(page int) map[string][]string { // by day
		by := map[string][]string{}
		for _, w := range PlanWindows(moment("2026-06-01T06:00"), Rules{
			Period: Day, Page: page, Start: date("2026-01-01"), Location: time.UTC,
		}, nil) {
			for _, d := range w.Due {
				for _, name := range w.Claims() {
					by[d.Partition.String()] = append(by[d.Partition.String()], name)
				}
			}
			if !slices.IsSorted(w.Claims()) {
				t.Errorf("page %d: claims %q", page, w.Claims())
			}
		}
		return by
	}
	week := claims(7)
	for _, page := range []int{1, 2, 5, 7, 14, 30, 365} {
		by := claims(page)
		if len(by) != len(week) {
			t.Fatalf("page %d: %d days", page, len(by))
		}
		for day, names := range by {
			if !slices.Contains(names, week[day][0]) || len(week[day]) != 1 {
				t.Errorf("page %d: %s is under %q, with a page of 7 under %q", page, day, names, week[day])
			}
		}
	}
}

// newTarget is a folder's sink, or memory's.
func newTarget(t *testing.T, rawURL string) Target {
	t.Helper()
	s, err := blobsink.Open(t.Context(), rawURL)
	check(t, err)
	t.Cleanup(func() { check(t, s.Close()) })
	return Target{Name: sinks.Redact(rawURL), Sink: s, Store: s.Store()}
}

// fileOf is a part of a few bytes, which its footer says are ours.
func fileOf(content string) sinks.Part {
	body := content + "reportferry" + "\x0b\x00\x00\x00PAR1"
	return sinks.Part{
		Table: "installs", Partition: date("2026-01-01"), Rows: int64(len(content)), Size: int64(len(body)), Hash: content, Run: "run",
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(body)), nil },
	}
}

// publishFile does what a fresh process would do with one partition, the look at the sinks included.
func publishFile(t *testing.T, l *Ledger, c Hold, content string, again bool, targets ...Target) (Reason, State, error) {
	t.Helper()
	table := openTable(t, l)
	changed, err := table.Look(t.Context(), targets)
	check(t, err)
	rules := Rules{Period: Day, Page: 7, Start: date("2026-01-01"), Through: date("2026-01-01"), Location: time.UTC, Targets: targets, Changed: changed}
	var reason Reason
	for _, w := range PlanWindows(moment("2026-02-01T06:00"), rules, table.Entries()) {
		reason = w.Due[0].Reason
	}
	base, _ := table.Entry(date("2026-01-01"))
	part := fileOf(content)
	if content == "" {
		part.Rows = 0
	}
	state, _, err := table.Publish(t.Context(), c, Publication{
		Base: base, Part: part, Run: "run", Fetched: moment("2026-02-01T06:00"), Cause: "204", OnEmpty: GuardEmpty, Again: again,
	}, targets)
	return reason, state, err
}

// After a crash between a first put and its record, an answer without rows must not be recorded as if nothing were there.
func TestAFirstPutIsGuarded(t *testing.T) {
	s := newShelf()
	p := newPublisher(t, Target{Name: "s", Sink: s})
	s.fail, s.landed = errors.New("killed"), true
	if _, err := p.publish("A", 5, GuardEmpty); err == nil {
		t.Fatal("a killed put gives no error")
	}
	s.fail = nil
	if e := p.recorded(); e.State != Publishing || e.Rows != 5 {
		t.Errorf("after the crash the record is %+v", e)
	}
	if state, err := p.publish("none", 0, GuardEmpty); !errors.Is(err, ErrEmptied) {
		t.Errorf("an empty answer after it: %q, %v", state, err)
	}
	if state, err := p.publish("none", 0, KeepEmpty); !errors.Is(err, ErrEmptied) || p.recorded().State != Publishing {
		t.Errorf("to keep rows that aren't known: %q, %v, recorded %+v", state, err, p.recorded())
	}
	if state, err := p.publish("A", 5, GuardEmpty); err != nil || state != Written {
		t.Errorf("the next run: %q, %v", state, err)
	}
}

func TestChangedOutside(t *testing.T) {
	l := memLedger(t)
	c, err := l.Claim(t.Context(), "installs", "u", "run", time.Minute)
	check(t, err)
	t.Cleanup(func() { check(t, c.Release(context.Background())) })
	dir := t.TempDir()
	target := newTarget(t, "file://"+dir)
	path := filepath.Join(dir, "installs/dt=2026-01-01/part-0.parquet")
	read := func() []byte {
		b, err := os.ReadFile(path)
		check(t, err)
		return b
	}
	publish := func(content string, again bool) (Reason, State, error) {
		return publishFile(t, l, Hold{c}, content, again, target)
	}
	if reason, state, err := publish("A", false); reason != Missing || state != Written || err != nil {
		t.Fatal(reason, state, err)
	}
	first := read()
	if reason, state, err := publish("A", false); reason != "" || state != Unchanged || err != nil {
		t.Errorf("nothing changed: %q %q %v", reason, state, err)
	}
	check(t, os.Remove(path))
	if reason, state, err := publish("A", false); reason != Changed || state != Written || err != nil || !bytes.Equal(read(), first) {
		t.Errorf("deleted: %q %q %v", reason, state, err)
	}
	_, _, err = publish("BB", false)
	check(t, err)
	check(t, os.WriteFile(path, first, 0o600)) // restored from a copy
	if reason, state, err := publish("BB", false); reason != Changed || state != Written || err != nil || !bytes.Contains(read(), []byte("BB")) {
		t.Errorf("restored: %q %q %v", reason, state, err)
	}
	check(t, os.WriteFile(path, []byte("somebody's own numbers"), 0o600))
	if reason, _, err := publish("BB", false); reason != Changed || !errors.Is(err, sinks.ErrForeign) || !strings.Contains(err.Error(), "--force") {
		t.Errorf("replaced by hand: %q %v", reason, err)
	}
	if string(read()) != "somebody's own numbers" {
		t.Error("what a person put there is gone")
	}
	if _, state, err := publish("BB", true); state != Written || err != nil || !bytes.Contains(read(), []byte("BB")) {
		t.Errorf("forced: %q %v", state, err)
	}
	if reason, state, err := publish("BB", false); reason != "" || state != Unchanged || err != nil {
		t.Errorf("at the end: %q %q %v", reason, state, err)
	}
}

// A ledger that was lost, or never knew: what is there is looked at before it is replaced.
func TestAPartThatNoRecordNames(t *testing.T) {
	dir := t.TempDir()
	target := newTarget(t, "file://"+dir)
	for _, content := range []string{"A", "B"} {
		l := memLedger(t)
		c, err := l.Claim(t.Context(), "installs", "u", "run", time.Minute)
		check(t, err)
		if content == "B" {
			if _, state, err := publishFile(t, l, Hold{c}, "", false, target); !errors.Is(err, ErrEmptied) {
				t.Errorf("an empty answer over a part: %q %v", state, err)
			}
		}
		if _, state, err := publishFile(t, l, Hold{c}, content, false, target); state != Written || err != nil {
			t.Errorf("%s: %q %v", content, state, err)
		}
		check(t, c.Release(t.Context()))
	}
}

// Two writers that both believe they hold a partition: who is late is refused by the store, and nobody sees older rows.
func TestALatePutIsRefused(t *testing.T) {
	target := newTarget(t, "file://"+t.TempDir())
	l := memLedger(t)
	c, err := l.Claim(t.Context(), "installs", "u", "run", time.Minute)
	check(t, err)
	defer func() { check(t, c.Release(context.Background())) }()
	_, _, err = publishFile(t, l, Hold{c}, "A", false, target)
	check(t, err)

	late := openTable(t, l)
	base, _ := late.Entry(date("2026-01-01"))
	over, err := late.conditions(t.Context(), Publication{Base: base, Part: fileOf("late")}, []Target{target})
	check(t, err)
	_, _, err = publishFile(t, l, Hold{c}, "newer", false, target)
	check(t, err)
	part := fileOf("late")
	part.Over = over[0]
	if _, err := target.Sink.Put(t.Context(), part); !errors.Is(err, sinks.ErrConflict) {
		t.Errorf("the late put: %v", err)
	}
	r, err := target.Sink.(*blobsink.Sink).Read(t.Context(), "installs", date("2026-01-01"))
	check(t, err)
	body, err := io.ReadAll(r)
	check(t, errors.Join(err, r.Close()))
	if !strings.HasPrefix(string(body), "newer") {
		t.Errorf("readers see %q", body)
	}
	if state, _, err := late.Publish(t.Context(), Hold{c}, Publication{Base: base, Part: fileOf("late"), Fetched: moment("2026-01-03T06:00")}, []Target{target}); !errors.Is(err, ErrLost) {
		t.Errorf("publishing on an old record: %q %v", state, err)
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

// What changed outside is due from Start on; what a bucket's rules delete before it isn't fetched again every night.
func TestChangedBeforeStart(t *testing.T) {
	done, changed := Ledgered{}, map[civil.Date]bool{}
	for day := range 10 {
		e := entry(day, "a")
		e.Fetched = moment("2026-05-01T06:00")
		done[e.Partition], changed[e.Partition] = e, true
	}
	start := entry(6, "").Partition
	windows := PlanWindows(moment("2026-06-01T06:00"), Rules{
		Period: Day, Page: 1, Start: start, Through: entry(9, "").Partition, Location: time.UTC, Changed: changed,
	}, done)
	if len(windows) != 4 || windows[0].Due[0].Partition != start || windows[0].Due[0].Reason != Changed {
		t.Errorf("due: %+v", windows)
	}
	rules := Rules{Period: Day, Page: 1, Start: start, Location: time.UTC, Changed: changed}
	for _, w := range PlanWindows(moment("2026-01-11T06:00"), rules, done) {
		if w.Due[0].Partition.Before(start) {
			t.Errorf("before the start %+v is due", w.Due)
		}
	}
}
