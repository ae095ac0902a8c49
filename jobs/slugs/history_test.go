package slugs

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/bucket/buckettest"
	"github.com/reportferry/reportferry/jobs/ledger"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const key = "tables/slugs_of/notes.json"

func newHistory(t *testing.T) (*History, *bucket.Bucket) {
	t.Helper()
	store := bucket.NewMemory()
	l := ledger.Open(ledger.Options{Store: store, URL: "mem://ledger"})
	t.Cleanup(func() { check(t, l.Close()) })
	return Open(l, "account_events", "slugs_of"), store
}

// on is the snapshot of a day of March, taken at six.
func on(day int, events string) Snapshot {
	date := civil.Date{Year: 2026, Month: 3, Day: day}
	return Snapshot{Events: list(events), Question: "all", Day: date, Seen: date.In(time.UTC).Add(6 * time.Hour),
		Run: fmt.Sprint("run-", day)}
}

func (h *History) texts(t *testing.T) (out []string) {
	t.Helper()
	r, err := h.Last(t.Context())
	check(t, err)
	for _, c := range r.Changes {
		out = append(out, c.String())
	}
	return out
}

// The history keeps the last list and every change; late, repeated and empty lists change nothing.
func TestNote(t *testing.T) {
	h, _ := newHistory(t)
	later := on(5, "buy a:1, gold a:2")
	later.Seen = later.Seen.Add(time.Hour)
	other := on(9, "gold a:2")
	other.Question = "only gold"
	for i, s := range []Snapshot{
		on(1, "buy a:1"), on(2, "buy a:1"), on(4, "order a:1"),
		on(3, "late a:1"), on(4, "twice a:1"), on(5, ""), on(5, "buy a:1"), later, other, on(10, "lost a:3"),
	} {
		if i == 9 {
			s.Question = "only gold"
		}
		_, err := h.Note(t.Context(), s)
		check(t, err)
	}
	want := []string{
		"buy became order between 2026-03-02 and 2026-03-04", "order became buy between 2026-03-04 and 2026-03-05",
		"gold appeared on 2026-03-05, before 07:00 UTC",
		"gold vanished between 2026-03-09 and 2026-03-10", "lost appeared between 2026-03-09 and 2026-03-10",
	}
	if got := h.texts(t); !slices.Equal(got, want) {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Processes that see the same change at once, or one after a crash of the other, note it once, and
// one that lost its answers has noted it.
func TestNoteAtOnce(t *testing.T) {
	for seed := range 30 {
		synctest.Test(t, func(t *testing.T) {
			memory := &bucket.Memory{}
			var calls atomic.Int64 // of all processes
			open := func() *History {
				store := buckettest.NewFaulty(memory, func(c bucket.Call) (f buckettest.Fate) {
					if n := int(calls.Add(1)) + seed; c.Op == bucket.OpPut && c.Key == key && n%3 == 0 {
						f.Err = errors.New("the answer was lost")
					}
					return f
				})
				return Open(ledger.Open(ledger.Options{Store: store}), "account_events", "slugs_of")
			}
			_, err := open().Note(t.Context(), on(1, "buy a:1"))
			check(t, err)
			var wg sync.WaitGroup
			var mu sync.Mutex
			told := 0
			for i := range 4 {
				h := open()
				wg.Go(func() {
					s := on(2, "order a:1")
					s.Seen, s.Run = s.Seen.Add(time.Duration(i)*time.Second), fmt.Sprint("run-", i)
					changes, err := h.Note(t.Context(), s)
					mu.Lock()
					defer mu.Unlock()
					if told += len(changes); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if got := open().texts(t); len(got) != 1 || told != 1 {
				t.Fatalf("seed %d, noted: %v; told %d times", seed, got, told)
			}
		})
	}
}

// A damaged record is an error with its name, and nothing is written over it.
func TestDamagedRecord(t *testing.T) {
	h, store := newHistory(t)
	_, err := h.Note(t.Context(), on(1, "buy a:1"))
	check(t, err)
	data, version, err := store.Get(t.Context(), key)
	check(t, err)
	_, err = store.Put(t.Context(), key, bytes.Replace(data, []byte("buy"), []byte("bux"), 1),
		bucket.Condition{Version: version})
	check(t, err)
	_, err = h.Note(t.Context(), on(2, "order a:1"))
	var damaged *ledger.DamagedError
	if !errors.As(err, &damaged) || !strings.Contains(err.Error(), "mem://ledger/"+key+" is damaged") ||
		!strings.Contains(err.Error(), "would be forgotten") {
		t.Errorf("got %v", err)
	}
}
