package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/sinks"
)

// An Entry is the record of one partition: the commit point of a fetch.
type Record struct {
	Partition civil.Date        `json:"partition"`
	Seq       int               `json:"seq"` // 1 for the first record of the partition
	Run       string            `json:"run"`
	Fetched   time.Time         `json:"fetched"` // start of the first request
	State     State             `json:"state"`
	Cause     string            `json:"cause,omitempty"` // of an empty one: what the answer was
	Rows      int64             `json:"rows"`
	Hash      string            `json:"hash"`
	Shape     string            `json:"shape"`
	Sums      map[string]string `json:"sums,omitempty"` // additive metrics, exact
	Receipts  []sinks.Receipt   `json:"receipts,omitempty"`
	Segment   int               `json:"segment"` // the highest segment there was when this was written
}

// Records is what the ledger holds of a table.
type Records map[civil.Date]Record

// A State says what the sinks hold after the fetch.
type State string

// The states.
const (
	Written State = "written" // the answer's rows
	Empty   State = "empty"   // nothing, and never had rows
	Cleared State = "cleared" // zero rows published over older ones, as on_empty: clear asks
	Kept    State = "kept"    // older rows though the answer was empty, as on_empty: keep asks

	// Publishing: newer rows are on their way, and which ones are visible is not known. A record in this state counts
	// as none.
	Publishing State = "publishing"
)

// Reached tells whether each of the targets holds the partition, as far as there is anything to hold.
func (e Record) Reached(targets []Target) bool {
	return e.State == Empty || !slices.ContainsFunc(targets, func(t Target) bool {
		_, has := e.Receipt(t)
		return !has
	})
}

// Receipt is the one that the target gave.
func (e Record) Receipt(t Target) (sinks.Receipt, bool) {
	i := slices.IndexFunc(e.Receipts, t.Gave)
	if i < 0 {
		return sinks.Receipt{}, false
	}
	return e.Receipts[i], true
}

// Unchanged is what Publish says of content that every sink held already. It is never recorded.
const Unchanged State = "unchanged"

func entryKey(table string, partition civil.Date, seq int) string {
	return fmt.Sprintf("tables/%s/partitions/%s.%06d.json", table, partition, seq)
}

// parseEntryKey reads partition and seq from a record's key.
func parseEntryKey(key string) (civil.Date, int, bool) {
	name := strings.TrimSuffix(key[strings.LastIndexByte(key, '/')+1:], ".json")
	date, number, found := strings.Cut(name, ".")
	d, err := civil.ParseDate(date)
	if !found || err != nil {
		return d, 0, false
	}
	seq, ok := numbered("/" + number + ".json")
	return d, seq, ok
}

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
