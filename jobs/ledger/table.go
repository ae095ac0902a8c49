package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"cloud.google.com/go/civil"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

// readers is how many objects of a table are read at once.
const readers = 32

// A Table is what the ledger holds of one table, as last read. It is safe for concurrent use.
type Table struct {
	ledger *Ledger
	name   string

	folding sync.Mutex // held by Relieve

	reading   *look // at all that others may have recorded
	segmented *look // at the highest segment

	mu      sync.Mutex
	entries Records            // the newest record of each partition
	lent    bool               // somebody reads entries without holding mu, so that they are copied before they change
	away    bool               // they were let go, and not read since
	loose   map[string]bool    // keys of objects with records that aren't folded yet; all are in entries
	own     map[string]batch   // what this process created, until it is folded, by key: it needn't be read
	tops    map[civil.Date]int // by week: the highest number known
	folded  map[civil.Date]int // by week: the highest number in the segment; what is loose and not above it is void, or dropped soon
	segment int                // the highest segment that was read, 0 for none
	highest int                // the highest segment that was listed
	shapes  map[string]Shape
	turns   map[civil.Date]*semaphore.Weighted // by week: held to write its next object
}

// Tables gives the tables that have a folder of a name.
func (l *Ledger) Tables(ctx context.Context, name string) (tables []string, err error) {
	keys, err := l.listAll(ctx, "tables/")
	for _, key := range keys {
		table, rest, _ := strings.Cut(strings.TrimPrefix(key, "tables/"), "/")
		if strings.HasPrefix(rest, name+"/") && !slices.Contains(tables, table) {
			tables = append(tables, table)
		}
	}
	return tables, err
}

// Table reads what the ledger holds of a table. A damaged object is a *DamagedError.
func (l *Ledger) Table(ctx context.Context, name string) (*Table, error) {
	t := &Table{
		ledger: l, name: name, entries: Records{}, loose: map[string]bool{}, own: map[string]batch{},
		tops: map[civil.Date]int{}, folded: map[civil.Date]int{}, shapes: map[string]Shape{}, turns: map[civil.Date]*semaphore.Weighted{},
		reading: newLook(), segmented: newLook(),
	}
	return t, t.Refresh(ctx)
}

// Name is the table's name.
func (t *Table) Name() string { return t.name }

// Records are the newest records as they are now, for reading alone.
func (t *Table) Records() Records {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lent = true
	return t.entries
}

// Record is the newest record of a partition.
func (t *Table) Record(partition civil.Date) (Record, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.entries[partition]
	return e, ok
}

// LetGo forgets what was read, because a process may have more tables than memory: a record takes 1.7 kB. Nobody may be at work on the
// table. Until the next Refresh, which reads all of it again, it has no records.
func (t *Table) LetGo() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entries, t.lent, t.away = Records{}, false, true
	t.loose, t.tops, t.folded, t.segment = map[string]bool{}, map[civil.Date]int{}, map[civil.Date]int{}, 0
}

// Has tells whether the table's records are known: those of a table that was let go aren't.
func (t *Table) Has() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.away
}

// Refresh reads what other processes have recorded since.
func (t *Table) Refresh(ctx context.Context) error {
	return t.reading.share(ctx, func() (err error) {
		// An object may be folded into a segment and deleted between the listing and the reading. The listing is repeated
		// then.
		const tries = 5
		for range tries {
			if err = t.refresh(ctx); !isNotFound(err) {
				return err
			}
		}
		return err
	})
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
	if n <= t.segment {
		return
	}
	t.segment = n
	if len(t.entries) == 0 {
		t.entries = make(Records, len(records))
	}
	var week, next civil.Date // records ascend
	for _, e := range records {
		if p := e.Partition; p.Before(week) || !p.Before(next) {
			week = weekOf(p)
			next = week.AddDays(7)
		}
		t.keepOf(week, e)
		t.folded[week] = max(t.folded[week], e.Seq)
	}
	maps.DeleteFunc(t.own, func(key string, _ batch) bool {
		week, number, _ := parseEntryKey(key)
		return number <= t.folded[week]
	})
}

func (t *Table) readEntries(ctx context.Context, keys []string) error {
	loose := map[string]bool{}
	var unread []string
	t.mu.Lock()
	for _, key := range keys {
		if _, _, ok := parseEntryKey(key); ok {
			loose[key] = true
			if !t.loose[key] && !t.covers(key) {
				unread = append(unread, key)
			}
		}
	}
	missed := t.missed(keys)
	segment, folded := t.segment, maps.Clone(t.folded)
	t.mu.Unlock()
	listed := len(unread)
	slices.Sort(unread) // so that every run names the same damaged object first
	unread = append(unread, missed...)

	read := make([]batch, len(unread))
	var dropped atomic.Pointer[error] // an object that was folded already, and was dropped meanwhile
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(readers)
	for i, key := range unread {
		g.Go(func() (err error) {
			first, number, _ := parseEntryKey(key)
			switch read[i], err = t.readBatch(gctx, key); {
			case isNotFound(err) && i >= listed: // a person has deleted it
				return nil
			case isNotFound(err) && number <= folded[first]:
				gone := err // the result is nil by the time that it is looked at
				dropped.Store(&gone)
				return nil
			case err != nil:
				return err
			}
			return t.check(key, read[i], segment)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if gone := dropped.Load(); gone != nil { // by a fold of this segment, or of a newer one, which holds it then
		segments, err := t.ledger.list(ctx, t.prefix("segments"))
		if err != nil {
			return err
		}
		if highest(segments) > segment {
			return *gone
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, b := range read {
		t.keepBatch(unread[i], b)
	}
	t.away = false
	t.loose = loose // set only after they were read: Fold drops what is loose, and folds what was read
	return nil
}

// missed names the objects of weeks that must have been there before others in a listing, and aren't in it: a listing of several pages
// doesn't show what is created behind its back. Who writes the next object of a week must have read them. The caller holds mu.
func (t *Table) missed(keys []string) (missed []string) {
	highest, lowest, there := map[civil.Date]int{}, maps.Clone(t.tops), map[string]bool{}
	for _, key := range keys {
		first, number, ok := parseEntryKey(key)
		week := weekOf(first)
		switch there[key] = true; {
		case !ok:
		case first == week:
			highest[week] = max(highest[week], number)
		default:
			lowest[week] = max(lowest[week], number) // of an earlier version
		}
	}
	for week, number := range highest {
		for number--; number > lowest[week]; number-- {
			if key := entryKey(t.name, week, number); !there[key] {
				missed = append(missed, key)
			}
		}
	}
	return missed
}

// covers tells whether what is under a key needn't be read, because something newer is known or a segment holds it. Of a Sunday the key
// doesn't say whether the object is of the day, as earlier versions wrote it, or of the week. The caller holds mu.
func (t *Table) covers(key string) bool {
	first, number, _ := parseEntryKey(key)
	return number <= t.entries[first].Seq && (weekOf(first) != first || number <= t.folded[first])
}

// keepBatch takes the records of an object, unless its number was used before and folded away. The caller holds mu.
func (t *Table) keepBatch(key string, b batch) {
	if first, number, _ := parseEntryKey(key); b.old || number > t.folded[first] {
		for _, e := range b.records {
			t.keep(e)
		}
	}
}

// check finds records that were written above a segment that is gone.
func (t *Table) check(key string, b batch, segment int) error {
	for _, e := range b.records {
		if e.Segment > segment {
			return t.gone(segmentKey(t.name, e.Segment), key)
		}
	}
	return nil
}

// needed says of a damaged object that records name what deleting it would cost.
func (t *Table) needed(err error) error {
	var damaged *DamagedError
	if errors.As(err, &damaged) {
		damaged.Cost = "records name it, so that without a copy of it all of " + t.ledger.location("tables/"+t.name) + " has to go, and counts as missing then"
	}
	return err
}

// gone is the error of an object that isn't there, though another object says that it was.
func (t *Table) gone(key, witness string) error {
	return &DamagedError{
		Location: t.ledger.location(key), Err: fmt.Errorf("%s names it", witness), Gone: t.ledger.location("tables/" + t.name),
	}
}

// keep takes a record when it is the newest of its partition. The caller holds mu.
func (t *Table) keep(e Record) { t.keepOf(weekOf(e.Partition), e) }

func (t *Table) keepOf(week civil.Date, e Record) {
	if t.entries[e.Partition].Seq < e.Seq {
		if t.lent {
			t.entries, t.lent = maps.Clone(t.entries), false
		}
		t.entries[e.Partition] = e
	}
	t.tops[week] = max(t.tops[week], e.Seq)
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
