package ledger

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"cloud.google.com/go/civil"
	"golang.org/x/sync/errgroup"

	"github.com/reportferry/reportferry/sinks"
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

// readChains reads them once. The order matters: an object under a number that was used, folded and deleted before is below the
// segment's, and it is told from the others because the segments are listed after it was read. A compactor may be deleting objects
// meanwhile: what is gone by then, the segment holds, or something newer.
func (t *Table) readChains(ctx context.Context, within func(civil.Date) bool) (c chains, whole bool, err error) {
	keys, err := t.ledger.list(ctx, t.prefix("partitions"))
	if err != nil {
		return c, false, err
	}
	keys = slices.DeleteFunc(keys, func(key string) bool { _, _, ok := parseEntryKey(key); return !ok })
	loose, err := t.readLoose(ctx, keys, within)
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
	tops := map[civil.Date]int{} // by week: the highest number that is folded
	for _, e := range folded {
		tops[weekOf(e.Partition)] = max(tops[weekOf(e.Partition)], e.Seq)
		if within(e.Partition) {
			c.records[e.Partition] = []Record{e}
		}
	}
	whole = true
	next := maps.Clone(tops) // by week: the highest number up to which all are known
	for _, o := range loose {
		if o.gone {
			whole = whole && o.number <= tops[weekOf(o.first)]
			continue
		}
		if err := t.check(o.key, o.batch, c.segment); err != nil {
			return c, false, err
		}
		if !o.old && o.number <= tops[o.first] {
			continue // folded before, or void
		}
		week := weekOf(o.first)
		whole = whole && (o.old || o.number == next[week]+1)
		next[week] = max(next[week], o.number)
		for _, e := range o.records {
			if within(e.Partition) {
				whole = c.add(e) && whole
			}
		}
	}
	return c, whole, nil
}

// add adds a record that is above those of its partition. It answers false when one between them is missing.
func (c *chains) add(e Record) (whole bool) {
	chain, last := c.records[e.Partition], 0
	if len(chain) > 0 {
		last = chain[len(chain)-1].Seq
	}
	if e.Seq <= last {
		return true // folded before
	}
	c.records[e.Partition] = append(chain, e)
	c.above++
	return e.After == last
}

// A looseObject has records that aren't folded yet, as far as its key was still there when it was to be read.
type looseObject struct {
	key    string
	first  civil.Date
	number int
	batch
	gone bool
}

// readLoose reads objects with records by their keys: those of earlier versions first, because all numbers that they have used are below
// the week's, and then those of weeks. Each are ascending by date and number.
func (t *Table) readLoose(ctx context.Context, keys []string, within func(civil.Date) bool) ([]looseObject, error) {
	var read []looseObject
	newest := map[civil.Date]int{}
	for _, key := range keys {
		o := looseObject{key: key}
		o.first, o.number, _ = parseEntryKey(key)
		newest[o.first] = max(newest[o.first], o.number)
		if within(o.first) || weekOf(o.first) == o.first && anyOf(o.first, within) {
			read = append(read, o)
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readers)
	for i := range read {
		g.Go(func() (err error) {
			o := &read[i]
			o.batch, err = t.readBatch(ctx, o.key)
			if isNotFound(err) {
				o.gone = true
				return nil
			}
			var damaged *DamagedError
			if errors.As(err, &damaged) && o.number < newest[o.first] && weekOf(o.first) != o.first {
				damaged.Lacks = lacksHistory
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	slices.SortFunc(read, func(a, b looseObject) int {
		return cmp.Or(cmp.Compare(of(b.old), of(a.old)), a.first.Compare(b.first), cmp.Compare(a.number, b.number))
	})
	return read, nil
}

// of makes a bool a number that can be compared.
func of(b bool) int {
	if b {
		return 1
	}
	return 0
}

// anyOf tells whether a partition that begins in a week can be within.
func anyOf(week civil.Date, within func(civil.Date) bool) bool {
	if week == sinks.Whole {
		return false // asked already
	}
	for day := range 7 {
		if within(week.AddDays(day)) {
			return true
		}
	}
	return false
}

// wrote gives what this process created under a key. What is there now is that, or nothing; or, after others have folded it, a void
// object of a writer that was too late, which counts for as little as what was folded.
func (t *Table) wrote(key string) (batch, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b, ours := t.own[key]
	return b, ours
}

func byPartition(a, b Record) int {
	return cmp.Or(a.Partition.Compare(b.Partition), cmp.Compare(a.Seq, b.Seq))
}
