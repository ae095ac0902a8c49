package ledger

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"gocloud.dev/blob"
)

// A Folder is the part of a table's ledger that a kind arranges itself, tables/{table}/{name}/. Keys are relative to
// it.
type Folder struct {
	ledger *Ledger
	prefix string
	cost   string
}

// Folder gives the folder of a table. The error of a damaged object in it says with cost what deleting the object would
// do.
func (l *Ledger) Folder(table, name, cost string) *Folder {
	return &Folder{ledger: l, prefix: "tables/" + table + "/" + name + "/", cost: cost}
}

// Location is where a person finds the object.
func (f *Folder) Location(key string) string { return f.ledger.location(f.prefix + key) }

// Keys lists the objects under a prefix that is empty or ends in a slash, ascending. It leaves out temporary files of
// killed writers.
func (f *Folder) Keys(ctx context.Context, under string) ([]string, error) {
	keys, err := f.ledger.listAll(ctx, f.prefix+under)
	if err != nil {
		return nil, err
	}
	keys = slices.DeleteFunc(keys, func(key string) bool { return strings.HasSuffix(key, ".tmp") })
	for i, key := range keys {
		keys[i] = strings.TrimPrefix(key, f.prefix)
	}
	return keys, nil
}

// NumberOf reads the number in a key such as outbox/x/000012.json, whatever its count of digits. It is 0 for a key
// without a number.
func NumberOf(key string) int {
	name, is := strings.CutSuffix(path.Base(key), ".json")
	n, err := strconv.Atoi(name)
	if !is || err != nil || n < 0 {
		return 0
	}
	return n
}

// Create writes a checksummed object that must not exist yet. It answers false when another writer's is there.
func (f *Folder) Create(ctx context.Context, key string, content any) (bool, error) {
	return f.ledger.createOwn(ctx, f.prefix+key, content)
}

// Holds is the second look after object n was created in a subfolder, such as "id/", where the highest number holds or adds to
// those below it. It answers false when another process has gone on there; object n is dropped then. With a claim, the error is
// ErrLost when that was taken over.
func (f *Folder) Holds(ctx context.Context, claim *Claim, under string, n int) (bool, error) {
	holds, _, err := f.ledger.holds(ctx, claim, f.prefix+under, n)
	return holds, err
}

// Read reads and checks what Create wrote. One that can't be trusted is a *DamagedError.
func (f *Folder) Read(ctx context.Context, key string, content any) error {
	err := f.ledger.read(ctx, f.prefix+key, content)
	var damaged *DamagedError
	if errors.As(err, &damaged) {
		damaged.Cost = f.cost
	}
	return err
}

// Damaged is the error of an object, of any form, that can't be trusted.
func (f *Folder) Damaged(key string, err error) error {
	return &DamagedError{Location: f.Location(key), Err: err, Cost: f.cost}
}

// Reader reads a large object of the kind's own form.
func (f *Folder) Reader(ctx context.Context, key string) (*blob.Reader, error) {
	r, err := f.ledger.bucket.NewReader(ctx, f.prefix+key, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: read %s: %w", ErrBucket, f.Location(key), err)
	}
	return r, nil
}

// Writer writes a large object in the kind's own format, or replaces it. The object becomes visible when Close
// succeeds. To write nothing, end ctx before Close.
func (f *Folder) Writer(ctx context.Context, key string) (*blob.Writer, error) {
	const buffer = 8 << 20 // drivers would take 16 MiB (gcs) or several times 5 MiB (s3)
	w, err := f.ledger.bucket.NewWriter(ctx, f.prefix+key, &blob.WriterOptions{
		BufferSize: buffer, MaxConcurrency: 1, ContentType: "application/octet-stream",
	})
	if err != nil {
		return nil, fmt.Errorf("%w: write %s: %w", ErrBucket, f.Location(key), err)
	}
	return w, nil
}

// Replace writes a checksummed object over the one that is there, if any. Of several writers at once the last one holds.
func (f *Folder) Replace(ctx context.Context, key string, content any) error {
	return f.ledger.write(ctx, f.prefix+key, content)
}

// Drop deletes an object that may be gone already.
func (f *Folder) Drop(ctx context.Context, key string) error { return f.ledger.drop(ctx, f.prefix+key) }
