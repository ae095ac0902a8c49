package partition

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/reportferry/reportferry/internal/panics"
	"github.com/reportferry/reportferry/internal/telemetry/step"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// OnEmpty says what happens to a partition that had rows when an answer has none.
type OnEmpty string

// The choices. A partition that never had rows is recorded as empty under each of them, unless a
// sink shows a part that no record names: then it fails, except under ClearEmpty.
const (
	GuardEmpty OnEmpty = "guard" // the partition fails, the old rows stay
	ClearEmpty OnEmpty = "clear" // zero rows are published
	KeepEmpty  OnEmpty = "keep"  // the old rows stay, and the record says so
)

// A Publication is one fetched partition on its way to the sinks and the ledger.
type Publication struct {
	Part     sinks.Part
	Base     ledger.Record // the partition's record before the fetch, as Begin gave it; the zero one: there was none
	Run      string
	Reason   refresh.Reason
	Fetched  time.Time         // start of the first request
	Replayed time.Time         // when a kept answer was read again; zero: it wasn't
	Cause    string            // what the answer was, for the case that there are no rows
	Shape    string            // ID of the shape of the part's columns
	Sums     map[string]string // of the rows, by column
	Finality string            // of the fetch: see refresh.Finality
	Control  *ledger.Control   // nil: there are no totals to compare with
	Raw      []string          // keys of the kept answers
	Scope    string            // as Answer has it
	Hidden   []string          // as Answer has it
	Falling  []string          // columns that may fall though nothing is lost
	OnEmpty  OnEmpty
	// Guard is a share: an answer that takes away more of the rows, or of a metric, is held back;
	// 0: no answer is held back for that.
	Guard float64
	Again bool // put it whatever the ledger says the sinks hold, and over what others put there

	// Warn is called with problems that do no harm, such as what a sink couldn't tidy up or can't
	// promise. It may be nil.
	Warn func(error)
}

// decideEmpty decides what becomes of an answer without rows, and sets the record's state by that.
// recordOnly says that nothing is to be put, and only the record is left to write.
func (t *Table) decideEmpty(e *ledger.Record, p Publication) (recordOnly bool, err error) {
	old := p.Base
	had := old.Rows > 0
	e.Cause = p.Cause
	switch {
	case had && p.OnEmpty == KeepEmpty && (old.State == ledger.Publishing ||
		slices.ContainsFunc(t.o.Targets, func(target ledger.Target) bool {
			return t.changed(old, target)
		})):
		return false, fmt.Errorf("put %s/%s: %w (%s), and which rows the sinks show isn't known, so that none can "+
			"be kept; "+
			"the next run tries again", t.Name(), e.Partition, ErrEmptied, p.Cause)
	case had && p.OnEmpty == KeepEmpty:
		e.State, e.Rows, e.Hash, e.Shape = ledger.Kept, old.Rows, old.Hash, old.Shape
		e.Sums, e.Receipts = old.Sums, old.Receipts
		e.Since, e.Finality, e.Control, e.Raw = old.Since, old.Finality, old.Control, old.Raw
		return true, nil
	case had && p.OnEmpty == ClearEmpty:
		e.State = ledger.Cleared
	case had:
		return false, fmt.Errorf("put %s/%s: %w (%s) where %d were recorded on %s; the old rows stay; if they "+
			"should go, "+
			"set on_empty: clear", t.Name(), e.Partition, ErrEmptied, p.Cause, old.Rows,
			old.Fetched.UTC().Format(time.DateOnly))
	case old.Seq > 0 && old.State !=
		ledger.Empty: // it was cleared before, so the sinks still show zero rows, or it is in doubt
		e.State = ledger.Cleared
	case old.Seq == 0 && t.shows(e.Partition, t.o.Targets...):
		if p.OnEmpty != ClearEmpty {
			return false, fmt.Errorf("put %s/%s: %w (%s) where a sink shows a part that no record names; it stays; "+
				"if it "+
				"should go, set on_empty: clear", t.Name(), e.Partition, ErrEmptied, p.Cause)
		}
		e.State = ledger.Cleared
	case old.State == ledger.Publishing: // a first put may have come through since the sinks were looked at
		e.State = ledger.Cleared
	default:
		e.State = ledger.Empty
		return true, nil
	}
	return false, nil
}

// compareContent sets in a record since when the content has been there, and whether it moved: that
// is, whether it differs from final content before it.
//
//   - Added columns change the content, and may bring rows of their own, without any number having
//     moved. Then only the sums of the columns that both contents have are compared.
//   - Nothing is compared if the numbers mean something else by now.
//   - A replayed answer moved nothing either: the service gave it before, and the content has been
//     there again only since the replay.
func compareContent(e *ledger.Record, old ledger.Record, replayed time.Time) {
	switch same := old.Hash == e.Hash && old.Rows == e.Rows; {
	case old.Seq == 0 || old.State == ledger.Publishing:
		return
	case e.Reason == string(refresh.Rebased):
		e.Moved = false
		return
	case same && old.Shape == e.Shape:
		e.Since = old.Since
		if old.Since.IsZero() {
			e.Since = old.Fetched
		}
		e.Accepted = old.Accepted
		return
	case !replayed.IsZero():
		e.Since = replayed
		return
	case old.Shape != e.Shape && SumsAgree(old.Sums, e.Sums):
		return
	}
	e.Moved = e.Moved || wasFinal(old, e)
}

// countDays sets in a record on how many days the service was asked again about a partition whose
// rows differ from the service's totals, or that has none, and how many of the last of these days
// brought the same.
func countDays(e *ledger.Record, old ledger.Record) {
	empty := e.State == ledger.Empty && old.State == ledger.Empty
	if differs := e.Differs() && old.Differs(); !empty && !differs {
		return
	}
	same := e.Hash == old.Hash && e.Rows == old.Rows && e.Shape == old.Shape &&
		(empty || reflect.DeepEqual(e.Control, old.Control))
	e.Asked, e.Same = old.Asked, old.Same
	if day(e.Fetched) != day(old.Fetched) {
		e.Asked, e.Same = e.Asked+1, e.Same+1
	}
	if !same {
		e.Same = 0
	}
}

// repeats tells whether a replay gave what is recorded already, so that no new record is needed.
func repeats(e, old ledger.Record) bool {
	return e.Reason == string(refresh.Replayed) && e.State == old.State && e.Hash == old.Hash && e.Rows == old.Rows &&
		e.Shape == old.Shape && e.Fetched.Equal(old.Fetched) && len(e.Receipts) == len(old.Receipts)
}

// SumsAgree tells whether the sums of the columns that are in both a and b are equal. A sum of
// doubles, which is known by its digits, was rounded and may differ by a part in 10^12.
func SumsAgree(a, b map[string]string) bool {
	for name, text := range a {
		x, ok := new(big.Rat).SetString(text)
		y, both := new(big.Rat).SetString(b[name])
		if !ok || !both {
			continue
		}
		off := new(big.Rat).Sub(x, y)
		if rounded(text) || rounded(b[name]) {
			off.Mul(off, big.NewRat(1e12, 1))
			if off.Abs(off).Cmp(x.Abs(x)) <= 0 {
				continue
			}
		}
		if off.Sign() != 0 {
			return false
		}
	}
	return true
}

// rounded tells whether a sum is one of doubles: an exact sum has at most the six decimals of an
// amount.
func rounded(sum string) bool {
	_, places, _ := strings.Cut(sum, ".")
	return len(places) > 6 || strings.ContainsAny(sum, "eE")
}

// moved tells whether a fetch brought other numbers than the final ones that were recorded before
// it.
func (t *Table) moved(old ledger.Record, fetched time.Time) bool {
	e, _ := t.Record(old.Partition)
	return wasFinal(old, &e) && e.Moved && e.Since.Equal(fetched)
}

// wasFinal tells whether the old record was final. Records of earlier versions don't say so, but
// the reason for fetching their partitions again may.
func wasFinal(old ledger.Record, e *ledger.Record) bool {
	return old.Finality == refresh.Final || old.Seq > 0 && e.Reason == string(refresh.Drifted)
}

// keepReceipts keeps the receipts of targets that hold e's content already, and returns the other
// targets.
func (t *Table) keepReceipts(e *ledger.Record, old ledger.Record) (stale []ledger.Target) {
	same := old.State != ledger.Publishing && old.Hash == e.Hash && old.Rows == e.Rows && old.Shape == e.Shape
	for _, target := range t.o.Targets {
		if r, has := old.Receipt(target); same && has && !t.changed(old, target) {
			e.Receipts = append(e.Receipts, r)
		} else {
			stale = append(stale, target)
		}
	}
	return stale
}

// conditions sets, for each target of the attempt, what the part may replace: what the ledger's
// receipt names, or what is there now if the ledger doesn't know.
func (t *Table) conditions(ctx context.Context, a *attempt) error {
	p := a.Publication
	a.conditions = make([]sinks.Condition, len(a.targets))
	for i, target := range a.targets {
		r, has := p.Base.Receipt(target)
		store, conditional := target.Sink.(sinks.Conditional)
		switch {
		case !conditional: // the sink replaces partitions by other means
		case !p.Again && has && r.Version != "" && p.Base.State != ledger.Publishing && !t.changed(p.Base, target):
			a.conditions[i].Version = r.Version
		case !p.Again && !has && p.Base.State != ledger.Publishing && !t.shows(p.Part.Partition, target):
			a.conditions[i].Absent = true
		default:
			var err error
			// The ledger doesn't know, so the target is asked.
			vouched := has && r.Version == "" // a receipt of an earlier version: this program wrote what is there
			if a.conditions[i], err = store.ConditionOf(ctx, p.Part.Table, p.Part.Partition, !p.Again &&
				!vouched); err != nil {
				return &SinkError{err}
			}
			a.asked = true
		}
	}
	return nil
}

// A SinkError is an error of a sink, wrapped so that it can be told from errors of the ledger.
type SinkError struct{ Err error }

func (e *SinkError) Error() string { return e.Err.Error() }
func (e *SinkError) Unwrap() error { return e.Err }

// put puts the part into each target that lacks it, and adds the receipts to the record. The size
// is summed over all targets.
func (t *Table) put(ctx context.Context, guard *putGuard, a *attempt) (size int64, err error) {
	part := a.Part
	put := false
	defer func() {
		if !put {
			guard.lease.Unput(part.Partition)
		}
	}()
	part.Warn, part.Lease, part.Earlier = a.Warn, guard.lease.Token(), guard.lease.Earlier(part.Partition)
	for i, target := range a.targets {
		// The lease must last, and the target must hold what the condition says.
		guarded, err := guard.allow(ctx, target)
		if err != nil {
			return 0, fmt.Errorf("put %s/%s: %w", part.Table, part.Partition, err)
		}
		part.Over = a.conditions[i]
		guard.lease.Putting(part.Partition)
		within, about := step.Begin(guarded, step.Put)
		var r sinks.Receipt
		err = panics.Caught(fmt.Sprintf("put %s/%s", part.Table, part.Partition),
			func() (err error) { r, err = target.Sink.Put(within, part); return err })
		about.Set(attribute.String("reportferry.partition", part.Partition.String()),
			attribute.String("reportferry.sink", target.Name), attribute.Int64("reportferry.size", r.Size))
		about.End(err)
		// A target that deletes so old a partition needn't hold it, if others may.
		var old *sinks.NotKept
		if errors.As(err, &old) {
			t.noteOldest(target, old.Oldest)
			if len(t.o.Targets) > 1 || t.o.derived { // others may keep it, or it is derived and not waited for
				r, err = sinks.Receipt{}, nil
				if a.Warn != nil {
					a.Warn(fmt.Errorf("put %s/%s: %s has no rows of it: %w", part.Table, part.Partition, target.Name,
						old))
				}
			}
		}
		if cause := context.Cause(guarded); err != nil && errors.Is(cause, ledger.ErrLost) {
			err = fmt.Errorf("%w: %w", err, cause)
		}
		put = put || err == nil || !errors.Is(err, sinks.ErrConflict) && !errors.Is(err, sinks.ErrUnchanged)
		if errors.Is(err, sinks.ErrConflict) {
			return 0, fmt.Errorf("%w; the next run fetches the partition again: %w", err, ledger.ErrLost)
		}
		if err != nil {
			return 0, &SinkError{err}
		}
		r.Sink, r.Store = target.Name, target.Identity()
		a.record.Receipts = append(a.record.Receipts, r)
		size += r.Size
	}
	return size, nil
}

// ErrEmptied says that an answer without rows isn't published, because rows are recorded or a sink
// shows some, and that the partition fails by on_empty.
var ErrEmptied = errors.New("the answer has no rows")
