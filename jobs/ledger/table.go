package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"cloud.google.com/go/civil"
	"golang.org/x/sync/errgroup"
)

// readers is how many objects of a table are read at once: half of those that may wait to be folded.
const readers = defaultFoldAbove / 2

// A Table is what the ledger holds of one table, as last read. It is safe for concurrent use.
type Table struct {
	ledger *Ledger
	name   string

	folding sync.Mutex // held by Relieve

	mu      sync.Mutex
	entries Records           // the newest record of each partition
	loose   map[string]bool   // keys of records that are objects of their own, not folded yet; all are in entries
	own     map[string]Record // the records that this process created, until they are folded, by key: they needn't be read
	segment int               // the highest segment, 0 for none
	shapes  map[string]Shape
}

// Table reads what the ledger holds of a table. A damaged object is a *DamagedError.
func (l *Ledger) Table(ctx context.Context, name string) (*Table, error) {
	t := &Table{
		ledger: l, name: name, entries: Records{}, loose: map[string]bool{}, own: map[string]Record{}, shapes: map[string]Shape{},
	}
	return t, t.Refresh(ctx)
}

// Name is the table's name.
func (t *Table) Name() string { return t.name }

// Records is a copy of the newest records.
func (t *Table) Records() Records {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.entries)
}

// Record is the newest record of a partition.
func (t *Table) Record(partition civil.Date) (Record, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.entries[partition]
	return e, ok
}

// Refresh reads what other processes have recorded since.
func (t *Table) Refresh(ctx context.Context) error {
	// An object may be folded into a segment and deleted between the listing and the reading. The listing is repeated
	// then.
	const tries = 5
	var err error
	for range tries {
		if err = t.refresh(ctx); !isNotFound(err) {
			return err
		}
	}
	return err
}

func (t *Table) refresh(ctx context.Context) error {
	// The order matters. Records are listed first: what is folded away after that listing is in the segment that the
	// second listing shows. The segment is read before the records, because it says which of them needn't be read: a
	// compactor deletes them one after the other meanwhile.
	keys, err := t.ledger.list(ctx, t.prefix("partitions"))
	if err != nil {
		return err
	}
	segments, err := t.ledger.list(ctx, t.prefix("segments"))
	if err != nil {
		return err
	}
	if err := t.readSegment(ctx, highest(segments)); err != nil {
		return err
	}
	return t.readEntries(ctx, keys)
}

func (t *Table) prefix(kind string) string { return "tables/" + t.name + "/" + kind + "/" }

func (t *Table) readSegment(ctx context.Context, n int) error {
	t.mu.Lock()
	old := t.segment
	t.mu.Unlock()
	if n <= old {
		return nil
	}
	var folded []Record
	if err := t.ledger.read(ctx, segmentKey(t.name, n), &folded); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.foldedInto(n, folded)
	return nil
}

// foldedInto takes the records of segment n. What this process wrote and is in it, or replaced by it, isn't kept any longer, whether its
// object could be deleted or not. The caller holds mu.
func (t *Table) foldedInto(n int, records []Record) {
	t.segment = max(t.segment, n)
	seqs := map[civil.Date]int{}
	for _, e := range records {
		t.keep(e)
		seqs[e.Partition] = e.Seq
	}
	maps.DeleteFunc(t.own, func(_ string, e Record) bool { return e.Seq <= seqs[e.Partition] })
}

func (t *Table) readEntries(ctx context.Context, keys []string) error {
	loose := map[string]bool{}
	newest := map[civil.Date]int{}
	for _, key := range keys {
		if partition, seq, ok := parseEntryKey(key); ok {
			loose[key] = true
			newest[partition] = max(newest[partition], seq)
		}
	}
	var unread []string
	t.mu.Lock()
	for partition, seq := range newest {
		if t.entries[partition].Seq < seq {
			unread = append(unread, entryKey(t.name, partition, seq))
		}
	}
	segment := t.segment
	t.mu.Unlock()
	slices.Sort(unread) // so that every run names the same damaged object first

	read := make([]Record, len(unread))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readers)
	for i, key := range unread {
		g.Go(func() error {
			e, ours := t.wrote(key)
			if ours {
				read[i] = e
			} else if err := t.ledger.read(ctx, key, &read[i]); err != nil {
				return err
			}
			return t.check(key, read[i], segment)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range read {
		t.keep(e)
	}
	t.loose = loose // set only after they were read: Fold drops what is loose, and folds what was read
	return nil
}

// belongs finds a record under the key of another one.
func (t *Table) belongs(key string, e Record) error {
	if want := entryKey(t.name, e.Partition, e.Seq); want != key {
		return &DamagedError{Location: t.ledger.location(key), Err: fmt.Errorf("its content belongs under %s", want)}
	}
	return nil
}

// check finds records that don't belong: under the key of another one, or written above a segment that is gone.
func (t *Table) check(key string, e Record, segment int) error {
	if err := t.belongs(key, e); err != nil {
		return err
	}
	if e.Segment > segment {
		return t.gone(segmentKey(t.name, e.Segment), key)
	}
	return nil
}

// gone is the error of an object that isn't there, though another object says that it was.
func (t *Table) gone(key, witness string) error {
	return &DamagedError{
		Location: t.ledger.location(key), Err: fmt.Errorf("%s names it", witness), Gone: t.ledger.location("tables/" + t.name),
	}
}

// keep takes a record when it is the newest of its partition. The caller holds mu.
func (t *Table) keep(e Record) {
	if t.entries[e.Partition].Seq < e.Seq {
		t.entries[e.Partition] = e
	}
}

func highest(keys []string) int {
	top := 0
	for _, key := range keys {
		if n, ok := numbered(key); ok {
			top = max(top, n)
		}
	}
	return top
}

// Sorted are the newest records, by partition.
func (t *Table) Sorted() []Record {
	entries := t.Records()
	return slices.SortedFunc(maps.Values(entries), func(a, b Record) int { return a.Partition.Compare(b.Partition) })
}
