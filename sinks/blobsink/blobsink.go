// Package blobsink puts parts into buckets: on Amazon S3, Google Cloud Storage, Azure, or in a
// folder. Without it there would be no lake, and no Parquet files that DuckDB, Spark or a
// warehouse's external table can read where they lie.
//
// Put takes a part, which is one Parquet file, and gives a receipt with the object's key, size and
// version:
//
//	open the part ─ write to its final key, on a condition ─┬─ done: give the receipt of what the store says, or holds
//	                                                        └─ condition not met: was it this very put, sent twice?
//	                                                           yes: the receipt; no: ErrConflict or ErrForeign
//
// A part is written once, to its final key. One such write is atomic on every store, so that there
// is no staging object and no copy. Each write carries a condition of package bucket: the object
// still has the version that the ledger names, or there is none. An ETag of S3 is a digest of the
// bytes: a file whose bytes come back (A, B, A) would have the version that it had before.
// Therefore parts are encoded so that no two of them are the same file, not even when they hold the
// same rows.
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
	"sync"
	"time"

	"cloud.google.com/go/civil"
	"gocloud.dev/gcerrors"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/sinks"
)

// ContentType is Parquet's registered media type (IANA, 2024).
const ContentType = "application/vnd.apache.parquet"

// verifyTimeout bounds the check of the stored object, which is made even when the Put's context
// has just ended.
const verifyTimeout = 30 * time.Second

// A Sink is one bucket and the layout of its keys. It is safe for concurrent use.
type Sink struct {
	bucket *bucket.Bucket
	url    string // without the query
	key    keyTemplate

	writing  chan struct{} // a lock for checking and writing, where the store doesn't honour conditions
	warnOnce sync.Once     // to warn of such a store

	mu        sync.Mutex
	swept     map[string]bool          // tables whose leftovers of killed writers were removed
	described map[string]*sinks.Schema // by table: what was last written beside its folder
}

// Open opens the sink of a bucket's URL, as bucket.Open does. The query parameter key, for example
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
	b, err := bucket.Open(ctx, u.String())
	if err != nil {
		return nil, err
	}
	return newSink(b, rawURL, key), nil
}

// newSink makes a sink of an open bucket. rawURL is only shown, without its secrets.
func newSink(b *bucket.Bucket, rawURL string, key keyTemplate) *Sink {
	return &Sink{
		bucket: b, url: sinks.Redact(rawURL), key: key, writing: make(chan struct{}, 1),
		swept: map[string]bool{}, described: map[string]*sinks.Schema{},
	}
}

// Store returns the identity of the bucket and the layout in it.
func (s *Sink) Store() string {
	id, q := s.bucket.Identity()
	if s.key != defaultKey {
		q.Set("key", string(s.key))
	}
	if len(q) > 0 {
		id += "?" + q.Encode()
	}
	return id
}

// Together returns how many parts it is worth to put at the same time: a write to a cloud takes
// tens of milliseconds, however small it is, and has a buffer of megabytes; one to a folder takes
// next to nothing.
func (s *Sink) Together() int {
	if s.bucket.Dir() != "" {
		return 1
	}
	return 3
}

// Put writes the part to its key on the part's condition. A store that honours conditions, and that
// says which version it has made of the part, is taken at its word. With other stores, Put compares
// the size and the mark of the stored object with the part's. When that comparison fails, and only
// then, Put returns an error although the new rows are visible. They are whole, unless the message
// says that the store holds another size.
func (s *Sink) Put(ctx context.Context, p sinks.Part) (sinks.Receipt, error) {
	key := s.key.key(p)
	fail := func(err error) (sinks.Receipt, error) {
		return sinks.Receipt{}, fmt.Errorf("put %s/dt=%s to %s, key %s: %w", p.Table, p.Partition, s.url, key, err)
	}
	if p.Schema != nil && len(p.Schema.Columns) > 0 {
		if err := s.Fits(p.Table, p.Schema); err != nil {
			return fail(err)
		}
	}
	s.sweep(p.Table)
	unconditional, err := s.checkConditions(ctx, p.Warn)
	if err != nil {
		return fail(err)
	}
	over := p.Over
	if over == (sinks.Condition{}) {
		if over, err = s.currentCondition(ctx, key, false); err != nil {
			return fail(err)
		}
	}
	mark := rand.Text()
	made, err := s.write(ctx, key, p, over, mark, unconditional)
	verify, cancel := context.WithTimeout(context.WithoutCancel(ctx), verifyTimeout)
	defer cancel()
	if conditionUnmet(err) {
		return s.explainUnmet(verify, key, p, mark, over, err, fail)
	}
	if err != nil {
		return fail(err)
	}
	r := sinks.Receipt{Sink: s.url, Key: key, Size: p.Size, Version: made}
	if made == "" || unconditional {
		stored, meta, err := s.bucket.Attributes(verify, key)
		if err != nil {
			return fail(fmt.Errorf("the part is stored but couldn't be verified: %w; repeat the put", err))
		}
		if r, err = s.receipt(key, p, mark, stored, meta, fail); err != nil {
			return r, err
		}
	}
	s.describe(verify, p)
	return r, nil
}

// checkConditions finds out whether the store honours conditions. If it doesn't, checkConditions
// warns of it once and returns true, and each put has to check its condition itself.
func (s *Sink) checkConditions(ctx context.Context, warn func(error)) (unconditional bool, err error) {
	err = s.bucket.Prove(ctx)
	if !errors.Is(err, bucket.ErrUnsafe) {
		return false, err
	}
	s.warnOnce.Do(func() {
		if warn != nil {
			warn(fmt.Errorf("%s: %w; two runs at the same time may replace each other's parts there; the next run "+
				"notices that and fetches the partition again", s.url, err))
		}
	})
	return true, nil
}

// conditionUnmet reports whether a put failed because of its condition, or whether its outcome is
// unknown.
func conditionUnmet(err error) bool {
	return errors.Is(err, sinks.ErrConflict) || errors.Is(err, bucket.ErrUnknown)
}

// receipt returns the receipt if the store holds what the put with this mark wrote, and otherwise
// an error made by fail.
func (s *Sink) receipt(key string, p sinks.Part, mark string, stored bucket.Object, meta map[string]string,
	fail func(error) (sinks.Receipt, error)) (sinks.Receipt, error) {
	switch other := meta[markKey]; {
	case other != "" && other != mark:
		return fail(sinks.ErrConflict)
	case stored.Size != p.Size:
		return fail(fmt.Errorf("the store holds %d bytes and the part has %d: another writer replaced it, or the "+
			"store lost some; repeat the put", stored.Size, p.Size))
	}
	return sinks.Receipt{Sink: s.url, Key: key, Size: stored.Size, Version: stored.Version}, nil
}

// explainUnmet finds out what a refused condition means, by what the key holds now:
//   - The condition is still met: the store may not have checked it, and the put may still take
//     effect. The error is the refusal.
//   - The object carries this put's mark: this very put wrote it. The answer was lost, and the
//     client sent the request again. That is a success, if the size is the part's.
//   - Anything else is a conflict, or ErrForeign if this program didn't write the object.
func (s *Sink) explainUnmet(
	ctx context.Context, key string, p sinks.Part, mark string, over sinks.Condition, refusal error,
	fail func(error) (sinks.Receipt, error),
) (sinks.Receipt, error) {
	stored, meta, err := s.bucket.Attributes(ctx, key)
	switch gone := errors.Is(err, fs.ErrNotExist); {
	case gone && over.Absent, err == nil && stored.Version == over.Version:
		return fail(refusal)
	case gone:
		return fail(fmt.Errorf("%w, and deleted it", sinks.ErrConflict))
	case err != nil:
		return fail(fmt.Errorf("its condition wasn't met, perhaps because it was sent twice: %w", err))
	case meta[markKey] == mark:
		return s.receipt(key, p, mark, stored, meta, fail)
	case p.Over == (sinks.Condition{}):
		return fail(sinks.ErrConflict)
	}
	own, err := s.isOwn(ctx, key, stored, meta)
	if err != nil {
		return fail(errors.Join(sinks.ErrConflict, err))
	}
	if !own {
		return fail(foreign(stored))
	}
	return fail(sinks.ErrConflict)
}

// markKey is the metadata key under which every object carries its put's mark, a random text.
const markKey = "reportferry"

// write writes the part, and returns the version that the store says it has made of it, or "" if
// the store doesn't say. If the store doesn't honour conditions, the puts of this process wait for
// each other, and check their conditions right before the part becomes visible.
func (s *Sink) write(ctx context.Context, key string, p sinks.Part, over sinks.Condition, mark string,
	unconditional bool) (made string, err error) {
	f := bucket.File{Open: p.Open, Size: p.Size, ContentType: ContentType, Metadata: map[string]string{markKey: mark}}
	if unconditional {
		holding := false
		defer func() {
			if holding {
				<-s.writing
			}
		}()
		f.Last = func() error {
			s.writing <- struct{}{}
			holding = true
			if now, err := s.currentCondition(ctx, key, false); err != nil || now != over {
				return cmp.Or(err, sinks.ErrConflict)
			}
			return nil
		}
	}
	return s.bucket.PutFile(ctx, key, f, over)
}

// Read opens the stored part of a partition. When there is none, the error is fs.ErrNotExist.
func (s *Sink) Read(ctx context.Context, table string, partition civil.Date) (io.ReadCloser, error) {
	key := s.key.at(table, partition)
	r, err := s.bucket.Blob().NewReader(ctx, key, nil)
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
	if err := sinks.ProbeBucket(ctx, s.bucket.Blob(), ""); err != nil {
		return fmt.Errorf("probe %s: %w", s.url, err)
	}
	return nil
}

// Close closes the bucket.
func (s *Sink) Close() error { return s.bucket.Close() }
