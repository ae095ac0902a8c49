package ledger

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/bucket"
)

// An index is the newest records of a table's months, so that a plan reads one object however many
// months there are. It is a copy that can be made again: of each month it names the version that it
// was taken from, and a listing tells which of them are still true.
type index struct {
	Months map[string]indexed `json:"months"`
	Shapes map[string]Shape   `json:"shapes"`
	Scopes map[string]Scope   `json:"scopes,omitempty"`
}

type indexed struct {
	Version string    `json:"version"`
	Oldest  time.Time `json:"oldest,omitzero"` // of the month's first line of history
	section
	Derived map[string]*section `json:"derived,omitempty"`
}

const indexName = "index"

// records are read as fast as they can be.
type records []Record

// UnmarshalJSON implements json.Unmarshaler.
func (r *records) UnmarshalJSON(data []byte) error {
	read, ok := decodeEntries(string(data))
	if !ok {
		var err error
		if read, err = parse[[]Record](data); err != nil {
			return err
		}
	}
	*r = read
	return nil
}

// writeIndex makes the index of what was read last.
func (t *Table) writeIndex(ctx context.Context) error {
	if !t.Untidy() {
		return nil
	}
	t.mu.Lock()
	next := index{Months: map[string]indexed{}, Shapes: maps.Clone(t.shapes), Scopes: maps.Clone(t.scopes)}
	for name, m := range t.months {
		next.Months[name] = indexed{Version: m.version, Oldest: m.oldest, Derived: map[string]*section{}}
	}
	for derived, r := range t.sections {
		for name, s := range r.byMonth() {
			m := next.Months[name]
			if derived == "" {
				m.section = *s
			} else {
				m.Derived[derived] = s
			}
			next.Months[name] = m
		}
	}
	t.mu.Unlock()
	change := Change[index]{Apply: func(c *index) error { *c = next; return nil }}
	err := t.index.Change(ctx, change)
	var damaged *DamagedError
	if errors.As(err, &damaged) {
		if err = t.ledger.store.Delete(ctx, t.monthKey(indexName)); err == nil {
			t.index.Forget()
			err = t.index.Change(ctx, change)
		}
	}
	if err == nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.indexed = versionsOf(next)
	}
	return err
}

// byMonth sorts what was read by the month. The caller holds the lock of it.
func (r *rows) byMonth() map[string]*section {
	all := map[string]*section{}
	of := func(partition civil.Date) *section {
		name := monthOf(partition)
		if all[name] == nil {
			all[name] = &section{Leases: map[civil.Date]lease{}}
		}
		return all[name]
	}
	for partition, e := range r.entries {
		s := of(partition)
		s.Records = append(s.Records, e)
	}
	for partition, l := range r.leases {
		of(partition).Leases[partition] = l
	}
	for _, s := range all {
		slices.SortFunc(s.Records, byPartition)
	}
	return all
}

func versionsOf(i index) map[string]string {
	versions := map[string]string{}
	for name, m := range i.Months {
		versions[name] = m.Version
	}
	return versions
}

// errListedBefore: the index was written after the listing, and names a month that came to be
// meanwhile.
var errListedBefore = errors.New("the table has changed since it was listed")

// readIndex takes what the index has of months that are still as they were then. A damaged index is
// none. The version is that of the index in the listing.
func (t *Table) readIndex(ctx context.Context, version string, listed map[string]bucket.Object) error {
	is, exists, err := t.index.Load(ctx)
	var damaged *DamagedError
	if errors.As(err, &damaged) {
		return nil
	}
	if err != nil || !exists {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.indexed = versionsOf(is)
	for name, m := range is.Months {
		if _, there := listed[name]; !there && t.index.Version() != version {
			return errListedBefore
		} else if !there {
			return t.gone(t.monthKey(name), t.monthKey(indexName))
		}
		if t.months[name].version != "" || listed[name].Version != m.Version {
			continue
		}
		t.take(name, m.section, m.Derived)
		t.learn(is.Shapes, is.Scopes)
		t.months[name] = known{version: m.Version, oldest: m.Oldest}
	}
	return nil
}
