package partition

import (
	"slices"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// listingOf returns what a target showed when it was listed, or a zero listing if it wasn't.
func (t *Table) listingOf(target ledger.Target) listing {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.listings[target.Identity()]
}

// setListing remembers what a target showed.
func (t *Table) setListing(target ledger.Target, l listing) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.listings[target.Identity()] = l
}

// Release forgets what was read from the ledger, and what the targets showed, except for the
// partitions that are to be fetched. Nobody may be at work on the table. Begin reads the ledger
// again.
func (t *Table) Release(fetched map[civil.Date]bool) {
	t.Table.Release()
	t.mu.Lock()
	defer t.mu.Unlock()
	for target, all := range t.listings {
		l := listing{map[string]sinks.Object{}, map[civil.Date]bool{}, map[civil.Date]int{}, all.table, all.counted}
		for key, o := range all.objects {
			if fetched[o.Partition] {
				l.objects[key] = o
			}
		}
		for partition := range fetched {
			if all.parts[partition] {
				l.parts[partition] = true
			}
			if seq, recorded := all.seqs[partition]; recorded {
				l.seqs[partition] = seq
			}
		}
		t.listings[target] = l
	}
}

// changed tells whether the target, when FindChanged listed it, showed something else than the
// record's receipt says.
func (t *Table) changed(e ledger.Record, target ledger.Target) bool {
	return t.storedCondition(e, target) != ""
}

// storedCondition returns refresh.Deleted or refresh.Replaced if what the target showed isn't what
// the record's receipt says, and otherwise "". Nothing is compared if the put is in doubt, if the
// partition was recorded again since, or if it is too old for the table.
func (t *Table) storedCondition(e ledger.Record, target ledger.Target) refresh.Condition {
	t.mu.Lock()
	l, known := t.listings[target.Identity()]
	t.mu.Unlock()
	r, has := e.Receipt(target)
	if !known || !has || e.Doubt || l.seqs[e.Partition] != e.Seq || l.table.Oldest.IsValid() &&
		!l.table.Oldest.Before(e.Partition) {
		return ""
	}
	o, there := l.object(r)
	switch {
	case !there:
		return refresh.Deleted
	case o.Version == "" && r.Version != "":
		return "" // the store knows versions, and can't tell this one any more
	case r.Version != "" && o.Version != r.Version:
		return refresh.Replaced
	case o.Counted && o.Rows == e.Rows || !o.Counted && o.Size == r.Size:
		return ""
	case o.Counted && o.Rows == 0:
		return refresh.Deleted
	}
	return refresh.Replaced
}

// object returns what the target showed under a receipt's key. A store that shows whole tables
// lists no partition without rows; for one that isn't listed, the result has the table's version.
func (l listing) object(r sinks.Receipt) (o sinks.Object, there bool) {
	if o, there = l.objects[r.Key]; !there && l.table.Table {
		return sinks.Object{Version: l.table.Version, Size: r.Size, Counted: l.counted}, true
	}
	return o, there
}

// shows tells whether one of the targets had a part of the partition when FindChanged listed it.
func (t *Table) shows(partition civil.Date, targets ...ledger.Target) bool {
	return slices.ContainsFunc(targets, func(target ledger.Target) bool { return t.listingOf(target).parts[partition] })
}

// inDoubt tells whether a put was cut off in any partition.
func inDoubt(entries ledger.Records) bool {
	for _, e := range entries {
		if e.State == ledger.Publishing {
			return true
		}
	}
	return false
}
