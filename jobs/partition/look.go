package partition

import (
	"context"
	"fmt"
	"slices"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/sinks"
)

// files is what a sink can whose readers find files and not rows: its store knows which version of an object is there. The
// interface stands here, where it is used, because the engine imports no sink. The bucket's sink has it; BigQuery knows no
// versions of a partition, so what somebody else does to its tables isn't noticed.
type files interface {
	// Look gives the condition that allows what a partition holds now, and nothing that comes after it. With own set,
	// what is there must have been written by this program, else the error is sinks.ErrForeign.
	Look(ctx context.Context, table string, partition civil.Date, own bool) (sinks.Condition, error)

	// List gives everything that a reader of the table finds, whoever put it there, by ascending key.
	List(ctx context.Context, table string) ([]sinks.Object, error)
}

// A listing is what a sink showed of a table, and the numbers of the records that the table had then.
type listing struct {
	objects map[string]sinks.Object // by key
	parts   map[civil.Date]bool
	seqs    map[civil.Date]int
}

// Look lists what the targets hold and gives the partitions of which one holds something else than the record's receipt
// says, or nothing: somebody deleted, replaced or restored a part, the ledger is an old copy, or a late write came through
// where the store has no preconditions. It is one listing a target. What the kind then publishes knows of it.
func (t *Table) Look(ctx context.Context) (map[civil.Date]bool, error) {
	changed := map[civil.Date]bool{}
	for _, target := range t.o.Targets {
		store, ok := target.Sink.(files)
		if !ok {
			continue
		}
		entries := t.Records() // before the listing: what is recorded after it isn't held against it
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

// changed tells whether the target showed something else, when it was looked at, than a record's receipt says.
func (t *Table) changed(e ledger.Record, target ledger.Target) bool {
	t.mu.Lock()
	l, looked := t.seen[target.Identity()]
	t.mu.Unlock()
	r, has := e.Receipt(target)
	if !looked || !has || l.seqs[e.Partition] != e.Seq {
		return false
	}
	o, there := l.objects[r.Key]
	return !there || o.Size != r.Size || r.Version != "" && o.Version != r.Version
}

// shows tells whether one of the targets showed a part of the partition when it was looked at.
func (t *Table) shows(partition civil.Date, targets ...ledger.Target) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(targets, func(target ledger.Target) bool { return t.seen[target.Identity()].parts[partition] })
}
