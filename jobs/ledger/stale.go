package ledger

import (
	"context"
	"fmt"
	"strings"
)

// FingerprintPeriod is the key in a fingerprint for the table's period, as Period.String returns
// it.
const FingerprintPeriod = "period"

// CheckRebaseline replaces CheckShape for a run that replaces every partition. It refuses only
// another period, because partitions of another length can't be replaced one by one.
func CheckRebaseline(table string, recorded, now Shape) error {
	was, is := recorded.Fingerprint[FingerprintPeriod], now.Fingerprint[FingerprintPeriod]
	if was == is {
		return nil
	}
	return fmt.Errorf("table %s: %w, because its partitions were one a %s and would be one a %s, so that old ones "+
		"would "+
		"stay beside the new; change the finest date dimension back, or give the job another table", table, ErrRefused,
		was, is)
}

// CheckReplay replaces CheckShape for partitions that are made again from raw answers. It refuses a
// change of meaning, because the raw answers don't have the new numbers, but allows other types.
func CheckReplay(table string, recorded, now Shape) error {
	diffs := recorded.meanings(now)
	if diffs == nil {
		return nil
	}
	return fmt.Errorf("table %s: %w, because its raw answers have other numbers than the config asks for: %s; "+
		"change the config "+
		"back, or ask the service for all partitions again with run --rebaseline", table, ErrRefused,
		strings.Join(diffs, "; "))
}

// Lacks returns the columns that have values in now, and that are missing or all NULL in s.
func (s Shape) Lacks(now Shape) (names []string) {
	filled := map[string]bool{}
	for _, c := range s.Columns {
		filled[c.Name] = c.filled()
	}
	for _, c := range now.Columns {
		if c.filled() && !filled[c.Name] {
			names = append(names, c.Name)
		}
	}
	return names
}

// filled reports whether a column has values, rather than only NULLs.
func (c Column) filled() bool { return c.Source != "" || c.Stamp != "" }

// SameMeaning reports whether the numbers of both shapes have the same meaning, and the columns
// that both have the same types.
func (s Shape) SameMeaning(now Shape) bool { return s.differences(now) == nil }

// Shapes returns all shapes that records name, by ID. A missing shape is reported as damage.
func (t *Table) Shapes(_ context.Context) (map[string]Shape, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	shapes := map[string]Shape{}
	// t.entries leaves out partitions that are in doubt and were never recorded, because they have
	// no shape.
	for _, e := range t.entries {
		if _, had := shapes[e.Shape]; had {
			continue
		}
		s, err := t.shapeOf(e)
		if err != nil {
			return nil, err
		}
		// The clone lets the memory of the index be freed: the record's string is a part of the
		// whole index's text.
		shapes[strings.Clone(e.Shape)] = s
	}
	return shapes, nil
}

// A Stale says how a recorded shape differs from the table's, so that its partitions must be
// fetched again.
type Stale struct {
	Rebased bool     // its numbers have another meaning
	Drops   bool     // it has columns that are to be removed from the table
	Lacks   []string // columns of the table that files of this shape don't have, or have only NULLs in
}

// Stale returns, for each recorded shape that differs from now, how it differs, by the ID of the
// shape.
//
// A kind of job plans like this:
//   - CheckShape compares LastShape with the config's shape, or CheckRebaseline does when a person
//     asked to replace everything.
//   - Then Stale is for the refresh rules.
//
// An interrupted rebaseline continues without a further request: the record fetched last then has
// the config's shape, so CheckShape accepts it, and partitions of older shapes are due.
func (t *Table) Stale(ctx context.Context, now Shape) (map[string]Stale, error) {
	shapes, err := t.Shapes(ctx)
	if err != nil {
		return nil, err
	}
	stale := map[string]Stale{}
	for id, s := range shapes {
		if how := (Stale{Rebased: !s.SameMeaning(now), Lacks: s.Lacks(now)}); how.Rebased || how.Lacks != nil {
			stale[id] = how
		}
	}
	return stale, nil
}

// LastShape returns the shape of the record fetched last, which says what the table means. It
// returns false when there is no record.
func (t *Table) LastShape(_ context.Context) (Shape, bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var last Record
	for _, e := range t.entries {
		// Rows that were kept have an older shape, however late somebody tried to replace them. So
		// a kept record counts only if all are kept.
		newer := e.Fetched.After(last.Fetched)
		if kept, lastKept := e.State == Kept, last.State == Kept; kept != lastKept {
			newer = lastKept
		}
		if last.Seq == 0 || newer {
			last = e
		}
	}
	if last.Seq == 0 {
		return Shape{}, false, nil
	}
	s, err := t.shapeOf(last)
	return s, err == nil, err
}

// ShapeOf returns the shape of a record of the table or of its history.
func (t *Table) ShapeOf(_ context.Context, e Record) (Shape, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.shapeOf(e)
}

// shapeOf is ShapeOf for a caller that holds the lock.
func (t *Table) shapeOf(e Record) (Shape, error) {
	s, known := t.shapes[e.Shape]
	if !known {
		return s, t.missingName(e, "shape "+e.Shape)
	}
	return s, nil
}

// missingName returns the error for a record that names something that its month doesn't have.
func (t *Table) missingName(e Record, what string) error {
	return &DamagedError{
		Location: t.ledger.location(t.monthKey(monthOf(e.Partition))), With: t.ledger.location(t.monthKey(indexName)),
		Err: fmt.Errorf("the record of %s names %s, which isn't there", e.Partition, what),
	}
}
