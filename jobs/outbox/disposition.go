package outbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/reportferry/reportferry/jobs/outbox/store"
)

// Check does what Do does before it sends, and writes nothing, neither to the ledger nor to the
// rejects file. Unless each is nil, Check then reads the file once more and calls each for every
// row, with what would become of it.
func Check[V any](ctx context.Context, o *Outbox, p Task[V], each func(*Record[V], Disposition)) (Report, error) {
	w := newAttempt(o, p)
	defer w.spool.Close()
	var err error
	if w.pushes, err = o.table.Pushes(ctx, (*store.Push).Live); err == nil {
		err = w.prepare(ctx)
	}
	if err == nil && w.report.Same {
		w.states, err = o.table.Rows(ctx, w.resumed)
	}
	if each != nil && (err == nil || errors.Is(err, ErrTooMany)) {
		err = errors.Join(err, p.Source.Read(ctx, false, func(r *Record[V]) error {
			each(r, w.disposition(r))
			return nil
		}))
	}
	if err != nil {
		err = fmt.Errorf("check %s: %w", p.Name, err)
	}
	return w.report, err
}

// A Disposition is what would become of a row, as Check says it.
type Disposition string

// The dispositions.
const (
	ToSend         Disposition = "to send"    // it would be sent, or is in doubt
	SentBefore     Disposition = "accepted"   // the service accepted it in an earlier run
	RejectedBefore Disposition = "rejected"   // the service rejected it in an earlier run
	IsDuplicate    Disposition = "duplicates" // see store.Duplicate
	IsConflict     Disposition = "conflicts"  // see store.Conflict
	IsRefused      Disposition = "refused"    // the kind of job refuses it (Record.Refusal)
	IsSkipped      Disposition = "skipped"    // it is no record (Record.Skipped)
)

// disposition returns what would become of a row, or what became of it in an earlier run.
func (w *attempt[V]) disposition(r *Record[V]) Disposition {
	disposition, known := map[store.State]Disposition{
		store.Accepted: SentBefore, store.Rejected: RejectedBefore, store.Refused: IsRefused,
		store.Duplicate: IsDuplicate, store.Conflict: IsConflict,
	}[w.states.Get(r.Row)&^store.Doubt]
	switch {
	case r.Skipped != "":
		return IsSkipped
	case known:
		return disposition
	case !w.report.Same || !w.resumed.Head.Pruned:
		return ToSend
	case r.Refusal != nil && !r.Expired: // the states of single rows have been pruned
		return IsRefused
	}
	return SentBefore
}
