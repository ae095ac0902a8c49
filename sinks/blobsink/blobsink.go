// Package blobsink puts parts into buckets: on Amazon S3, Google Cloud Storage, Azure, or in a folder. Without it there would
// be no lake, and no Parquet files that DuckDB, Spark or a warehouse's external table can read where they lie.
//
// Put takes a part, which is one Parquet file, and gives a receipt with the object's key, size and version:
//
//	open the part ─ write to its final key, on a condition ─┬─ done: give the receipt of what the store says, or holds
//	                                                        └─ condition not met: was it this very put, sent twice?
//	                                                           yes: the receipt; no: ErrConflict or ErrForeign
//
// A part is written once, to its final key. One such write is atomic on every store, so that there is no staging object and
// no copy. A write is aborted by cancelling the writer's context and never by closing the writer, which would publish the
// half that was written.
//
// Each write carries the store's own precondition: the object still has the version that the ledger names, or there is
// none. On S3 and Azure this is If-Match or If-None-Match, and on Google's storage the generation. A folder has no
// preconditions, so its folder is locked and the file looked at right before it takes its place. An ETag of S3 is a digest
// of the bytes: a file whose bytes come back (A, B, A) would have the version that it had before. Therefore parts are
// encoded so that no two of them are the same file, not even when they hold the same rows.
package blobsink

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cloud.google.com/go/civil"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
	"golang.org/x/sync/semaphore"

	"github.com/reportferry/reportferry/internal/disk"
	"github.com/reportferry/reportferry/sinks"
)

// ContentType is Parquet's registered media type (IANA, 2024).
const ContentType = "application/vnd.apache.parquet"

// bufferSize bounds the memory of one upload in bytes. The drivers' own figures are up to 16 MiB, and S3 accepts no piece
// of an upload under 5 MiB.
const bufferSize = 8 << 20

// pieceSize is how much is copied at once, in bytes, between two looks at the context. The system copies from one file to another by
// itself, whatever the size.
const pieceSize = 16 << 20

// verifyTimeout bounds the check of the stored object, which is made even when the Put's context has just ended.
const verifyTimeout = 30 * time.Second

// A Sink is one bucket and the layout of its keys. It is safe for concurrent use.
type Sink struct {
	bucket *blob.Bucket
	url    string // without the query
	store  string // canonical identity
	where  string // the same without the layout; of a folder the absolute path
	key    keyTemplate
	dir    string // the bucket's directory; empty in other stores
	root   *disk.Root

	turn   chan struct{}       // held to look and write, where the store doesn't enforce preconditions
	alone  *semaphore.Weighted // held to put, until known
	probed sync.Once
	known  atomic.Bool // it is known what the store enforces
	holds  atomic.Bool // the store is known to enforce preconditions; until then each put looks for itself too

	mu        sync.Mutex
	swept     map[string]bool          // tables whose leftovers of killed writers were removed
	described map[string]*sinks.Schema // by table: what was last written beside its folder
}

// Open opens the sink of a bucket's URL, as OpenBucket does. The query parameter key, for example
// key={table}/{date}.parquet, replaces the layout {table}/dt={date}/part-0.parquet.
func Open(ctx context.Context, rawURL string) (sinks.Sink, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, fmt.Errorf("open sink %s: not a URL", sinks.Redact(rawURL))
	}
	key := keyTemplate(defaultKey)
	if q := u.Query(); q.Has("key") { // gocloud has a parameter of the same name with another meaning
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
		dir = "" // the URL moves its keys out of the directory
	}
	return newSink(bucket, rawURL, key, dir), nil
}

func newSink(bucket *blob.Bucket, rawURL string, key keyTemplate, dir string) *Sink {
	return &Sink{
		bucket: bucket, url: sinks.Redact(rawURL), store: identity(bucket, rawURL, key), where: cmp.Or(dir, identity(bucket, rawURL, defaultKey)), key: key, dir: dir, root: disk.NewRoot(dir), turn: make(chan struct{}, 1), alone: semaphore.NewWeighted(1),
		swept: map[string]bool{}, described: map[string]*sinks.Schema{},
	}
}

// Store returns the identity of the bucket and the layout in it.
func (s *Sink) Store() string { return s.store }

// Put writes the part to its key on the part's condition. A store that is known to enforce conditions, and that says which version
// it has made of the part, is taken at its word. Of others, the size and the mark of what they hold are compared. When that
// comparison fails, and only then, Put returns an error although the new rows are visible. They are whole, unless the message says
// that the store holds another size.
func (s *Sink) Put(ctx context.Context, p sinks.Part) (sinks.Receipt, error) {
	key := s.key.of(p)
	fail := func(err error) (sinks.Receipt, error) {
		return sinks.Receipt{}, fmt.Errorf("put %s/dt=%s to %s, key %s: %w", p.Table, p.Partition, s.url, key, err)
	}
	if p.Schema != nil && len(p.Schema.Columns) > 0 {
		if err := s.Fits(p.Table, p.Schema); err != nil {
			return fail(err)
		}
	}
	s.sweep(p.Table)
	done, err := s.first(ctx)
	if err != nil {
		return fail(err)
	}
	defer done()
	over := p.Over
	anything := over == (sinks.Condition{})
	if anything {
		if over, err = s.over(ctx, key, false); err != nil {
			return fail(err)
		}
	}
	mark := rand.Text()
	made, err := s.write(ctx, key, p, over, mark)
	verify, cancel := context.WithTimeout(context.WithoutCancel(ctx), verifyTimeout)
	defer cancel()
	if unmet(err) {
		return s.unmet(verify, key, p, mark, anything, fail)
	}
	if err != nil {
		return fail(err)
	}
	if made != "" && s.holds.Load() {
		s.describe(verify, p)
		return sinks.Receipt{Sink: s.url, Key: key, Size: p.Size, Version: made}, nil
	}
	stored, err := s.bucket.Attributes(verify, key)
	if err != nil {
		return fail(fmt.Errorf("the part is stored but couldn't be verified: %w; repeat the put", err))
	}
	s.probe(verify, p.Warn)
	done()
	r, err := s.receipt(key, p, mark, stored, fail)
	if err == nil {
		s.describe(verify, p)
	}
	return r, err
}

// receipt returns the receipt when the store holds what the put with this mark wrote.
func (s *Sink) receipt(key string, p sinks.Part, mark string, stored *blob.Attributes, fail func(error) (sinks.Receipt, error)) (sinks.Receipt, error) {
	switch other := stored.Metadata[markKey]; {
	case s.dir == "" && other != "" && other != mark:
		return fail(sinks.ErrConflict)
	case stored.Size != p.Size:
		return fail(fmt.Errorf("the store holds %d bytes and the part has %d: another writer replaced it, or the store lost some; repeat the put", stored.Size, p.Size))
	}
	return sinks.Receipt{Sink: s.url, Key: key, Size: stored.Size, Version: version(stored)}, nil
}

// unmet decides what a refused condition means. When the object carries this put's mark, this very put wrote it: the answer
// was lost, and the client sent the request again.
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

// write writes the part, and gives the version that the store says it has made of it; empty: it hasn't said that.
func (s *Sink) write(ctx context.Context, key string, p sinks.Part, over sinks.Condition, mark string) (made string, err error) {
	ctx, abort := context.WithCancel(ctx)
	defer abort()
	part, err := p.Open()
	if err != nil {
		return "", fmt.Errorf("open the part: %w", err)
	}
	if s.dir != "" {
		return "", s.place(ctx, key, p.Size, part, over)
	}
	ctx, told := answering(ctx)
	held := false // the store's client took the condition
	w, err := s.bucket.NewWriter(ctx, key, &blob.WriterOptions{
		ContentType: contentType(key),
		BufferSize:  bufferSize,
		Metadata:    map[string]string{markKey: mark},
		IfNotExist:  over.Absent,
		BeforeWrite: func(as func(any) bool) (err error) {
			boundUpload(as)
			held, err = precondition(as, over)
			told.ofGoogle(as)
			return err
		},
	})
	if err != nil {
		return "", errors.Join(err, part.Close())
	}
	err = errors.Join(copyPart(ctx, struct{ io.Writer }{w}, part, p.Size), part.Close())
	if err == nil && (!held || !s.holds.Load()) {
		var unlock func()
		if unlock, err = s.lookLocked(ctx, key, over, held); err == nil {
			defer unlock()
		}
	}
	if err != nil {
		abort()
		_ = w.Close() // frees the writer; its context is cancelled, so nothing is published, and err says why
		return "", err
	}
	if err = w.Close(); err != nil {
		return "", err
	}
	return told.said(), nil
}

// contentType is the media type of what lies under a key.
func contentType(key string) string {
	if strings.HasSuffix(key, datasetSuffix) {
		return "application/json"
	}
	return ContentType
}

// copyBuffers are used again, because a part may be smaller than one. gocloud's own copy, which is hidden from copyPart, takes 1 MiB
// for each.
var copyBuffers = sync.Pool{New: func() any { return new([128 << 10]byte) }}

// copyPart copies exactly size bytes. A part that is shorter or longer isn't the part that was checked.
func copyPart(ctx context.Context, w io.Writer, part io.Reader, size int64) (err error) {
	buffer := copyBuffers.Get().(*[128 << 10]byte)
	defer copyBuffers.Put(buffer)
	var n int64
	for n <= size && err == nil {
		piece := min(size+1-n, pieceSize)
		var some int64
		if some, err = io.CopyBuffer(w, io.LimitReader(part, piece), buffer[:]); err == nil && some < piece {
			err = io.EOF
		}
		n += some
		err = cmp.Or(ctx.Err(), err)
	}
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return fmt.Errorf("after %d of %d bytes: %w", n, size, err)
	case n < size:
		return fmt.Errorf("the part ends after %d of %d bytes: %w", n, size, io.ErrUnexpectedEOF)
	case n > size:
		return fmt.Errorf("the part is longer than its %d bytes", size)
	}
	return nil
}

// Read opens the stored part of a partition. When there is none, the error is fs.ErrNotExist.
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

// Probe writes, reads and deletes an object below the sink's prefix, to show that Put could.
func (s *Sink) Probe(ctx context.Context) error {
	if err := sinks.ProbeBucket(ctx, s.bucket, ""); err != nil {
		return fmt.Errorf("probe %s: %w", s.url, err)
	}
	return nil
}

// Close closes the bucket.
func (s *Sink) Close() error { return s.bucket.Close() }
