// Package ledger is the durable record of what was fetched, by which run, and when. Without it, a
// crash or a second process would lose days or fetch them twice, because nothing would say what is
// done.
//
// A ledger lives in a bucket, or in a folder. It has no lock server: the store's conditional writes
// decide which of several writers wins.
//
//	lease     who works on a partition, and until when, in the document of the month in which the partition begins
//	record    what a partition's fetch came to, beside it; it is the commit point
//	run       what one execution did
//
//	       begin                   put                     commit
//	free ─────────▶ leased, renewed ────▶ something is put ────────▶ recorded, and free
//	  ▲              │ nothing was put │        │ it can't be recorded
//	  └──────────────┘                 ▼        ▼
//	                         the lease is over: in doubt, and due
//
// A document is replaced as a whole, on the condition that it still has the version that was read.
// Leases only save work. Data is kept safe by the conditions of each put (package partition), and
// by the rule that a record is written only under a valid lease and directly after the record that
// existed when the lease began. A late writer therefore loses, whatever clocks, leases and networks
// did. Folder model has the protocol for TLC, and folder simulation runs it against stores, clocks
// and processes that fail. The README of package jobs has the format, object by object.
//
// A record that is replaced moves into history in the same write. Planning reads an index, which is
// a copy of all newest records.
package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"gocloud.dev/blob"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/sinks"
)

// A Ledger is the durable record, in a bucket, of partitions, leases and runs.
//
//	tables/{table}/months/{month}.json            records, history and leases of the partitions that begin in the month
//	tables/{table}/months/index.json              a copy of all records
//	tables/{table}/history/{month}.{day}.{x}.json history that a month has no room for
//	pushes/...                                    what was pushed of files: package jobs/outbox
//	tables/{table}/notes.json                     what became of event slugs, which finals were compared: package jobs/slugs; a document
//	apps/{table}.json                             how far declared apps are: package jobs/apps; a document
//	runs/{month}.json                             the runs that began in the month, and the last success of each job; a document
//	incidents.json                                notices, and the receivers that have got them: package internal/notify; a document
//	.reportferry-probe.json                       put to see that the store honours conditions
type Ledger struct {
	// These are the Options, with their defaults.
	store              *bucket.Bucket
	url                string
	clock              func() (time.Time, time.Duration)
	keepHistory        time.Duration
	lease              time.Duration
	task               string
	history, unindexed int // history is 0 for the default

	months sync.Map // the documents of runs, by key
}

// Options say where the ledger is, and how it is kept.
type Options struct {
	Store *bucket.Bucket
	URL   string // for messages, without secrets; empty: the bucket's own

	// Clock reads two clocks: the wall clock, which people set, and how long this process has been
	// running, which may stand still while the machine sleeps. Leases use the one by which more
	// time has passed. Nil: the machine's own clocks.
	Clock func() (wall time.Time, running time.Duration)

	// Lease is how long a lease lasts unless it is renewed. 0: two minutes.
	Lease time.Duration

	// Task is the platform's name for this process's task of an execution, which is the same for
	// each attempt; empty: it has none.
	Task string

	// KeepHistory is how long history is kept, by the store's clock. 0: for ever.
	KeepHistory time.Duration

	// History is how many bytes of history a month keeps in its document. Unindexed is how many
	// months may have changed since the index was written; a plan makes one call for each of them.
	// 0: 256 KiB, and 2.
	History, Unindexed int
}

// Open returns a ledger in a bucket. The ledger owns the bucket from then on, and Close closes it.
func Open(o Options) *Ledger {
	l := &Ledger{store: o.Store, url: strings.TrimSuffix(cmp.Or(o.URL, o.Store.URL()), "/"), clock: o.Clock,
		keepHistory: o.KeepHistory, lease: cmp.Or(o.Lease, 2*time.Minute), task: o.Task}
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

// Lease returns how long a lease lasts unless it is renewed.
func (l *Ledger) Lease() time.Duration { return l.lease }

// Task returns the platform's name for this process's task; "" if it has none.
func (l *Ledger) Task() string { return l.task }

// location returns where an object is, for messages.
func (l *Ledger) location(key string) string { return l.url + "/" + key }

// Errors that callers distinguish.
var (
	// ErrRefused means that the config and the ledger contradict each other. Nothing was asked or
	// written.
	ErrRefused = errors.New("refused")
	// ErrBucket means that the ledger's bucket could not be read or written.
	ErrBucket = errors.New("ledger")
	// ErrLost means that the lease was lost to another process, or ended. Nothing more may be
	// published under it.
	ErrLost = errors.New("lease lost")
)

// ErrUnsafe says that the ledger's store doesn't check conditions, so that two runs could overwrite
// each other's work.
var ErrUnsafe = bucket.ErrUnsafe

// drop deletes objects. Some of them may not exist any more.
func (l *Ledger) drop(ctx context.Context, keys ...string) error {
	if err := l.store.Delete(ctx, keys...); err != nil {
		return fmt.Errorf("%w: %w", ErrBucket, err)
	}
	return nil
}

// Probe writes, reads and deletes an object of its own in the ledger's bucket.
func (l *Ledger) Probe(ctx context.Context) error {
	if err := sinks.ProbeBucket(ctx, l.store.Blob(), ""); err != nil {
		return fmt.Errorf("%w: probe %s: %w", ErrBucket, l.url, err)
	}
	return nil
}

// Reach checks that the ledger's bucket answers, by listing one name. Reading an object wouldn't
// do, because a missing object looks the same as a missing bucket.
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

// Clock returns the time by the clock of the ledger's store. known is false for a folder, which has
// only this machine's clock.
func (l *Ledger) Clock(ctx context.Context) (now time.Time, known bool, err error) {
	return l.store.Now(ctx)
}
