package outbox

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/reportferry/reportferry/jobs/outbox/store"
)

// mostPairs are the rows of a file that may have two IDs. What is known of them is in memory.
const mostPairs = 250_000

// groups are IDs that have records in common, with Order. A record about two things keeps its place
// among those of both, so the rows of a group are sent one at a time, as if they were of one ID;
// what is known of earlier records stays that of each.
type groups struct {
	above     map[[16]byte][16]byte // towards the one that stands for the group, which is in it, too
	pairs     int
	histories map[[16]byte]*idHistory
	rows      map[[16]byte][]store.Item // of each group; a row with two IDs is there twice
}

// join makes one group of those of two IDs.
func (g *groups) join(a, b [16]byte) error {
	if g.pairs++; g.pairs > mostPairs {
		return fmt.Errorf("more than %d of its rows have two IDs; split the file", mostPairs)
	}
	if g.above == nil {
		g.above, g.histories, g.rows = map[[16]byte][16]byte{}, map[[16]byte]*idHistory{}, map[[16]byte][]store.Item{}
	}
	for _, id := range [...][16]byte{a, b} {
		if g.histories[id] == nil {
			g.above[id], g.histories[id] = id, &idHistory{id: id}
		}
	}
	g.above[g.root(a)] = g.root(b)
	return nil
}

// root gives the ID that stands for the group of an ID: itself when it is in none.
func (g *groups) root(id [16]byte) [16]byte {
	for {
		up, in := g.above[id]
		if !in || up == id {
			return id
		}
		g.above[id] = g.above[up] // the way is shorter next time
		id = up
	}
}

// keep notes a row until all buckets are read.
func (g *groups) keep(it store.Item) {
	id := g.root(it.ID())
	g.rows[id] = append(g.rows[id], it)
}

// inGroups sets the states of the rows of the groups, in their order. When the rows of one ID don't
// begin with those that were sent of it, all of them are sent from the first one on, and so are
// those of the others: else a record about two would come again after later ones of the other.
func (w *attempt[V]) inGroups() {
	for _, rows := range w.groups.rows {
		slices.SortFunc(rows, func(a, b store.Item) int { return cmp.Or(cmp.Compare(a.Row, b.Row), a.CompareID(b)) })
		broken := false
		for _, it := range rows {
			r := w.groups.histories[it.ID()].revision
			broken = broken || r.broken || r.sent.n > 0 && !r.repeated
		}
		for _, it := range rows {
			r := &w.groups.histories[it.ID()].revision
			r.repeated = r.repeated && !broken
		}
		for len(rows) > 0 {
			it := rows[0]
			histories := []*idHistory{w.groups.histories[it.ID()]}
			if rows = rows[1:]; len(rows) > 0 && rows[0].Row == it.Row {
				histories = append(histories, w.groups.histories[rows[0].ID()])
				rows = rows[1:]
			}
			w.setState(int64(it.Row), histories...)
		}
	}
}
