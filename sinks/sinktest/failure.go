package sinktest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/sinks"
)

// sizes are sizes of parts in bytes. With 9 MiB, a store that uploads in pieces has sent a piece.
var sizes = []int{100, 100_000, 9 << 20}

// testInterrupted ends the context while the sink reads a part: the old rows stay visible.
func testInterrupted(t *testing.T, p *place) {
	old := p.part(table, day, 1, 50_000)
	p.mustPut(t, old)
	for _, size := range sizes {
		for _, at := range []int{0, size / 2, size - 1, size} {
			fresh := p.part(table, day, 2, size)
			ctx, cancel := context.WithCancel(context.Background())
			// The reader goes on to the end: the sink itself has to notice that the context ended.
			fresh.at, fresh.onRead = at, func() (bool, error) { cancel(); return false, nil }
			_, err := p.Sink.Put(ctx, fresh.Part)
			cancel()
			if err == nil {
				t.Errorf("a put of %d bytes interrupted at byte %d gives no error", size, at)
			}
			p.mustShow(t, old)
		}
	}
	fresh := p.part(table, day, 3, 60_000)
	p.mustPut(t, fresh)
	p.mustShow(t, fresh)
}

// testEnded puts under a context that has ended already.
func testEnded(t *testing.T, p *place) {
	old := p.part(table, day, 1, 50_000)
	p.mustPut(t, old)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.Sink.Put(ctx, p.part(table, day, 2, 100).Part); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	p.mustShow(t, old)
}

// testFailedRead makes the reading of a part fail in each of the ways of spoilings.
func testFailedRead(t *testing.T, p *place) {
	slow.Test(t)
	broken := errors.New("the disk is gone")
	failures := spoilings(broken)
	var old []*part
	check := func(when string, sizes ...int) {
		for _, size := range sizes {
			for name, spoil := range failures {
				fresh := p.part(table, day, 2, size)
				spoil(fresh)
				_, err := p.Sink.Put(context.Background(), fresh.Part)
				if err == nil {
					t.Errorf("%s, %d bytes, %s: no error", name, size, when)
				}
				if (fresh.openErr != nil || fresh.closeErr != nil) && !errors.Is(err, broken) {
					t.Errorf("%s, %d bytes, %s: %v hides the cause", name, size, when, err)
				}
				p.mustShow(t, old...)
			}
		}
	}
	check("nothing there before", sizes[:2]...)
	old = []*part{p.part(table, day, 1, 50_000)}
	p.mustPut(t, old[0])
	check("old rows there before", sizes...)
}

// spoilings returns ways to make the reading of a part fail, by their names.
func spoilings(broken error) map[string]func(*part) {
	spoil := map[string]func(*part){
		"open fails":      func(p *part) { p.openErr = broken },
		"close fails":     func(p *part) { p.closeErr = broken },
		"one byte more":   func(p *part) { p.extra = []byte{1} },
		"a megabyte more": func(p *part) { p.extra = make([]byte, 1<<20) },
	}
	for name, at := range map[string]func(size int) int{
		"at the start": func(int) int { return 0 }, "in the middle": func(size int) int { return size / 2 },
		"at the last byte": func(size int) int { return size - 1 },
	} {
		spoil["error "+name] = func(p *part) {
			p.at, p.onRead = at(len(p.content)), func() (bool, error) { return true, broken }
		}
		spoil["end "+name] = func(p *part) {
			p.at, p.onRead = at(len(p.content)), func() (bool, error) { return true, io.EOF }
		}
	}
	return spoil
}

// testConcurrent puts two parts at the same time. Leases keep writers apart; should they ever fail
// to, readers still see one part or the other.
func testConcurrent(t *testing.T, p *place) {
	a, b := p.part(table, day, 1, 300_000), p.part(table, day, 2, 200_000)
	key := p.mustPut(t, a).Key
	const writers, rounds = 4, 5
	done := make(chan error, 2*writers)
	var wg sync.WaitGroup
	for _, part := range []*part{a, b} {
		for range writers {
			wg.Go(func() { done <- p.putOften(part.Part, rounds) })
		}
	}
	finished := make(chan struct{})
	go func() { wg.Wait(); close(finished) }()
	for running := true; running; {
		select {
		case <-finished:
			running = false
		default:
		}
		if got, ok := p.Visible(t)[key]; ok && !bytes.Equal(got, a.content) && !bytes.Equal(got, b.content) {
			t.Fatalf("a reader sees %d bytes that are neither part", len(got))
		}
	}
	for range 2 * writers {
		if err := <-done; err != nil {
			t.Log(err) // allowed: a sink may notice the other writer
		}
	}
	visible := p.Visible(t)
	if len(visible) != 1 || (!bytes.Equal(visible[key], a.content) && !bytes.Equal(visible[key], b.content)) {
		t.Fatalf("%d keys are visible, want one whole part at %s", len(visible), key)
	}
	p.mustPut(t, a)
	p.mustShow(t, a)
}

// putOften puts a part so many times, and returns the last error.
func (p *place) putOften(part sinks.Part, rounds int) error {
	var failed error
	for round := range rounds {
		if _, err := p.Sink.Put(context.Background(), part); err != nil {
			failed = fmt.Errorf("round %d: %w", round, err)
		}
	}
	return failed
}
