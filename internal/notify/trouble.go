package notify

import (
	"cmp"
	"fmt"
	"strings"
)

// What people are told of.
const (
	Failed            = "failed"              // units that failed in the last run that tried them
	Stale             = "stale"               // partitions that a fetch would bring by now
	HeldBack          = "held_back"           // answers that aren't published, because they take good rows away
	Unreconciled      = "unreconciled"        // rows that differ from the service's totals
	ChangedAfterFinal = "changed_after_final" // numbers that moved after they had been final
	NotTaken          = "not_taken"           // rows of pushed files that weren't taken
	Conflict          = "conflict"            // somebody else writes the same table
	Schema            = "schema"              // a column or an event that the service has no more
	Denied            = "denied"              // credentials that were refused
	Resolved          = "resolved"            // that any of these is over
)

// Reasons lists them all, those first that want a person most.
var Reasons = []string{Denied, Conflict, Schema, Failed, Stale, HeldBack, Unreconciled, ChangedAfterFinal, NotTaken, Resolved}

// A Trouble is something wrong with a job.
type Trouble struct {
	Job, Reason   string
	From, Through string // the range: dates of partitions; empty: the job as a whole
	Before, After string // the partitions beside the range; empty: there is none
	Count         int    // of partitions, or units
	What          string // in words, such as the worst difference; it may be empty
	Do            string // the commands to type, a line each

	Conditions []string // words for what is so of the range, as every surface has them; none: the reason says it

	// Records names what is told of once each, where that isn't days: contents of partitions, ascending, such as
	// 2026-01-31@2026-03-01T06:00:00Z. Another content of the same day is something else.
	Records []string
	Past    bool // it has happened and doesn't go on: with Records, it is over once all have heard of it
}

// about names the range for people.
func (t Trouble) about() string {
	switch {
	case t.From == "":
		return ""
	case t.Through == "" || t.Through == t.From:
		return " " + t.From
	}
	return " " + t.From + " to " + t.Through
}

// titles are the reasons in words.
var titles = map[string]string{
	Failed: "failed", Stale: "missing", HeldBack: "an answer is held back", Unreconciled: "differs from the service's totals", ChangedAfterFinal: "changed after being final",
	NotTaken: "rows not taken of", Conflict: "another writer", Schema: "the service has no such column or event any more", Denied: "access denied",
}

// title is the trouble in a word or two.
func (t Trouble) title() string { return cmp.Or(strings.Join(t.Conditions, " and "), titles[t.Reason]) }

// line is the trouble in a line of a message.
func (t Trouble) line(kind string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s%s", t.Job, t.title(), t.about())
	if t.Count > 1 {
		fmt.Fprintf(&b, " (%d)", t.Count)
	}
	switch kind {
	case resolved:
		return "Over: " + b.String()
	case reminded:
		b.WriteString(", still")
	}
	if t.What != "" {
		b.WriteString(". " + t.What)
	}
	if t.Do != "" {
		b.WriteString("\n    " + strings.ReplaceAll(t.Do, "\n", "\n    "))
	}
	return b.String()
}

// through is the last partition of the range.
func (t Trouble) through() string { return max(t.From, t.Through) }

// joins tells whether a range has something in common with the trouble's, or follows on it: then they are one incident.
func (t Trouble) joins(from, through string) bool {
	if t.From == "" || from == "" {
		return t.From == from
	}
	first, last := t.From, max(t.through(), t.After)
	if t.Before != "" {
		first = t.Before
	}
	return first <= through && from <= last
}
