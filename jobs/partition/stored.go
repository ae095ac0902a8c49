package partition

import (
	"slices"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// listed returns what a target showed when it was listed.
func (t *Table) listed(target ledger.Target) listing {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seen[target.Identity()]
}

// keep remembers what a target showed.
func (t *Table) keep(target ledger.Target, l listing) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen[target.Identity()] = l
}

// Release forgets what was read from the ledger, and what the targets showed, except for the
// partitions that are to be fetched. Nobody may be at work on the table. Begin reads the ledger
// again.
func (t *Table) Release(fetched map[civil.Date]bool) {
	t.Table.Release()
	t.mu.Lock()
	defer t.mu.Unlock()
	for target, all := range t.seen {
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
		t.seen[target] = l
	}
}

// changed tells whether the target, when FindChanged listed it, showed something else than the
// record's receipt says.
func (t *Table) changed(e ledger.Record, target ledger.Target) bool { return t.stored(e, target) != "" }

// stored returns how what the target showed differs from the record's receipt, or "" if it doesn't.
func (t *Table) stored(e ledger.Record, target ledger.Target) refresh.Condition {
	t.mu.Lock()
	l, looked := t.seen[target.Identity()]
	t.mu.Unlock()
	r, has := e.Receipt(target)
	if !looked || !has || e.Doubt || l.seqs[e.Partition] != e.Seq || l.table.Oldest.IsValid() &&
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
	return slices.ContainsFunc(targets, func(target ledger.Target) bool { return t.listed(target).parts[partition] })
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
