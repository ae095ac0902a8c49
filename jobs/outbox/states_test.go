package outbox

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
	s := &spool{dir: t.TempDir()}
	defer s.close()
	const n = 3*chunk/itemSize + 100 // of each of two buckets
	for row := range uint32(2 * n) {
		id, content := spread64(int64(row / 4))
		id[0] = 7 * byte(row%2)
		if err := s.add(newItem(id, content, int64(row)+1)); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[uint32]bool{}
	for b := range buckets {
		items, err := s.load(b)
		if err != nil || !slices.IsSortedFunc(items, item.compare) || len(items) > 0 && len(items) != n {
			t.Fatalf("bucket %d: %d items, %v", b, len(items), err)
		}
		for _, it := range items {
			if _, content := spread64(int64(it.row-1) / 4); it.content != content || it.bucket() != b {
				t.Errorf("%+v in bucket %d", it, b)
			}
			seen[it.row] = true
		}
	}
	if len(seen) != 2*n || s.end != 6*chunk {
		t.Errorf("%d items, %d bytes", len(seen), s.end)
	}
}

// The states of rows survive their form on record.
func TestStates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s states
		want := map[int64]state{}
		runs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) span {
			return span{0, rapid.Int64Range(1, 70).Draw(t, "count"), state(rapid.IntRange(0, 15).Draw(t, "state"))}
		}), 0, 20).Draw(t, "runs")
		row := int64(0)
		for _, x := range runs {
			for range x.count {
				row++
				if x.state != none {
					want[row] = x.state
					s.set(row, x.state)
				}
			}
		}
		var again states
		if err := again.apply(s.encode()); err != nil {
			t.Fatal(err)
		}
		var rows []int64
		for row := int64(1); row <= s.rows; row++ {
			if again.get(row) != want[row] || s.get(row) != want[row] {
				t.Fatalf("row %d is %d and %d, want %d", row, s.get(row), again.get(row), want[row])
			}
			if row%3 != 0 && want[row] != none {
				rows = append(rows, row)
			}
		}
		var some states
		if err := some.apply(spansOf(&s, rows)); err != nil {
			t.Fatal(err)
		}
		for row := int64(1); row <= s.rows; row++ {
			if got, in := some.get(row), slices.Contains(rows, row); in && got != want[row] || !in && got != none {
				t.Fatalf("of some, row %d is %d, want %d", row, got, want[row])
			}
		}
	})
	for _, damaged := range [][]byte{{1}, {0x80}, {1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}} {
		if err := new(states).apply(damaged); err == nil {
			t.Errorf("%x can be read", damaged)
		}
	}
}
