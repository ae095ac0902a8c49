// Package bucket reads and writes objects on conditions, on every store that a ledger, a lake or an
// export may live on: Amazon S3, Google Cloud Storage, Azure, a folder, or memory. Without it each
// of them would have its own idea of what a lost race is, and one of two writers would silently
// undo what the other has written.
//
// A put names what it may replace: the object of one version, or none. The store looks at that at
// the moment when it applies the write. On S3 the condition is If-Match or If-None-Match, on Azure
// likewise, on Google's storage the generation. A folder has no conditions of its own: its writers
// wait for each other by flock(2), so it serves the processes of one machine.
//
//	get ─ change ─ put on the version ─┬─ a version: it is there, whole
//	                                   ├─ ErrConflict: the condition wasn't met
//	                                   └─ another error: it may be there, now or later
//
// The answer to a write can be lost, and the client of a store then sends the write again by itself
// and meets what it has written. Therefore each content that races with others has a random token,
// and whoever gets an error from Put reads the object again and looks for its own token before it
// says that it lost. The token has a second use. A version of S3 is a digest of the content, and of
// a folder likewise: only with a token is no content, and so no version, ever there twice.
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
	blob   *blob.Bucket
	url    string
	where  string     // see Identity
	params url.Values // likewise
	dir    string     // of a folder
	proof  proof

	mu      sync.Mutex
	date    time.Time // what the store has said last
	undated bool      // it was asked, and says no time
	at      time.Time // when it said that, by this machine
}

// A Condition says what a put may replace. The zero Condition is whatever is there.
type Condition struct {
	Version string // only the object of this version
	Absent  bool   // nothing may be there
}

// An Object is an entry of a listing.
type Object struct {
	Key      string
	Size     int64 // in bytes
	Version  string
	Modified time.Time // by the store's clock; some have whole seconds
}

// The errors of calls that callers tell apart, beside fs.ErrNotExist and fs.ErrPermission.
var (
	// ErrConflict: the condition wasn't met when the store looked, and this answer's request has
	// written nothing. It may be the answer to a repetition by the store's client of a write that
	// did take effect: look for your own token.
	ErrConflict = errors.New("another run has put something there meanwhile")
	// ErrUnknown: the store was asked for a write on a condition, and doesn't say whether that was
	// met. Read, and try again.
	ErrUnknown = errors.New("the store doesn't say whether the object was written")
	// ErrBusy: the store has done nothing and asks for fewer calls. Put paces itself; this is what
	// is left when it goes on for too long.
	ErrBusy = errors.New("the store asks for fewer writes")
	// ErrUnsafe: the store doesn't look at conditions.
	ErrUnsafe = errors.New("the store doesn't honour conditions of writes")
)

// New makes a bucket of a driver, which may have a method Blob. url is for messages, and has no
// secrets.
func New(url string, d Driver) *Bucket {
	b := &Bucket{driver: d, url: strings.TrimSuffix(url, "/"), proof: proof{turn: make(chan struct{}, 1)}}
	if other, has := d.(interface{ Blob() *blob.Bucket }); has {
		b.blob = other.Blob()
	}
	return b
}

// URL is where the bucket is, without secrets.
func (b *Bucket) URL() string { return b.url }

// Identity names the store, also where two URLs are equal but for their parameters, or environment
// variables say the rest: where it is, and the parameters. It has no secrets.
func (b *Bucket) Identity() (where string, params url.Values) { return b.where, maps.Clone(b.params) }

// Dir is the path of a folder; empty: it is another store.
func (b *Bucket) Dir() string { return b.dir }

// Blob is the same store for those who only stream, or read ranges; nil: the driver has no other
// way to it. Nothing that races with others may be written by it.
func (b *Bucket) Blob() *blob.Bucket { return b.blob }

// Close gives up the connections.
func (b *Bucket) Close() error {
	if b.blob == nil {
		return nil
	}
	return b.blob.Close()
}

// Get reads an object whole. When it isn't there, the error is fs.ErrNotExist.
func (b *Bucket) Get(ctx context.Context, key string) (data []byte, version string, err error) {
	a, err := b.do(ctx, Call{Op: OpGet, Key: key})
	if err != nil {
		return nil, "", b.failed("read", key, err)
	}
	return a.Data, a.Version, nil
}

// Put writes an object whole or not at all, and gives its version. The errors are ErrConflict,
// ErrUnknown, ErrBusy, fs.ErrPermission, or others after which nothing is known: it may be there,
// or come to be there later.
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

// PutFile is Put of more than belongs into memory. It has no bound in time, and isn't repeated. A
// put that is cancelled or fails before its end publishes nothing. The version is empty where the
// store doesn't say it.
func (b *Bucket) PutFile(ctx context.Context, key string, f File, on Condition) (version string, err error) {
	a, err := b.driver.Do(ctx, Call{Op: OpPut, Key: key, File: &f, On: on})
	b.saw(a.Date)
	return a.Version, err
}

// List gives the objects whose keys begin with the prefix, ascending, without what killed writers
// have left. A folder that isn't there has none.
func (b *Bucket) List(ctx context.Context, prefix string) ([]Object, error) {
	return b.list(ctx, OpList, prefix)
}

// ListFiles is List with the versions that PutFile and Look give.
func (b *Bucket) ListFiles(ctx context.Context, prefix string) ([]Object, error) {
	return b.list(ctx, OpListFiles, prefix)
}

func (b *Bucket) list(ctx context.Context, op Op, prefix string) ([]Object, error) {
	a, err := b.driver.Do(ctx, Call{Op: op, Key: prefix}) // of many pages, each has its time
	b.saw(a.Date)
	if err != nil {
		return nil, b.failed("list", prefix, err)
	}
	return a.Objects, nil
}

// Delete deletes objects. Some may be gone already. After an error any of them may be there still.
func (b *Bucket) Delete(ctx context.Context, keys ...string) error {
	for some := range slices.Chunk(keys, mostDeleted) {
		if _, err := b.do(ctx, Call{Op: OpDelete, Keys: some}); err != nil {
			return b.failed("delete", some[0], err)
		}
	}
	return nil
}

// mostDeleted is how many objects S3 deletes in one call
// (https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObjects.html).
const mostDeleted = 1000

// callTimeout bounds one call to the store, including the retries of its client. Some clients retry
// 503 for ever, and a connection can be silent for as long; the objects are small, so a minute is
// plenty.
const callTimeout = time.Minute

// busyPauses is how often a write that was refused for its pace is sent again, after 1, 2, 4 ...
// seconds: two minutes at most. Google's storage takes one write a second of an object
// (https://cloud.google.com/storage/quotas).
const busyPauses = 6

// do makes one call within its time, and takes note of the store's clock.
func (b *Bucket) do(ctx context.Context, c Call) (a Answer, err error) {
	err = bounded(ctx, func(ctx context.Context) (err error) { a, err = b.driver.Do(ctx, c); return err })
	b.saw(a.Date)
	return a, err
}

// bounded makes one call within its time.
func bounded(ctx context.Context, call func(context.Context) error) error {
	within, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := call(within)
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("the store gave no good answer within %v: %w", callTimeout, err)
	}
	return err
}

func (b *Bucket) failed(what, key string, err error) error {
	return fmt.Errorf("%s %s/%s: %w", what, b.url, key, err)
}

// pause is how long a write waits before its next turn: between half of and all of 1, 2, 4 ...
// seconds. Where in between goes by what is written, so that writers who met part, and a simulation
// repeats itself.
func pause(turn int, data []byte) time.Duration {
	longest := time.Second << turn
	return longest/2 + time.Duration(xxhash.Sum64(data)%uint64(longest/2)) //nolint:gosec // it is positive
}

// Sleep waits, and is false when the context ends before.
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
