package partition

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/sinks"
)

// recount counts the rows of each partition if the table hasn't as many rows as are recorded, or if
// a put was cut off, whose rows could make up for others that are gone. Because counting costs
// money, it is done once for each value of once, such as a day; with once empty it is always done.
// A table without rows needs no count.
func (t *Table) recount(ctx context.Context, target ledger.Target, entries ledger.Records, once string) error {
	l := t.listingOf(target)
	switch counter, ok := target.Sink.(sinks.Counter); {
	case !ok || !l.table.Table || once != "" && t.expects(entries, target) && !inDoubt(entries):
		return nil
	case l.table.Rows == 0:
		l.counted = true
		t.setListing(target, l)
		return nil
	case once != "" && t.o.Run == "": // a plan that nobody carries out leaves the day's count to a run
		return errors.New("a run counts them once a day")
	default:
		return t.count(ctx, target, counter, once)
	}
}

// expects tells whether a table has as many rows as the records say. Partitions in doubt may have
// any number, and so may those that the table deletes because of their age. Partitions whose
// receipt is of another table under this name count as in doubt; they are fetched again anyway.
func (t *Table) expects(entries ledger.Records, target ledger.Target) bool {
	table := t.listingOf(target).table
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

// count asks a target for the rows of each partition, and adds them to what is known of the target.
func (t *Table) count(ctx context.Context, target ledger.Target, counter sinks.Counter, once string) error {
	objects, err := counter.Count(ctx, t.Name(), once)
	if err != nil {
		return err
	}
	l := t.listingOf(target)
	l.counted = true
	for _, o := range objects {
		o.Version = l.table.Version
		l.objects[o.Key] = o
		l.parts[o.Partition] = true
	}
	t.setListing(target, l)
	return nil
}

// A Discrepancy is what a target holds of a partition, in words, when that isn't what is recorded.
type Discrepancy struct {
	Partition civil.Date // zero: no record is about it
	Key       string
	Text      string
}

// Discrepancies asks a target what it holds, partition by partition, and returns what isn't as
// recorded, in ascending order. What no record names comes at the end.
func (t *Table) Discrepancies(ctx context.Context, target ledger.Target, store sinks.Lister) (list []Discrepancy,
	err error) {
	entries, err := t.list(ctx, target, store)
	if err != nil {
		return nil, err
	}
	err = t.recount(ctx, target, entries, "")
	l, named := t.listingOf(target), map[string]bool{}
	switch {
	case err != nil && t.expects(entries, target):
		return nil, err
	case err != nil:
		return []Discrepancy{{Key: l.table.Key, Text: fmt.Sprintf("has %d rows, which isn't what the ledger says; "+
			"where isn't known: %v", l.table.Rows, err)}}, nil
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
			list = append(list, Discrepancy{Key: key, Text: fmt.Sprintf("has %d rows that no record names",
				l.objects[key].Rows)})
		}
	}
	return list, nil
}
