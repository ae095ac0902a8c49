// Package sinktest is the suite that every sink passes. Without it, "a partition is replaced whole
// or not at all" would mean something else in every store.
//
// A sink's test calls Run when its readers find files, and RunRows when they find rows. It hands
// over a function that makes an empty place and a sink that writes to it; the suite puts parts,
// breaks the reading of parts and the context at chosen bytes, and compares what a reader finds
// with the parts that should be there:
//
//	open(t) ─ Fixture{Sink, Visible} ─ put, interrupt, race ─ Visible equals the parts, every reader of a part was closed
//
// With the build tag servers, EachServer runs a test against real servers of each protocol, over
// connections that a test can break.
package sinktest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/sinks"
)

// A Fixture is an empty place and a sink that writes to it.
type Fixture struct {
	Sink sinks.Sink

	// Visible returns everything that a reader of the place finds, by the keys that the sink's
	// receipts name. It includes what the sink forgot to remove. A key that vanishes while Visible
	// reads is left out.
	Visible func(t *testing.T) map[string][]byte
}

// files is what the suite needs of a sink whose readers find files, beside Put.
type files interface {
	sinks.Reader
	sinks.Conditional
}

// Run runs the suite for a sink whose readers find files: it must have Read, ConditionOf and List.
// open makes a new place for every test and cleans up by t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) Fixture) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, *place)
	}{
		{"put is visible", testVisible},
		{"put repeated is harmless", testRepeated},
		{"replacement there and back", testReplacement},
		{"partitions and tables are apart", testApart},
		{"a table without periods", testWhole},
		{"names with spaces and other letters", testNames},
		{"no rows", testNoRows},
		{"what was put can be read", testRead},
		{"a big part", testBig},
		{"interrupted put leaves the old rows", testInterrupted},
		{"put under an ended context leaves the old rows", testEnded},
		{"failed read publishes nothing", testFailedRead},
		{"concurrent puts leave one whole part", testConcurrent},
		{"a late put is refused", testConditions},
		{"one of several writers wins", testConditionsRace},
		{"a listing names versions", testListed},
		{"what describes a table is no part", testDescribed},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &place{Fixture: open(t), made: map[noise][]byte{}}
			var ok bool
			if p.files, ok = p.Sink.(files); !ok {
				t.Fatalf("%T lacks Read, ConditionOf or List; RunRows is for sinks whose readers find rows", p.Sink)
			}
			test.run(t, p)
			p.checkReaders(t)
		})
	}
}

// place is a fixture and the parts that were made for it.
type place struct {
	Fixture
	files files // the fixture's sink
	parts []*part
	made  map[noise][]byte // the contents of parts
}

// A noise identifies random bytes.
type noise struct {
	seed byte
	size int
}

// part makes a part of size random bytes. The same seed gives the same bytes.
func (p *place) part(table, date string, seed byte, size int) *part {
	partition, err := civil.ParseDate(date)
	if err != nil {
		panic(err)
	}
	content := p.noise(seed, size)
	made := &part{content: content}
	made.Part = sinks.Part{
		Table: table, Partition: partition, Rows: int64(size / 100), Size: int64(size),
		Hash: fmt.Sprintf("%x", sha256.Sum256(content)), Open: made.open,
	}
	p.parts = append(p.parts, made)
	return made
}

// noise returns random bytes, the same for the same seed and size. Parts of one place share them.
func (p *place) noise(seed byte, size int) []byte {
	key := noise{seed, size}
	if p.made[key] == nil {
		b := make([]byte, size)
		_, _ = rand.NewChaCha8([32]byte{seed}).Read(b) // never fails
		p.made[key] = b
	}
	return p.made[key]
}

// mustPut puts a part, and returns its receipt.
func (p *place) mustPut(t *testing.T, part *part) sinks.Receipt {
	t.Helper()
	receipt, err := p.Sink.Put(context.Background(), part.Part)
	if err != nil {
		t.Fatalf("put: %v", err)
	}
	return receipt
}

// mustShow checks that exactly these parts are visible.
func (p *place) mustShow(t *testing.T, want ...*part) {
	t.Helper()
	visible := p.Visible(t)
	keys := slices.Sorted(maps.Keys(visible))
	if len(keys) != len(want) {
		t.Fatalf("visible: %q, want %d parts", keys, len(want))
	}
	for _, part := range want {
		if !slices.ContainsFunc(keys, func(key string) bool { return bytes.Equal(visible[key], part.content) }) {
			for _, key := range keys {
				t.Logf("%s: %d bytes", key, len(visible[key]))
			}
			t.Fatalf("no key holds the %d bytes of %s/%s", part.Size, part.Table, part.Partition)
		}
	}
}

// checkReaders checks that the sink closed every reader that it opened.
func (p *place) checkReaders(t *testing.T) {
	t.Helper()
	for _, part := range p.parts {
		if opened, closed := part.opened.Load(), part.closed.Load(); opened != closed {
			t.Errorf("%s/%s: %d readers opened, %d closed", part.Table, part.Partition, opened, closed)
		}
	}
}
