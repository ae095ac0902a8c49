package ledger

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"gocloud.dev/blob/memblob"
)

func TestFolder(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	l := Open(Options{Bucket: bucket, URL: "mem://ledger"})
	f := l.Folder("t", "outbox", "it would be sent again")
	for i, want := range []bool{true, false} {
		if created, err := f.Create(t.Context(), "a/1.json", i); created != want || err != nil {
			t.Errorf("creation %d: %v, %v", i, created, err)
		}
	}
	got := -1
	if err := f.Read(t.Context(), "a/1.json", &got); err != nil || got != 0 {
		t.Errorf("%d, %v", got, err)
	}
	ctx, abort := context.WithCancel(t.Context())
	defer abort()
	for _, key := range []string{"a/records", "a/aborted"} {
		w, err := f.Writer(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if key == "a/aborted" {
			abort()
		}
		if err := w.Close(); (err != nil) != (key == "a/aborted") {
			t.Errorf("%s: %v", key, err)
		}
	}
	for key, data := range map[string]string{"a/records.1f.tmp": "", "a/2.json": `{"v":1,"xxh64":"00","content":1}`} {
		if err := bucket.WriteAll(t.Context(), "tables/t/outbox/"+key, []byte(data), nil); err != nil {
			t.Fatal(err)
		}
	}
	keys, err := f.Keys(t.Context(), "a/")
	if err != nil || !slices.Equal(keys, []string{"a/1.json", "a/2.json", "a/records"}) {
		t.Errorf("%q, %v", keys, err)
	}
	var damaged *DamagedError
	if err := f.Read(t.Context(), "a/2.json", &got); !errors.As(err, &damaged) || !strings.HasSuffix(err.Error(), "don't delete it: it would be sent again") ||
		damaged.Location != "mem://ledger/tables/t/outbox/a/2.json" {
		t.Error(err)
	}
	for range 2 {
		if err := f.Drop(t.Context(), "a/2.json"); err != nil {
			t.Error(err)
		}
	}
}
