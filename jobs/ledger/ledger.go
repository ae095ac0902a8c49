// Package ledger is the durable record of what was fetched, by whom, and when. Without it a crash, or a second process,
// would lose days or fetch them twice, because nobody would know what is done.
//
// A ledger lives in a bucket, or in a folder. It has no index and no lock server: every object is one line of JSON with
// a checksum, and the store's conditional create (If-None-Match) decides which of several writers wins. Three kinds of
// objects carry the protocol:
//
//	claim     who works on a unit of a table: numbered objects, the highest holds
//	record    what a partition's fetch came to: numbered objects, the highest holds; it is the commit point
//	run       what one execution did
//
//	           claim                          put                      commit
//	free ──────────────▶ held, heartbeats ────────▶ in doubt ─────────────────▶ recorded ─▶ released
//	           create n+1  │  lease ends                 │  another was faster
//	                       ▼                             ▼
//	               another may claim n+2            in doubt: the next run fetches again
//
// Claims only save work. What keeps data safe are the conditions of each put (package partition) and of each record:
// whoever is late loses, whatever clocks, leases and networks did. Folder model has the protocol for TLC, and folder
// simulation runs it against stores, clocks and processes that fail. The README of package jobs has the format, object
// by object.
//
// Many small objects are folded into few: see compact. A record that a newer one has replaced goes into history before it is dropped,
// which planning never reads; the model doesn't have it, and the simulation does.
package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/disk"
	"github.com/reportferry/reportferry/sinks"
)

// A Ledger is the durable record, in a bucket, of partitions, claims and runs.
//
//	tables/{table}/partitions/{sunday}.{seq}.json records of one week, written once; of a partition the highest seq holds
//	tables/{table}/segments/{n}.json              older records folded into one object; the highest n holds
//	tables/{table}/history/{month}/{n}.json       what partitions were before, fetched in that month; the highest n holds
//	tables/{table}/shapes/{id}.json               what a record's numbers mean: fingerprint and columns
//	tables/{table}/claims/{unit}/{n}.json         who works on a unit, or did last
//	tables/{table}/swept/{n}.json                 the last claim of each unit whose objects were dropped; the highest n holds
//	tables/{table}/outbox/...                     what was pushed of files: package jobs/outbox
//	tables/{table}/notes.json                     what became of event slugs, which finals were compared: package jobs/slugs; a document
//	apps/{table}.json                             how far declared apps are: package jobs/apps; a document
//	runs/{id}.json                                one execution
//	executions/{id}/{job}.json                    of the last execution by several tasks: the jobs that one of them has seen done
//	successes/{job}/{time}.json                   the end of a run in which the job succeeded; the newest holds
//	incidents.json                                what people are told of: package internal/notify; a document
//	clock.json                                    written to read the store's own time
//	probe.json                                    created to see that the store creates nothing twice
type Ledger struct {
	store     *bucket.Bucket // of documents; nil in tests that have none
	bucket    *blob.Bucket
	root      *disk.Root // nil unless the bucket is a folder
	url       string
	clock     func() (time.Time, time.Duration)
	foldAbove int
	keep      time.Duration
	deleteAll func(ctx context.Context, keys []string) (left []string)
	proof     proof
}

// Options say where the ledger is.
type Options struct {
	Store  *bucket.Bucket
	Bucket *blob.Bucket // the same store for what isn't a document; nil: Store.Blob()
	Dir    string       // the bucket's folder when it is local, else empty
	URL    string       // for messages; without secrets

	// Clock reads two clocks: the wall clock, which people set, and how long this process has been running, which may
	// stand still while the machine sleeps. A lease goes by the one that shows more time. Nil: the machine's own
	// clocks.
	Clock func() (wall time.Time, running time.Duration)

	// FoldAbove is how many objects of a table may have records of their own before they are folded into a segment. Claims are
	// swept at four times as many. 0: 8.
	FoldAbove int

	// DeleteAll deletes many objects in few calls, and gives those that it couldn't delete. Nil: each is deleted by a call of its own.
	DeleteAll func(ctx context.Context, keys []string) (left []string)

	// KeepHistory is how long history is kept, by the store's clock. 0: for ever.
	KeepHistory time.Duration
}

// Open makes a ledger of a bucket. The bucket belongs to it from then on, and Close closes it.
func Open(o Options) *Ledger {
	if o.Bucket == nil {
		o.Bucket = o.Store.Blob()
	}
	l := &Ledger{
		store: o.Store, bucket: o.Bucket, url: strings.TrimSuffix(o.URL, "/"), clock: o.Clock,
		foldAbove: cmp.Or(o.FoldAbove, defaultFoldAbove), keep: o.KeepHistory, deleteAll: o.DeleteAll, proof: proof{turn: make(chan struct{}, 1)},
	}
	if o.Dir != "" {
		l.root = disk.NewRoot(o.Dir)
	}
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
func (l *Ledger) Close() error { return l.bucket.Close() }

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

// errExists says that an object which must be created once is there already.
var errExists = errors.New("exists")

// create writes an object that must not exist yet. One of several writers wins, and the others get errExists.
func (l *Ledger) create(ctx context.Context, key string, data []byte) error {
	if l.root != nil {
		return createFile(l.root, key, data)
	}
	if err := l.prove(ctx); err != nil {
		return err
	}
	return l.createObject(ctx, key, data)
}

func (l *Ledger) createObject(ctx context.Context, key string, data []byte) error {
	err := l.put(ctx, key, data, &blob.WriterOptions{IfNotExist: true, ContentType: "application/json"})
	if gcerrors.Code(err) == gcerrors.FailedPrecondition {
		return errExists
	}
	return err
}

// list gives the keys under a prefix that ends in a slash, ascending. It leaves out the temporary files that a killed
// writer of the file driver may have left.
func (l *Ledger) list(ctx context.Context, prefix string) ([]string, error) {
	keys, err := l.listAll(ctx, prefix)
	return slices.DeleteFunc(keys, func(key string) bool { return !strings.HasSuffix(key, ".json") }), err
}

func (l *Ledger) listAll(ctx context.Context, prefix string) (keys []string, err error) {
	if l.root != nil {
		keys, err = listFiles(l.root.Dir(), prefix)
	} else {
		keys, err = listBucket(ctx, l.bucket, prefix)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: list %s: %w", ErrBucket, l.location(prefix), err)
	}
	return keys, nil
}

func listBucket(ctx context.Context, bucket *blob.Bucket, prefix string) (keys []string, err error) {
	it := bucket.List(&blob.ListOptions{Prefix: prefix})
	for {
		call, done := bounded(ctx)
		o, err := it.Next(call)
		if err = done(err); errors.Is(err, io.EOF) {
			return keys, nil
		}
		if err != nil {
			return nil, err
		}
		keys = append(keys, o.Key)
	}
}

// now reads the store's own time, from an object that is written for that.
func (l *Ledger) now(ctx context.Context) (time.Time, error) {
	const key = "clock.json"
	if err := l.write(ctx, key, struct{}{}); err != nil {
		return time.Time{}, err
	}
	attrs, err := l.bucket.Attributes(ctx, key)
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: read the store's time from %s: %w", ErrBucket, l.location(key), err)
	}
	return attrs.ModTime, nil
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
	if err := sinks.ProbeBucket(ctx, l.bucket, ""); err != nil {
		return fmt.Errorf("%w: probe %s: %w", ErrBucket, l.url, err)
	}
	return nil
}

// Reach reads as little of the ledger's bucket as shows that it answers: one name of a listing, because a missing object looks the
// same as one of a missing bucket.
func (l *Ledger) Reach(ctx context.Context) (err error) {
	if l.root != nil {
		_, err = os.ReadDir(l.root.Dir())
	} else {
		_, _, err = l.bucket.ListPage(ctx, blob.FirstPageToken, 1, nil)
	}
	if err != nil {
		return fmt.Errorf("%w: list %s: %w", ErrBucket, l.url, err)
	}
	return nil
}

// Clock is the time by the clock of the ledger's store. It answers false for a folder, which has only this machine's
// clock.
func (l *Ledger) Clock(ctx context.Context) (now time.Time, known bool, err error) {
	if l.root != nil {
		return time.Time{}, false, nil
	}
	now, err = l.now(ctx)
	return now, err == nil, err
}
