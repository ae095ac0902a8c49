package outbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox/store"
)

// A Task says what to do with one file.
type Task[V any] struct {
	Name   string // of the file, the same in every run; it is logged
	Source Source[V]

	// Send sends a record, and is asked once for each in a run: it repeats by itself what may be repeated. resent counts
	// the requests after one that may have been taken. Several records are sent at once.
	Send     func(context.Context, V) (resent int, err error)
	InFlight int                     // how many; 0: 32
	Tally    func(V) (string, int64) // key and amount of a record in File.Sums; nil: no sums

	Quiet         time.Duration          // a file that was modified more recently is left for the next run; 0: none is
	MaxRejects    *Most                  // nil: no limit
	RejectsKey    string                 // of the rejects file; empty: Name and ".rejects.csv"
	Separator     rune                   // between its cells, as between those of the file; 0: a comma
	Instead       func(Rejection) string // what a person writes there in the place of what isn't right; nil: nothing is said
	Conflict      Rejection              // what the rejects file says of a conflict; zero: a general text
	ParkUnknown   bool                   // leave records in doubt for a person, instead of sending them again
	SendConflicts bool                   // send a record whose ID was sent with other content (with Order: from a later file), instead of rejecting it

	// Order makes the rows of one ID keep their places: each is sent, also one that equals an earlier one, and none before
	// those above it, and those of files of a lesser Order, are acknowledged. Files of the same Order come as they are pushed.
	// Empty: rows of one ID and one Content are one record, which is sent once, whatever is sent before it.
	Order string

	Again bool // read a file that ended though its version is the same: what is a good record may be another now

	Observe func(File) // called after each segment, and waited for; nil: nobody looks
}

// A Report is what came of a push, or of a check.
type Report struct {
	File
	Same    bool      // finished before with this content: nothing was done
	Changed bool      // the name is known with other content
	Sent    int64     // records that Send was asked to send in this run
	Resent  int64     // requests for records that the service may have had
	Spool   int64     // bytes of disk used
	Quiet   time.Time // of a check: a push leaves the file until then, because it may still be growing; zero: it doesn't
	Index   int64     // bytes read of what was pushed before
}

// Do pushes what is missing of a file, under the table's claim, named ClaimName: it reads the file, finds what was sent already, sends the rest, and writes the
// rejects. Doing it twice equals doing it once. When it ends early, what became of each record is on record and the next Do goes on.
func Do[V any](ctx context.Context, claim *ledger.Claim, o *Outbox, p Task[V]) (report Report, err error) {
	h, err := under(ctx, claim)
	if err != nil {
		return Report{}, fmt.Errorf("push %s: %w", p.Name, err)
	}
	defer h.free()
	w := newWork(o, p)
	defer w.spool.Close()
	err = w.do(h)
	if cause := context.Cause(h.lease); cause != nil {
		err = errors.Join(cause, err)
	}
	if err != nil {
		err = fmt.Errorf("push %s: %w", p.Name, err)
	}
	return w.report, err
}

// Check does what Do does up to the sending, and writes nothing: neither the ledger nor the rejects.
func Check[V any](ctx context.Context, o *Outbox, p Task[V]) (Report, error) {
	w := newWork(o, p)
	w.check = true
	defer w.spool.Close()
	if err := w.prepare(ctx, nil); err != nil {
		return w.report, fmt.Errorf("check %s: %w", p.Name, err)
	}
	return w.report, nil
}

// A work is one Do or Check.
type work[V any] struct {
	o *Outbox
	p Task[V]

	check   bool
	stat    Stat
	pushes  []*store.Push
	orphans []*store.Push
	resumed *store.Push // the push of this very content; nil: there is none
	states  *store.States

	refusals store.Tallied
	skipped  int64 // rows that are no records
	digest   *digest
	spool    *store.Spool
	report   Report

	sent, maybe []uint64 // of judge
	kept        []store.Item

	words  map[int64]store.Words // with Order: what the service said of rows that the file had before, too
	before *store.Push           // with Order: the file as it was, when it has changed
	stuck  map[[16]byte]struct{} // with Order: IDs that have a record in doubt which isn't sent; no later one of theirs is
	groups groups                // with Order: IDs that have records in common
}

func newWork[V any](o *Outbox, p Task[V]) *work[V] {
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
	w := &work[V]{o: o, p: p, states: &store.States{}, refusals: store.Tallied{}, stuck: map[[16]byte]struct{}{}, words: map[int64]store.Words{}, spool: &store.Spool{Dir: o.o.SpoolDir}}
	w.report.File = File{Name: p.Name}
	return w
}

func (w *work[V]) do(h hold) error {
	fresh := &store.Push{}
	var ix *store.IndexWriter
	begin := func() (*store.IndexWriter, error) {
		w.begin(fresh)
		err := w.o.table.Append(h.ctx, fresh, fresh.Whole(w.o.o.Run))
		if err != nil {
			return nil, err
		}
		ix, err = w.o.table.WriteIndex(h.ctx, fresh)
		return ix, err
	}
	err := w.prepare(h.ctx, begin)
	switch {
	case err != nil && ix != nil:
		ix.Drop()
		fallthrough
	case err != nil:
		var unexplained error
		if errors.Is(err, ErrTooMany) {
			unexplained = w.explain(h.ctx)
		}
		if lasting(err) {
			err = errors.Join(err, unexplained, w.refuse(h.ctx, fresh, err))
		}
		return err
	}
	w.o.sweepOrphans(h.ctx, w.orphans, w.p.Name, time.Now())
	if w.report.Same {
		return w.touch(h.ctx)
	}
	p := w.resumed
	if p == nil {
		if err := ix.Commit(&fresh.Head); err != nil {
			return fmt.Errorf("write %s: %w", w.o.table.Location(fresh), err)
		}
		fresh.Words, fresh.Sums = w.words, map[string]store.Sum{}
		p = fresh
	}
	p.Head.Error = ""
	p.States, p.Head.Version, p.Head.Ended, p.Run = w.states, w.stat.Version, time.Time{}, w.o.o.Run
	err = w.send(h, p)
	w.report.File = fileOf(p, w.states.Tally())
	return err
}

// begin makes the head of a push that begins now. Nothing is written.
func (w *work[V]) begin(p *store.Push) {
	started := w.start(time.Now().UTC())
	p.ID = started.Format("20060102T150405.000Z") + "-" + w.digest.String()
	p.Head = store.Head{Name: w.p.Name, Order: w.p.Order, Version: w.stat.Version, Digest: w.digest.String(), Started: started, Rows: w.digest.records, Skipped: w.skipped}
	p.Head.Refusals = w.refusals.List()
}

// start is when a push starts by its ID, to the millisecond. It is after all other pushes, so that their order doesn't depend
// on the clocks of several machines, or on how quickly one push follows another.
func (w *work[V]) start(now time.Time) time.Time {
	now = now.Truncate(time.Millisecond)
	for _, p := range slices.Concat(w.pushes, w.orphans) {
		if next := p.Head.Started.Add(time.Millisecond); now.Before(next) {
			now = next
		}
	}
	return now
}
