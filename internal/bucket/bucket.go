// Package bucket reads and conditionally writes objects, on every store that a ledger, a lake or an
// export may live on: Amazon S3, Google Cloud Storage, Azure, a folder, or memory. Without it, each
// of them would report a lost race differently, and one of two writers would silently undo what the
// other has written.
//
// A put names what it may replace: the object of one version, or none. The store checks that at the
// moment when it applies the write. On S3 and Azure the condition is If-Match or If-None-Match, on
// Google's storage the generation. A folder has no conditions of its own: its writers wait for each
// other by flock(2), so it serves only the processes of one machine.
//
//	get ─ change ─ put on the version ─┬─ a version: it is there, whole
//	                                   ├─ ErrConflict: the condition wasn't met
//	                                   └─ another error: it may be there, now or later
//
// The answer to a write can be lost. The client of a store then repeats the write by itself and
// conflicts with its own object. Therefore each content that races with others has a random token:
// after an error from Put, the caller reads the object again and looks for its own token before it
// concludes that it has lost. The token has a second use. On S3 and in a folder, a version is a
// digest of the content. Only the token ensures that no content, and so no version, ever occurs
// twice.
package bucket

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
	"gocloud.dev/blob"
)

// A Bucket is one store, below the prefix of its URL. It is safe for concurrent use.
type Bucket struct {
	driver Driver
	blob   *blob.Bucket // see Blob; may be nil
	url    string       // see URL
	where  string       // see Identity
	params url.Values   // see Identity
	dir    string       // path of a folder; empty for other stores
	proof  proof        // see Prove

	mu           sync.Mutex
	date         time.Time // the last time that the store's clock gave
	undated      bool      // the store was asked, and gave no time
	dateReceived time.Time // when date was received, by this machine's clock
}

// A Condition says what a put may replace. The zero Condition allows any object, or none.
type Condition struct {
	Version string // if set, only the object of this version may be replaced
	Absent  bool   // no object may exist
}

// An Object is an entry of a listing.
type Object struct {
	Key      string
	Size     int64 // in bytes
	Version  string
	Modified time.Time // by the store's clock; some stores give whole seconds
}

// Errors of calls that callers distinguish, beside fs.ErrNotExist and fs.ErrPermission.
var (
	// ErrConflict means that the condition wasn't met when the store checked it, and that the
	// request that got this answer has written nothing. It may have been a repetition, by the
	// store's client, of a write that did take effect, so the caller must look for its own token.
	ErrConflict = errors.New("another run has put something there meanwhile")
	// ErrUnknown means that the store doesn't say whether the condition of a write was met. The
	// caller should read the object and try again.
	ErrUnknown = errors.New("the store doesn't say whether the object was written")
	// ErrBusy means that the store has done nothing and asks for fewer calls. Put retries with
	// pauses, and returns this error when the store remains busy.
	ErrBusy = errors.New("the store asks for fewer writes")
	// ErrUnsafe means that the store doesn't check conditions.
	ErrUnsafe = errors.New("the store doesn't honour conditions of writes")
)

// New returns a bucket of a driver. The driver may have a method Blob, which the bucket's Blob then
// returns. url is for messages, and has no secrets.
func New(url string, d Driver) *Bucket {
	b := &Bucket{driver: d, url: strings.TrimSuffix(url, "/"), proof: proof{turn: make(chan struct{}, 1)}}
	if other, has := d.(interface{ Blob() *blob.Bucket }); has {
		b.blob = other.Blob()
	}
	return b
}

// URL returns where the bucket is, without secrets.
func (b *Bucket) URL() string { return b.url }

// Identity returns where the store is, and the parameters that distinguish it from a store with the
// same URL otherwise, including those that environment variables set. Neither contains secrets.
func (b *Bucket) Identity() (where string, params url.Values) { return b.where, maps.Clone(b.params) }

// Dir returns the path of a folder; "" for another store.
func (b *Bucket) Dir() string { return b.dir }

// Blob returns the same store for streaming or reading ranges; nil if the driver doesn't offer
// that. Objects that others may write at the same time must not be written by it.
func (b *Bucket) Blob() *blob.Bucket { return b.blob }

// Close closes the connections.
func (b *Bucket) Close() error {
	if b.blob == nil {
		return nil
	}
	return b.blob.Close()
}

// Get reads a whole object. When there is none, the error is fs.ErrNotExist.
func (b *Bucket) Get(ctx context.Context, key string) (data []byte, version string, err error) {
	a, err := b.do(ctx, Call{Op: OpGet, Key: key})
	if err != nil {
		return nil, "", b.failed("read", key, err)
	}
	return a.Data, a.Version, nil
}

// Put writes an object whole or not at all, and returns its version. The errors are ErrConflict,
// ErrUnknown, ErrBusy, fs.ErrPermission, or others, after which the outcome is unknown: the object
// may have been written, or may still be written later.
func (b *Bucket) Put(ctx context.Context, key string, data []byte, on Condition) (version string, err error) {
	for turn := range busyPauses + 1 {
		var a Answer
		if a, err = b.do(ctx, Call{Op: OpPut, Key: key, Data: data, On: on}); err == nil {
			return a.Version, nil
		}
		if !errors.Is(err, ErrBusy) || turn == busyPauses || !Sleep(ctx, pause(turn, data)) {
			break
		}
	}
	return "", b.failed("write", key, err)
}

// PutFile is Put for content that is too large for memory. It has no timeout and isn't repeated. A
// put that is cancelled or fails before its end publishes nothing. The version is empty if the
// store doesn't return it.
func (b *Bucket) PutFile(ctx context.Context, key string, f File, on Condition) (version string, err error) {
	a, err := b.driver.Do(ctx, Call{Op: OpPut, Key: key, File: &f, On: on})
	b.storeDate(a.Date)
	return a.Version, err
}

// List returns the objects whose keys begin with the prefix, ascending, without temporary files of
// killed writers. A missing folder counts as empty.
func (b *Bucket) List(ctx context.Context, prefix string) ([]Object, error) {
	return b.list(ctx, OpList, prefix)
}

// ListFiles is List with versions of the form that PutFile and Attributes return.
func (b *Bucket) ListFiles(ctx context.Context, prefix string) ([]Object, error) {
	return b.list(ctx, OpListFiles, prefix)
}

// list makes a call of one of the two kinds of listings.
func (b *Bucket) list(ctx context.Context, op Op, prefix string) ([]Object, error) {
	a, err := b.driver.Do(ctx, Call{Op: op, Key: prefix}) // no timeout here, because each of the pages has its own
	b.storeDate(a.Date)
	if err != nil {
		return nil, b.failed("list", prefix, err)
	}
	return a.Objects, nil
}

// Delete deletes objects. Some may not exist any more. After an error, any of them may still exist.
func (b *Bucket) Delete(ctx context.Context, keys ...string) error {
	for some := range slices.Chunk(keys, mostDeleted) {
		if _, err := b.do(ctx, Call{Op: OpDelete, Keys: some}); err != nil {
			return b.failed("delete", some[0], err)
		}
	}
	return nil
}

// mostDeleted is how many objects S3 deletes in one call at most
// (https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObjects.html).
const mostDeleted = 1000

// callTimeout bounds one call to the store, including the retries of its client. Some clients retry
// a 503 for ever, and a connection can stay silent for ever. The objects are small, so a minute is
// plenty.
const callTimeout = time.Minute

// busyPauses is how often Put repeats a write to which the store answered that it is busy, after up
// to 1, 2, 4 ... seconds: 63 s at most. Google's storage takes one write a second of an
// object (https://cloud.google.com/storage/quotas).
const busyPauses = 6

// do makes one call within callTimeout, and stores the date that the answer gives.
func (b *Bucket) do(ctx context.Context, c Call) (a Answer, err error) {
	err = withinTimeout(ctx, func(ctx context.Context) (err error) { a, err = b.driver.Do(ctx, c); return err })
	b.storeDate(a.Date)
	return a, err
}

// withinTimeout makes one call within callTimeout.
func withinTimeout(ctx context.Context, call func(context.Context) error) error {
	within, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := call(within)
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("the store gave no good answer within %v: %w", callTimeout, err)
	}
	return err
}

// failed adds to an error what was tried on which object.
func (b *Bucket) failed(what, key string, err error) error {
	return fmt.Errorf("%s %s/%s: %w", what, b.url, key, err)
}

// pause returns how long a busy write waits before its next attempt: between half of and all of 1,
// 2, 4 ... seconds. The exact length depends on the content, so that colliding writers spread out
// and a simulation repeats itself exactly.
func pause(turn int, data []byte) time.Duration {
	longest := time.Second << turn
	return longest/2 + time.Duration(xxhash.Sum64(data)%uint64(longest/2)) //nolint:gosec // it is positive
}

// Sleep waits for d. It returns false if the context ends before.
func Sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
