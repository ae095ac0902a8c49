package outbox

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/bucket"
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
	prune(8*day, strings.Count(r.keys(), "\n")+1) // the document, the records of both, and the segments of each
	prune(10*day, 4)
	// The file isn't taken for a new one, and what is new in it can't be told any more.
	if report := r.do(r.push("f", m)); !report.Same || report.Accepted != 2 {
		t.Errorf("%+v", report)
	}
	m.lines, m.version = append(m.lines, "c 3"), "2"
	if _, err := doFile(t.Context(), r.Outbox, r.push("f", m)); !errors.Is(err, ErrForgotten) {
		t.Error(err)
	}
	r.sent("")
	r.do(r.push("g", lines("a 1")))
	r.sent("a 1")
	if files, err := r.Summed(t.Context()); err != nil || len(files) != 4 || files[3].Sums["a"].Records != 1 {
		t.Errorf("%+v, %v", files, err)
	}
	prune(20*day, 4)
	prune(500*day, 1)
	if files, err := r.Files(t.Context()); err != nil || len(files) != 0 {
		t.Errorf("%+v, %v", files, err)
	}
}

// Records of a process that was killed before anything was released belong to no push, and go with
// the next that are old.
func TestOrphans(t *testing.T) {
	r := newRig(t)
	r.do(r.push("f", lines("a 1")))
	if err := r.memory.Open().Blob().WriteAll(t.Context(), "pushes/spend/x.records", []byte(store.Magic),
		nil); err != nil {
		t.Fatal(err)
	}
	if files, err := r.Files(t.Context()); err != nil || len(files) != 1 {
		t.Error(files, err)
	}
	if err := r.Prune(t.Context(), time.Now().Add(10*day)); err != nil || strings.Contains(r.keys(), "x.records") {
		t.Error(r.keys(), err)
	}
}

// Whatever object somebody deletes of a push that has ended, or of one that was begun and has
// others after it: nothing is sent twice, and an error names what is missing.
func TestDeleted(t *testing.T) {
	for _, ended := range []bool{true, false} {
		r := newRig(t)
		p := r.push("f", lines("a 1\nb 2\nc 3"))
		var survivor *bucket.Memory
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
			r.memory = survivor
		}
		keys := strings.Fields(r.keys())
		last := keys[len(keys)-2] // without it, the push is as it was a moment before
		for _, key := range keys {
			store := r.memory.Open()
			data, _, err := store.Get(t.Context(), "pushes/"+key)
			if err == nil {
				err = store.Delete(t.Context(), "pushes/"+key)
			}
			if err != nil {
				t.Fatal(err)
			}
			r.service.take()
			r.Outbox = r.open()
			_, err = Check(t.Context(), r.Outbox, r.push("g", lines("a 1\nb 2")), nil)
			var damaged *ledger.DamagedError
			needed := key != last && !ended || !strings.HasPrefix(key, "spend/00")
			if named := errors.As(err, &damaged) && strings.HasSuffix(damaged.Location, key); needed && !named {
				t.Errorf("ended %v, without %s: %v", ended, key, err)
			}
			if _, err := store.Put(t.Context(), "pushes/"+key, data, bucket.Condition{}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// What is damaged stops the push before anything is sent, and the error doesn't advise to delete
// it.
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
				if !strings.HasSuffix(key, what[strings.LastIndexByte(what, ' ')+1:]) {
					continue
				}
				data, _, err := r.memory.Open().Get(t.Context(), "pushes/"+key)
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
				if _, err := r.memory.Open().Put(t.Context(), "pushes/"+key, data, bucket.Condition{}); err != nil {
					t.Fatal(err)
				}
			}
			r.Outbox = r.open()
			_, err := doFile(t.Context(), r.Outbox, r.push("g", lines("a 1")))
			var damaged *ledger.DamagedError
			if !errors.As(err, &damaged) || !strings.Contains(err.Error(), "don't delete it") || changed == 0 {
				t.Errorf("%d changed, %v", changed, err)
			}
			r.sent("")
		})
	}
}
