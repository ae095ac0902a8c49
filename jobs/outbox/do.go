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

	// Send sends a record, and is asked once for each in a run: it repeats by itself what may be
	// repeated. resent counts the requests after one that may have been taken. Several records are
	// sent at once.
	Send     func(context.Context, V) (resent int, err error)
	InFlight int                     // how many; 0: 32
	Tally    func(V) (string, int64) // key and amount of a record in File.Sums; nil: no sums

	Quiet time.Duration // a file that was modified more recently is left for the next run; 0: none is
	// Of rows that can be no records; with more the file looks like another kind of file, and
	// nothing of it is sent. nil: no limit.
	MaxRejects *Most
	RejectsKey string // of the rejects file; empty: Name and ".rejects.csv"
	Separator  rune   // between its cells, as between those of the file; 0: a comma
	// What a person writes there in the place of what isn't right; nil: nothing is said.
	Instead     func(Rejection) string
	Conflict    Rejection // what the rejects file says of a conflict; zero: a general text
	ParkUnknown bool      // leave records in doubt for a person, instead of sending them again
	// Send a record whose ID was sent with other content (with Order: from a later file), instead
	// of rejecting it.
	SendConflicts bool

	// Order makes the rows of one ID keep their places: each is sent, also one that equals an
	// earlier one, and none before those above it, and those of files of a lesser Order, are
	// acknowledged. Files of the same Order come as they are pushed. Empty: rows of one ID and one
	// Content are one record, which is sent once, whatever is sent before it.
	Order string

	Again bool // read a file that ended though its version is the same: what is a good record may be another now

}

// A Report is what came of a push, or of a check.
type Report struct {
	File
	Same    bool  // finished before with this content: nothing was done
	Changed bool  // the name is known with other content
	Sent    int64 // records that Send was asked to send in this run
	Resent  int64 // requests for records that the service may have had
	Spool   int64 // bytes of disk used
	Index   int64 // bytes read of what was pushed before
	// Of a check: a push leaves the file until then, because it may still be growing; zero: it
	// doesn't.
	Quiet time.Time
}

// Do pushes what is missing of a file, under the table's lease and in its context: it reads the
// file, finds what was sent already, sends the rest, and writes the rejects. Doing it twice equals
// doing it once. When it ends early, what became of each record is on record and the next Do goes
// on.
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

// A attempt is one Do or Check.
type attempt[V any] struct {
	o *Outbox
	p Task[V]

	lease   *Lease // nil: it is a Check, and nothing is kept
	stat    Stat
	pushes  []*store.Push
	resumed *store.Push // the push of this very content; nil: there is none
	push    *store.Push // the same, or a new one
	states  *store.States

	refusals store.Tallied
	skipped  int64 // rows that are no records
	unfit    int64 // rows that are refused for what stands in them, and not because they come too late
	digest   *digest
	spool    *store.Spool
	report   Report

	sent, maybe []uint64 // of dedupe
	kept        []store.Item

	words  map[int64]store.Words // with Order: what the service said of rows that the file had before, too
	before *store.Push           // with Order: the file as it was, when it has changed
	// With Order: IDs that have a record in doubt which isn't sent; no later one of theirs is.
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

// begin makes a push that begins now. It starts after all others, so that their order doesn't
// depend on the clocks of several machines, or on how quickly one push follows another. Nothing is
// written.
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
