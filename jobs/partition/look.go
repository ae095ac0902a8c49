package partition

import (
	"context"
	"fmt"
	"slices"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/sinks"
)

// files is what a sink can do whose store knows the version of every part: a bucket of its objects, a Postgres by a table of loads.
// The interface stands here, where it is used, because the engine imports no sink. BigQuery knows no versions of a partition,
// so changes that somebody else makes to its tables aren't noticed.
type files interface {
	// Look gives the condition under which what a partition holds now may be replaced, and nothing that comes later.
	// With own set, this program must have written what is there, else the error is sinks.ErrForeign.
	Look(ctx context.Context, table string, partition civil.Date, own bool) (sinks.Condition, error)

	// List gives everything that a reader of the table finds, whoever put it there, by ascending key.
	List(ctx context.Context, table string) ([]sinks.Object, error)
}

// A listing is what a sink showed of a table, with the sequence numbers of the table's records at that time.
type listing struct {
	objects map[string]sinks.Object // by key
	parts   map[civil.Date]bool
	seqs    map[civil.Date]int
}

// Look lists what each target holds, and gives the partitions of which one holds something else than the record's
// receipt says. Somebody may have deleted, replaced or restored a part; the ledger may be an old copy; or a late write
// may have come through where the store has no conditions. Publish uses what Look has seen. It takes one listing for
// each target.
func (t *Table) Look(ctx context.Context) (map[civil.Date]bool, error) {
	changed := map[civil.Date]bool{}
	for _, target := range t.o.Targets {
		store, ok := target.Sink.(files)
		if !ok {
			continue
		}
		entries := t.Records() // read before the listing, so that newer records aren't compared with it
		objects, err := store.List(ctx, t.Name())
		if err != nil {
			return nil, fmt.Errorf("see what is there of %s: %w", t.Name(), err)
		}
		l := listing{map[string]sinks.Object{}, map[civil.Date]bool{}, map[civil.Date]int{}}
		for _, o := range objects {
			l.objects[o.Key] = o
			l.parts[o.Partition] = true
		}
		for partition, e := range entries {
			l.seqs[partition] = e.Seq
		}
		t.mu.Lock()
		t.seen[target.Identity()] = l
		t.mu.Unlock()
		for partition, e := range entries {
			if t.changed(e, target) {
				changed[partition] = true
			}
		}
	}
	return changed, nil
}

// LetGo forgets what was read of the ledger, and what the targets show, but for the partitions that are to be
// fetched. Nobody may be at work on the table. StillDue and Over read the ledger again.
func (t *Table) LetGo(fetched map[civil.Date]bool) {
	t.Table.LetGo()
	t.mu.Lock()
	defer t.mu.Unlock()
	for target, all := range t.seen {
		l := listing{map[string]sinks.Object{}, map[civil.Date]bool{}, map[civil.Date]int{}}
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

// changed tells whether the target, when Look listed it, showed something else than the record's receipt says.
func (t *Table) changed(e ledger.Record, target ledger.Target) bool {
	t.mu.Lock()
	l, looked := t.seen[target.Identity()]
	t.mu.Unlock()
	r, has := e.Receipt(target)
	if !looked || !has || l.seqs[e.Partition] != e.Seq {
		return false
	}
	o, there := l.objects[r.Key]
	if there && o.Version == "" && r.Version != "" {
		return false // the store knows versions, and can't tell this one any more
	}
	return !there || o.Size != r.Size || r.Version != "" && o.Version != r.Version
}

// shows tells whether one of the targets had a part of the partition when Look listed it.
func (t *Table) shows(partition civil.Date, targets ...ledger.Target) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(targets, func(target ledger.Target) bool { return t.seen[target.Identity()].parts[partition] })
}
