package partition

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// Derived returns a table whose rows are derived from this one's records. It goes to the same
// targets in the same way, and is recorded in the same documents. Nothing of it is held back, and
// an empty partition replaces what was there: what is derived is right, however much less it is.
func (t *Table) Derived(kind string) *Table {
	o := t.o
	derived := t.Table.Derived(kind)
	o.Name, o.OnEmpty, o.Guard, o.derived = derived.Name(), ClearEmpty, 0, true
	return newTable(derived, o)
}

// PutRows makes typed rows the whole content of partitions that this program derives from what it
// has recorded. Unlike with Deliver, what all targets hold already is neither put nor recorded
// again: a record of another look at it would tell nothing. The rows must have been derived after
// the table was read. The error is a *ledger.HeldError, or ledger.ErrLost, if another run is
// putting rows or has put some since; then the rows have to be derived anew.
func (t *Table) PutRows(ctx context.Context, d Definition, partitions []civil.Date, rows [][]any,
	at time.Time) (err error) {
	if len(partitions) == 0 {
		return nil
	}
	conv, err := t.Converter(d, partitions)
	if err != nil {
		return err
	}
	defer conv.Abort()
	if err := conv.Rows(ctx, rows); err != nil {
		return err
	}
	parts, err := conv.Finish()
	if err != nil {
		return err
	}
	var fresh []table.Part
	var w refresh.Window
	records := t.Records()
	for _, part := range parts {
		defer part.Remove()
		part.Nulls = nil // NULLs are intended here
		e := records[part.Partition]
		if t.holds(e, part, d.Shape) {
			continue
		}
		fresh = append(fresh, part)
		w.Due = append(w.Due, refresh.Due{Partition: part.Partition, Seq: e.Seq})
	}
	if len(fresh) == 0 {
		return nil
	}
	w, l, err := t.Begin(ctx, w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.End(ctx)) }()
	if len(w.Due) < len(fresh) {
		return fmt.Errorf("put rows into %s: another run has just put some: %w", t.Name(), ledger.ErrLost)
	}
	if err := t.SaveShape(ctx, d.Shape); err != nil {
		return err
	}
	_, err = t.Deliver(ctx, l, d, w, Answer{Parts: fresh, Fetched: at})
	return err
}

// holds tells whether every target has the rows of a part already.
func (t *Table) holds(old ledger.Record, part table.Part, s ledger.Shape) bool {
	e := ledger.Record{Rows: part.Rows, Hash: part.Hash, Shape: s.ID()}
	return !t.o.Again && old.Seq > 0 && len(t.keepReceipts(&e, old)) == 0
}
