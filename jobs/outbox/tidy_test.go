package outbox

import (
	"errors"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"gocloud.dev/blob"
	"pgregory.net/rapid"

	"github.com/reportferry/reportferry/jobs/ledger"
)

const day = 24 * time.Hour

func TestPrune(t *testing.T) {
	r := newRig(t)
	m := lines("a 1\nb 2")
	r.do(r.push("f", m))
	r.service.say = func(string, int) error { return errDown }
	if _, err := doFile(t.Context(), r.Outbox, r.push("open", lines("x 1"))); !errors.Is(err, errDown) {
		t.Fatal(err)
	}
	r.service.say = nil
	r.service.take()
	prune := func(after time.Duration, keys int) {
		t.Helper()
		if err := r.Prune(t.Context(), time.Now().Add(after)); err != nil {
			t.Fatal(err)
		}
		if all := r.keys(); strings.Count(all, "\n")+1 != keys {
			t.Errorf("after %v there is\n%s", after, all)
		}
	}
	prune(8*day, 4)
	prune(10*day, 2)
	// The file isn't taken for a new one, and what is new in it can't be told any more.
	if report := r.do(r.push("f", m)); !report.Same || report.Accepted != 2 || report.Sums["a"].Records != 1 {
		t.Errorf("%+v", report)
	}
	m.lines, m.version = append(m.lines, "c 3"), "2"
	if _, err := doFile(t.Context(), r.Outbox, r.push("f", m)); !errors.Is(err, ErrForgotten) {
		t.Error(err)
	}
	r.sent("")
	r.do(r.push("g", lines("a 1")))
	r.sent("a 1")
	prune(20*day, 3)
	if err := r.Prune(t.Context(), time.Now().Add(500*day)); err != nil || r.keys() != "" {
		t.Error(r.keys(), err)
	}
}

// A push that was begun, and has no records or none that are counted, is what was left by a process that ended before it
// sent anything.
func TestOrphans(t *testing.T) {
	r := newRig(t)
	p := &push{id: "20260101T000000.000Z-0", head: head{Name: "f"}}
	if err := r.append(t.Context(), p, p.whole("run")); err != nil {
		t.Fatal(err)
	}
	if err := r.bucket.WriteAll(t.Context(), "tables/spend/outbox/"+p.recordsKey(), []byte(magic), nil); err != nil {
		t.Fatal(err)
	}
	if files, err := r.Files(t.Context()); err != nil || len(files) != 0 {
		t.Error(files, err)
	}
	r.want(r.do(r.push("f", lines("a 1"))).File, "1 accepted, ended")
	if keys := r.keys(); strings.Contains(keys, "20260101") {
		t.Error(keys)
	}
}

// Whatever object somebody deletes of a push that has ended, or of one that was begun and has others after it: nothing more is
// sent, and the error names it.
func TestDeleted(t *testing.T) {
	for _, ended := range []bool{true, false} {
		r := newRig(t)
		p := r.push("f", lines("a 1\nb 2\nc 3"))
		var survivor *blob.Bucket
		r.service.say = func(line string, _ int) error {
			if line == "c 3" && !ended {
				r.service.mu.Unlock()
				survivor = (&night{rig: r}).bury()
				r.service.mu.Lock()
			}
			return nil
		}
		r.do(p)
		if !ended {
			r.bucket = survivor
			r.Outbox = r.open()
		}
		keys := strings.Fields(r.keys())
		if !ended { // without its newest segment, it is as it was a moment before
			keys = append(keys[:len(keys)-2], keys[len(keys)-1])
		}
		if len(keys) < 2 {
			t.Fatal(keys)
		}
		for _, key := range keys {
			name := "tables/spend/outbox/" + key
			data, err := r.bucket.ReadAll(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.bucket.Delete(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			r.service.take()
			r.Outbox = r.open()
			_, err = doFile(t.Context(), r.Outbox, r.push("g", lines("a 1\nb 2")))
			var damaged *ledger.DamagedError
			if id := key[:strings.IndexByte(key, '/')]; !errors.As(err, &damaged) || !strings.Contains(damaged.Location, id) ||
				!strings.Contains(damaged.Location, "*") && !strings.HasSuffix(damaged.Location, key) {
				t.Errorf("without %s: %v", key, err)
			}
			r.sent("")
			if err := r.bucket.WriteAll(t.Context(), name, data, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A push of an earlier version says up to which row its pending records may have been sent.
func TestReservedByAnEarlierVersion(t *testing.T) {
	r := newRig(t)
	m := lines("a 1\nb 2\nc 3")
	r.service.say = func(string, int) error { return errDown }
	if _, err := doFile(t.Context(), r.Outbox, r.push("f", m)); !errors.Is(err, errDown) {
		t.Fatal(err)
	}
	pushes, _, err := r.pushes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := pushes[0].whole("run")
	s.Reserved = 2
	if err := r.append(t.Context(), pushes[0], s); err != nil {
		t.Fatal(err)
	}
	files, err := r.Files(t.Context())
	if err != nil || files[0].Unknown != 2 || files[0].Pending != 1 {
		t.Errorf("%+v, %v", files, err)
	}
	r.service.say = nil
	r.want(r.do(r.push("f", m)).File, "3 accepted, 2 doubtful, ended")
}

// What is damaged stops the push before anything is sent, and the error doesn't advise to delete it.
func TestDamaged(t *testing.T) {
	for _, what := range []string{"records", "shorter records", "longer records", ".json"} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t)
			m := lines("a 1\nb 2\nc 3")
			r.service.say = func(line string, _ int) error {
				if line == "c 3" {
					return errDown
				}
				return nil
			}
			_, _ = doFile(t.Context(), r.Outbox, r.push("f", m))
			r.service.take()
			changed := 0
			for _, key := range strings.Fields(r.keys()) {
				name := "tables/spend/outbox/" + key
				if !strings.HasSuffix(what, path.Base(key)) && !strings.HasSuffix(key, what) {
					continue
				}
				data, err := r.bucket.ReadAll(t.Context(), name)
				if err != nil {
					t.Fatal(err)
				}
				switch what {
				case "shorter records":
					data = data[:len(data)-itemSize]
				case "longer records":
					data = append(data, 0)
				default:
					data[len(data)/2] ^= 1
				}
				changed++
				if err := r.bucket.WriteAll(t.Context(), name, data, nil); err != nil {
					t.Fatal(err)
				}
			}
			_, err := doFile(t.Context(), r.Outbox, r.push("g", lines("a 1")))
			var damaged *ledger.DamagedError
			if !errors.As(err, &damaged) || !strings.Contains(err.Error(), "don't delete it") || changed == 0 {
				t.Errorf("%d changed, %v", changed, err)
			}
			r.sent("")
		})
	}
}

// What doesn't fit a chunk comes back as well, by ID and row.
func TestSpool(t *testing.T) {
	s := &spool{dir: t.TempDir()}
	defer s.close()
	const n = 3*chunk/itemSize + 100 // of each of two buckets
	for row := range uint32(2 * n) {
		id, content := mixed(int64(row / 4))
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
			if _, content := mixed(int64(it.row-1) / 4); it.content != content || it.bucket() != b {
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
