package slugs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/civil"
	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"

	"github.com/reportferry/reportferry/jobs/ledger"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newBook(t *testing.T) (*Book, *blob.Bucket) {
	t.Helper()
	bucket := memblob.OpenBucket(nil)
	l := ledger.Open(ledger.Options{Bucket: bucket, URL: "mem://ledger"})
	t.Cleanup(func() { check(t, l.Close()) })
	return Open(l, "account_events", "slugs_of"), bucket
}

// on is the snapshot of a day of March, taken at six.
func on(day int, events string) Snapshot {
	date := civil.Date{Year: 2026, Month: 3, Day: day}
	return Snapshot{Events: list(events), Question: "all", Day: date, Seen: date.In(time.UTC).Add(6 * time.Hour), Run: fmt.Sprint("run-", day)}
}

func (b *Book) texts(t *testing.T) (out []string) {
	t.Helper()
	r, _, err := b.Newest(t.Context())
	check(t, err)
	for _, c := range r.Changes {
		out = append(out, c.String())
	}
	return out
}

func objects(t *testing.T, bucket *blob.Bucket) (keys []string) {
	t.Helper()
	it := bucket.List(&blob.ListOptions{Prefix: "tables/slugs_of/slugs/"})
	for o, err := it.Next(t.Context()); err == nil; o, err = it.Next(t.Context()) {
		keys = append(keys, o.Key)
	}
	return keys
}

// The book keeps the last list and every change, in one object; late, repeated and empty lists change nothing.
func TestNote(t *testing.T) {
	b, bucket := newBook(t)
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
		_, err := b.Note(t.Context(), s)
		check(t, err)
	}
	want := []string{
		"buy became order between 2026-03-02 and 2026-03-04", "order became buy between 2026-03-04 and 2026-03-05",
		"gold appeared on 2026-03-05, before 07:00 UTC",
		"gold vanished between 2026-03-09 and 2026-03-10", "lost appeared between 2026-03-09 and 2026-03-10",
	}
	if got := b.texts(t); !slices.Equal(got, want) {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if keys := objects(t, bucket); len(keys) != 1 {
		t.Errorf("%d objects are left: %v", len(keys), keys)
	}
}

// Processes that see the same change at once, or one after a crash of the other, note it once.
func TestNoteAtOnce(t *testing.T) {
	for range 20 {
		b, _ := newBook(t)
		_, err := b.Note(t.Context(), on(1, "buy a:1"))
		check(t, err)
		var wg sync.WaitGroup
		var mu sync.Mutex
		told := 0
		for i := range 4 {
			wg.Go(func() {
				s := on(2, "order a:1")
				s.Seen, s.Run = s.Seen.Add(time.Duration(i)*time.Second), fmt.Sprint("run-", i)
				changes, err := b.Note(context.Background(), s)
				mu.Lock()
				defer mu.Unlock()
				if told += len(changes); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got := b.texts(t); len(got) != 1 || told != 1 {
			t.Fatalf("noted: %v; told %d times", got, told)
		}
	}
}

// A writer that slept while others went on doesn't put an old list over newer ones, though its number is free again.
func TestNoteTooLate(t *testing.T) {
	b, bucket := newBook(t)
	for day := 1; day <= 5; day++ {
		_, err := b.Note(t.Context(), on(day, fmt.Sprintf("buy%d a:1", day)))
		check(t, err)
	}
	holds, err := b.folder.Create(t.Context(), key(3), Record{Snapshot: on(3, "old a:1")})
	check(t, err)
	if !holds {
		t.Fatal("number 3 isn't free")
	}
	holds, err = b.folder.Holds(t.Context(), nil, "", 3)
	check(t, err)
	if got := b.texts(t); holds || len(got) != 4 || len(objects(t, bucket)) != 1 {
		t.Errorf("holds %v, %v, %v", holds, got, objects(t, bucket))
	}
}

// A damaged record is an error with its name, and nothing is written over it.
func TestDamagedRecord(t *testing.T) {
	b, bucket := newBook(t)
	_, err := b.Note(t.Context(), on(1, "buy a:1"))
	check(t, err)
	object := "tables/slugs_of/slugs/000001.json"
	data, err := bucket.ReadAll(t.Context(), object)
	check(t, err)
	data = []byte(strings.Replace(string(data), "buy", "bux", 1))
	check(t, bucket.WriteAll(t.Context(), object, data, nil))
	_, err = b.Note(t.Context(), on(2, "order a:1"))
	var damaged *ledger.DamagedError
	if !errors.As(err, &damaged) || !strings.Contains(err.Error(), "mem://ledger/"+object+" is damaged") || !strings.Contains(err.Error(), "would be forgotten") {
		t.Errorf("got %v", err)
	}
	if keys := objects(t, bucket); !slices.Equal(keys, []string{object}) {
		t.Errorf("objects: %v", keys)
	}
}

// What is on record is read by later versions too.
func TestFormat(t *testing.T) {
	b, bucket := newBook(t)
	check(t, bucket.WriteAll(t.Context(), "tables/slugs_of/slugs/000007.json", []byte(`{"v":1,"xxh64":"5e3a9a62bea44399","content":`+
		`{"events":[{"slug":"order","name":"Order","in":[{"app":"a","token":"1"}]}],"question":"all","day":"2026-03-04","seen":"2026-03-04T06:00:00Z","run":"run-4",`+
		`"changes":[{"was":{"slug":"buy","name":"Buy"},"now":{"slug":"order","name":"Order"},"in":[{"app":"a","token":"1"}],`+
		`"after":"2026-03-02","day":"2026-03-04","seen":"2026-03-04T06:00:00Z","run":"run-4"}]}}`+"\n"), nil))
	r, n, err := b.Newest(t.Context())
	check(t, err)
	if n != 7 || len(r.Changes) != 1 || r.Changes[0].String() != "buy became order between 2026-03-02 and 2026-03-04" || !r.Has("order", "a") || r.Has("order", "b") || r.Has("buy", "") {
		t.Errorf("%d %+v", n, r)
	}
}
