package outbox

import (
	"errors"
	"path"
	"strings"
	"testing"
	"time"

	"gocloud.dev/blob"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox/store"
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
	prune(8*day, 5) // why the file was refused is one
	prune(20*day, 3)
	if err := r.Prune(t.Context(), time.Now().Add(500*day)); err != nil || r.keys() != "" {
		t.Error(r.keys(), err)
	}
}

// A push that was begun, and has no records or none that are counted, is what was left by a process that ended before it
// sent anything.
func TestOrphans(t *testing.T) {
	r := newRig(t)
	p := &store.Push{ID: "20260101T000000.000Z-0", Head: store.Head{Name: "f"}}
	if err := r.table.Append(t.Context(), p, p.Whole("run")); err != nil {
		t.Fatal(err)
	}
	if err := r.bucket.WriteAll(t.Context(), "tables/spend/outbox/"+p.RecordsKey(), []byte(store.Magic), nil); err != nil {
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
	pushes, _, err := r.table.Pushes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := pushes[0].Whole("run")
	s.Reserved = 2
	if err := r.table.Append(t.Context(), pushes[0], s); err != nil {
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
					data = data[:len(data)-store.ItemSize]
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
