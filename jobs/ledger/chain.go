package ledger

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"cloud.google.com/go/civil"
	"golang.org/x/sync/errgroup"
)

// Chains are the records of a table that history doesn't have to itself: those of the segment that holds, and on top of each the
// records that are objects of their own.
type chains struct {
	segment int                     // the highest; 0: none
	loose   []string                // keys of all records that are objects of their own
	records map[civil.Date][]Record // by partition, ascending by sequence number
	above   int                     // how many of them are above the segment
}

// chains reads the records of partitions that within accepts. It reads each of them, unlike Refresh, which reads the newest alone.
func (t *Table) chains(ctx context.Context, within func(civil.Date) bool) (c chains, err error) {
	// A segment may be replaced between the listing and the reading, and a listing of several pages may miss what was created
	// behind its back. Both are over when it is repeated. Where a person has deleted a record, a number stays missing.
	const tries = 5
	for range tries {
		var whole bool
		if c, whole, err = t.readChains(ctx, within); err == nil && whole || err != nil && !isNotFound(err) {
			return c, err
		}
	}
	return c, err
}

// readChains reads them once. The order matters: a record under a number that was used, folded and deleted before is below the
// segment's, and it is told from the others because the segments are listed after it was read. A compactor may be deleting records
// meanwhile, for minutes when there are many: what is gone by then, the segment holds, or something newer of the partition.
func (t *Table) readChains(ctx context.Context, within func(civil.Date) bool) (c chains, whole bool, err error) {
	keys, err := t.ledger.list(ctx, t.prefix("partitions"))
	if err != nil {
		return c, false, err
	}
	keys = slices.DeleteFunc(keys, func(key string) bool { _, _, ok := parseEntryKey(key); return !ok })
	loose, dropped, err := t.readLoose(ctx, keys, within)
	if err != nil {
		return c, false, err
	}
	segments, err := t.ledger.list(ctx, t.prefix("segments"))
	if err != nil {
		return c, false, err
	}
	c = chains{segment: highest(segments), loose: keys, records: map[civil.Date][]Record{}}
	var folded []Record
	if c.segment > 0 {
		if err := t.ledger.read(ctx, segmentKey(t.name, c.segment), &folded); err != nil {
			return c, false, err
		}
	}
	for _, e := range folded {
		if within(e.Partition) {
			c.records[e.Partition] = []Record{e}
		}
	}
	whole = true
	for _, e := range loose {
		if err := t.check(entryKey(t.name, e.Partition, e.Seq), e, c.segment); err != nil {
			return c, false, err
		}
		chain := c.records[e.Partition]
		last := 0
		if len(chain) > 0 {
			last = chain[len(chain)-1].Seq
		}
		if e.Seq <= last {
			continue // folded before, or void
		}
		whole = whole && e.Seq == last+1
		c.records[e.Partition] = append(chain, e)
		c.above++
	}
	for partition, seq := range dropped {
		chain := c.records[partition]
		whole = whole && len(chain) > 0 && chain[len(chain)-1].Seq >= seq
	}
	return c, whole, nil
}

// readLoose reads records by their keys, ascending by partition and number. Of those that are gone by now it gives the highest
// number of each partition.
func (t *Table) readLoose(ctx context.Context, keys []string, within func(civil.Date) bool) (read []Record, dropped map[civil.Date]int, err error) {
	newest := map[civil.Date]int{}
	for _, key := range keys {
		partition, seq, _ := parseEntryKey(key)
		newest[partition] = max(newest[partition], seq)
	}
	keys = slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
		partition, _, _ := parseEntryKey(key)
		return !within(partition)
	})
	read = make([]Record, len(keys))
	there := make([]bool, len(keys))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readers)
	for i, key := range keys {
		if e, ours := t.wrote(key); ours {
			read[i], there[i] = e, true
			continue
		}
		g.Go(func() error {
			err := t.ledger.read(ctx, key, &read[i])
			if isNotFound(err) {
				return nil
			}
			there[i] = err == nil
			if err == nil {
				err = t.belongs(key, read[i])
			}
			partition, seq, _ := parseEntryKey(key)
			var damaged *DamagedError
			if errors.As(err, &damaged) && seq < newest[partition] {
				damaged.Past = true
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	dropped = map[civil.Date]int{}
	found := read[:0]
	for i, key := range keys {
		if there[i] {
			found = append(found, read[i])
			continue
		}
		partition, seq, _ := parseEntryKey(key)
		dropped[partition] = max(dropped[partition], seq)
	}
	slices.SortFunc(found, byPartition)
	return found, dropped, nil
}

// wrote gives a record that this process created. What is under its key is that record, or nothing; or, after others have folded it, a
// void one of a writer that was too late, which counts for as little as what was folded.
func (t *Table) wrote(key string) (Record, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ours := t.own[key]
	return e, ours
}

func byPartition(a, b Record) int {
	return cmp.Or(a.Partition.Compare(b.Partition), cmp.Compare(a.Seq, b.Seq))
}
