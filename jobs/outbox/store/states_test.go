package store

import (
	"encoding/binary"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// spread64 is a made-up ID of a number, evenly spread (the finalizer of splitmix64).
func spread64(n int64) (id [16]byte, content uint64) {
	x := uint64(n) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	x ^= x >> 31
	binary.BigEndian.PutUint64(id[:], x)
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	return id, x
}

// What doesn't fit a chunk comes back as well, by ID and row.
func TestSpool(t *testing.T) {
	s := &Spool{Dir: t.TempDir()}
	defer s.Close()
	const n = 3*chunk/ItemSize + 100 // of each of two buckets
	for row := range uint32(2 * n) {
		id, content := spread64(int64(row / 4))
		id[0] = 7 * byte(row%2)
		if err := s.Add(NewItem(id, content, int64(row)+1)); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[uint32]bool{}
	for b := range Buckets {
		items, err := s.Load(b)
		if err != nil || !slices.IsSortedFunc(items, Item.compare) || len(items) > 0 && len(items) != n {
			t.Fatalf("bucket %d: %d items, %v", b, len(items), err)
		}
		for _, it := range items {
			if _, content := spread64(int64(it.Row-1) / 4); it.Content != content || it.bucket() != b {
				t.Errorf("%+v in bucket %d", it, b)
			}
			seen[it.Row] = true
		}
	}
	if len(seen) != 2*n || s.End != 6*chunk {
		t.Errorf("%d items, %d bytes", len(seen), s.End)
	}
}

// The states of rows survive their form on record.
func TestStates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s States
		want := map[int64]State{}
		runs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) span {
			return span{0, rapid.Int64Range(1, 70).Draw(t, "count"), State(rapid.IntRange(0, 15).Draw(t, "state"))}
		}), 0, 20).Draw(t, "runs")
		row := int64(0)
		for _, x := range runs {
			for range x.count {
				row++
				if x.state != None {
					want[row] = x.state
					s.Set(row, x.state)
				}
			}
		}
		var again States
		if err := again.Apply(s.encode()); err != nil {
			t.Fatal(err)
		}
		var rows []int64
		for row := int64(1); row <= s.Rows; row++ {
			if again.Get(row) != want[row] || s.Get(row) != want[row] {
				t.Fatalf("row %d is %d and %d, want %d", row, s.Get(row), again.Get(row), want[row])
			}
			if row%3 != 0 && want[row] != None {
				rows = append(rows, row)
			}
		}
		var some States
		if err := some.Apply(SpansOf(&s, rows)); err != nil {
			t.Fatal(err)
		}
		for row := int64(1); row <= s.Rows; row++ {
			if got, in := some.Get(row), slices.Contains(rows, row); in && got != want[row] || !in && got != None {
				t.Fatalf("of some, row %d is %d, want %d", row, got, want[row])
			}
		}
	})
	for _, damaged := range [][]byte{{1}, {0x80}, {1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}} {
		if err := new(States).Apply(damaged); err == nil {
			t.Errorf("%x can be read", damaged)
		}
	}
}
