package partition

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// A listing is what a sink showed of a table, with the sequence numbers of the table's records at that time.
type listing struct {
	objects map[string]sinks.Object // by key
	parts   map[civil.Date]bool
	seqs    map[civil.Date]int

	// table is the whole table, where the store tells of that only. With counted set, the partitions that have rows are among the objects.
	table   sinks.Object
	counted bool
}

// Look asks each target what it holds, and gives the partitions of which one holds something else than the record's
// receipt says. Somebody may have deleted, replaced or restored a part; the ledger may be an old copy; or a late write
// may have come through where the store has no conditions. Publish uses what Look has seen. It takes one call for
// each target, and another one where a table has more rows or fewer than are recorded.
func (t *Table) Look(ctx context.Context) (map[civil.Date]bool, error) {
	for _, target := range t.o.Targets {
		store, ok := target.Sink.(sinks.Holdings)
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
			t.o.Log.Warn("a table has more rows or fewer than are recorded, and which partitions these are isn't known; the command check counts them",
				"job", t.o.Job, "rows", t.listed(target).table.Rows, "error", err)
		}
	}
	changed := map[civil.Date]bool{}
	for partition := range t.Stored() {
		changed[partition] = true
	}
	return changed, nil
}

// Stored says how targets, when Look listed them, held partitions otherwise than recorded. Of those recorded anew since it says nothing.
// Nil: no target has been asked.
func (t *Table) Stored() (changed map[civil.Date]refresh.Condition) {
	records := t.Records()
	for _, target := range t.o.Targets {
		if t.listed(target).objects == nil {
			continue
		}
		if changed == nil {
			changed = map[civil.Date]refresh.Condition{}
		}
		for partition, e := range records {
			if how := t.stored(e, target); how != "" {
				changed[partition] = how
			}
		}
	}
	return changed
}

// Oldest is the oldest partition that one of the targets keeps, as Look or a put has found; zero: one of them keeps all, or wasn't asked.
func (t *Table) Oldest() (first civil.Date) {
	for i, target := range t.o.Targets {
		if oldest := t.listed(target).table.Oldest; i == 0 || oldest.Before(first) {
			first = oldest
		}
	}
	return first
}

// list asks a target what it holds, and gives the records from before that, so that newer ones aren't compared with it.
func (t *Table) list(ctx context.Context, target ledger.Target, store sinks.Holdings) (ledger.Records, error) {
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
	t.keep(target, l)
	return entries, nil
}

// recount counts the partitions of a table that hasn't as many rows as are recorded, or in which a put was cut off, whose rows could stand in
// for others that are gone. It does so once under a name, because that costs money. Without a name it counts in any case. A table without
// rows needs no count.
func (t *Table) recount(ctx context.Context, target ledger.Target, entries ledger.Records, once string) error {
	l := t.listed(target)
	switch counter, ok := target.Sink.(sinks.Counter); {
	case !ok || !l.table.Table || once != "" && t.expects(entries, target) && !inDoubt(entries):
		return nil
	case l.table.Rows == 0:
		l.counted = true
		t.keep(target, l)
		return nil
	case once != "" && t.o.Run == "": // a plan that nobody carries out leaves the day's count to a run
		return errors.New("a run counts them once a day")
	default:
		return t.count(ctx, target, counter, once)
	}
}

func inDoubt(entries ledger.Records) bool {
	for _, e := range entries {
		if e.State == ledger.Publishing {
			return true
		}
	}
	return false
}

// expects tells whether a table has as many rows as the records say. Partitions in doubt may have any number, and so may those that the
// table deletes because of their age. All are to be fetched again when the table is another one.
func (t *Table) expects(entries ledger.Records, target ledger.Target) bool {
	table := t.listed(target).table
	var least, most int64
	doubt := false
	for _, e := range entries {
		r, has := e.Receipt(target)
		switch {
		case e.State == ledger.Publishing || has && r.Version != "" && r.Version != table.Version:
			doubt = true
		case has:
			most += e.Rows
			if table.Oldest.Before(e.Partition) {
				least += e.Rows
			}
		}
	}
	return table.Rows >= least && (doubt || table.Rows <= most)
}

// count adds the rows of single partitions to what is known of a target.
func (t *Table) count(ctx context.Context, target ledger.Target, counter sinks.Counter, once string) error {
	objects, err := counter.Count(ctx, t.Name(), once)
	if err != nil {
		return err
	}
	l := t.listed(target)
	l.counted = true
	for _, o := range objects {
		o.Version = l.table.Version
		l.objects[o.Key] = o
		l.parts[o.Partition] = true
	}
	t.keep(target, l)
	return nil
}

// A Discrepancy is what a target holds of a partition, in words, when that isn't what is recorded.
type Discrepancy struct {
	Partition civil.Date // zero: no record is about it
	Key       string
	Text      string
}

// Discrepancies asks a target what it holds, partition by partition, and gives what isn't as recorded, ascending, with what no record names at
// the end.
func (t *Table) Discrepancies(ctx context.Context, target ledger.Target, store sinks.Holdings) (list []Discrepancy, err error) {
	entries, err := t.list(ctx, target, store)
	if err != nil {
		return nil, err
	}
	err = t.recount(ctx, target, entries, "")
	l, named := t.listed(target), map[string]bool{}
	switch {
	case err != nil && t.expects(entries, target):
		return nil, err
	case err != nil:
		return []Discrepancy{{Key: l.table.Key, Text: fmt.Sprintf("has %d rows, which isn't what the ledger says; where isn't known: %v", l.table.Rows, err)}}, nil
	}
	for _, e := range t.Sorted() {
		r, has := e.Receipt(target)
		named[r.Key] = has
		if !has || !t.changed(entries[e.Partition], target) {
			continue
		}
		o, there := l.object(r)
		d := Discrepancy{e.Partition, r.Key, "is missing"}
		switch {
		case there && o.Counted && o.Rows != e.Rows:
			d.Text = fmt.Sprintf("holds %d rows, the ledger says %d", o.Rows, e.Rows)
		case there:
			d.Text = "isn't what was put there"
		}
		list = append(list, d)
	}
	for _, key := range slices.Sorted(maps.Keys(l.objects)) {
		if !named[key] {
			list = append(list, Discrepancy{Key: key, Text: fmt.Sprintf("has %d rows that no record names", l.objects[key].Rows)})
		}
	}
	return list, nil
}

// listed is what a target showed.
func (t *Table) listed(target ledger.Target) listing {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seen[target.Identity()]
}

func (t *Table) keep(target ledger.Target, l listing) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen[target.Identity()] = l
}

// LetGo forgets what was read of the ledger, and what the targets show, but for the partitions that are to be
// fetched. Nobody may be at work on the table. StillDue and Over read the ledger again.
func (t *Table) LetGo(fetched map[civil.Date]bool) {
	t.Table.LetGo()
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

// changed tells whether the target, when Look listed it, showed something else than the record's receipt says.
func (t *Table) changed(e ledger.Record, target ledger.Target) bool { return t.stored(e, target) != "" }

// stored says how that is something else; empty: it isn't.
func (t *Table) stored(e ledger.Record, target ledger.Target) refresh.Condition {
	t.mu.Lock()
	l, looked := t.seen[target.Identity()]
	t.mu.Unlock()
	r, has := e.Receipt(target)
	if !looked || !has || l.seqs[e.Partition] != e.Seq || l.table.Oldest.IsValid() && !l.table.Oldest.Before(e.Partition) {
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

// object is what the target showed under a receipt's key. A store that tells of whole tables has partitions only for rows.
func (l listing) object(r sinks.Receipt) (o sinks.Object, there bool) {
	if o, there = l.objects[r.Key]; !there && l.table.Table {
		return sinks.Object{Version: l.table.Version, Size: r.Size, Counted: l.counted}, true
	}
	return o, there
}

// shows tells whether one of the targets had a part of the partition when Look listed it.
func (t *Table) shows(partition civil.Date, targets ...ledger.Target) bool {
	return slices.ContainsFunc(targets, func(target ledger.Target) bool { return t.listed(target).parts[partition] })
}

// refuses remembers that a target keeps no partition before the oldest.
func (t *Table) refuses(target ledger.Target, oldest civil.Date) {
	l := t.listed(target)
	l.table.Oldest = oldest
	t.keep(target, l)
}

// kept is the window without the partitions that no target would keep. They are told of, and that is an error when
// nothing else is due, unless all of them were fetched before.
func (t *Table) kept(w refresh.Window) (refresh.Window, error) {
	var left, old []refresh.Due
	oldest := t.Oldest()
	for _, d := range w.Due {
		if d.Partition.Before(oldest) {
			old = append(old, d)
		} else {
			left = append(left, d)
		}
	}
	if len(old) == 0 {
		return w, nil
	}
	w.Due = left
	err := fmt.Errorf("fetch %s of %s: %w; nothing was fetched", old[0].Partition, t.Name(), &sinks.NotKept{
		Oldest: oldest, Because: "the table deletes them because of their age; let it keep them for longer, or begin later",
	})
	asked := func(d refresh.Due) bool {
		e, _ := t.Record(d.Partition)
		return slices.Contains([]refresh.Reason{refresh.Missing, refresh.Forced, refresh.Unsunk}, d.Reason) || d.Reason == refresh.Interrupted && e.Unfetched()
	}
	if len(left) == 0 && slices.ContainsFunc(old, asked) {
		return w, err
	}
	t.o.Log.Warn("partitions are too old for the table", "job", t.o.Job, "partitions", len(old), "error", err)
	return w, nil
}

// fit brings the settings of the targets' tables to the schema, which a put would have done. That can wait, so that a failure is told only.
func (t *Table) fit(ctx context.Context, schema *sinks.Schema, warn func(error)) {
	for _, target := range t.o.Targets {
		if sink, ok := target.Sink.(sinks.Configurer); ok {
			if err := sink.Configure(ctx, t.Name(), schema, warn); err != nil && ctx.Err() == nil {
				warn(err)
			}
		}
	}
}
