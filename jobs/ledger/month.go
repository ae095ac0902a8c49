package ledger

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"cloud.google.com/go/civil"
)

// A month is the document of a table's partitions that begin in one month,
// tables/{table}/months/{month}.json. It has all that is known of them: a plan reads their newest
// records, and the history has the replaced ones.
type month struct {
	section
	// History has the replaced records, as far as they are kept, ascending by partition and number.
	History records `json:"history,omitempty"`

	// Derived has the sections that tables derived from this one have for this month, by the kind
	// of the table (see Table.Derived). They have no history.
	Derived map[string]*section `json:"derived,omitempty"`

	// Older names the objects with history for which the document had no room, ascending by the
	// time of their last record.
	Older []string `json:"older,omitempty"`

	Shapes map[string]Shape `json:"shapes"`           // the shapes that records and history name, by ID
	Scopes map[string]Scope `json:"scopes,omitempty"` // likewise
}

// A section is the part of a month that belongs to one table.
type section struct {
	Records records `json:"records"` // the newest record of each partition, ascending
	// Leases are those of partitions that a run works on, or that are in doubt.
	Leases map[civil.Date]lease `json:"leases,omitempty"`
}

// sectionOf returns the section of a derived table, which is created if it is missing, or, for an
// empty name, the section of the table itself.
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

// monthOf returns the name of the month in which a partition begins.
func monthOf(partition civil.Date) string { return partition.String()[:len("2006-01")] }

// inMonth returns a function that reports whether a partition begins in a month.
func inMonth(name string) func(partition civil.Date) bool {
	first, _ := civil.ParseDate(name + "-01") // if the name is no month, this is a date that no partition has
	return func(p civil.Date) bool { return p.Year == first.Year && p.Month == first.Month }
}

// monthKey returns the key of a month's document, or of the index.
func (d *documents) monthKey(name string) string { return d.prefix("months") + name + ".json" }

// ready prepares a document for a change. A stored document always has Shapes, even if the map is
// empty. If it has none and was read before, it isn't new but has vanished, which is an error.
func (t *Table) ready(name string, m *month) error {
	if m.Shapes == nil {
		if t.has(name) {
			return t.gone(t.monthKey(name), t.monthKey(indexName)+", or an earlier listing")
		}
		m.Shapes = map[string]Shape{}
	}
	return nil
}

// commit stores records, moves the replaced ones into history, and ends the leases with this token.
// With an empty token, leases aren't checked. It leaves out, and returns, the partitions that were
// lost:
//   - those whose newest record isn't the one numbered After, because another process has recorded
//     them meanwhile, and
//   - those that another process has leased.
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
		// End the lease; the doubt stays if a run that had lost the partition has put something.
		if l := s.Leases[e.Partition]; token != "" && !e.Doubt && l.Late {
			l.Until = time.Time{} // the lease is over, and the partition in doubt
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

// keep moves a replaced record into history; by is the record that replaces it.
func (m *month) keep(replaced, by Record) {
	from, _ := slices.BinarySearchFunc(m.History, replaced, samePartition)
	until := from
	for until < len(m.History) && m.History[until].Partition == replaced.Partition {
		until++
	}
	chain := append(slices.Clone(m.History[from:until]), replaced, by)
	m.History = slices.Replace(m.History, from, until, keptHistory(chain)...)
}

// has reports whether a record is, or was, the newest of its partition.
func (m *month) has(derived string, e Record) bool {
	is := func(o Record) bool { return o.Partition == e.Partition && o.Seq == e.Seq && same(o, e) }
	return slices.ContainsFunc(m.sectionOf(derived).Records, is) || derived == "" && slices.ContainsFunc(m.History, is)
}

// hides reports whether a record may have been committed without a trace here: newer ones were
// committed after it, and history doesn't keep every fetch of the same content, nor all of its
// records in the month's document.
func (m *month) hides(derived string, e Record) bool {
	s := m.sectionOf(derived)
	at, there := slices.BinarySearchFunc(s.Records, e, samePartition)
	_, numbered := slices.BinarySearchFunc(m.History, e, byPartition)
	return there && s.Records[at].Seq > e.Seq && (derived != "" || !numbered)
}

// prune drops shapes and scopes that no record in the document names.
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

// oldest returns the time of the oldest record in the history; zero if the history is empty.
func (m *month) oldest() (oldest time.Time) {
	for _, e := range m.History {
		if at := e.lastRecorded(); oldest.IsZero() || at.Before(oldest) {
			oldest = at
		}
	}
	return oldest
}

// drop removes the records that over accepts from the history.
func (m *month) drop(over func(Record) bool) {
	m.History = slices.DeleteFunc(m.History, over)
	m.prune()
}

// keptHistory returns those records of a chain that history keeps: the successive records of a
// partition, from the first in history to the newest. It drops
//   - the newest record, and
//   - of several fetches in a row with the same content, those in the middle that have no event.
//     The first says why and by which run the content came, and the last says how long it stayed.
func keptHistory(chain []Record) (kept []Record) {
	newest := chain[len(chain)-1].Seq
	for i, e := range chain {
		// brought: the content came with this fetch, or the record has an event.
		brought := e.Since.IsZero() || !e.Since.Before(e.Fetched) || !e.lastEvent().IsZero()
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

// sameContent reports whether two records of a partition stand for the same rows.
func sameContent(a, b Record) bool {
	return a.Hash == b.Hash && a.Rows == b.Rows && a.Shape == b.Shape && a.State == b.State
}

// byPartition orders records by partition and number.
func byPartition(a, b Record) int { return cmp.Or(samePartition(a, b), a.Seq-b.Seq) }

// samePartition orders records by partition alone.
func samePartition(a, b Record) int { return a.Partition.Compare(b.Partition) }
