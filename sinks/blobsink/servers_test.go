//go:build servers

package blobsink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/bucket/buckettest"
	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/sinktest"
)

// The suite on the servers that .ci/servers starts. On mem:// and file:// it runs with every go
// test.
func TestServers(t *testing.T) {
	before := openUploads(t)
	sinktest.EachServer(t, os.Getenv, func(t *testing.T, s sinktest.Server) {
		sinktest.Run(t, func(t *testing.T) sinktest.Fixture {
			place := s.Elsewhere()
			return sinktest.Fixture{Sink: mustOpen(t, place.URL(t)),
				Visible: readBucket(buckettest.Open(t, place.URL(t)))}
		})
	})
	noneLeft(t, before)
}

// Wrong keys are a matter of permission on the servers too, and the message names the variables to
// set; a probe with the right ones leaves nothing behind.
func TestServersRefuseWrongKeys(t *testing.T) {
	for _, c := range []struct{ scheme, variable, value, says string }{
		{"s3", "AWS_SECRET_ACCESS_KEY", "another secret", "SignatureDoesNotMatch"},
		{"s3", "AWS_ACCESS_KEY_ID", "nobody", "XAdminUserNotFound"},
		{"azblob", "AZURE_STORAGE_KEY", "YW5vdGhlciBrZXk=", "Azure answered 403 AuthorizationFailure: "},
	} {
		t.Run(c.variable, func(t *testing.T) {
			s := sinktest.Server{Scheme: c.scheme}.At(os.Getenv).Elsewhere()
			good := mustOpen(t, s.URL(t)).(*Sink)
			if err := good.Probe(t.Context()); err != nil {
				t.Error(err)
			}
			if left := readBucket(good.bucket)(t); len(left) > 0 {
				t.Errorf("%d objects are left behind", len(left))
			}
			t.Setenv(c.variable, c.value)
			bad := mustOpen(t, s.URL(t)).(*Sink)
			first := part("rows")
			first.Over.Absent = true // without a look, whose answer has no words
			_, putErr := bad.Put(t.Context(), first)
			_, keysErr := bad.List(t.Context(), "installs")
			_, _, attrsErr := bad.bucket.Attributes(t.Context(), "key")
			for what, err := range map[string]error{"put": putErr, "keys": keysErr, "probe": bad.Probe(t.Context()),
				"attributes": attrsErr} {
				if what == "attributes" && c.value == "nobody" {
					continue // versitygw answers HEAD with 404
				}
				if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), c.variable) ||
					strings.Contains(err.Error(), "\n") {
					t.Errorf("%s: want a refusal in one line that names %s: %v", what, c.variable, err)
				}
				if what != "attributes" && !strings.Contains(err.Error(), c.says) { // an answer to HEAD has no body
					t.Errorf("%s: want %q: %v", what, c.says, err)
				}
			}
		})
	}
}

// openUploads counts what S3 keeps of uploads that were neither completed nor aborted, for ever and
// for money. The folders are those of versitygw: one for each key, and in it one for each upload.
func openUploads(t *testing.T) int {
	t.Helper()
	open, err := filepath.Glob(filepath.Join(os.Getenv("SERVERS_S3_DIR"), ".sgwtmp", "multipart", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}

// noneLeft checks that no upload was left open since: where the store can be reached, all are
// aborted.
func noneLeft(t *testing.T, before int) {
	t.Helper()
	if after := openUploads(t); after != before {
		t.Errorf("%d uploads are left open on S3, %d before", after, before)
	}
}

// a place that shows old rows, reached through a bad cable.
type cabled struct {
	*sinktest.Cable
	sink    sinks.Sink
	near    sinks.Sink                         // past the cable
	visible func(*testing.T) map[string][]byte // past the cable
}

func newCabled(t *testing.T, s sinktest.Server) cabled {
	t.Helper()
	s = s.Elsewhere()
	direct := mustOpen(t, s.URL(t))
	if _, err := direct.Put(t.Context(), part("old rows")); err != nil {
		t.Fatal(err)
	}
	c := cabled{near: direct, visible: readBucket(buckettest.Open(t, s.URL(t)))}
	far, cable := s.Cabled(t)
	c.Cable, c.sink = cable, mustOpen(t, far.URL(t))
	return c
}

// shows checks that the place has one key, with one of these contents.
func (c cabled) shows(t *testing.T, when string, contents ...string) {
	t.Helper()
	seen := c.visible(t)
	for _, want := range contents {
		if len(seen) == 1 && string(seen[partKey]) == want {
			return
		}
	}
	t.Errorf("%s: %d keys are visible, and at %s %d bytes that nobody wrote or that shouldn't be there", when,
		len(seen),
		partKey, len(seen[partKey]))
}

const (
	small  = 100_000
	buffer = 8 << 20          // of an upload
	pieces = 2*buffer + 1<<20 // so large that every store takes it in pieces
)

// A put over a bad connection: what readers see stays whole, and the next put over a good one
// succeeds.
func TestBadConnection(t *testing.T) {
	sinktest.EachServer(t, os.Getenv, func(t *testing.T, s sinktest.Server) {
		var wg sync.WaitGroup
		for _, size := range []int{small, pieces} {
			for _, bad := range badConnections {
				c := newCabled(t, s)
				wg.Go(func() { bad.put(t, c, strings.Repeat("n", size)) })
			}
		}
		wg.Wait()
	})
}

type badConnection struct {
	name, kind, stream string
	attributes         map[string]int
	outcome            outcome
}

type outcome int

const (
	fails    outcome = iota
	unknown          // only the answer is lost: an error, and the new rows may be there
	succeeds         // it is only slow
)

var badConnections = []badConnection{
	{"cut in the middle", "limit_data", "upstream", map[string]int{"bytes": 40_000}, fails},
	{"reset", "reset_peer", "upstream", map[string]int{"timeout": 0}, fails},
	{"reset after a while", "reset_peer", "upstream", map[string]int{"timeout": 3}, unknown},
	{"silent", "timeout", "upstream", map[string]int{"timeout": 0}, fails},
	{"silent and then closed", "timeout", "upstream", map[string]int{"timeout": 200}, fails},
	{"the answer is cut", "limit_data", "downstream", map[string]int{"bytes": 20}, unknown},
	{"the answer is lost", "timeout", "downstream", map[string]int{"timeout": 200}, unknown},
	{"slow", "latency", "upstream", map[string]int{"latency": 100}, succeeds},
}

func (b badConnection) put(t *testing.T, c cabled, fresh string) {
	c.Spoil(t, b.kind, b.stream, b.attributes)
	limit := patience
	if b.outcome == succeeds {
		limit = time.Minute // on a machine that does a lot at once
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	start := time.Now()
	_, err := c.sink.Put(ctx, part(fresh))
	took := time.Since(start)
	when := fmt.Sprintf("%s, %d bytes, after %v (%v)", b.name, len(fresh), took.Round(time.Millisecond), err)
	t.Log(when)
	switch {
	case took > limit+tolerance:
		t.Errorf("%s: its context ended after %v", when, limit)
	case (err == nil) != (b.outcome == succeeds):
		t.Errorf("%s: want an error: %v", when, b.outcome != succeeds)
	}
	switch b.outcome {
	case fails:
		c.shows(t, when, "old rows")
	case unknown:
		c.shows(t, when, "old rows", fresh)
	case succeeds:
		c.shows(t, when, fresh)
	}
	c.Mend(t)
	if _, err := c.sink.Put(t.Context(), part(fresh)); err != nil {
		t.Errorf("%s: over the mended connection: %v", when, err)
	}
	c.shows(t, when+", mended", fresh)
}

const (
	patience  = 2 * time.Second
	tolerance = 5 * time.Second
)

// An upload that is given up while its bytes are on a slow way.
func TestGivenUpOverASlowConnection(t *testing.T) {
	before := openUploads(t)
	sinktest.EachServer(t, os.Getenv, func(t *testing.T, s sinktest.Server) {
		for _, size := range []int{small, pieces} {
			c := newCabled(t, s)
			c.Spoil(t, "latency", "upstream", map[string]int{"latency": 100})
			ctx, cancel := context.WithCancel(t.Context())
			p := part(strings.Repeat("n", size))
			p.Open = func() (io.ReadCloser, error) {
				half := strings.NewReader(strings.Repeat("n", size/2))
				return io.NopCloser(io.MultiReader(half, cancelling{cancel},
					strings.NewReader(strings.Repeat("n", size-size/2)))), nil
			}
			if _, err := c.sink.Put(ctx, p); !errors.Is(err, context.Canceled) {
				t.Errorf("%d bytes: %v", size, err)
			}
			c.Mend(t)
			time.Sleep(300 * time.Millisecond) // what was on its way has arrived
			c.shows(t, "after the cancellation", "old rows")
			if _, err := c.sink.Put(t.Context(), part("new rows")); err != nil {
				t.Error(err)
			}
			c.shows(t, "after the next put", "new rows")
		}
	})
	noneLeft(t, before)
}

type cancelling struct{ cancel func() }

func (c cancelling) Read([]byte) (int, error) { c.cancel(); return 0, io.EOF }

// A store that answers 503 for a while is ridden out; one that goes on doing so gives an error, and
// nothing is visible.
func TestBusyStore(t *testing.T) {
	before := openUploads(t)
	sinktest.EachServer(t, os.Getenv, func(t *testing.T, s sinktest.Server) {
		var wg sync.WaitGroup
		for _, size := range []int{small, pieces} {
			for _, times := range []int64{2, always} {
				place := s.Elsewhere()
				visible := readBucket(buckettest.Open(t, place.URL(t)))
				var seen atomic.Int64
				busy := mustOpen(t, place.Behind(t, sinktest.Busy(times, func() int64 { return seen.Add(1) })).URL(t))
				wg.Go(func() {
					start := time.Now()
					fresh := strings.Repeat("n", size)
					_, err := busy.Put(t.Context(), part(fresh))
					when := fmt.Sprintf("%d bytes, %d times 503, %d requests, %v (%v)", size, times, seen.Load(),
						time.Since(start).Round(time.Millisecond), err)
					t.Log(when)
					if times == always {
						if err == nil || !strings.Contains(err.Error(), "503") {
							t.Errorf("%s: want an error that names 503", when)
						}
						if got := visible(t); len(got) != 0 {
							t.Errorf("%s: %d keys are visible", when, len(got))
						}
						return
					}
					if got := visible(t); err != nil || len(got) != 1 || string(got[partKey]) != fresh {
						t.Errorf("%s: %d keys are visible", when, len(got))
					}
				})
			}
		}
		wg.Wait()
	})
	noneLeft(t, before)
}

const always = 1 << 40

// The answer to a put is lost, in one call or in pieces. Whether its rows are there isn't known:
// the next put looks, goes over what it saw and wins, and whatever of the first one comes later is
// refused.
func TestAnswersAreLostOnServers(t *testing.T) {
	sinktest.EachServer(t, os.Getenv, func(t *testing.T, s sinktest.Server) {
		for _, size := range []int{small, pieces} {
			t.Run(fmt.Sprint(size), func(t *testing.T) {
				c := newCabled(t, s)
				look := func() sinks.Condition {
					over, err := c.near.(*Sink).ConditionOf(t.Context(), part("").Table, part("").Partition, true)
					if err != nil {
						t.Fatal(err)
					}
					return over
				}
				before := look()
				c.Spoil(t, "timeout", "downstream", map[string]int{"timeout": 200})
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				lost := part(strings.Repeat("l", size))
				lost.Over = before
				if _, err := c.sink.Put(ctx, lost); err == nil {
					t.Fatal("a put whose answer is lost gives no error")
				}
				next := part(strings.Repeat("n", size))
				next.Over = look()
				receipt, err := c.near.Put(t.Context(), next)
				if err != nil {
					t.Fatal(err)
				}
				for _, over := range []sinks.Condition{before, {Absent: true}} {
					lost.Over = over
					if _, err := c.near.Put(t.Context(), lost); !errors.Is(err, sinks.ErrConflict) {
						t.Errorf("sent again over %+v: %v", over, err)
					}
				}
				c.shows(t, "after all", strings.Repeat("n", size))
				if now := look(); now.Version != receipt.Version {
					t.Errorf("there is version %q, the receipt says %q", now.Version, receipt.Version)
				}
			})
		}
	})
}

// Nobody looks at what was put in a store that honours conditions. What the store has answered is
// what a look shows, of a part that is sent at once and of one in pieces.
func TestServersSayWhatTheyHold(t *testing.T) {
	sinktest.EachServer(t, os.Getenv, func(t *testing.T, s sinktest.Server) {
		sink := mustOpen(t, s.URL(t)).(*Sink)
		for i, size := range []int{100, 0, 100, buffer - 1, buffer + 1, 20 << 20} {
			p := part(strings.Repeat("r", size))
			r, err := sink.Put(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			over, err := sink.ConditionOf(t.Context(), p.Table, p.Partition, true)
			if err != nil || r.Version == "" || over.Version != r.Version || r.Size != int64(size) {
				t.Errorf("%d bytes: the receipt says %q and %d, a look %q (%v)", size, r.Version, r.Size, over.Version,
					err)
			}
			if i == 0 {
				continue
			}
			made, err := sink.write(t.Context(), r.Key, p, over, "another mark", false)
			if again, _ := sink.ConditionOf(t.Context(), p.Table, p.Partition, false); err != nil || made == "" ||
				made != again.Version {
				t.Errorf("%d bytes: the store said %q of what it has as %q (%v)", size, made, again.Version, err)
			}
		}
	})
}
