package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// FingerprintPeriod is the key of a fingerprint that holds the table's period, as Period.String
// gives it.
const FingerprintPeriod = "period"

// CheckRebaseline is CheckShape for a run that replaces every partition. It refuses only another
// period, because partitions of another length can't be replaced one by one.
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

// CheckReplay is CheckShape for partitions that are made again of raw answers. It refuses numbers
// of another meaning, because the raw answers don't have them, and allows other types.
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

// Lacks names the columns that have values in now, and that s doesn't have or has only NULLs in.
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

// filled tells whether a file has values in a column, rather than NULLs.
func (c Column) filled() bool { return c.Source != "" || c.Stamp != "" }

// SameMeaning tells whether the numbers of both shapes, and the types of the columns that both
// have, are the same.
func (s Shape) SameMeaning(now Shape) bool { return s.differences(now) == nil }

// Shapes are all shapes that records name, by ID. A shape that is gone is damage.
func (t *Table) Shapes(ctx context.Context) (map[string]Shape, error) {
	t.mu.Lock()
	// Without what is in doubt and was never recorded, which has no shape.
	records := slices.Collect(maps.Values(t.entries))
	t.mu.Unlock()
	shapes := map[string]Shape{}
	for _, e := range records {
		if _, had := shapes[e.Shape]; had {
			continue
		}
		s, err := t.ShapeOf(ctx, e)
		if err != nil {
			return nil, err
		}
		// The record's own text is a part of the index's, which shall go when the records do.
		shapes[strings.Clone(e.Shape)] = s
	}
	return shapes, nil
}

// A Stale says how a recorded shape falls short of the table's: its partitions must be fetched
// again.
type Stale struct {
	Rebased bool     // its numbers have another meaning
	Drops   bool     // it has columns that the table is to lose
	Lacks   []string // columns that the table has by now, and files of this shape have not, or have NULLs in
}

// Stale says of each recorded shape, by ID, how it falls short of now.
//
// A kind plans like this: CheckShape between LastShape and the config's shape, or CheckRebaseline
// when a person asked to replace everything; then Stale, for the refresh rules. A rebaseline that
// was interrupted goes on without being asked for: the record fetched last then has the config's
// shape, so CheckShape accepts it, and partitions of older shapes are due.
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

// LastShape is the shape of the record fetched last; false when there is no record. It says what
// the table means.
func (t *Table) LastShape(ctx context.Context) (Shape, bool, error) {
	t.mu.Lock()
	records := slices.Collect(maps.Values(t.entries))
	t.mu.Unlock()
	var last Record
	for _, e := range records {
		// Rows that were kept have the shape they had before, however late somebody tried to
		// replace them.
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
	s, err := t.ShapeOf(ctx, last)
	return s, err == nil, err
}

// ShapeOf is the shape of any record of the table, of its history too.
func (t *Table) ShapeOf(_ context.Context, e Record) (Shape, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, known := t.shapes[e.Shape]
	if !known {
		return s, t.unnamed(e, "shape "+e.Shape)
	}
	return s, nil
}

// unnamed is the error of a record that names something that its month doesn't have.
func (t *Table) unnamed(e Record, what string) error {
	return &DamagedError{
		Location: t.ledger.location(t.monthKey(monthOf(e.Partition))), With: t.ledger.location(t.monthKey(indexName)),
		Err: fmt.Errorf("the record of %s names %s, which isn't there", e.Partition, what),
	}
}
