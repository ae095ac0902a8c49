package store

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// A Segment is one step of a push, written once. One that has a head says all that is known of the
// push; the others add to it. One of no push only takes a number.
type Segment struct {
	Push string    `json:"push,omitempty"`
	Run  string    `json:"run"`
	At   time.Time `json:"at"`
	// Of rows that changed, or of all; what may be sent next is in doubt.
	Spans    []byte          `json:"spans,omitempty"`
	Rejected map[int64]Words `json:"rejected,omitempty"` // rows, by the service
	Sums     map[string]Sum  `json:"sums,omitempty"`     // of what was accepted
	Head     *Head           `json:"head,omitempty"`
}

// Words say why a record isn't taken. They never quote what identifies a person.
type Words struct {
	Field  string `json:"field,omitempty"`
	Reason string `json:"reason"`
}

// A Head is what a push is about, and how far it is.
type Head struct {
	ID      string    `json:"id"`
	Name    string    `json:"file"`
	Order   string    `json:"order,omitempty"`
	Version string    `json:"version"`
	Digest  string    `json:"digest"`
	Run     string    `json:"run"` // the last that worked on it
	Started time.Time `json:"started"`
	At      time.Time `json:"at,omitzero"`       // when its last segment was written
	Ended   time.Time `json:"ended,omitzero"`    // zero: open
	Rows    int64     `json:"rows"`              // those that are records, or should be
	Skipped int64     `json:"skipped,omitempty"` // the others: totals, notes, empty ones
	Records int64     `json:"records"`           // in the object of records
	Sum     string    `json:"xxh64,omitempty"`   // of that object
	Pruned  bool      `json:"pruned,omitempty"`  // what became of single rows is forgotten
	Rejects string    `json:"rejects,omitempty"`
	Error   string    `json:"error,omitempty"` // why nothing of it is sent, or nothing more

	// Its segments: the first, while the numbers from there on must stay taken; the last that says
	// all, 0 when nothing was ever to be sent; and the last.
	First int `json:"first,omitempty"`
	Whole int `json:"whole,omitempty"`
	Last  int `json:"last,omitempty"`

	Counts   Counts   `json:"counts"`
	Partly   int64    `json:"partly,omitempty"`   // of the rejected: the service took a part of them
	Refusals []Reason `json:"refusals,omitempty"` // of rows that aren't sent, as of the first reading of the file
	Reasons  []Reason `json:"reasons,omitempty"`  // those, and why the service rejected others
}

// A Push is a name with one content, as it is on record.
type Push struct {
	Head   Head
	Newest bool    // of its name
	States *States // nil: not read; all its records were accepted, or what became of them is forgotten
	Words  map[int64]Words
	Sums   map[string]Sum
}

// Open tells whether there is something left to do.
func (p *Push) Open() bool { return p.Head.Ended.IsZero() }

// Live tells whether it matters to other files what became of single rows: not when all records
// were accepted.
func (p *Push) Live() bool {
	return !p.Head.Pruned && (p.Open() || p.Head.Counts.Accepted != p.Head.Records)
}

// sameFile tells whether both are of one file, and something of this one was to be sent.
func (p *Push) sameFile(o *Push) bool { return p.Head.Whole > 0 && p.Head.Name == o.Head.Name }

// Supersede ends pushes of contents that files don't have any more, once those that they have are
// at their end: their rows can't be read.
func Supersede(pushes []*Push) {
	for i, p := range pushes {
		by := slices.IndexFunc(pushes[i+1:], func(o *Push) bool { return o.sameFile(p) && !o.Open() })
		if p.Open() && p.Head.Whole > 0 && by >= 0 {
			p.Head.Ended = pushes[i+1+by].Head.Ended
		}
	}
}

// resume marks what the end of a process has left open: rows that waited weren't sent, and are
// pending.
func (p *Push) resume() {
	for row := int64(1); row <= p.States.Rows; row++ {
		if p.States.Get(row) == Waiting {
			p.States.Set(row, Pending)
		}
	}
	p.sumUp()
}

// sumUp counts all rows in the head.
func (p *Push) sumUp() {
	if p.States == nil {
		return
	}
	p.Head.Counts, p.Head.Partly = p.States.Tally(), 0
	t := Tallied{}
	for _, r := range p.Head.Refusals {
		t[Words{r.Field, r.Reason}] += r.Rows
	}
	for _, w := range p.Words {
		t.Add(w)
		if strings.HasPrefix(w.Reason, partly) {
			p.Head.Partly++
		}
	}
	p.Head.Reasons = t.List()
}

// Refuse notes why nothing of the file is sent, or nothing more. What was sent of it before is in
// its segments.
func (p *Push) Refuse(why error, rejects string) {
	if p.Head.Error, p.Head.Rejects = why.Error(), rejects; p.Head.Whole == 0 {
		p.sumUp()
	}
}

// partly begins the reason of a record that the service has taken a part of.
const partly = "the service took a part of it"

// stateOf is what became of a row, as it matters to another push that has the same record.
func (p *Push) stateOf(row int64) State {
	if p.States == nil {
		return Accepted
	}
	switch s := p.States.Get(row); s {
	case Pending | Doubt:
		return Unknown
	case Waiting:
		return Pending
	default:
		return s &^ Doubt
	}
}

// Take adds to the push what a segment says beside the states.
func (p *Push) Take(s Segment) {
	maps.Copy(p.Words, s.Rejected)
	for key, sum := range s.Sums {
		addSum(p.Sums, key, sum.Records, sum.Amount)
	}
}

// Whole is the segment that says all that is known of a push whose rows are.
func (p *Push) Whole() Segment {
	p.sumUp()
	return Segment{Head: &p.Head, Sums: p.Sums, Spans: p.States.encode(), Rejected: p.Words}
}

// Age is how long ago a push ended or, while it is open, started.
func (p *Push) Age(now time.Time) time.Duration {
	if p.Open() {
		return now.Sub(p.Head.Started)
	}
	return now.Sub(p.Head.Ended)
}
