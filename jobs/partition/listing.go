package partition

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// A listing is what a sink showed of a table, with the sequence numbers of the table's records at
// that time.
type listing struct {
	objects map[string]sinks.Object // by key
	parts   map[civil.Date]bool     // the partitions of these objects
	seqs    map[civil.Date]int      // the sequence numbers of the records

	table   sinks.Object // the whole table, if the store lists nothing smaller; otherwise zero
	counted bool         // the rows of the whole table were counted, and its partitions with rows are in objects
}

// FindChanged asks each target what it holds, and returns the partitions for which a target holds
// something else than the record's receipt says. Somebody may have deleted, replaced or restored a
// part; the ledger may be an old copy; or a late write may have come through where the store has no
// conditions. Publish uses what was listed. FindChanged makes one call for each target, and another
// one where a table has more rows or fewer than are recorded.
func (t *Table) FindChanged(ctx context.Context) (map[civil.Date]bool, error) {
	for _, target := range t.o.Targets {
		store, ok := target.Sink.(sinks.Lister)
		if !ok {
			continue
		}
		entries, err := t.list(ctx, target, store)
		if err != nil {
			return nil, err
		}
		if err := t.recount(ctx, target, entries, time.Now().UTC().Format(time.DateOnly)); ctx.Err() != nil {
			return nil, ctx.Err()
		} else if err != nil && !t.expects(entries, target) {
			t.o.Log.Warn("a table has more rows or fewer than are recorded, and which partitions these are isn't "+
				"known; the command check counts them",
				"job", t.o.Job, "rows", t.listingOf(target).table.Rows, "error", err)
		}
	}
	changed := map[civil.Date]bool{}
	for partition := range t.Stored() {
		changed[partition] = true
	}
	return changed, nil
}

// Stored returns the partitions that targets held otherwise than recorded when FindChanged listed
// them, and how. Partitions that were recorded since, or that a run has leased, aren't among them.
// Stored returns nil if no target has been listed.
func (t *Table) Stored() (changed map[civil.Date]refresh.Condition) {
	records := t.Records()
	for _, target := range t.o.Targets {
		if t.listingOf(target).objects == nil {
			continue
		}
		if changed == nil {
			changed = map[civil.Date]refresh.Condition{}
		}
		for partition, e := range records {
			if how := t.storedCondition(e, target); how != "" && !t.Leased(partition) {
				changed[partition] = how
			}
		}
	}
	return changed
}

// Oldest returns the oldest partition that one of the targets keeps, as FindChanged or a put has
// found, or zero if one of them keeps all or wasn't asked.
func (t *Table) Oldest() (first civil.Date) {
	for i, target := range t.o.Targets {
		if oldest := t.listingOf(target).table.Oldest; i == 0 || oldest.Before(first) {
			first = oldest
		}
	}
	return first
}

// list asks a target what it holds, and returns the records from before that, so that newer ones
// aren't compared with the listing.
func (t *Table) list(ctx context.Context, target ledger.Target, store sinks.Lister) (ledger.Records, error) {
	entries := t.Records()
	objects, err := store.List(ctx, t.Name())
	if err != nil {
		return nil, fmt.Errorf("see what is there of %s: %w", t.Name(), err)
	}
	l := listing{objects: map[string]sinks.Object{}, parts: map[civil.Date]bool{}, seqs: map[civil.Date]int{}}
	for _, o := range objects {
		if o.Table {
			l.table = o
			continue
		}
		l.objects[o.Key] = o
		l.parts[o.Partition] = true
	}
	if sink, ok := target.Sink.(sinks.Configurer); ok && t.o.Warehouse != nil && l.table.Oldest.IsValid() {
		if l.table.Oldest, err = sink.Oldest(ctx, t.Name(), t.o.Warehouse.Expiration); err != nil {
			return nil, fmt.Errorf("see what %s keeps of %s: %w", target.Name, t.Name(), err)
		}
	}
	for partition, e := range entries {
		l.seqs[partition] = e.Seq
	}
	t.setListing(target, l)
	return entries, nil
}
