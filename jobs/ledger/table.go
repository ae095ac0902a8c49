package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/civil"
	"golang.org/x/sync/errgroup"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/sinks"
)

// readers is how many objects of a table are read at once.
const readers = 32

// A Table is what the ledger has of one table, as last read. It is safe for concurrent use.
type Table struct {
	*documents
	*rows
	name    string
	derived string // for a derived table: its section in the months; else empty
}

// documents are the documents of a table. Tables that are derived from it have sections in them.
type documents struct {
	ledger *Ledger
	folder string // the folder of their keys, with a slash at its end

	reading *sharedRead // shares reads of what others may have recorded

	index *Document[index]

	mu            sync.Mutex            // guards all that follows
	sections      map[string]*rows      // by name; that of the table itself is empty
	released      bool                  // the data was released, and not read again since
	months        map[string]monthState // by name, such as 2006-01; likewise docs
	indexVersions map[string]string     // the versions of months that the index has; nil: the index wasn't read
	docs          map[string]*Document[month]
	shapes        map[string]Shape // replaced by a changed copy, and never changed in place
	scopes        map[string]Scope // likewise
}

// rows are what was read of one section, over all months.
type rows struct {
	entries       Records // the newest record of each partition
	entriesShared bool    // entries is read without mu, so that it must be copied before it changes
	leases        map[civil.Date]lease
	// uncommittedLeases counts, by month, this process's leases that haven't committed anything
	// there yet.
	uncommittedLeases map[string]int
}

// A monthState is what was read of one month's document.
type monthState struct {
	version string    // the version of its document
	oldest  time.Time // the time of the oldest record in its history
	older   []string  // see month.Older; nil if only the index was read
}

// Table reads what the ledger has of a table. The error of a damaged object is a *DamagedError.
func (l *Ledger) Table(ctx context.Context, name string) (*Table, error) {
	d := &documents{ledger: l, folder: "tables/" + name + "/", reading: newSharedRead(), sections: map[string]*rows{},
		shapes: map[string]Shape{}, scopes: map[string]Scope{}}
	d.index = NewDocument[index](l, d.monthKey(indexName), "")
	t := d.table(name, "")
	t.Release()
	return t, t.Refresh(ctx)
}

// Derived returns a table of a kind that is derived from this one's records, by month. Its own
// records are in the documents of this table, so that both are read together and share what was
// read. They have no history.
func (t *Table) Derived(kind string) *Table {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.table(sinks.Derived(kind, t.name), kind)
}

// table returns the table of a section.
func (d *documents) table(name, section string) *Table {
	return &Table{documents: d, rows: d.section(section), name: name, derived: section}
}

// section returns what was read of a section. The caller must hold mu.
func (d *documents) section(name string) *rows {
	if d.sections[name] == nil {
		d.sections[name] = &rows{entries: Records{}, leases: map[civil.Date]lease{},
			uncommittedLeases: map[string]int{}}
	}
	return d.sections[name]
}

// Name returns the table's name.
func (t *Table) Name() string { return t.name }

// Records returns the newest records as they are now. Callers must not change them. The records of
// partitions in doubt say so.
func (t *Table) Records() Records {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entriesShared = true
	records, copied, now := t.entries, false, t.ledger.store.Time()
	for p := range t.leases {
		if e, _ := t.view(p, now); e.State == Publishing {
			if !copied {
				records, copied = maps.Clone(records), true
			}
			records[p] = e
		}
	}
	return records
}

// Record returns the newest record of a partition. When the partition is in doubt, the record says
// so.
func (t *Table) Record(partition civil.Date) (Record, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.view(partition, t.ledger.store.Time())
}

// has reports whether a month was read.
func (t *Table) has(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.months[name].version != ""
}

// Release drops what was read, because a process may have more tables than memory: a record takes
// 1.7 kB. The table must not be in use. It has no records until the next Refresh, which reads all
// of it again.
func (t *Table) Release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.released = true
	for _, r := range t.sections {
		r.entries, r.leases, r.entriesShared = Records{}, map[civil.Date]lease{}, false
	}
	t.months, t.indexVersions, t.docs = map[string]monthState{}, nil, map[string]*Document[month]{}
	t.index.Forget()
}

// Has reports whether the table's records were read, and not released since.
func (t *Table) Has() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.released
}

// prefix returns the beginning of the keys of one kind of object, such as "months".
func (d *documents) prefix(kind string) string { return d.folder + kind + "/" }

// document returns the document of a month.
func (t *Table) document(name string) *Document[month] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.docs[name] == nil {
		d := NewDocument[month](t.ledger, t.monthKey(name), "")
		d.damage.With = t.ledger.location(t.monthKey(indexName))
		d.known = !t.released && t.months[name].version == "" // a listing has just shown that there is none
		t.docs[name] = d
	}
	return t.docs[name]
}

// Refresh reads what other processes have recorded since the last read, by one listing and the
// months that have changed.
func (t *Table) Refresh(ctx context.Context) error {
	return t.reading.do(ctx, func() error { return t.refresh(ctx) })
}

// refresh does the work of Refresh.
func (t *Table) refresh(ctx context.Context) error {
	objects, err := t.ledger.store.List(ctx, t.prefix("months"))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBucket, err)
	}
	listed := map[string]bucket.Object{}
	for _, o := range objects {
		if name, is := strings.CutSuffix(path.Base(o.Key), ".json"); is {
			listed[name] = o
		}
	}

	// Read the index, unless it is known, and take from it what it has of unchanged months.
	is, indexed := listed[indexName]
	delete(listed, indexName)
	t.mu.Lock()
	first := t.released
	t.mu.Unlock()
	switch {
	case indexed && t.index.Version() != is.Version:
		err = t.readIndex(ctx, is.Version, listed)
	case first && len(listed) == 0:
		err = t.refuseOlder(ctx)
	}
	if errors.Is(err, errListedBefore) {
		t.index.Forget()
		return t.refresh(ctx)
	}
	if err != nil {
		return err
	}

	// Read the other months that have changed. One that isn't listed any more is an error in load.
	t.mu.Lock()
	var changed []string
	for name, o := range listed {
		if t.months[name].version != o.Version {
			changed = append(changed, name)
		}
	}
	for name := range t.months {
		if _, there := listed[name]; !there {
			changed = append(changed, name)
		}
	}
	t.mu.Unlock()
	slices.Sort(changed) // so that every run names the same damaged object first
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(readers)
	for _, name := range changed {
		g.Go(func() error { return t.load(gctx, name) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.released = false
	return nil
}

// load reads a month that is in a listing, or that was read before.
func (t *Table) load(ctx context.Context, name string) error {
	d := t.document(name)
	if _, exists, err := d.Load(ctx); err != nil {
		return err
	} else if !exists {
		return t.gone(t.monthKey(name), t.monthKey(indexName)+", or an earlier listing")
	}
	t.takeDocument(name)
	return nil
}

// readMonth returns a month as it was when the table was read last, or later.
func (t *Table) readMonth(ctx context.Context, name string) (month, error) {
	d := t.document(name)
	t.mu.Lock()
	version := t.months[name].version
	t.mu.Unlock()
	if version != "" && d.Version() == version {
		return d.Last(), nil
	}
	if err := t.load(ctx, name); err != nil {
		return month{}, err
	}
	return d.Last(), nil
}

// takeDocument updates the table from a month's document, as that was last read or written.
func (t *Table) takeDocument(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.docs[name]
	m := d.Last()
	if d.Version() == "" {
		return
	}
	t.setMonth(name, m.section, m.Derived)
	t.addNamed(m.Shapes, m.Scopes)
	t.months[name] = monthState{d.Version(), m.oldest(), m.Older}
}

// setMonth replaces what is known of a month's partitions in all sections: own is the month's
// section of the table itself. The caller must hold mu.
func (d *documents) setMonth(month string, own section, derived map[string]*section) {
	known := d.months[month].version != ""
	for name := range derived {
		d.section(name)
	}
	for name, r := range d.sections {
		is := &own
		if name != "" {
			is = cmp.Or(derived[name], &section{})
		}
		r.replace(month, *is, known)
	}
}

// replace replaces what is known of a month's partitions. known says whether the month was read
// before.
func (r *rows) replace(name string, is section, known bool) {
	if r.entriesShared {
		r.entries, r.entriesShared = maps.Clone(r.entries), false
	}
	within := inMonth(name)
	if known {
		maps.DeleteFunc(r.entries, func(p civil.Date, _ Record) bool { return within(p) })
	}
	for _, e := range is.Records {
		r.entries[e.Partition] = e
	}
	maps.DeleteFunc(r.leases, func(p civil.Date, _ lease) bool { return within(p) })
	maps.Copy(r.leases, is.Leases)
}

// addNamed adds shapes and scopes, by ID, to the known ones. The caller must hold mu.
func (t *Table) addNamed(shapes map[string]Shape, scopes map[string]Scope) {
	for id, s := range shapes {
		if _, had := t.shapes[id]; !had {
			t.shapes = maps.Clone(t.shapes)
			t.shapes[id] = s
		}
	}
	for id, s := range scopes {
		if _, had := t.scopes[id]; !had {
			t.scopes = maps.Clone(t.scopes)
			t.scopes[id] = s
		}
	}
}

// refuseOlder returns an error if an earlier version of this program has recorded the table.
func (t *Table) refuseOlder(ctx context.Context) error {
	there, err := t.ledger.store.List(ctx, t.folder)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBucket, err)
	}
	for _, o := range there {
		if strings.HasPrefix(o.Key, t.prefix("partitions")) || strings.HasPrefix(o.Key, t.prefix("segments")) {
			return fmt.Errorf("%w: %s was written by an earlier version of reportferry; name an empty place as "+
				"ledger, and everything is fetched again",
				ErrRefused, t.ledger.location(o.Key))
		}
	}
	return nil
}

// gone returns the error for an object that is missing although another object names it.
func (t *Table) gone(key, named string) error {
	return &DamagedError{Location: t.ledger.location(key), Err: fmt.Errorf("%s names it", named), Gone: true,
		With: t.ledger.location(t.monthKey(indexName))}
}

// Untidy reports whether Tidy would write the index, by what was read of this table. It makes no
// call.
func (t *Table) Untidy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	unindexed := 0
	for name, m := range t.months {
		if t.indexVersions[name] != m.version {
			unindexed++
		}
	}
	return unindexed > t.ledger.unindexed
}

// Tidy cleans up after a run's work on the table, as it was last read. It moves long history out of
// the months, drops history that is older than the ledger keeps it, and writes the index when
// several months have changed since the last one.
func (t *Table) Tidy(ctx context.Context) error {
	t.mu.Lock()
	docs := maps.Clone(t.docs)
	t.mu.Unlock()
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(docs)) {
		if d := docs[name]; d.Version() != "" {
			errs = append(errs, t.archive(ctx, name, d))
			t.takeDocument(name)
		}
	}
	errs = append(errs, t.dropOldHistory(ctx), t.writeIndex(ctx))
	return errors.Join(errs...)
}

// Sorted returns the newest records, sorted by partition.
func (t *Table) Sorted() []Record {
	entries := t.Records()
	return slices.SortedFunc(maps.Values(entries), func(a, b Record) int { return a.Partition.Compare(b.Partition) })
}
