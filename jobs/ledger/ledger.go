// Package ledger is the durable record of what was fetched, by whom, and when. Without it a crash, or a second process,
// would lose days or fetch them twice, because nobody would know what is done.
//
// A ledger lives in a bucket, or in a folder. It has no lock server: the store's conditional writes decide which of several writers wins.
//
//	claim     who works on a unit of a table: numbered objects, the highest holds
//	record    what a partition's fetch came to, in the document of the month in which the partition begins; it is the commit point
//	run       what one execution did
//
//	           claim                          put                      commit
//	free ──────────────▶ held, heartbeats ────────▶ in doubt ─────────────────▶ recorded ─▶ released
//	           create n+1  │  lease ends                 │  another was faster
//	                       ▼                             ▼
//	               another may claim n+2            in doubt: the next run fetches again
//
// A document is replaced whole, on the condition of the version that was read. Claims only save work. What keeps data safe are the
// conditions of each put (package partition), and that each record names the one that it was made on: whoever is late loses, whatever
// clocks, leases and networks did. Folder model has the protocol for TLC, and folder simulation runs it against stores, clocks and processes
// that fail. The README of package jobs has the format, object by object.
//
// The record that a newer one replaces goes into history in the same write. Planning reads an index, which is a copy of all records.
package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gocloud.dev/blob"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/sinks"
)

// A Ledger is the durable record, in a bucket, of partitions, claims and runs.
//
//	tables/{table}/months/{month}.json            records and history of the partitions that begin in the month
//	tables/{table}/months/index.json              a copy of all records
//	tables/{table}/history/{month}.{day}.{x}.json history that a month has no room for
//	tables/{table}/claims/{unit}/{n}.json         who works on a unit, or did last
//	tables/{table}/swept/{n}.json                 the last claim of each unit whose objects were dropped; the highest n holds
//	pushes/...                                    what was pushed of files: package jobs/outbox
//	tables/{table}/notes.json                     what became of event slugs, which finals were compared: package jobs/slugs; a document
//	apps/{table}.json                             how far declared apps are: package jobs/apps; a document
//	runs/{month}.json                             the runs that began in the month, and the last success of each job; a document
//	incidents.json                                what people are told of: package internal/notify; a document
//	.reportferry-probe.json                       put to see that the store honours conditions
type Ledger struct {
	store *bucket.Bucket
	url   string
	clock func() (time.Time, time.Duration)
	keep  time.Duration

	history, unindexed int // as Options has them

	months sync.Map // the documents of runs, by key
}

// Options say where the ledger is.
type Options struct {
	Store *bucket.Bucket
	URL   string // for messages, without secrets; empty: the bucket's own

	// Clock reads two clocks: the wall clock, which people set, and how long this process has been running, which may
	// stand still while the machine sleeps. A lease goes by the one that shows more time. Nil: the machine's own
	// clocks.
	Clock func() (wall time.Time, running time.Duration)

	// KeepHistory is how long history is kept, by the store's clock. 0: for ever.
	KeepHistory time.Duration

	// History is how many bytes of history a month keeps in its document, and Unindexed how many months may have changed since the index
	// was written: each takes a plan one call. 0: 256 KiB, and 2.
	History, Unindexed int
}

// Open makes a ledger of a bucket. The bucket belongs to it from then on, and Close closes it.
func Open(o Options) *Ledger {
	l := &Ledger{store: o.Store, url: strings.TrimSuffix(cmp.Or(o.URL, o.Store.URL()), "/"), clock: o.Clock, keep: o.KeepHistory}
	l.history, l.unindexed = o.History, cmp.Or(o.Unindexed, 2)
	if l.clock == nil {
		began := time.Now()
		l.clock = func() (time.Time, time.Duration) {
			now := time.Now()
			return now.Round(0), now.Sub(began) // without and with the monotonic reading
		}
	}
	return l
}

// Close closes the bucket.
func (l *Ledger) Close() error { return l.store.Close() }

func (l *Ledger) location(key string) string { return l.url + "/" + key }

// Errors that callers tell apart.
var (
	// ErrRefused: the config and the ledger contradict each other; nothing was asked or written.
	ErrRefused = errors.New("refused")
	// ErrBucket: the ledger's bucket could not be read or written.
	ErrBucket = errors.New("ledger")
	// ErrLost: the claim was lost to another process, or its lease ended; nothing more may be published under it.
	ErrLost = errors.New("claim lost")
)

// ErrUnsafe says that the ledger's store doesn't look at conditions, so that two runs can't be kept apart on it.
var ErrUnsafe = bucket.ErrUnsafe

// errExists says that an object which must be created once is there already.
var errExists = errors.New("exists")

// create writes an object that must not exist yet. One of several writers wins, and the others get errExists.
func (l *Ledger) create(ctx context.Context, key string, data []byte) error {
	if err := l.store.Prove(ctx); err != nil {
		return errors.Join(ErrRefused, err)
	}
	_, err := l.store.Put(ctx, key, data, bucket.Condition{Absent: true})
	if errors.Is(err, bucket.ErrConflict) {
		return errExists
	}
	return err
}

// list gives the keys under a prefix that ends in a slash, ascending, without what isn't ours.
func (l *Ledger) list(ctx context.Context, prefix string) ([]string, error) {
	keys, err := l.listAll(ctx, prefix)
	return slices.DeleteFunc(keys, func(key string) bool { return !strings.HasSuffix(key, ".json") }), err
}

func (l *Ledger) listAll(ctx context.Context, prefix string) (keys []string, err error) {
	objects, err := l.store.List(ctx, prefix)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBucket, err)
	}
	for _, o := range objects {
		keys = append(keys, o.Key)
	}
	return keys, nil
}

// modified is when an object was written last, by the store's clock. Without one the error is fs.ErrNotExist.
func (l *Ledger) modified(ctx context.Context, key string) (time.Time, error) {
	objects, err := l.store.List(ctx, key)
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: %w", ErrBucket, err)
	}
	if len(objects) == 0 || objects[0].Key != key {
		return time.Time{}, fmt.Errorf("%w: %s: %w", ErrBucket, l.location(key), fs.ErrNotExist)
	}
	return objects[0].Modified, nil
}

// now is the store's own time.
func (l *Ledger) now(ctx context.Context) (time.Time, error) {
	now, _, err := l.store.Now(ctx)
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrBucket, err)
	}
	return now, err
}

// numbered reads the number at the end of a key such as segments/000012.json. Numbers from a million on have more
// digits, so keys don't always ascend with their numbers.
func numbered(key string) (int, bool) {
	name := strings.TrimSuffix(key[strings.LastIndexByte(key, '/')+1:], ".json")
	n, err := strconv.Atoi(name)
	return n, err == nil && n >= 0 && name == fmt.Sprintf("%06d", n)
}

// Probe writes, reads and deletes an object of its own in the ledger's bucket.
func (l *Ledger) Probe(ctx context.Context) error {
	if err := sinks.ProbeBucket(ctx, l.store.Blob(), ""); err != nil {
		return fmt.Errorf("%w: probe %s: %w", ErrBucket, l.url, err)
	}
	return nil
}

// Reach reads as little of the ledger's bucket as shows that it answers: one name of a listing, because a missing object looks the
// same as one of a missing bucket.
func (l *Ledger) Reach(ctx context.Context) (err error) {
	if dir := l.store.Dir(); dir != "" {
		_, err = os.ReadDir(dir)
	} else {
		_, _, err = l.store.Blob().ListPage(ctx, blob.FirstPageToken, 1, nil)
	}
	if err != nil {
		return fmt.Errorf("%w: list %s: %w", ErrBucket, l.url, err)
	}
	return nil
}

// Clock is the time by the clock of the ledger's store. It answers false for a folder, which has only this machine's
// clock.
func (l *Ledger) Clock(ctx context.Context) (now time.Time, known bool, err error) {
	return l.store.Now(ctx)
}
