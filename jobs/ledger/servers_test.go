//go:build servers

package ledger

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/sinks/sinktest"
)

// everyPlace runs a test of the ledger's suite on each of the servers that .ci/servers has started.
func everyPlace(t *testing.T, test func(*testing.T, place)) {
	t.Helper()
	sinktest.EachServer(t, os.Getenv, func(t *testing.T, s sinktest.Server) {
		test(t, placeAt(s.URL(t), max(1, *rounds/5)))
	})
}

// Ten thousand objects: a listing of many pages is whole and in order. fake-gcs-server takes
// minutes to store so many; it gets three pages.
func TestTenThousandObjects(t *testing.T) {
	everyLedger(t, func(t *testing.T, l *Ledger) {
		objects := 10_000
		if strings.HasPrefix(l.url, "gs:") {
			objects = 2_500
		}
		start := time.Now()
		g, ctx := errgroup.WithContext(t.Context())
		g.SetLimit(readers)
		var want []string
		for day := range objects {
			key := fmt.Sprintf("tables/installs/history/%06d.json", day)
			want = append(want, key)
			g.Go(func() error {
				_, err := l.store.Put(ctx, key, []byte("{}"), bucket.Condition{})
				return err
			})
		}
		check(t, g.Wait())
		written := time.Since(start)
		keys, err := l.list(t.Context(), "tables/installs/history/")
		check(t, err)
		if !slices.Equal(keys, want) {
			t.Errorf("%d keys are listed, want %d", len(keys), len(want))
		}
		t.Logf("%d objects: written in %v, listed in %v", objects, written.Round(time.Millisecond),
			(time.Since(start) - written).Round(time.Millisecond))
	})
}

// A lease is measured by the store's own clock, of which some show whole seconds only.
func TestLeaseOnServers(t *testing.T) {
	sinktest.EachServer(t, os.Getenv, func(t *testing.T, s sinktest.Server) {
		l := placeAt(s.URL(t), 0).open(t)
		l.lease = 3 * time.Second
		live, dead := begin(t, openTable(t, l), "a", 1), begin(t, openTable(t, l), "a", 2)
		dead.Stop() // no more signs of life, and nothing given back: as after SIGKILL
		start, table := time.Now(), openTable(t, l)
		var held *HeldError
		for {
			if _, err := table.Begin(t.Context(), "b", days(1)); !errors.As(err, &held) {
				t.Fatalf("after %v the lease of a living run is taken over: %v", time.Since(start), err)
			}
			b, err := table.Begin(t.Context(), "b", days(2))
			if err == nil {
				check(t, b.End(t.Context()))
				break
			}
			if !errors.As(err, &held) || time.Since(start) > 2*l.lease {
				t.Fatalf("after %v: %v", time.Since(start), err)
			}
			time.Sleep(50 * time.Millisecond)
		}
		took := time.Since(start)
		t.Logf("a dead run's lease of %v is over after %v", l.lease, took.Round(time.Millisecond))
		if took < l.lease-time.Second {
			t.Errorf("over after %v of a lease of %v: earlier than a clock of whole seconds explains", took, l.lease)
		}
		check(t, live.End(t.Context()))
	})
}

// What is recorded over a bad connection is there whole or not at all, and recording it again
// succeeds.
func TestLedgerOnABadConnection(t *testing.T) {
	sinktest.EachServer(t, os.Getenv, func(t *testing.T, s sinktest.Server) {
		var wg sync.WaitGroup
		for _, bad := range []struct {
			kind, stream string
			attributes   map[string]int
			lands        bool
		}{
			{"limit_data", "upstream", map[string]int{"bytes": 100}, false},
			{"reset_peer", "upstream", map[string]int{"timeout": 0}, false},
			{"timeout", "upstream", map[string]int{"timeout": 0}, false},
			{"limit_data", "downstream", map[string]int{"bytes": 20}, true},
			{"timeout", "downstream", map[string]int{"timeout": 100}, true},
		} {
			s := s.Elsewhere()
			near := placeAt(s.URL(t), 0).open(t)
			behind, cable := s.Cabled(t)
			far := placeAt(behind.URL(t), 0).open(t)
			table := openTable(t, far)
			wg.Go(func() {
				when := bad.kind + " " + bad.stream
				cable.Spoil(t, bad.kind, bad.stream, bad.attributes)
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				if err := table.Commit(ctx, record(0, "a")); err == nil {
					t.Errorf("%s: no error", when)
				}
				now, err := near.Table(t.Context(), "installs")
				if err != nil {
					t.Errorf("%s: %v", when, err)
					return
				}
				if got := now.Sorted(); len(got) > 0 && !bad.lands {
					t.Errorf("%s: recorded though nothing got through: %+v", when, got)
				}
				cable.Mend(t)
				if err := table.Commit(t.Context(), record(0, "a")); err != nil {
					t.Errorf("%s: recorded again: %v", when, err)
				}
			})
		}
		wg.Wait()
	})
}

// The swap of a lease succeeds, its answer is lost, and the store's client sends it again: the
// lease is one's own all the same, not that of another that was faster.
func TestLeaseWhoseAnswerIsLost(t *testing.T) {
	sinktest.EachServer(t, os.Getenv, func(t *testing.T, s sinktest.Server) {
		var lost atomic.Bool
		lossy := s.Behind(t, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				creates := r.Method != http.MethodGet && r.Method != http.MethodHead &&
					strings.Contains(r.URL.String(), "months")
				if !creates || !lost.CompareAndSwap(false, true) {
					next.ServeHTTP(w, r)
					return
				}
				next.ServeHTTP(nowhere{}, r)
				w.WriteHeader(http.StatusServiceUnavailable)
			})
		})
		l := placeAt(lossy.URL(t), 0).open(t)
		table := openTable(t, l)
		a := begin(t, table, "a", 1)
		if _, is := table.Record(days(1)[0]); is || !lost.Load() {
			t.Errorf("in doubt: %v; an answer was lost: %v", is, lost.Load())
		}
		check(t, a.End(t.Context()))
	})
}

type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) WriteHeader(int)             {}

// A ledger whose store answers 503 for a while is ridden out; one whose store goes on doing so says
// it.
func TestLedgerOnABusyStore(t *testing.T) {
	sinktest.EachServer(t, os.Getenv, func(t *testing.T, s sinktest.Server) {
		var seen atomic.Int64
		count := func() int64 { return seen.Add(1) }
		l := placeAt(s.Behind(t, sinktest.Busy(2, count)).URL(t), 0).open(t)
		check(t, openTable(t, l).Commit(t.Context(), record(0, "a")))
		seen.Store(0)
		check(t, begin(t, openTable(t, l), "a", 1).End(t.Context()))

		never := placeAt(s.Behind(t, sinktest.Busy(1<<40, count)).URL(t), 0).open(t)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := never.Table(ctx, "installs")
		t.Logf("a listing: %v", err)
		if err == nil || !strings.HasPrefix(err.Error(), "ledger: list ") {
			t.Errorf("a listing that is never answered: %v", err)
		}
		if got := fmt.Sprint(openTable(t, l).Sorted()); !strings.Contains(got, "2026-01-01") {
			t.Errorf("recorded: %s", got)
		}
	})
}
