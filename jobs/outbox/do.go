package outbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/reportferry/reportferry/jobs/outbox/store"
)

// A Task says what to do with one file.
type Task[V any] struct {
	Name   string // of the file, the same in every run; it is logged
	Source Source[V]

	// Send sends a record. It is called once for each record in a run, so it must itself repeat
	// requests that may be repeated. resent counts the requests that followed one that the service
	// may have taken. Several calls run at the same time.
	Send     func(context.Context, V) (resent int, err error)
	InFlight int                     // how many records are sent at the same time; 0: 32
	Tally    func(V) (string, int64) // key and amount of a record in File.Sums; nil: no sums

	Quiet time.Duration // a file modified within this time is left for the next run; 0: files are taken at once
	// How many rows may be invalid. A file with more looks like another kind of file, and nothing
	// of it is sent. nil: no limit.
	MaxRejects *Most
	RejectsKey string // key of the rejects file; empty: Name and ".rejects.csv"
	Separator  rune   // between the cells of the rejects file, as in the file itself; 0: a comma
	// Returns what the rejects file tells a person to write instead of a wrong cell; nil: nothing.
	Instead     func(Rejection) string
	Conflict    Rejection // what the rejects file says about a conflict; zero: a general text
	ParkUnknown bool      // leave records in doubt for a person, instead of sending them again
	// Send a record whose ID was sent with other content (with Order: from a later file), instead
	// of rejecting it.
	SendConflicts bool

	// Order, unless empty, makes the service get the rows of one ID in their order. Each row is
	// sent, even one that equals an earlier one, and only after all rows of its ID above it, and in
	// files with a lesser Order, are acknowledged. Files with the same Order are ordered by when
	// they are pushed. When Order is empty, rows with the same ID and Content are one record, which
	// is sent once, in any order.
	Order string

	Again bool // read a finished file again though its version is the same, because other rows may be valid now

}

// A Report is the result of a push, or of a check.
type Report struct {
	File
	Same    bool  // the file was finished before with this content: nothing was done
	Changed bool  // a file of this name was pushed before with other content
	Sent    int64 // records that Send was asked to send in this run
	Resent  int64 // requests for records that the service may have had
	Spool   int64 // bytes of disk used
	Index   int64 // bytes read from the indexes of earlier pushes
	// Set by a check: until then, a push would leave the file, because it may still be growing.
	// Zero: a push would take it now.
	Quiet time.Time
}

// Do pushes the records of a file that haven't been sent, under the table's lease and in its
// context: it reads the file, finds what was sent already, sends the rest, and writes the rejects.
// Doing it twice equals doing it once. When it ends early, the ledger has what became of each
// record, and the next Do goes on from there.
func Do[V any](ctx context.Context, l *Lease, o *Outbox, p Task[V]) (report Report, err error) {
	w := newAttempt(o, p)
	w.lease, w.pushes = l, l.Pushes
	defer w.spool.Close()
	err = w.do(ctx)
	if lost := l.Leased(); lost != nil {
		err = errors.Join(lost, err)
	}
	if err != nil {
		err = fmt.Errorf("push %s: %w", p.Name, err)
	}
	return w.report, err
}

// An attempt is one Do or Check.
type attempt[V any] struct {
	o *Outbox
	p Task[V]

	lease   *Lease // nil in a Check, which writes nothing
	stat    Stat
	pushes  []*store.Push
	resumed *store.Push // the earlier push of this very content; nil: there is none
	push    *store.Push // resumed, or a new push
	states  *store.States

	refusals store.Tallied
	skipped  int64 // rows that are no records
	unfit    int64 // rows that are refused because of their cells, and not because they come too late
	digest   *digest
	spool    *store.Spool
	report   Report

	// Buffers of same, which dedupe calls.
	sent, maybe []uint64
	kept        []store.Item

	words  map[int64]store.Words // with Order: why the service rejected rows that the file had before it changed
	before *store.Push           // the latest push of this name, if the file has changed since
	// With Order: IDs with a record in doubt that isn't sent again; nor are their later records.
	stuck  map[[16]byte]struct{}
	groups groups // with Order: IDs that have records in common
}

func newAttempt[V any](o *Outbox, p Task[V]) *attempt[V] {
	if p.InFlight == 0 {
		p.InFlight = 32
	}
	if p.RejectsKey == "" {
		p.RejectsKey = p.Name + ".rejects.csv"
	}
	if p.Separator == 0 {
		p.Separator = ','
	}
	if p.Instead == nil {
		p.Instead = func(Rejection) string { return "" }
	}
	if p.Conflict == (Rejection{}) {
		p.Conflict.Reason = "the same record was pushed before with other content"
	}
	w := &attempt[V]{o: o, p: p, states: &store.States{}, refusals: store.Tallied{}, stuck: map[[16]byte]struct{}{},
		words: map[int64]store.Words{}, spool: &store.Spool{Dir: o.o.SpoolDir}}
	w.report.File = File{Name: p.Name}
	return w
}

func (w *attempt[V]) do(ctx context.Context) error {
	err := w.prepare(ctx)
	switch {
	case err == nil && w.report.Same:
		w.resumed.Head.Version, w.report.Version = w.stat.Version, w.stat.Version
		w.lease.Put(w.resumed)
		return nil
	case err == nil:
		w.lease.Put(w.push)
		h := &w.push.Head
		h.Error, h.Version, h.Ended, w.push.States = "", w.stat.Version, time.Time{}, w.states
		err = w.send(ctx)
		h.Counts = w.states.Tally()
		w.report.File = fileOf(w.push)
		return err
	case errors.Is(err, ErrTooMany):
		err = errors.Join(err, w.explain(ctx))
	}
	if lasting(err) { // the next run reads the file again all the same
		if w.push == nil {
			w.push = w.begin()
		}
		w.push.States = w.states
		w.push.Refuse(err, w.report.Rejects)
		w.lease.Put(w.push)
	}
	return err
}

// begin makes a push that starts now, without writing it. Its start is later than those of all
// other pushes, so that their order doesn't depend on the clocks of several machines, or on how
// quickly one push follows another.
func (w *attempt[V]) begin() *store.Push {
	now := time.Now().UTC().Truncate(time.Millisecond)
	for _, p := range w.pushes {
		if next := p.Head.Started.Add(time.Millisecond); now.Before(next) {
			now = next
		}
	}
	return &store.Push{Words: w.words, Sums: map[string]store.Sum{}, Head: store.Head{
		ID: now.Format("20060102T150405.000Z") + "-" + rand.Text()[:10], Name: w.p.Name, Order: w.p.Order,
		Version: w.stat.Version, Digest: w.digest.String(),
		Run: w.o.o.Run, Started: now, Rows: w.digest.records, Skipped: w.skipped, Refusals: w.refusals.List(),
	}}
}
