package sinktest

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/sinks"
)

// The table and the partition of most parts.
const (
	table = "installs"
	day   = "2026-01-31"
)

// testVisible checks that readers find a part, and what the receipt says of it.
func testVisible(t *testing.T, p *place) {
	a := p.part(table, day, 1, 100_000)
	receipt := p.mustPut(t, a)
	p.mustShow(t, a)
	if _, ok := p.Visible(t)[receipt.Key]; !ok {
		t.Errorf("the receipt names key %q, which is not there", receipt.Key)
	}
	if receipt.Size != a.Size {
		t.Errorf("the receipt says %d bytes, want %d", receipt.Size, a.Size)
	}
	if receipt.Sink == "" || strings.Contains(receipt.Sink, "?") {
		t.Errorf("the receipt's sink is %q, want a URL without a query", receipt.Sink)
	}
}

// testRepeated puts the same part again and again.
func testRepeated(t *testing.T, p *place) {
	a := p.part(table, day, 1, 100_000)
	first := p.mustPut(t, a)
	for range 3 {
		again := p.mustPut(t, a)
		if again.Version = first.Version; again != first { // a version may be new with each put
			t.Errorf("receipt %+v, the first was %+v", again, first)
		}
		p.mustShow(t, a)
	}
}

// testReplacement replaces a part, and then puts it back.
func testReplacement(t *testing.T, p *place) {
	a, b := p.part(table, day, 1, 100_000), p.part(table, day, 2, 40_000)
	for _, part := range []*part{a, b, a} {
		p.mustPut(t, part)
		p.mustShow(t, part)
	}
}

// testApart checks that a put changes no other partition and no other table.
func testApart(t *testing.T, p *place) {
	parts := []*part{
		p.part(table, day, 1, 1000), p.part(table, "2026-02-01", 2, 2000), p.part("installs2", day, 3, 3000),
		p.part("sessions", day, 4, 4000),
	}
	for i, part := range parts {
		p.mustPut(t, part)
		p.mustShow(t, parts[:i+1]...)
	}
	changed := p.part(table, "2026-02-01", 5, 5000)
	p.mustPut(t, changed)
	p.mustShow(t, parts[0], changed, parts[2], parts[3])
}

// testWhole puts parts of a table without periods, which has one partition, beside those of other
// tables.
func testWhole(t *testing.T, p *place) {
	a, b, other := p.part(table, sinks.Whole.String(), 1, 1000), p.part(table, sinks.Whole.String(), 2, 2000),
		p.part("sessions", day, 3, 500)
	for _, part := range []*part{a, other, b} {
		p.mustPut(t, part)
	}
	p.mustShow(t, b, other)
}

// testNames puts tables whose names have characters that mean something in the addresses of a
// store's protocol.
func testNames(t *testing.T, p *place) {
	var parts []*part
	for i, name := range []string{"installs täglich", "日本の広告", "a+b & c=d", "50%25 off #1?", "naïve/é'\"~*();:@$,!"} {
		made := p.part(name, day, byte(i), 1000+i)
		if receipt := p.mustPut(t, made); p.Visible(t)[receipt.Key] == nil {
			t.Errorf("%s: the receipt names key %q, which is not there", name, receipt.Key)
		}
		parts = append(parts, made)
		p.mustShow(t, parts...)
		objects, err := p.files.List(t.Context(), name)
		if err != nil || len(objects) != 1 || objects[0].Partition != made.Partition {
			t.Errorf("%s: lists %+v, %v", name, objects, err)
		}
	}
}

// testRead checks that Read returns what was put last, and fs.ErrNotExist for a part that was never
// put.
func testRead(t *testing.T, p *place) {
	parts := []*part{p.part(table, day, 1, 100_000), p.part(table, day, 2, 40_000),
		p.part(table, sinks.Whole.String(), 3, 10)}
	want := map[string]bool{}
	for _, part := range parts {
		want[p.mustPut(t, part).Key] = true
		r, err := p.files.Read(t.Context(), part.Table, part.Partition)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil || !bytes.Equal(got, part.content) {
			t.Errorf("%s: %d bytes were read back (%v), want %d", part.Partition, len(got), err, len(part.content))
		}
	}
	p.mustPut(t, p.part("installs2", day, 4, 10))
	objects, err := p.files.List(t.Context(), table)
	var keys []string
	for _, o := range objects {
		keys = append(keys, o.Key)
	}
	if err != nil || !slices.Equal(keys, slices.Sorted(maps.Keys(want))) {
		t.Errorf("keys %q (%v), want those of %v", keys, err, want)
	}
	if _, err := p.files.Read(t.Context(), "sessions", parts[0].Partition); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a part that was never put: %v", err)
	}
}

// testNoRows checks that a partition without rows, which is a small file, replaces one with rows.
func testNoRows(t *testing.T, p *place) {
	p.mustPut(t, p.part(table, day, 1, 100_000))
	none := p.part(table, day, 2, 99)
	if none.Rows != 0 {
		t.Fatalf("the part has %d rows", none.Rows)
	}
	p.mustPut(t, none)
	p.mustShow(t, none)
}

// testBig replaces a part of 20 MiB by a small one.
func testBig(t *testing.T, p *place) {
	slow.Test(t)
	big := p.part(table, day, 1, 20<<20)
	p.mustPut(t, big)
	p.mustShow(t, big)
	small := p.part(table, day, 2, 1000)
	p.mustPut(t, small)
	p.mustShow(t, small)
}
