package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/reportferry/reportferry/sinks"
)

// A Target is a sink of a job under the name that receipts carry.
type Target struct {
	Name string // the sink's URL without what may be secret
	Sink sinks.Sink
}

// OnEmpty says what becomes of a partition that had rows when the answer has none.
type OnEmpty string

// The choices. A partition that never had rows is recorded as empty under each of them.
const (
	GuardEmpty OnEmpty = "guard" // the partition fails, the old rows stay
	ClearEmpty OnEmpty = "clear" // zero rows are published
	KeepEmpty  OnEmpty = "keep"  // the old rows stay, and the record says so
)

// A Publication is one fetched partition on its way to the sinks and the ledger.
type Publication struct {
	Part    sinks.Part
	Run     string
	Fetched time.Time // start of the first request
	Cause   string    // of zero rows: what the answer was
	Shape   string
	Sums    map[string]string
	OnEmpty OnEmpty
	Again   bool // put it whatever the ledger says the sinks hold

	// Warn hears of what a sink couldn't tidy up after the record, which does no harm; nil: nobody.
	Warn func(error)
}

// Publish puts a partition where it belongs and records it: the last two steps of the way of the data, in the one
// order that loses nothing. Content that a sink holds already isn't put again, unless its shape is another one: the same
// cells in files with other columns or another meaning.
func (t *Table) Publish(ctx context.Context, c *Claim, p Publication, targets []Target) (State, int64, error) {
	old, existed := t.Entry(p.Part.Partition)
	had := existed && old.Rows > 0
	e := Entry{
		Partition: p.Part.Partition, Run: p.Run, Fetched: p.Fetched, State: Written,
		Rows: p.Part.Rows, Hash: p.Part.Hash, Shape: p.Shape, Sums: p.Sums,
	}
	if p.Part.Rows == 0 {
		e.Cause = p.Cause
		switch {
		case !had && !existed, !had && old.State == Empty:
			e.State = Empty
			return Empty, 0, t.Record(ctx, e)
		case !had: // cleared before, and zero rows are still what the sinks show
			e.State = Cleared
		case p.OnEmpty == KeepEmpty:
			e.State, e.Rows, e.Hash, e.Shape = Kept, old.Rows, old.Hash, old.Shape
			e.Sums, e.Receipts = old.Sums, old.Receipts
			return Kept, 0, t.Record(ctx, e)
		case p.OnEmpty == ClearEmpty:
			e.State = Cleared
		default:
			return "", 0, fmt.Errorf("put %s/%s: %w (%s) where %d were recorded on %s; the old rows "+
				"stay; if they should go, set on_empty: clear", t.name, e.Partition, ErrEmptied, p.Cause, old.Rows,
				old.Fetched.UTC().Format(time.DateOnly))
		}
	}
	stale := targets
	if !p.Again {
		stale = e.keepReceipts(old, targets)
	}
	if len(stale) > 0 && existed {
		// What a sink holds is in doubt from here to the record. Said beforehand, a crash in between can't make the
		// older record vouch for rows that are gone (content A, then B put and not recorded, then A again).
		doubt := e
		doubt.State, doubt.Hash, doubt.Rows, doubt.Sums = Publishing, "", max(old.Rows, e.Rows), nil
		if err := t.Record(ctx, doubt); err != nil {
			return "", 0, err
		}
	}
	size, err := e.put(ctx, c, p.Part, stale)
	if err != nil {
		return "", 0, err
	}
	if err := t.Record(ctx, e); err != nil {
		return "", 0, err
	}
	if len(stale) == 0 {
		return Unchanged, 0, nil
	}
	p.settle(ctx, stale)
	return e.State, size, nil
}

// settle tells the sinks that what they hold is recorded.
func (p Publication) settle(ctx context.Context, targets []Target) {
	for _, target := range targets {
		settler, ok := target.Sink.(sinks.Settler)
		if !ok {
			continue
		}
		if err := settler.Settle(ctx, p.Part); err != nil && p.Warn != nil {
			p.Warn(err)
		}
	}
}

// Unchanged is what Publish says of content that every sink held already. It is never recorded.
const Unchanged State = "unchanged"

// keepReceipts takes over the receipts of targets that hold e's content already, and gives the other targets.
func (e *Entry) keepReceipts(old Entry, targets []Target) (stale []Target) {
	same := old.State != Publishing && old.Hash == e.Hash && old.Rows == e.Rows && old.Shape == e.Shape
	for _, target := range targets {
		i := slices.IndexFunc(old.Receipts, func(r sinks.Receipt) bool { return r.Sink == target.Name })
		if same && i >= 0 {
			e.Receipts = append(e.Receipts, old.Receipts[i])
		} else {
			stale = append(stale, target)
		}
	}
	return stale
}

// A SinkError is what a sink's Put says, and says who says it.
type SinkError struct{ Err error }

func (e *SinkError) Error() string { return e.Err.Error() }
func (e *SinkError) Unwrap() error { return e.Err }

// put gives the part to each target and adds the receipts. Bytes are counted over all targets.
func (e *Entry) put(ctx context.Context, c *Claim, part sinks.Part, targets []Target) (size int64, err error) {
	for _, target := range targets {
		guarded, done, err := c.Guard(ctx)
		if err != nil {
			return 0, fmt.Errorf("put %s/%s: %w", part.Table, part.Partition, err)
		}
		r, err := target.Sink.Put(guarded, part)
		if cause := context.Cause(guarded); err != nil && errors.Is(cause, ErrLost) {
			err = fmt.Errorf("%w: %w", err, cause)
		}
		done()
		if err != nil {
			return 0, &SinkError{err}
		}
		r.Sink = target.Name
		e.Receipts = append(e.Receipts, r)
		size += r.Size
	}
	return size, nil
}
