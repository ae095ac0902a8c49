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

// An index has the newest records of all months of a table, so that a plan reads one object however
// many months there are. It is a copy that can be made again. For each month it has the version of
// the document from which it was copied; a listing shows for which months that is still the current
// version.
type index struct {
	Months map[string]indexedMonth `json:"months"`
	Shapes map[string]Shape        `json:"shapes"`
	Scopes map[string]Scope        `json:"scopes,omitempty"`
}

// An indexedMonth is what the index has of one month.
type indexedMonth struct {
	Version string    `json:"version"`         // version of the document from which it was copied
	Oldest  time.Time `json:"oldest,omitzero"` // time of the oldest record in the month's history
	section
	Derived map[string]*section `json:"derived,omitempty"`
}

// indexName is the index's name among the names of months.
const indexName = "index"

// records is a list of records that is decoded with decodeEntries where possible, for speed.
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

// writeIndex writes an index of what was read last, if the present one has fallen behind. It
// replaces a damaged index.
func (t *Table) writeIndex(ctx context.Context) error {
	if !t.Untidy() {
		return nil
	}
	t.mu.Lock()
	next := index{Months: map[string]indexedMonth{}, Shapes: maps.Clone(t.shapes), Scopes: maps.Clone(t.scopes)}
	for name, m := range t.months {
		next.Months[name] = indexedMonth{Version: m.version, Oldest: m.oldest, Derived: map[string]*section{}}
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
		t.indexVersions = versionsOf(next)
	}
	return err
}

// byMonth groups the records and leases that were read by month. The caller must hold the table's
// lock.
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

// versionsOf returns the version that an index has for each month.
func versionsOf(i index) map[string]string {
	versions := map[string]string{}
	for name, m := range i.Months {
		versions[name] = m.Version
	}
	return versions
}

// errListedBefore says that the index was written after the listing, and names a month that was
// created in between.
var errListedBefore = errors.New("the table has changed since it was listed")

// readIndex copies from the index what it has of months that haven't changed since. A damaged index
// is ignored. version is the version of the index in the listing, and listed has the entries of the
// months, by name.
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
	t.indexVersions = versionsOf(is)
	for name, m := range is.Months {
		if _, there := listed[name]; !there && t.index.Version() != version {
			return errListedBefore
		} else if !there {
			return t.gone(t.monthKey(name), t.monthKey(indexName))
		}
		if t.months[name].version != "" || listed[name].Version != m.Version {
			continue
		}
		t.setMonth(name, m.section, m.Derived)
		t.addNamed(is.Shapes, is.Scopes)
		t.months[name] = monthState{version: m.Version, oldest: m.Oldest}
	}
	return nil
}
