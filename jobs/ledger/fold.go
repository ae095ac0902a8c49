package ledger

import (
	"context"
	"fmt"
	"slices"
)

// defaultFoldAbove is how many objects with records may be loose, unless the ledger's options say otherwise. Each is read by every
// plan, and a fold takes as many calls as some nights of them.
const defaultFoldAbove = 8

// relieveAbove is how many times as many objects one process writes before it folds them in the middle of a run.
const relieveAbove = 16

// sweepAbove is how many times as many claims may wait to be swept: of them plans read the names alone.
const sweepAbove = 4

func segmentKey(table string, n int) string {
	return fmt.Sprintf("tables/%s/segments/%06d.json", table, n)
}

// Fold compacts the table's part of the ledger. When many objects have gathered, it moves the records that newer ones have replaced
// into history, writes the newest ones into one segment, and sweeps released claims, so that planning takes a handful of bucket
// calls however long the table is. Readers and writers may go on meanwhile: records are never changed, and a segment holds
// everything that the one before it held, or newer.
func (t *Table) Fold(ctx context.Context) error {
	if err := t.Refresh(ctx); err != nil {
		return err
	}
	if t.Crowded() {
		if err := t.fold(ctx); err != nil {
			return err
		}
	}
	return t.sweep(ctx, sweepAbove*t.ledger.foldAbove)
}

// Relieve folds while a run goes on, once this process has written several times the records that may be loose: each look at the table
// lists them all, and the looks of a long backfill would take longer the longer it is. What goes wrong does no harm, and Fold at
// the end of the run meets it again.
func (t *Table) Relieve(ctx context.Context) {
	t.mu.Lock()
	wrote := len(t.own)
	t.mu.Unlock()
	if wrote > relieveAbove*t.ledger.foldAbove && t.folding.TryLock() {
		defer t.folding.Unlock()
		_ = t.Fold(ctx)
	}
}

// Crowded tells whether Fold would fold records, as far as this table was read. It asks the store for nothing.
func (t *Table) Crowded() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.loose) > t.ledger.foldAbove
}

// fold writes the next segment and drops the records that are in it and in history. The order matters: what is dropped, and what the
// segment leaves out, is in history before. A fold that was cut short in between is done once more, and history has each line once.
func (t *Table) fold(ctx context.Context) error {
	c, err := t.chains(ctx, everything)
	if err != nil {
		return err
	}
	if c.above == 0 { // others have folded them, and are at it, or were killed before they had dropped them all
		t.dropAll(ctx, c.loose)
		return nil
	}
	var newest, replaced []Record
	for _, chain := range c.records {
		newest = append(newest, chain[len(chain)-1])
		replaced = append(replaced, past(chain)...)
	}
	slices.SortFunc(newest, byPartition)
	if done, err := t.archive(ctx, replaced); err != nil || !done {
		return err
	}
	next := c.segment + 1
	return t.ledger.compact(ctx, t.prefix("segments"), next, newest, func() error {
		t.mu.Lock()
		t.foldedInto(next, newest)
		t.mu.Unlock()
		t.dropAll(ctx, c.loose)
		return t.forget(ctx)
	})
}

// past gives those records of a chain that history keeps: all but the newest, doubts, and fetches in the middle of several that
// brought the same content. The first of those says why and by whom it was brought, and the last how long it was there. Those with an
// event stay.
func past(chain []Record) (kept []Record) {
	newest := chain[len(chain)-1].Seq
	chain = slices.DeleteFunc(slices.Clone(chain), func(e Record) bool { return e.State == Publishing })
	for i, e := range chain {
		brought := e.Since.IsZero() || !e.Since.Before(e.Fetched) || !e.decided().IsZero()
		if i > 0 {
			brought = !sameContent(chain[i-1], e) || events(chain[i-1], e) != nil
		}
		last := i == len(chain)-1 || !sameContent(e, chain[i+1])
		if e.Seq < newest && (brought || last) {
			kept = append(kept, e)
		}
	}
	return kept
}

// sameContent tells whether two records of a partition vouch for the same rows.
func sameContent(a, b Record) bool {
	return a.Hash == b.Hash && a.Rows == b.Rows && a.Shape == b.Shape && a.State == b.State
}
