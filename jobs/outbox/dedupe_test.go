package outbox

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/jobs/outbox/store"
)

// TestSame judges rows of one ID: contents are letters, states before and after are given row by
// row, and those elsewhere are accepted ("+a") or unknown ("?a").
func TestSame(t *testing.T) {
	short := map[string]store.State{
		"p": store.Pending, "P": store.Pending | store.Doubt, "a": store.Accepted, "u": store.Unknown,
		"d": store.Duplicate, "c": store.Conflict, "j": store.Rejected, "A": store.Accepted | store.Doubt,
	}
	for _, c := range []struct {
		rows, before, elsewhere, after string
		live                           string // rows
		send                           bool   // conflicts
	}{
		{rows: "a a b", before: "p p p", after: "p d c", live: "1"},
		{rows: "a b a b", before: "p p p p", after: "p p d d", live: "1 2", send: true},
		{rows: "a", before: "p", elsewhere: "+a", after: "d"},
		{rows: "a", before: "p", elsewhere: "+b", after: "c"},
		{rows: "a", before: "p", elsewhere: "+b +a", after: "d"},
		{rows: "a", before: "p", elsewhere: "+b", after: "p", live: "1", send: true},
		{rows: "a a", before: "p p", elsewhere: "?a", after: "u d", live: "1"},
		{rows: "b", before: "p", elsewhere: "?a", after: "c"},
		{rows: "a", before: "p", elsewhere: "+a ?a", after: "d"},
		// Of an earlier run.
		{rows: "a", before: "u", elsewhere: "?a", after: "u", live: "1"},
		{rows: "a", before: "P", elsewhere: "?a", after: "P", live: "1"},
		{rows: "a", before: "u", elsewhere: "+b", after: "u", live: "1"},
		{rows: "a b a", before: "a c d", after: "a c d"},
		{rows: "a b a", before: "A c d", elsewhere: "+b", after: "A d d"},
		{rows: "a a", before: "j d", after: "j d"},
		{rows: "a a", before: "p d", elsewhere: "+b", after: "c c"},
		{rows: "a b", before: "p c", elsewhere: "+b", after: "c d"},
		{rows: "a b", before: "p c", elsewhere: "?b", after: "c d"},
	} {
		w := newAttempt(&Outbox{}, Task[int]{SendConflicts: c.send})
		var items []store.Item
		var others []counterpart
		for i, state := range strings.Fields(c.before) {
			w.states.Set(int64(i)+1, short[state])
			items = append(items, store.Item{Content: uint64(strings.Fields(c.rows)[i][0]), Row: uint32(i) + 1})
		}
		for _, s := range strings.Fields(c.elsewhere) {
			others = append(others, counterpart{store.Item{Content: uint64(s[1])},
				map[byte]store.State{'+': store.Accepted, '?': store.Unknown}[s[0]]})
		}
		var live []string
		for _, it := range w.setStatesOfID(items, others) {
			live = append(live, fmt.Sprint(it.Row))
		}
		for i, want := range strings.Fields(c.after) {
			if got := w.states.Get(int64(i) + 1); got != short[want] {
				t.Errorf("%+v: row %d is %d", c, i+1, got)
			}
		}
		if got := strings.Join(live, " "); got != c.live {
			t.Errorf("%+v: %q are sent", c, got)
		}
	}
}
