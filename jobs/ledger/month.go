package ledger

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"cloud.google.com/go/civil"
)

// A month is the document of the partitions of a table that begin in one month,
// tables/{table}/months/{month}.json. It is all that is known of them: a plan reads their records,
// and what they were before.
type month struct {
	section
	// What its records replaced, as far as history keeps it, ascending by partition and number.
	History records `json:"history,omitempty"`

	// Derived are the rows that say how the partitions of this month are, in other tables, by the
	// names of these. They have no history.
	Derived map[string]*section `json:"derived,omitempty"`

	// Older names objects with history that the document had no room for, ascending by the time of
	// the last line.
	Older []string `json:"older,omitempty"`

	Shapes map[string]Shape `json:"shapes"`           // that records and history name, by ID
	Scopes map[string]Scope `json:"scopes,omitempty"` // likewise
}

// A section is the part of a month that is one table's own.
type section struct {
	Records records `json:"records"` // the newest of each partition, ascending
	// Of the partitions that somebody works on, or that are in doubt.
	Leases map[civil.Date]lease `json:"leases,omitempty"`
}

// sectionOf gives the section of a derived table, an empty one before it is written, or under an
// empty name that of the table itself.
func (m *month) sectionOf(derived string) *section {
	if derived == "" {
		return &m.section
	}
	if m.Derived == nil {
		m.Derived = map[string]*section{}
	}
	if m.Derived[derived] == nil {
		m.Derived[derived] = &section{Records: records{}}
	}
	return m.Derived[derived]
}

// monthOf names the month in which a partition begins.
func monthOf(partition civil.Date) string { return partition.String()[:len("2006-01")] }

// begins gives a function that tells whether a partition begins in a month.
func begins(name string) func(partition civil.Date) bool {
	first, _ := civil.ParseDate(name + "-01") // of a name that is no month it is a date that no partition has
	return func(p civil.Date) bool { return p.Year == first.Year && p.Month == first.Month }
}

func (d *documents) monthKey(name string) string { return d.prefix("months") + name + ".json" }

// ready makes a document ready for a change. One that was read before has shapes, be they none:
// without them it is gone, and not new.
func (t *Table) ready(name string, m *month) error {
	if m.Shapes == nil {
		if t.has(name) {
			return t.gone(t.monthKey(name), t.monthKey(indexName)+", or an earlier listing")
		}
		m.Shapes = map[string]Shape{}
	}
	return nil
}

// commit sets records on top of those that they were made on, under a lease that holds, and gives
// those that aren't: another process has recorded their partitions meanwhile, or leased them. The
// replaced ones go into history. Without a token nobody's lease is looked at.
func (m *month) commit(derived string, list []Record, token string, shapes map[string]Shape,
	scopes map[string]Scope) (lost []civil.Date) {
	s := m.sectionOf(derived)
	if m.Scopes == nil {
		m.Scopes = map[string]Scope{}
	}
	for _, e := range list {
		at, there := slices.BinarySearchFunc(s.Records, e, samePartition)
		switch {
		case there && s.Records[at].Seq != e.After, !there && e.After != 0, token != "" &&
			s.Leases[e.Partition].Token != token:
			lost = append(lost, e.Partition)
			continue
		case there && derived == "":
			m.keep(s.Records[at], e)
			fallthrough
		case there:
			s.Records[at] = e
		default:
			s.Records = slices.Insert(s.Records, at, e)
		}
		if l := s.Leases[e.Partition]; token != "" && !e.Doubt && l.Late {
			l.Until = time.Time{} // it is over, and the partition in doubt
			s.Leases[e.Partition] = l
		} else if token != "" && !e.Doubt {
			delete(s.Leases, e.Partition)
		}
		if shape, known := shapes[e.Shape]; known {
			m.Shapes[e.Shape] = shape
		}
		if scope, known := scopes[e.Scope]; known {
			m.Scopes[e.Scope] = scope
		}
	}
	m.prune()
	return lost
}

// keep puts a record that is replaced into history.
func (m *month) keep(replaced, by Record) {
	from, _ := slices.BinarySearchFunc(m.History, replaced, samePartition)
	until := from
	for until < len(m.History) && m.History[until].Partition == replaced.Partition {
		until++
	}
	chain := append(slices.Clone(m.History[from:until]), replaced, by)
	m.History = slices.Replace(m.History, from, until, past(chain)...)
}

// has tells whether a record is the newest of its partition, or was.
func (m *month) has(derived string, e Record) bool {
	is := func(o Record) bool { return o.Partition == e.Partition && o.Seq == e.Seq && same(o, e) }
	return slices.ContainsFunc(m.sectionOf(derived).Records, is) || derived == "" && slices.ContainsFunc(m.History, is)
}

// hides tells whether a record may have been committed, and nothing says so here: others were
// committed on top, and history keeps not every fetch that brought the same, nor all in the month's
// document.
func (m *month) hides(derived string, e Record) bool {
	s := m.sectionOf(derived)
	at, there := slices.BinarySearchFunc(s.Records, e, samePartition)
	_, numbered := slices.BinarySearchFunc(m.History, e, byPartition)
	return there && s.Records[at].Seq > e.Seq && (derived != "" || !numbered)
}

// prune drops shapes and scopes that nothing in the document names.
func (m *month) prune() {
	named := map[string]bool{}
	lists := []records{m.Records, m.History}
	for _, s := range m.Derived {
		lists = append(lists, s.Records)
	}
	for _, e := range slices.Concat(lists...) {
		named[e.Shape], named[e.Scope] = true, true
	}
	maps.DeleteFunc(m.Shapes, func(id string, _ Shape) bool { return !named[id] })
	maps.DeleteFunc(m.Scopes, func(id string, _ Scope) bool { return !named[id] })
}

// oldest is the time of the first line of history; zero: there is none.
func (m *month) oldest() (oldest time.Time) {
	for _, e := range m.History {
		if at := e.happened(); oldest.IsZero() || at.Before(oldest) {
			oldest = at
		}
	}
	return oldest
}

// drop takes lines out of the history.
func (m *month) drop(over func(Record) bool) {
	m.History = slices.DeleteFunc(m.History, over)
	m.prune()
}

// past gives those records of a chain that history keeps: all but the newest, and fetches in the
// middle of several that brought the same content. The first of those says why and by whom it was
// brought, and the last how long it was there. Those with an event stay.
func past(chain []Record) (kept []Record) {
	newest := chain[len(chain)-1].Seq
	for i, e := range chain {
		brought := e.Since.IsZero() || !e.Since.Before(e.Fetched) || !e.decided().IsZero()
		if i > 0 {
			brought = !sameContent(chain[i-1], e) || events(chain[i-1], e) != nil
		}
		last := i == len(chain)-1 || !sameContent(e, chain[i+1])
		if e.Seq < newest && (brought || last) {
			kept = append(kept, e)
		}
	}
	return kept
}

// sameContent tells whether two records of a partition vouch for the same rows.
func sameContent(a, b Record) bool {
	return a.Hash == b.Hash && a.Rows == b.Rows && a.Shape == b.Shape && a.State == b.State
}

func byPartition(a, b Record) int { return cmp.Or(samePartition(a, b), a.Seq-b.Seq) }

func samePartition(a, b Record) int { return a.Partition.Compare(b.Partition) }
