// Package raw keeps the service's answers as they came. Without it, a table that was built with a
// wrong type, lost with its bucket or wanted in another sink could be made only by asking the
// service again, which by then says something else, or doesn't remember the days any more; and
// nobody could show what it had said.
//
//	answer ─ Kept.Tee ─┬─▶ converter
//	                   └─ two buffers ─▶ SHA-256, zstd ─▶ object ─ Commit
//
// One answer is one object, {table}/{from}_{until}/{time}-{random}.csv.zst, in a bucket that
// needn't be a sink's. It is written once, under a name that nobody has used, and never changed.
// Decompressed by anything that knows Zstandard, it is the CSV, byte by byte:
//
//	frames: the CSV │ skippable frame: the request, status, headers, size, SHA-256
//
// A failing copy never stops the conversion. When the store fails or is stuck, the copy is
// abandoned, the conversion goes on, and Commit returns what was wrong; the caller decides what
// follows from that. An attempt that the service broke off leaves nothing: its writer's context is
// cancelled, so that the half object is never published. Without that, closing the writer after an
// error would publish it.
//
// An answer with status 204 is kept as well, as an object without rows: it says that the service
// had nothing, while a missing object says that nobody asked.
package raw

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"cloud.google.com/go/civil"
	"gocloud.dev/blob"

	"github.com/reportferry/reportferry/internal/disk"
	"github.com/reportferry/reportferry/sinks"
)

// Options says where the answers of a table are kept.
type Options struct {
	Bucket *blob.Bucket // may serve many stores; none of them closes it
	URL    string       // of the bucket, for messages; without secrets
	Dir    string       // the bucket's folder when it is local, else empty
	Table  string
	Tool   string        // the program and its version
	Keep   time.Duration // answers that came longer ago are deleted by Sweep; 0: none are
	Must   bool          // a partition whose answer couldn't be kept must fail
	Piece  int           // the memory, in bytes, that the bucket's client may take for one upload; 0: 1 MiB
}

// A Store keeps the answers of one table. It is safe for concurrent use. A nil Store keeps nothing,
// and its methods do nothing.
type Store struct {
	o     Options
	root  *disk.Root  // nil unless the bucket is a folder
	stuck atomic.Bool // a copy was abandoned because the store took nothing any more
}

// Open makes the store of a table. It asks the bucket for nothing.
func Open(o Options) *Store {
	o.Piece = cmp.Or(o.Piece, 1<<20)
	o.URL = strings.TrimSuffix(o.URL, "/")
	s := &Store{o: o}
	if o.Dir != "" {
		s.root = disk.NewRoot(o.Dir)
	}
	return s
}

// Must tells whether a partition whose answer couldn't be kept must fail.
func (s *Store) Must() bool { return s != nil && s.o.Must }

// Location returns the URL at which a person finds the answer of a name.
func (s *Store) Location(name string) string { return s.o.URL + "/" + Key(name) }

// Key returns the key of the object that a name means. A name is as Commit returns it: key#SHA-256
// or, from earlier versions, the key alone.
func Key(name string) string {
	key, _, _ := strings.Cut(name, "#")
	return key
}

// nameTime is the time in an object's name, which sorts as text.
const nameTime = "20060102T150405.000Z"

// suffix ends the name of each object.
const suffix = ".csv.zst"

// newKey returns a key that nobody has used. Its time is when the answer began to come.
func (s *Store) newKey(r Request, now time.Time) string {
	return fmt.Sprintf("%s%s_%s/%s-%s%s", s.prefix(), r.From, r.Until, now.UTC().Format(nameTime), rand.Text()[:12],
		suffix)
}

// prefix begins the keys of the table's answers.
func (s *Store) prefix() string { return s.o.Table + "/" }

// parseKey reads the first day and the time from a key. It also reads those of a temporary file
// that a killed writer has left.
func (s *Store) parseKey(key string) (from civil.Date, began time.Time, ok bool) {
	days, name, found := strings.Cut(strings.TrimPrefix(key, s.prefix()), "/")
	day, _, both := strings.Cut(days, "_")
	at, _, dashed := strings.Cut(name, "-")
	from, err := civil.ParseDate(day)
	if !found || !both || !dashed || err != nil || !strings.Contains(name, suffix) {
		return from, began, false
	}
	began, err = time.Parse(nameTime, at)
	return from, began, err == nil
}

// Probe writes, reads and deletes an object, to show that answers could be kept and swept.
func (s *Store) Probe(ctx context.Context) error {
	if err := sinks.ProbeBucket(ctx, s.o.Bucket, ""); err != nil {
		return fmt.Errorf("probe %s: %w", s.o.URL, err)
	}
	return nil
}

// Keep begins to keep the answer to a request. Nothing is written before Tee or Commit.
func (s *Store) Keep(ctx context.Context, r Request) *Kept {
	if s == nil {
		return nil
	}
	r.Table, r.Tool = s.o.Table, s.o.Tool
	return &Kept{store: s, ctx: ctx, request: r}
}
