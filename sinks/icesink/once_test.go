//go:build servers

package icesink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/sinktest"
)

// many is a part of n rows of one campaign.
func many(day, campaign string, n int) sinks.Part {
	names := make([]string, n)
	for i := range names {
		names[i] = campaign
	}
	return testPart(day, names...)
}

// campaigns counts the rows of a table by campaign, as a reader that comes now sees them.
func campaigns(ctx context.Context, s *Sink) (map[string]int, error) {
	t, err := s.load(ctx, "installs")
	if err != nil {
		return nil, err
	}
	_, batches, err := t.Scan().ToArrowRecords(ctx)
	if err != nil {
		return nil, err
	}
	found := map[string]int{}
	for batch, err := range batches {
		if err != nil {
			return nil, err
		}
		column := batch.Column(batch.Schema().FieldIndices("campaign")[0])
		for i := range int(batch.NumRows()) {
			found[column.ValueStr(i)]++
		}
		batch.Release()
	}
	return found, nil
}

func mustHold(t *testing.T, s *Sink, want string) {
	t.Helper()
	found, err := campaigns(t.Context(), s)
	if got := fmt.Sprint(found); err != nil || got != want {
		t.Errorf("the table holds %s, want %s: %v", got, want, err)
	}
}

// watch polls the table until the test is over: it has so many rows, all of one campaign.
func watch(t *testing.T, s *Sink, rows int) (stop func()) {
	done := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
			found, err := campaigns(context.Background(), s)
			if err != nil {
				continue // the catalog is away
			}
			for campaign, n := range found {
				if n != rows || len(found) != 1 {
					t.Errorf("a reader sees %d rows of %s, and %d campaigns", n, campaign, len(found))
					return
				}
			}
		}
	})
	return func() { close(done); reader.Wait() }
}

// Whatever becomes of a request to the catalog, a put is done once: it knows its own commit again,
// and repeats what didn't happen.
func TestOnceThroughABadCatalog(t *testing.T) {
	c := theCatalog(t)
	namespace := c.Namespace(t)
	front := c.NewFront(t)
	s, direct := openURL(t, restURL(front.URI, namespace)), openURL(t, restURL(c.URI, namespace))
	last, err := s.Put(t.Context(), many("2026-01-31", "first", 700))
	if err != nil {
		t.Fatal(err)
	}
	defer watch(t, direct, 700)()
	faults := []sinktest.CatalogFault{
		{Kind: sinktest.CatalogCut}, {Kind: sinktest.CatalogLost}, {Kind: sinktest.CatalogLost, Times: 2},
		{Kind: sinktest.CatalogLate, Delay: 300 * time.Millisecond},
		{Kind: sinktest.CatalogLate, Delay: 3 * time.Second},
		{Kind: sinktest.CatalogHeld, Delay: 300 * time.Millisecond},
		{Kind: sinktest.CatalogRefused, Status: http.StatusConflict},
		{Kind: sinktest.CatalogRefused, Status: http.StatusTooManyRequests},
		// Whoever answers so lies, and the table is looked at again.
		{Kind: sinktest.CatalogMasked, Status: http.StatusConflict},
	}
	for _, status := range []int{500, 502, 503, 504} {
		faults = append(faults, sinktest.CatalogFault{Kind: sinktest.CatalogRefused, Status: status},
			sinktest.CatalogFault{Kind: sinktest.CatalogMasked, Status: status})
	}
	for i, f := range faults {
		before := snapshots(t, direct)
		campaign := fmt.Sprint(f.Kind, f.Status, i)
		next := many("2026-01-31", campaign, 700)
		next.Over.Version = last.Version
		front.Break(f)
		r, err := s.Put(t.Context(), next)
		if err != nil || front.Broke() == 0 {
			t.Fatalf("%+v happened %d times: %v", f, front.Broke(), err)
		}
		front.Settle()
		if made := snapshots(t, direct) - before; made != 1 {
			t.Errorf("%+v: %d snapshots were made", f, made)
		}
		over, err := direct.ConditionOf(t.Context(), "installs", next.Partition, true)
		if err != nil || over.Version != r.Version {
			t.Errorf("%+v: %+v, the receipt says %s: %v", f, over, r.Version, err)
		}
		mustHold(t, direct, fmt.Sprintf("map[%s:700]", campaign))
		last = r
	}
}

func snapshots(t *testing.T, s *Sink) int {
	t.Helper()
	of, err := s.load(t.Context(), "installs")
	if err != nil {
		t.Fatal(err)
	}
	return len(of.Metadata().Snapshots())
}

// The commit of a put whose run is gone comes late: under what others have put meanwhile it is
// refused, and before that it is what a later put may replace only when it knows of it.
func TestALateCommit(t *testing.T) {
	c := theCatalog(t)
	for name, putsMeanwhile := range map[string]bool{"others put meanwhile": true, "nobody does": false} {
		t.Run(name, func(t *testing.T) {
			namespace := c.Namespace(t)
			front := c.NewFront(t)
			dead, s := openURL(t, restURL(front.URI, namespace)), openURL(t, restURL(c.URI, namespace))
			first, err := s.Put(t.Context(), many("2026-01-31", "first", 500))
			if err != nil {
				t.Fatal(err)
			}
			defer watch(t, s, 500)()
			front.Break(sinktest.CatalogFault{Kind: sinktest.CatalogLate, Delay: 2 * time.Second})
			older, newer := many("2026-01-31", "older", 500), many("2026-01-31", "newer", 500)
			older.Over.Version, newer.Over.Version = first.Version, first.Version
			ctx, gone := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() {
				_, err := dead.Put(ctx, older)
				ended <- err
			}()
			for front.Broke() == 0 {
				time.Sleep(time.Millisecond)
			}
			gone()
			err = <-ended
			if !errors.Is(err, context.Canceled) || err == nil {
				t.Errorf("the put that is gone: %v", err)
			}
			if putsMeanwhile {
				if _, err := s.Put(t.Context(), newer); err != nil {
					t.Errorf("a put before the late commit: %v", err)
				}
				if codes := front.Settle(); len(codes) != 1 || codes[0] != http.StatusConflict {
					t.Errorf("the late commit was answered %v", codes)
				}
				mustHold(t, s, "map[newer:500]")
				return
			}
			if codes := front.Settle(); len(codes) != 1 || codes[0] != http.StatusOK {
				t.Errorf("the late commit was answered %v", codes)
			}
			mustHold(t, s, "map[older:500]") // its file is still there
			if _, err := s.Put(t.Context(), newer); !errors.Is(err, sinks.ErrConflict) {
				t.Errorf("a put over what was there before the late commit: %v", err)
			}
			newer.Over = sinks.Condition{}
			if _, err := s.Put(t.Context(), newer); err != nil {
				t.Error(err)
			}
			mustHold(t, s, "map[newer:500]")
		})
	}
}

// A table may ask writers to try a commit again by themselves. A put doesn't: what it may replace
// is to be looked at before.
func TestTheTablesRetriesAreNotTaken(t *testing.T) {
	c := theCatalog(t)
	namespace := c.Namespace(t)
	front := c.NewFront(t)
	slow, s := openURL(t, restURL(front.URI, namespace)), openURL(t, restURL(c.URI, namespace))
	mustPut(t, s, many("2026-01-30", "first", 10))
	setProperty(t, s, "commit.retry.num-retries", "10")
	setProperty(t, s, "commit.retry.min-wait-ms", "1")
	front.Break(sinktest.CatalogFault{Kind: sinktest.CatalogHeld, Delay: time.Second})
	older, newer := many("2026-01-31", "older", 10), many("2026-01-31", "newer", 10)
	older.Over.Absent, newer.Over.Absent = true, true
	ended := make(chan error)
	go func() {
		_, err := slow.Put(t.Context(), older)
		ended <- err
	}()
	for front.Broke() == 0 {
		time.Sleep(time.Millisecond)
	}
	mustPut(t, s, newer)
	if err := <-ended; !errors.Is(err, sinks.ErrConflict) {
		t.Errorf("the put that was slower: %v", err)
	}
	mustHold(t, s, "map[first:10 newer:10]")
}

// A compaction between a put's look and its commit is no conflict: the put replaces what it has
// made of the files.
func TestCompactionMeanwhile(t *testing.T) {
	c := theCatalog(t)
	namespace := c.Namespace(t)
	front := c.NewFront(t)
	slow, s := openURL(t, restURL(front.URI, namespace)), openURL(t, restURL(c.URI, namespace))
	first := mustPut(t, s, many(day, "first", 10))
	front.Break(sinktest.CatalogFault{Kind: sinktest.CatalogHeld, Delay: time.Second})
	next := many(day, "next", 10)
	next.Over.Version = first.Version
	ended := make(chan error)
	go func() {
		_, err := slow.Put(t.Context(), next)
		ended <- err
	}()
	for front.Broke() == 0 {
		time.Sleep(time.Millisecond)
	}
	compact(t, s, day)
	if err := <-ended; err != nil {
		t.Errorf("the put: %v", err)
	}
	mustHold(t, s, "map[next:10]")
}

// Puts of several processes and of several partitions at the same time are all done, each once, in
// whichever catalog.
func TestManyAtATime(t *testing.T) {
	for name, u := range map[string]string{"rest": restURL(theCatalog(t).URI, theCatalog(t).Namespace(t)),
		"postgres": postgresURL(t), "sqlite": newURL(t)} {
		t.Run(name, func(t *testing.T) {
			const processes, days = 4, 7
			var wg sync.WaitGroup
			for i := range processes {
				s := openURL(t, u)
				for d := range days {
					wg.Go(func() {
						p := many(date("2026-01-01").AddDays(i*days+d).String(), "all", 10)
						p.Over.Absent = true
						if _, err := s.Put(t.Context(), p); err != nil {
							t.Error(err)
						}
					})
				}
			}
			wg.Wait()
			s := openURL(t, u)
			mustHold(t, s, fmt.Sprintf("map[all:%d]", processes*days*10))
			n := snapshots(t, s)
			t.Logf("%d puts made %d snapshots", processes*days, n)
			if n >= processes*days {
				t.Errorf("%d puts made %d snapshots: no commit was shared", processes*days, n)
			}
			list, err := s.List(t.Context(), "installs")
			if err != nil || len(list) != processes*days {
				t.Errorf("%d are listed: %v", len(list), err)
			}
		})
	}
}

// A catalog that crashes in the middle of a put, and comes back, has the old rows until the put is
// repeated.
func TestCrash(t *testing.T) {
	c := sinktest.StartCatalog(t)
	namespace := c.Namespace(t)
	front := c.NewFront(t)
	s, direct := openURL(t, restURL(front.URI, namespace)), openURL(t, restURL(c.URI, namespace))
	if _, err := s.Put(t.Context(), many("2026-01-31", "first", 300)); err != nil {
		t.Fatal(err)
	}
	defer watch(t, direct, 300)()
	for i, kind := range []string{sinktest.CatalogCut, sinktest.CatalogLost} { // before the commit, and after it
		front.Break(sinktest.CatalogFault{Kind: kind})
		ended := make(chan error)
		campaign := fmt.Sprint("next", i)
		go func() {
			_, err := s.Put(t.Context(), many("2026-01-31", campaign, 300))
			ended <- err
		}()
		for front.Broke() == 0 {
			time.Sleep(time.Millisecond)
		}
		c.Crash()
		time.Sleep(100 * time.Millisecond)
		c.Start(t)
		if err := <-ended; err != nil {
			t.Errorf("a put over a crash: %v", err)
		}
		mustHold(t, direct, fmt.Sprintf("map[%s:300]", campaign))
	}
}

// Nothing is written to standard error when the catalog has removed a table's old descriptions by
// itself.
func TestOldDescriptions(t *testing.T) {
	c := theCatalog(t)
	s := openURL(t, restURL(c.URI, c.Namespace(t)))
	mustPut(t, s, testPart(day, "first"))
	setProperty(t, s, "write.metadata.previous-versions-max", "2")
	var said bytes.Buffer
	log.SetOutput(&said)
	defer log.SetOutput(os.Stderr)
	for i := range 6 {
		mustPut(t, s, testPart(day, fmt.Sprint("next", i)))
	}
	if said.Len() > 0 {
		t.Errorf("the library says: %s", &said)
	}
	found, err := filepath.Glob(filepath.Join(strings.TrimPrefix(load(t, s).Location(), "file://"), "metadata",
		"*.metadata.json"))
	if err != nil || len(found) != 3 {
		t.Errorf("%d descriptions are kept: %v", len(found), err)
	}
}
