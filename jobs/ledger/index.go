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

// An index is the newest records of a table's months, so that a plan reads one object however many months there are. It is a copy that
// can be made again: of each month it names the version that it was taken from, and a listing tells which of them are still true.
type index struct {
	Months map[string]indexed `json:"months"`
	Shapes map[string]Shape   `json:"shapes"`
	Scopes map[string]Scope   `json:"scopes,omitempty"`
}

type indexed struct {
	Version string    `json:"version"`
	Records records   `json:"records"`
	Oldest  time.Time `json:"oldest,omitzero"` // of the month's first line of history

	Leases map[civil.Date]lease `json:"leases,omitempty"`
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
	of := map[string]records{}
	for partition, e := range t.entries {
		of[monthOf(partition)] = append(of[monthOf(partition)], e)
	}
	for name, m := range t.months {
		slices.SortFunc(of[name], byPartition)
		next.Months[name] = indexed{m.version, of[name], m.oldest, t.leasesOf(name)}
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

func versionsOf(i index) map[string]string {
	versions := map[string]string{}
	for name, m := range i.Months {
		versions[name] = m.Version
	}
	return versions
}

// errListedBefore: the index was written after the listing, and names a month that came to be meanwhile.
var errListedBefore = errors.New("the table has changed since it was listed")

// readIndex takes what the index has of months that are still as they were then. A damaged index is none. The version is that of the index
// in the listing.
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
		t.take(name, m.Records, m.Leases, is.Shapes, is.Scopes)
		t.months[name] = known{version: m.Version, oldest: m.Oldest}
	}
	return nil
}
