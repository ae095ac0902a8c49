package outbox

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/reportferry/reportferry/jobs/outbox/store"
)

// mostPairs limits the rows of a file that have two IDs, because they are kept in memory.
const mostPairs = 250_000

// groups holds the groups of IDs that have records in common; it is used with Order only. A record
// about two things must keep its order among the records of both, so the rows of a group are sent
// one at a time, as if they had the same ID. The histories stay separate, one for each ID.
type groups struct {
	parents   map[[16]byte][16]byte // a union-find forest: the parent of each ID; a root is its own parent
	pairs     int                   // rows with two IDs
	histories map[[16]byte]*idHistory
	rows      map[[16]byte][]store.Item // by the group's root; a row with two IDs is there twice
}

// join unites the groups of two IDs.
func (g *groups) join(a, b [16]byte) error {
	if g.pairs++; g.pairs > mostPairs {
		return fmt.Errorf("more than %d of its rows have two IDs; split the file", mostPairs)
	}
	if g.parents == nil {
		g.parents, g.histories, g.rows = map[[16]byte][16]byte{}, map[[16]byte]*idHistory{}, map[[16]byte][]store.Item{}
	}
	for _, id := range [...][16]byte{a, b} {
		if g.histories[id] == nil {
			g.parents[id], g.histories[id] = id, &idHistory{id: id}
		}
	}
	g.parents[g.root(a)] = g.root(b)
	return nil
}

// root returns the ID that stands for the group of an ID, or the ID itself when it is in no group.
func (g *groups) root(id [16]byte) [16]byte {
	for {
		up, in := g.parents[id]
		if !in || up == id {
			return id
		}
		g.parents[id] = g.parents[up] // shortens the path for the next time
		id = up
	}
}

// keep stores a row of a group for setStatesOfGroups, which runs when all buckets are read.
func (g *groups) keep(it store.Item) {
	id := g.root(it.ID())
	g.rows[id] = append(g.rows[id], it)
}

// setStatesOfGroups sets the states of the rows of all groups, in the order of the rows. When the
// rows of one ID don't begin with the records of it that were sent before, all of them are sent,
// from the first one on. Then the rows of the other IDs of the group are all sent, too: otherwise a
// record about two IDs would be sent again after later records of the other ID.
func (w *attempt[V]) setStatesOfGroups() {
	for _, rows := range w.groups.rows {
		slices.SortFunc(rows, func(a, b store.Item) int { return cmp.Or(cmp.Compare(a.Row, b.Row), a.CompareID(b)) })
		broken := false // some ID of the group has all its rows sent
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
