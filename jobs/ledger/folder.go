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

// A Folder is the part of a table's ledger that a push kind arranges itself: tables/{table}/{name}/. Keys are relative to
// it.
type Folder struct {
	ledger *Ledger
	prefix string
	cost   string
}

// Folder gives the folder of a table. cost says, in the error of a damaged object, what deleting it would cost.
func (l *Ledger) Folder(table, name, cost string) *Folder {
	return &Folder{ledger: l, prefix: "tables/" + table + "/" + name + "/", cost: cost}
}

// Location is where a person finds the object.
func (f *Folder) Location(key string) string { return f.ledger.location(f.prefix + key) }

// Keys lists what is under a prefix that is empty or ends in a slash, ascending. What killed writers of the file driver
// left is no key.
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

// NumberOf is the number of an object whose name is one, such as outbox/x/000012.json, however many digits it has; 0 when its
// name is none.
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

// Append writes object n in a subfolder, such as "id/", where the highest number holds or adds to those below it. It
// answers false when another process has gone on there.
func (f *Folder) Append(ctx context.Context, claim *Claim, under string, n int, content any) (bool, error) {
	holds, _, err := f.ledger.append(ctx, claim, f.prefix+under, n, content)
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

// Writer writes a large object of the kind's own form, or replaces it. It is visible once Close succeeds; to write nothing,
// end ctx before Close.
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

// Drop deletes an object that may be gone already.
func (f *Folder) Drop(ctx context.Context, key string) error { return f.ledger.drop(ctx, f.prefix+key) }
