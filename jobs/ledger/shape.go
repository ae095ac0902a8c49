package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A Shape says what the numbers of a record mean, and which columns its file has. Records name a
// shape by its ID, so that it is stored once.
type Shape struct {
	// Fingerprint has the settings that change the meaning of a number: dimensions, filters,
	// currency, zone, attribution, modes. Metrics aren't among them, because a column may be added.
	Fingerprint map[string]string `json:"fingerprint"`
	Columns     []Column          `json:"columns"`
}

// A Column is one column of a table's files, as the ledger keeps it.
type Column struct {
	Name   string `json:"name"`
	Type   string `json:"type"`             // empty in a plan, until the service was asked; never empty in a record
	Source string `json:"source,omitempty"` // the service's slug; empty: a column of NULLs
	Event  string `json:"event,omitempty"`  // the selector that chose the event whose metric it is
	// Stamp says which fact about the fetch the column has. Such a column has no source, and isn't
	// part of the hash.
	Stamp string `json:"stamp,omitempty"`
}

// ID returns a checksum of the shape.
func (s Shape) ID() string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic("jobs: a shape is plain data: " + err.Error())
	}
	return checksum(raw)
}

// FingerprintID returns a checksum of the fingerprint alone, for the files' metadata.
func (s Shape) FingerprintID() string { return Shape{Fingerprint: s.Fingerprint}.ID() }

// SaveShape remembers a shape for the records that will name it. It is stored together with the
// first of them.
func (t *Table) SaveShape(_ context.Context, s Shape) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.addNamed(map[string]Shape{s.ID(): s}, nil)
	return nil
}

// CheckShape returns an error if the numbers, or the types of the columns, mean something else in
// shape now than in the recorded one.
func CheckShape(table string, recorded, now Shape) error {
	diffs := recorded.differences(now)
	if diffs == nil {
		return nil
	}
	advice := "change the config back, or give the job another table"
	if CheckRebaseline(table, recorded, now) == nil {
		advice += ", or replace every partition one by one with run --rebaseline"
		if recorded.meanings(now) == nil {
			advice += ", or make them again with replay, of raw answers that were kept"
		}
	}
	return fmt.Errorf("table %s: %w, because its numbers would change their meaning half way: %s; %s", table,
		ErrRefused,
		strings.Join(diffs, "; "), advice)
}

// meanings returns, in words for people, how the numbers of now differ in meaning from those of s,
// apart from their types.
func (s Shape) meanings(now Shape) (diffs []string) {
	for _, key := range keysOf(s.Fingerprint, now.Fingerprint) {
		if was, is := s.Fingerprint[key], now.Fingerprint[key]; was != is {
			diffs = append(diffs, fmt.Sprintf("%s was %q and is now %q", key, was, is))
		}
	}
	for _, c := range now.Columns { // an event's column may have another slug, if the event was renamed
		i := s.index(c.Name)
		if i >= 0 && c.Source != "" && (c.Event == "" || s.Columns[i].Event == "") && s.Columns[i].Source != "" &&
			s.Columns[i].Source != c.Source {
			diffs = append(diffs, fmt.Sprintf("column %s was of %s and is now of %s", c.Name, s.Columns[i].Source,
				c.Source))
		}
	}
	return diffs
}

// index returns the index of a column; -1 if there is none.
func (s Shape) index(name string) int {
	return slices.IndexFunc(s.Columns, func(c Column) bool { return c.Name == name })
}

// Breaks returns, in words for people, how the columns of now differ from those of s: a column is
// new or gone, has another type, or NULLs instead of values.
func (s Shape) Breaks(now Shape) (breaks []string) {
	for _, c := range now.Columns {
		i := s.index(c.Name)
		switch {
		case i < 0:
			breaks = append(breaks, c.Name+" is new")
		case c.Type != "" && c.Type != s.Columns[i].Type:
			breaks = append(breaks, fmt.Sprintf("%s was %s and is now %s", c.Name, s.Columns[i].Type, c.Type))
		case s.Columns[i].filled() && !c.filled():
			breaks = append(breaks, c.Name+" has no values any more, because its event is gone")
		}
	}
	for _, c := range s.Columns {
		if now.index(c.Name) < 0 {
			breaks = append(breaks, c.Name+" is gone")
		}
	}
	return breaks
}

// Turned returns in few words how the fingerprint of now differs from that of s. If only the
// currency differs, that is for example "USD -> EUR".
func (s Shape) Turned(now Shape) string {
	var diffs []string
	for _, key := range keysOf(s.Fingerprint, now.Fingerprint) {
		if was, is := s.Fingerprint[key], now.Fingerprint[key]; was != is {
			diffs = append(diffs, strings.TrimPrefix(fmt.Sprintf("%s %s -> %s", key, was, is), "currency "))
		}
	}
	return strings.Join(diffs, "; ")
}

// differences returns, in words for people, how the meaning of now differs from that of s.
func (s Shape) differences(now Shape) []string {
	diffs := s.meanings(now)
	types := map[string]string{}
	for _, c := range s.Columns {
		types[c.Name] = c.Type
	}
	for _, c := range now.Columns {
		if was, known := types[c.Name]; known && c.Type != "" && was != c.Type {
			diffs = append(diffs, fmt.Sprintf("column %s was %s and is now %s", c.Name, was, c.Type))
		}
	}
	return diffs
}

// keysOf returns the keys of some maps, sorted and without duplicates.
func keysOf(maps ...map[string]string) []string {
	var keys []string
	for _, m := range maps {
		for k := range m {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// A Scope says which apps a token showed when partitions were fetched. Records name a scope by its
// ID, so that it is stored once.
type Scope struct {
	Source string   `json:"source"` // the endpoint that listed the apps; empty: none did
	Apps   []string `json:"apps"`   // tokens, ascending
}

// ID returns a checksum of the scope; "" when nothing is known.
func (s Scope) ID() string {
	if s.Source == "" {
		return ""
	}
	raw, err := json.Marshal(s)
	if err != nil {
		panic("jobs: a scope is plain data: " + err.Error())
	}
	return checksum(raw)
}

// Lacks returns the apps that s has and now doesn't have. For lists from two different sources it
// returns none, because each source has its own reasons to leave an app out.
func (s Scope) Lacks(now Scope) []string {
	if s.Source != now.Source {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.Apps), func(app string) bool { return slices.Contains(now.Apps, app) })
}

// SaveScope remembers a scope for the records that will name it. It is stored together with the
// first of them.
func (t *Table) SaveScope(_ context.Context, s Scope) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.addNamed(nil, map[string]Scope{s.ID(): s})
	return nil
}

// ScopeOf returns the scope that a record names, or the zero Scope when it names none.
func (t *Table) ScopeOf(_ context.Context, e Record) (s Scope, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, known := t.scopes[e.Scope]
	if e.Scope != "" && !known {
		return s, t.missingName(e, "scope "+e.Scope)
	}
	return s, nil
}
