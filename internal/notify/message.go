package notify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Why messages are sent.
const (
	Failed            = "failed"              // units that failed in the last run that tried them
	Stale             = "stale"               // partitions that are missing although a fetch would bring them by now
	HeldBack          = "held_back"           // answers that aren't published, because they would remove good rows
	Unreconciled      = "unreconciled"        // rows that differ from the service's totals
	ChangedAfterFinal = "changed_after_final" // numbers that moved after they had been final
	NotTaken          = "not_taken"           // rows of pushed files that weren't taken
	Conflict          = "conflict"            // somebody else writes the same table
	Schema            = "schema"              // a column or an event that the service has no more
	Denied            = "denied"              // credentials that were refused
	Resolved          = "resolved"            // any of these is over
)

// Reasons lists all reasons, those first that need a person most.
var Reasons = []string{Denied, Conflict, Schema, Failed, Stale, HeldBack, Unreconciled, ChangedAfterFinal, NotTaken,
	Resolved}

// titles are the reasons in words, as a message has them in front of a range. Resolved has none.
var titles = map[string]string{
	Failed: "failed", Stale: "missing", HeldBack: "an answer is held back",
	Unreconciled: "differs from the service's totals", ChangedAfterFinal: "changed after being final",
	NotTaken: "rows not taken of", Conflict: "another writer",
	Schema: "the service has no such column or event any more", Denied: "access denied",
}

// A Problem is something wrong with a job.
type Problem struct {
	Job, Reason   string
	From, Through string // the range: dates of its first and last partition; empty: the job as a whole
	Before, After string // the partitions beside the range; empty: there is none
	Count         int    // of partitions, or units
	What          string // in words, such as the worst difference; it may be empty
	Do            string // the commands to type, a line each

	Conditions []string // the state of the range in words, as all other output has them; none: the reason says it

	// Records names what the problem is about, where that isn't days: contents of partitions,
	// ascending, such as 2026-01-31@2026-03-01T06:00:00Z. Another content of the same day is
	// another record.
	Records []string
	Past    bool // it has happened and doesn't go on: with Records, it is over once all receivers have it
}

// through returns the last partition of the range.
func (p Problem) through() string { return max(p.From, p.Through) }

// joins reports whether a range overlaps or adjoins the problem's: then both are one incident.
func (p Problem) joins(from, through string) bool {
	if p.From == "" || from == "" {
		return p.From == from
	}
	return cmp.Or(p.Before, p.From) <= through && from <= max(p.through(), p.After)
}

// title returns the problem in a word or two.
func (p Problem) title() string { return cmp.Or(strings.Join(p.Conditions, " and "), titles[p.Reason]) }

// rangeText names the range for people.
func (p Problem) rangeText() (text string) {
	if p.From != "" {
		text = " " + p.From
	}
	if p.through() > p.From {
		text += " to " + p.Through
	}
	return text
}

// An Item is one incident of a message.
type Item struct {
	Problem
	Kind string // opened, reminded or resolved
	ID   string // the same for all messages about an incident
}

// item returns the incident as an item of a message.
func (i *incident) item() Item {
	if i.problem == nil {
		return Item{Problem{Job: i.Job, Reason: i.Reason, From: i.From, Through: i.Through}, i.Kind, i.messageID()}
	}
	return Item{*i.problem, i.Kind, i.messageID()}
}

// line returns the incident as a line of a message, with the commands to type below it.
func (i Item) line() string {
	text := i.Job + ": " + i.title() + i.rangeText()
	if i.Count > 1 {
		text += fmt.Sprintf(" (%d)", i.Count)
	}
	switch i.Kind {
	case resolved:
		return "Over: " + text
	case reminded:
		text += ", still"
	}
	if i.What != "" {
		text += ". " + i.What
	}
	if i.Do != "" {
		text += "\n    " + strings.ReplaceAll(i.Do, "\n", "\n    ")
	}
	return text
}

// mostLines is how many incidents have a line of their own in a message.
const mostLines = 10

// A Message is about all that has changed for one receiver.
type Message struct {
	Title string
	Lines []string
	Items []Item
	Link  string // to the console; empty: there is none
}

// Text returns the message as plain text.
func (m Message) Text() string {
	text := m.Title + "\n\n" + strings.Join(m.Lines, "\n")
	if m.Link != "" {
		text += "\n\n" + m.Link
	}
	return text
}

// message returns what a receiver gets: one message, however much has happened.
func (n *News) message(list []*incident) Message {
	slices.SortStableFunc(list, func(a, b *incident) int {
		return slices.Index(Reasons, a.Reason) - slices.Index(Reasons, b.Reason)
	})
	m, count := Message{Link: n.Link}, map[string]int{}
	for at, i := range list {
		item := i.item()
		count[i.Kind]++
		m.Items = append(m.Items, item)
		if at < mostLines {
			m.Lines = append(m.Lines, item.line())
		}
	}
	if more := len(list) - mostLines; more > 0 {
		m.Lines = append(m.Lines, fmt.Sprintf("and %d more; `reportferry status` lists them",
			more))
	}
	var parts []string
	for _, c := range []struct{ kind, word string }{{opened, "new"}, {reminded, "going on"}, {resolved, "over"}} {
		if count[c.kind] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[c.kind], c.word))
		}
	}
	if len(list) == 1 {
		parts[0] = m.Items[0].Job + ": " + m.Items[0].title()
		if count[resolved] > 0 {
			parts = append(parts, "over")
		}
	}
	m.Title = "reportferry: " + strings.Join(parts, ", ")
	return m
}
