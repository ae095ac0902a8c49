// Package blobsink puts parts into buckets of any store that gocloud.dev/blob knows. Without it there would be no
// lake: no Parquet files that DuckDB, Spark or a warehouse's external table can read where they lie.
//
// A part is written once, to its final key. One such write is atomic on every store, so there is no staging object and
// no copy. It is aborted by cancelling the writer's context, never by closing the writer, which would publish the half
// that was written.
//
// Each write carries the store's own precondition: the object is still the one that the ledger names, or there is none.
// It is If-Match or If-None-Match on S3 and Azure, the generation on Google's storage, and a lock and a look in a
// folder. S3's ETag is a sum over the bytes,
// so that a file whose bytes come back (A, B, A) would be taken for the one before: whoever makes parts makes each of them
// another file, also of the same rows.
package blobsink

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"cloud.google.com/go/civil"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/reportferry/reportferry/sinks"
)

// ContentType is Parquet's registered media type (IANA, 2024).
const ContentType = "application/vnd.apache.parquet"

// bufferSize bounds what a driver keeps in memory for one upload. The drivers' own figure is up to 16 MiB, and S3 takes
// no parts under 5 MiB.
const bufferSize = 8 << 20

// verifyTimeout bounds the look at the stored object, which goes on when the Put's context has just ended.
const verifyTimeout = 30 * time.Second

// A Sink is one bucket and the layout of its keys. It may be used by many goroutines.
type Sink struct {
	bucket *blob.Bucket
	url    string // without the query
	store  string // canonical identity
	key    keyTemplate
	dir    string // the bucket's directory; empty in other stores

	turn   chan struct{} // to look and write, where the store holds no preconditions
	probed sync.Once
	holds  atomic.Bool // the store is known to hold preconditions; else each put looks by itself too

	mu    sync.Mutex
	swept map[string]bool // tables of which killed writers' files are gone
}

// Open opens the sink of a bucket's URL, as OpenBucket does. The query parameter key, for example
// key={table}/{date}.parquet, replaces the layout {table}/dt={date}/part-0.parquet.
func Open(ctx context.Context, rawURL string) (sinks.Sink, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, fmt.Errorf("open sink %s: this is no URL", sinks.Redact(rawURL))
	}
	key := keyTemplate(defaultKey)
	if q := u.Query(); q.Has("key") { // gocloud has a parameter of that name, with another meaning
		key = keyTemplate(q.Get("key"))
		q.Del("key")
		u.RawQuery = q.Encode()
	}
	if err := key.check(); err != nil {
		return nil, fmt.Errorf("open sink %s: %w", sinks.Redact(rawURL), err)
	}
	bucket, err := OpenBucket(ctx, u.String())
	if err != nil {
		return nil, err
	}
	dir, err := LocalDir(u.String())
	if err != nil {
		dir = "" // its keys lie elsewhere than in the directory
	}
	return newSink(bucket, rawURL, key, dir), nil
}

func newSink(bucket *blob.Bucket, rawURL string, key keyTemplate, dir string) *Sink {
	return &Sink{
		bucket: bucket, url: sinks.Redact(rawURL), store: identity(bucket, rawURL, key), key: key, dir: dir, turn: make(chan struct{}, 1),
		swept: map[string]bool{},
	}
}

// Store is the identity of the bucket and the layout in it.
func (s *Sink) Store() string { return s.store }

// Put writes the part to its key, on the condition that the part carries, and compares what the store then holds. An
// error of that comparison is the one case in which an error comes after the new rows are visible; they are whole, unless
// the message gives another size.
func (s *Sink) Put(ctx context.Context, p sinks.Part) (sinks.Receipt, error) {
	key := s.key.of(p)
	fail := func(err error) (sinks.Receipt, error) {
		return sinks.Receipt{}, fmt.Errorf("put %s/dt=%s to %s, key %s: %w", p.Table, p.Partition, s.url, key, err)
	}
	s.sweep(p.Table)
	over := p.Over
	anything := over == (sinks.Condition{})
	if anything {
		var err error
		if over, err = s.over(ctx, key, false); err != nil {
			return fail(err)
		}
	}
	mark := rand.Text()
	err := s.write(ctx, key, p, over, mark)
	verify, cancel := context.WithTimeout(context.WithoutCancel(ctx), verifyTimeout)
	defer cancel()
	if unmet(err) {
		return s.unmet(verify, key, p, mark, anything, fail)
	}
	if err != nil {
		return fail(err)
	}
	stored, err := s.bucket.Attributes(verify, key)
	if err != nil {
		return fail(fmt.Errorf("the part is stored, but not verified: %w; repeat the put", err))
	}
	s.probe(verify, p.Warn)
	return s.receipt(key, p, mark, stored, fail)
}

// receipt makes the receipt of what the store holds, if that is what the put with this mark wrote.
func (s *Sink) receipt(key string, p sinks.Part, mark string, stored *blob.Attributes, fail func(error) (sinks.Receipt, error)) (sinks.Receipt, error) {
	switch other := stored.Metadata[markKey]; {
	case s.dir == "" && other != "" && other != mark:
		return fail(sinks.ErrConflict)
	case stored.Size != p.Size:
		return fail(fmt.Errorf("the store holds %d bytes, the part has %d: another writer is at work on it, or the store lost some; repeat the put", stored.Size, p.Size))
	}
	return sinks.Receipt{Sink: s.url, Key: key, Size: stored.Size, Version: version(stored)}, nil
}

// unmet looks at what is there after the store refused a write because of its condition. It may be what this very put
// wrote: the answer to it was lost, and the client sent it again.
func (s *Sink) unmet(ctx context.Context, key string, p sinks.Part, mark string, anything bool, fail func(error) (sinks.Receipt, error)) (sinks.Receipt, error) {
	stored, err := s.bucket.Attributes(ctx, key)
	switch {
	case gcerrors.Code(err) == gcerrors.NotFound:
		return fail(fmt.Errorf("%w, and deleted it", sinks.ErrConflict))
	case err != nil:
		return fail(errors.Join(sinks.ErrConflict, err))
	case stored.Metadata[markKey] == mark:
		return s.receipt(key, p, mark, stored, fail)
	case anything:
		return fail(sinks.ErrConflict)
	}
	own, err := s.own(ctx, key, stored)
	if err != nil {
		return fail(errors.Join(sinks.ErrConflict, err))
	}
	if !own {
		return fail(foreign(stored))
	}
	return fail(sinks.ErrConflict)
}

func (s *Sink) write(ctx context.Context, key string, p sinks.Part, over sinks.Condition, mark string) error {
	ctx, abort := context.WithCancel(ctx)
	defer abort()
	part, err := p.Open()
	if err != nil {
		return fmt.Errorf("open the part: %w", err)
	}
	var file *os.File
	held := false // by the store
	w, err := s.bucket.NewWriter(ctx, key, &blob.WriterOptions{
		ContentType: ContentType,
		BufferSize:  bufferSize,
		Metadata:    map[string]string{markKey: mark},
		IfNotExist:  over.Absent && s.dir == "",
		BeforeWrite: func(as func(any) bool) (err error) {
			as(&file) // stays nil in other stores
			boundUpload(as)
			held, err = precondition(as, over)
			return err
		},
	})
	if err != nil {
		return errors.Join(err, part.Close())
	}
	err = errors.Join(copyPart(ctx, w, part, p.Size), part.Close())
	if err == nil && file != nil {
		err = file.Sync() // so that after a power cut the ledger can't name a file that is empty
	}
	if err == nil && (!held || !s.holds.Load()) {
		var unlock func()
		if unlock, err = s.lookLocked(ctx, key, over, held); err == nil {
			defer unlock()
		}
	}
	if err != nil {
		abort()
		_ = w.Close() // frees the writer; its context is cancelled, so nothing is published, and err says why
		return err
	}
	if err = w.Close(); err == nil && s.dir != "" {
		err = syncFolders(s.dir, key, over.Absent)
	}
	return err
}

// copyPart copies exactly size bytes. A part that ends early or goes on is not the part that was checked.
func copyPart(ctx context.Context, w io.Writer, part io.Reader, size int64) error {
	n, err := io.Copy(w, io.LimitReader(interruptible{ctx, part}, size+1))
	switch {
	case err != nil:
		return fmt.Errorf("after %d of %d bytes: %w", n, size, err)
	case n < size:
		return fmt.Errorf("the part ends after %d of %d bytes: %w", n, size, io.ErrUnexpectedEOF)
	case n > size:
		return fmt.Errorf("the part is longer than its %d bytes", size)
	}
	return nil
}

// interruptible ends a long copy soon after its context.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (i interruptible) Read(b []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.r.Read(b)
}

// Read opens the stored part of a partition.
func (s *Sink) Read(ctx context.Context, table string, partition civil.Date) (io.ReadCloser, error) {
	key := s.key.at(table, partition)
	r, err := s.bucket.NewReader(ctx, key, nil)
	if gcerrors.Code(err) == gcerrors.NotFound {
		err = fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read key %s of %s: %w", key, s.url, err)
	}
	return r, nil
}

// Close closes the bucket.
func (s *Sink) Close() error { return s.bucket.Close() }
