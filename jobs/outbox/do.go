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
	// Instead returns what the rejects file tells a person to write in place of a wrong cell. A nil
	// Instead means: nothing.
	Instead     func(Rejection) string
	Conflict    Rejection // what the rejects file says about a conflict; zero: a general text
	ParkUnknown bool      // if set, records in doubt are left for a person, and not sent again
	// SendConflicts has a record sent although its ID was sent with other content (with Order: from
	// a later file). Otherwise it is a conflict.
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
	// Quiet is set by a check only: until then, a push would leave the file alone, because the file
	// may still be growing. Zero: a push would take it now.
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
	outbox *Outbox
	task   Task[V]

	lease   *Lease        // nil in a Check, which writes nothing
	stat    Stat          // of the file, from before the first reading
	pushes  []*store.Push // all that the table has
	resumed *store.Push   // the earlier push of this very content; nil: there is none
	push    *store.Push   // resumed, or a new push
	states  *store.States // of the file's rows

	refusals store.ReasonCounts // why rows are refused by the first reading
	skipped  int64              // rows that are no records
	unfit    int64              // rows that are refused because of their cells, and not because they come too late
	digest   *digest            // of the first reading
	spool    *store.Spool       // the rows that aren't refused
	report   Report

	// These are reused buffers of setStatesOfID.
	sent, maybe []uint64     // contents that were sent, and that may have been
	kept        []store.Item // its result

	words    map[int64]store.Words // with Order: why the service rejected rows that the file had before it changed
	previous *store.Push           // the latest push of this name, if the file has changed since
	// stuck is used with Order: the IDs with a record in doubt that isn't sent again. Later records
	// of these IDs aren't sent either.
	stuck  map[[16]byte]struct{}
	groups groups // with Order: IDs that have records in common
}

// newAttempt returns an attempt with the defaults of the task filled in. Nothing is read yet.
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
	w := &attempt[V]{outbox: o, task: p, states: &store.States{}, refusals: store.ReasonCounts{},
		stuck: map[[16]byte]struct{}{}, words: map[int64]store.Words{}, spool: &store.Spool{Dir: o.options.SpoolDir}}
	w.report.File = File{Name: p.Name}
	return w
}

// do prepares the push and, unless the file is finished already, sends its records. A file that
// can't be sent gets its error on record, and its rejects are published.
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
		err = errors.Join(err, w.publishUnsent(ctx))
	}
	if recurs(err) { // the next run reads the file again all the same
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
		ID: now.Format("20060102T150405.000Z") + "-" + rand.Text()[:10], Name: w.task.Name, Order: w.task.Order,
		Version: w.stat.Version, Digest: w.digest.String(),
		Run: w.outbox.options.Run, Started: now, Rows: w.digest.records, Skipped: w.skipped,
		Refusals: w.refusals.List(),
	}}
}
