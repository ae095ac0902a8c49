package ledger

import (
	"cmp"

	"github.com/reportferry/reportferry/sinks"
)

// A Target is a sink of a job under the names that receipts carry.
type Target struct {
	Name string // the sink's URL without what may be secret, for people
	Sink sinks.Sink

	// Store is the sink's canonical identity; empty: Name is. Receipts of earlier versions have none, and count by the
	// name, unless NamesMore: the URL says more of the store, or of the layout in it, than the name.
	Store     string
	NamesMore bool
}

// Identity is what the target's receipts say of the store.
func (t Target) Identity() string { return cmp.Or(t.Store, t.Name) }

// Gave tells whether a receipt is this target's.
func (t Target) Gave(r sinks.Receipt) bool {
	if r.Store != "" {
		return r.Store == t.Identity()
	}
	return r.Sink == t.Name && !t.NamesMore
}
