package partition

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/sinks"
)

// A Result is what became of a publication.
type Result struct {
	State ledger.State
	Size  int64            // bytes put, summed over all targets
	Held  *ledger.HeldBack // the answer isn't published; nil: it is
	Err   error
}

// errLeft says that a publication wasn't tried, because the claim was lost at one before it, or ctx is over.
var errLeft = errors.New("left for the next run")

// Publish publishes one partition, as PublishAll does.
func (t *Table) Publish(ctx context.Context, c ledger.Hold, p Publication) (ledger.State, int64, error) {
	r := t.PublishAll(ctx, c, []Publication{p})[0]
	return r.State, r.Size, r.Err
}

// PublishAll puts partitions into their sinks and records them: the last two steps of the way of the data, in the one order
// that loses nothing. Content that a sink holds already isn't put again, unless its shape differs: the same cells in a
// file with other columns or another meaning.
//
//	look at sinks in doubt ─ see that tables fit ─ give notice of a rebaseline ─ record the doubts ─ put, each on its condition ─ record
//
// Each step stands on the one before it. The conditions are those from before the doubts were recorded, so that an older
// put fails once somebody has recorded a newer doubt. The last record is written on top of the doubt. Whoever loses
// at the put or at the record leaves the partition in doubt, and the next run fetches it again: also where somebody else
// has recorded it meanwhile, when the put may have come after theirs. After a partition that
// fails the others go on, but not after the claim is lost or ctx is over: those that are left stay in doubt.
func (t *Table) PublishAll(ctx context.Context, c ledger.Hold, list []Publication) []Result {
	results := make([]Result, len(list))
	courses := make([]*course, len(list))
	for i := range list {
		w := &course{Publication: &list[i], Result: &results[i]}
		courses[i] = w
		if ctx.Err() != nil {
			w.Err = errors.Join(errLeft, ctx.Err())
			continue
		}
		if w.Err = t.prepare(ctx, w); w.Err == nil && w.puts() {
			w.Err = t.takes(ctx, w.Part, w.stale)
		}
	}
	// From here to the record it is in doubt what a sink holds, and the ledger says so beforehand. Otherwise, after a
	// crash, an older record would vouch for rows that are gone (content A; then B, put and not recorded; then A again:
	// nothing would be put), and a partition without a record would pass for an empty one.
	t.giveNotice(ctx, courses)
	lost := t.record(ctx, courses, func(w *course) *ledger.Record {
		if w.puts() {
			return &w.doubt
		}
		return w.only
	})
	t.putAll(ctx, c, courses, lost)
	t.record(ctx, courses, func(w *course) *ledger.Record {
		if w.puts() {
			return &w.e
		}
		return nil
	})
	for _, w := range courses {
		if w.Err != nil {
			w.State, w.Size = "", 0
		}
		if w.placed && w.Err != nil && (errors.Is(w.Err, ledger.ErrLost) || c.Leased() != nil) {
			w.Err = errors.Join(w.Err, t.Doubt(ctx, w.doubt))
		}
	}
	return results
}

// together is what a sink can do for which parts that are put at the same time are less work: it makes them visible in one go.
type together interface {
	// Together is how many it is worth to put at a time.
	Together() int
}

// putAll puts what is to be put, one after the other, or as many at a time as is worth it for a target. Once the claim is lost, or ctx
// is over, it begins no more.
func (t *Table) putAll(ctx context.Context, c ledger.Hold, courses []*course, over bool) {
	var lost atomic.Bool
	lost.Store(over)
	queue := make(chan *course, len(courses))
	for _, w := range courses {
		if w.puts() && w.Err == nil {
			queue <- w
		}
	}
	close(queue)
	atOnce := 1
	for _, target := range t.o.Targets {
		if sink, ok := target.Sink.(together); ok {
			atOnce = max(atOnce, sink.Together())
		}
	}
	var workers sync.WaitGroup
	for range min(atOnce, len(queue)) {
		workers.Go(func() {
			by := &warrant{hold: c}
			defer by.close()
			for w := range queue {
				if lost.Load() || ctx.Err() != nil {
					w.Err = errors.Join(errLeft, ctx.Err())
					continue
				}
				w.e.After = w.doubt.Seq
				w.Size, w.Err = t.put(ctx, by, w)
				w.placed = w.placed || w.Err == nil
				if errors.Is(w.Err, ledger.ErrLost) {
					lost.Store(true)
				}
			}
		})
	}
	workers.Wait()
}

// A course is a publication under way.
type course struct {
	*Publication
	*Result
	e     ledger.Record     // what is to be recorded in the end
	doubt ledger.Record     // what is to be recorded before the put
	stale []ledger.Target   // to which it is to be put
	over  []sinks.Condition // under which, by target
	only  *ledger.Record    // e, when that is all that is to be done

	placed bool // the targets have taken it, or a target without conditions may have
}

func (w *course) puts() bool { return len(w.stale) > 0 }

// record records something of each course that hasn't failed. It answers true when another process has the window by now.
func (t *Table) record(ctx context.Context, courses []*course, what func(*course) *ledger.Record) (lost bool) {
	var list []ledger.Record
	var of []*course
	for _, w := range courses {
		if e := what(w); e != nil && w.Err == nil {
			list, of = append(list, *e), append(of, w)
		}
	}
	for i, err := range t.CommitAll(ctx, list) {
		*what(of[i]), of[i].Err = list[i], err
		lost = lost || errors.Is(err, ledger.ErrLost)
	}
	return lost
}

// prepare decides what is to be done of a publication.
func (t *Table) prepare(ctx context.Context, w *course) error {
	p, old := w.Publication, w.Base
	w.e = ledger.Record{
		Partition: p.Part.Partition, After: old.Seq, Run: p.Run, Fetched: p.Fetched, State: ledger.Written,
		Rows: p.Part.Rows, Hash: p.Part.Hash, Shape: p.Shape, Sums: p.Sums,
		Reason: string(p.Reason), Finality: p.Finality, Control: p.Control, Raw: p.Raw, Scope: cmp.Or(p.Scope, old.Scope), Since: p.Fetched, Moved: old.Moved,
	}
	compare(&w.e, old, p.Replayed)
	if p.Part.Rows == 0 {
		over, err := t.empty(&w.e, *p)
		w.State = w.e.State
		if err != nil || over && repeats(w.e, old) {
			return err
		}
		if over {
			count(&w.e, old)
			w.only = &w.e
			return nil
		}
	}
	if w.Held = hold(p, &w.e); w.Held != nil {
		kept := old
		kept.After, kept.HeldBack = old.Seq, w.Held
		w.only = &kept
		return nil
	}
	count(&w.e, old)
	w.stale = t.o.Targets
	if !p.Again {
		w.stale = t.keepReceipts(&w.e, old)
	}
	if !w.puts() {
		w.State = ledger.Unchanged
		if !repeats(w.e, old) {
			w.only = &w.e
		}
		return nil
	}
	w.State = w.e.State
	w.doubt = w.e
	w.doubt.State, w.doubt.Hash, w.doubt.Rows = ledger.Publishing, "", max(old.Rows, w.e.Rows)
	w.doubt.Raw = nil
	var err error
	w.over, err = t.conditions(ctx, *p, w.stale)
	return err
}
