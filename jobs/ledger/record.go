package ledger

import (
	"cmp"
	"slices"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/sinks"
)

// A Record says what the fetch of one partition resulted in. Writing it is the commit point of the
// fetch.
type Record struct {
	Partition civil.Date `json:"partition"`
	Seq       int        `json:"seq"` // how many records the partition has had
	// After is the number of the record that it replaces; 0: there was none.
	After    int               `json:"after,omitempty"`
	Run      string            `json:"run"`
	Fetched  time.Time         `json:"fetched"` // start of the first request
	State    State             `json:"state"`
	Cause    string            `json:"cause,omitempty"` // for zero rows: what the answer was
	Rows     int64             `json:"rows"`
	Hash     string            `json:"hash"`
	Shape    string            `json:"shape"`
	Sums     map[string]string `json:"sums,omitempty"` // sums of additive metrics, exact decimals
	Receipts []sinks.Receipt   `json:"receipts,omitempty"`

	Reason string `json:"reason,omitempty"` // why it was fetched
	// Since is when this content was fetched first; zero in records of earlier versions.
	Since    time.Time `json:"since,omitzero"`
	Finality string    `json:"finality,omitempty"`            // what the fetch was: partial, restating or final
	Moved    bool      `json:"changed_after_final,omitempty"` // the content replaced another one that was final
	// Control is nil in records of earlier versions, and of kinds that have no totals.
	Control *Control `json:"control,omitempty"`
	// Raw has the names of the raw answers from which it was made: key#SHA-256.
	Raw []string `json:"raw,omitempty"`

	// Asked is on how many days it was fetched again, because it has no rows, or they differ from
	// the totals.
	Asked int    `json:"asked,omitempty"`
	Same  int    `json:"same,omitempty"`  // how many of the last of those days brought the same
	Scope string `json:"scope,omitempty"` // ID of the scope, the apps that the token showed; empty: it isn't known
	// HeldBack is the newest answer, if it must not replace these rows. All other fields are about
	// the fetch before.
	HeldBack *HeldBack   `json:"held_back,omitempty"`
	Accepted *Acceptance `json:"accepted,omitempty"` // why an answer was published that would have been held back

	// Events are, in a history, what happened while the partition had this content.
	Events []Event `json:"-"`

	// Doubt says that the partition is in doubt, or stays so after the record is written.
	Doubt bool `json:"-"`

	// Meaning is the ID of the shape's fingerprint. It is set only in a history, if the content
	// before or after has another shape.
	Meaning string `json:"-"`
}

// Records are the newest records of a table, by partition.
type Records map[civil.Date]Record

// A State says what the sinks hold after the fetch.
type State string

// The states.
const (
	Written State = "written" // the answer's rows
	Empty   State = "empty"   // nothing, and never had rows
	Cleared State = "cleared" // zero rows published over older ones, as on_empty: clear asks
	Kept    State = "kept"    // older rows though the answer was empty, as on_empty: keep asks

	// Publishing is never recorded. It is the state of a partition in doubt, whose lease is over
	// without a record. It is unknown which rows are visible, and planning treats the partition as
	// missing.
	Publishing State = "publishing"
)

// Reached reports whether every target has confirmed the partition by a receipt. An empty partition
// needs none.
func (e Record) Reached(targets []Target) bool {
	return e.State == Empty || !slices.ContainsFunc(targets, func(t Target) bool {
		_, has := e.Receipt(t)
		return !has
	})
}

// Receipt returns the receipt that the target gave, if there is one.
func (e Record) Receipt(t Target) (sinks.Receipt, bool) {
	i := slices.IndexFunc(e.Receipts, t.Gave)
	if i < 0 {
		return sinks.Receipt{}, false
	}
	return e.Receipts[i], true
}

// Unfetched reports whether the partition was never recorded, so that no fetch of it has ended.
func (e Record) Unfetched() bool { return e.Seq == 0 }

// Unchanged is the outcome of a fetch whose content all sinks held already. It is counted but never
// recorded.
const Unchanged State = "unchanged"

// A Target is an opened sink of a job, with the names by which receipts identify it.
type Target struct {
	Name string // the sink's URL without what may be secret, for people
	Sink sinks.Sink

	// Store is the sink's canonical identity; empty: Name is the identity. Receipts of earlier
	// versions have no store and are matched by Name. With NamesMore they aren't matched, because
	// then the URL says more about the store, or the layout in it, than Name does.
	Store     string
	NamesMore bool
}

// Identity returns the name that the target's receipts have for the store.
func (t Target) Identity() string { return cmp.Or(t.Store, t.Name) }

// Gave reports whether a receipt is this target's.
func (t Target) Gave(r sinks.Receipt) bool {
	if r.Store != "" {
		return r.Store == t.Identity()
	}
	return r.Sink == t.Name && !t.NamesMore
}

// A HeldBack is the last answer that was not published, because it would have taken away rows that
// are more reliable.
type HeldBack struct {
	Why      string            `json:"why"`
	Run      string            `json:"run"`   // the run that fetched it
	Since    time.Time         `json:"since"` // when the first of these answers was fetched
	Last     time.Time         `json:"last"`  // when this answer was fetched
	Days     int               `json:"days"`  // how many days have brought about the same answer
	Rows     int64             `json:"rows"`
	Sums     map[string]string `json:"sums,omitempty"`
	Accepted *Acceptance       `json:"accepted,omitempty"` // the next answer is published, whatever it has
}

// An Acceptance says why an answer is published that would otherwise have been held back.
type Acceptance struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
	Person bool      `json:"person,omitempty"` // true: a person has decided; false: three answers agreed
}

// Differs reports whether the rows differ from the service's totals, or can't be compared because
// the totals couldn't be fetched.
func (e Record) Differs() bool { return e.Control != nil && e.Control.State == Unreconciled }

// Stands reports whether three answers on different days had the same rows, which differ from the
// totals in the same way. Fetching again won't end that.
func (e Record) Stands() bool { return e.Differs() && e.Same >= 2 }

// AwaitsPerson reports whether only a person can resolve the partition's state: an answer is held
// back, or rows differ for good, and nobody has accepted that.
func (e Record) AwaitsPerson() bool {
	return e.Waits() || e.Stands() && (e.Accepted == nil || !e.Accepted.Person)
}

// Waits reports whether an answer is held back that nobody has accepted.
func (e Record) Waits() bool { return e.HeldBack != nil && e.HeldBack.Accepted == nil }
