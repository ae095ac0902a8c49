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
	Held  *ledger.HeldBack // why the answer isn't published; nil: it wasn't held back
	Err   error
}

// errLeft says that a publication wasn't tried, because one before it lost the lease, or ctx is
// over.
var errLeft = errors.New("left for the next run")

// Publish publishes one partition, as PublishAll does.
func (t *Table) Publish(ctx context.Context, l *ledger.Lease, p Publication) (ledger.State, int64, error) {
	r := t.PublishAll(ctx, l, []Publication{p})[0]
	return r.State, r.Size, r.Err
}

// PublishAll puts partitions into their sinks and records them: the last two steps of the way of
// the data, in the one order that loses nothing. Content that a sink holds already isn't put again,
// unless its shape differs: the same cells in a file with other columns or another meaning.
//
//	leased ─ look at sinks in doubt ─ see that tables fit ─ give notice of a rebaseline ─┐
//	               record ─ put, each on its condition ◀─────────────────────────────────┘
//
// Each step relies on the one before it:
//
//   - The condition of a put comes from the record that was there when the lease began. For a
//     partition in doubt it comes from a look at the sink, after which the lease is read once more:
//     a run that takes the partition over later also looks later, so that the second of the two
//     puts fails. Otherwise a run that slept between its look and its put would put old rows over
//     newer ones.
//   - A run that loses at the put or at the record leaves the partition in doubt, and the next run
//     fetches it again, even if another run has recorded it meanwhile: the lost put may have come
//     after that run's.
//   - When a partition fails, the others go on, but not after the lease is lost or ctx is over.
func (t *Table) PublishAll(ctx context.Context, l *ledger.Lease, list []Publication) []Result {
	results := make([]Result, len(list))
	attempts := make([]*attempt, len(list))
	asked := false
	for i := range list {
		a := &attempt{Publication: &list[i], Result: &results[i]}
		attempts[i] = a
		if ctx.Err() != nil {
			a.Err = errors.Join(errLeft, ctx.Err())
			continue
		}
		if a.Err = t.prepare(ctx, a); a.Err == nil && a.puts() {
			a.Err = t.takes(ctx, a.Part, a.targets)
		}
		asked = asked || a.asked
	}
	t.callBeforeRebaseline(ctx, attempts)
	var lost error
	if asked {
		lost = l.Check(ctx)
	}
	t.putAll(ctx, l, attempts, lost)
	t.recordAll(ctx, l, attempts)
	for _, a := range attempts {
		if a.Err != nil {
			a.State, a.Size = "", 0
		}
	}
	return results
}

// batchSink is an optional interface of sinks for which parts that are put at the same time are
// less work, because the sink makes them visible in one go.
type batchSink interface {
	// Together returns how many parts are worth putting at a time.
	Together() int
}

// putAll puts what is to be put, one after the other, or as many at a time as is worth it for a
// target. Once the lease is lost, or ctx is over, it begins no more. If refusal isn't nil, it puts
// nothing, and refusal becomes the error of each attempt.
func (t *Table) putAll(ctx context.Context, l *ledger.Lease, attempts []*attempt, refusal error) {
	var lost atomic.Bool
	queue := make(chan *attempt, len(attempts))
	for _, a := range attempts {
		if a.puts() && a.Err == nil {
			if a.Err = refusal; refusal == nil {
				queue <- a
			}
		}
	}
	close(queue)
	atOnce := 1
	for _, target := range t.o.Targets {
		if sink, ok := target.Sink.(batchSink); ok {
			atOnce = max(atOnce, sink.Together())
		}
	}
	var workers sync.WaitGroup
	for range min(atOnce, len(queue)) {
		workers.Go(func() {
			guard := &putGuard{lease: l}
			defer guard.close()
			for a := range queue {
				if lost.Load() || ctx.Err() != nil {
					a.Err = errors.Join(errLeft, ctx.Err())
					continue
				}
				if a.Size, a.Err = t.put(ctx, guard, a); errors.Is(a.Err, ledger.ErrLost) {
					lost.Store(true)
				}
			}
		})
	}
	workers.Wait()
}

// An attempt is a publication under way.
type attempt struct {
	*Publication
	*Result
	record     ledger.Record     // what is to be recorded
	recorded   bool              // it is recorded already
	targets    []ledger.Target   // the targets that the part is to be put into
	conditions []sinks.Condition // the conditions of these puts, in the order of targets
	asked      bool              // some of the conditions come from asking a target what it holds now
}

// puts tells whether the part is to be put into any target.
func (a *attempt) puts() bool { return len(a.targets) > 0 }

// recordAll records each attempt that hasn't failed.
func (t *Table) recordAll(ctx context.Context, l *ledger.Lease, attempts []*attempt) {
	var list []ledger.Record
	var recording []*attempt
	for _, a := range attempts {
		if a.Err == nil && !a.recorded {
			list, recording = append(list, a.record), append(recording, a)
		}
	}
	for i, err := range t.CommitAll(ctx, l, list) {
		recording[i].Err = err
	}
}

// prepare decides what is to be put and recorded for a publication.
func (t *Table) prepare(ctx context.Context, a *attempt) error {
	p, old := a.Publication, a.Base
	a.record = ledger.Record{
		Partition: p.Part.Partition, After: old.Seq, Run: p.Run, Fetched: p.Fetched, State: ledger.Written,
		Rows: p.Part.Rows, Hash: p.Part.Hash, Shape: p.Shape, Sums: p.Sums,
		Reason: string(p.Reason), Finality: p.Finality, Control: p.Control, Raw: p.Raw,
		Scope: cmp.Or(p.Scope, old.Scope), Since: p.Fetched, Moved: old.Moved,
	}
	compareContent(&a.record, old, p.Replayed)
	// An answer without rows may leave nothing to put.
	if p.Part.Rows == 0 {
		recordOnly, err := t.decideEmpty(&a.record, *p)
		a.State = a.record.State
		if err != nil || recordOnly && repeats(a.record, old) {
			a.recorded = true
			return err
		}
		if recordOnly {
			countDays(&a.record, old)
			return nil
		}
	}
	// While an answer is held back, the record stays, and only says that.
	if a.Held = hold(p, &a.record); a.Held != nil {
		a.record, _ = t.Recorded(old.Partition)
		a.record.After, a.record.HeldBack, a.record.Doubt = old.Seq, a.Held, old.Doubt
		return nil
	}
	countDays(&a.record, old)
	// The part is put into the targets that don't hold its content yet.
	a.targets = t.o.Targets
	if !p.Again {
		a.targets = t.keepReceipts(&a.record, old)
	}
	if !a.puts() {
		a.State, a.recorded = ledger.Unchanged, repeats(a.record, old)
		return nil
	}
	a.State = a.record.State
	return t.conditions(ctx, a)
}
