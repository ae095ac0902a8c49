package store

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// A Segment is one step of a push, written once. A segment with a head holds all that is known of
// the push; one without adds to what is known. A segment without a push only takes a number.
type Segment struct {
	Push string    `json:"push,omitempty"` // Head.ID of the push
	Run  string    `json:"run"`            // the run that wrote it
	At   time.Time `json:"at"`
	// Spans holds the states of the rows that changed, or of all rows. Rows that may be sent once
	// the segment is written are Unknown in it.
	Spans    []byte          `json:"spans,omitempty"`
	Rejected map[int64]Words `json:"rejected,omitempty"` // rows that the service rejected, and why
	Sums     map[string]Sum  `json:"sums,omitempty"`     // sums of the accepted records
	Head     *Head           `json:"head,omitempty"`
}

// Words say why a record isn't accepted. They never quote what identifies a person.
type Words struct {
	Field  string `json:"field,omitempty"`
	Reason string `json:"reason"`
}

// A Head says which file a push is about, and how far the push is.
type Head struct {
	ID      string    `json:"id"`
	Name    string    `json:"file"`
	Order   string    `json:"order,omitempty"`
	Version string    `json:"version"`
	Digest  string    `json:"digest"`
	Run     string    `json:"run"` // the last run that worked on it
	Started time.Time `json:"started"`
	At      time.Time `json:"at,omitzero"`       // when its last segment was written
	Ended   time.Time `json:"ended,omitzero"`    // zero: the push is open
	Rows    int64     `json:"rows"`              // rows that are records, or should be
	Skipped int64     `json:"skipped,omitempty"` // other rows: totals, notes, empty ones
	Records int64     `json:"records"`           // number of items in the object of records
	Sum     string    `json:"xxh64,omitempty"`   // checksum of that object
	Pruned  bool      `json:"pruned,omitempty"`  // the states of single rows are forgotten
	Rejects string    `json:"rejects,omitempty"`
	Error   string    `json:"error,omitempty"` // why nothing of it is sent, or nothing more

	// First is the number of its first segment, as long as the numbers from there on must stay
	// taken; otherwise it is 0.
	First int `json:"first,omitempty"`
	// Whole is the number of its last segment that holds all that is known, or 0 when nothing was
	// ever to be sent.
	Whole int `json:"whole,omitempty"`
	Last  int `json:"last,omitempty"` // number of its last segment

	Counts   Counts   `json:"counts"`
	Partly   int64    `json:"partly,omitempty"`   // rejected records that the service took a part of
	Refusals []Reason `json:"refusals,omitempty"` // of rows that aren't sent, from the first reading of the file
	Reasons  []Reason `json:"reasons,omitempty"`  // Refusals, and the reasons for which the service rejected other rows
}

// A Push is a file's name with one content, as it is on record.
type Push struct {
	Head   Head
	Newest bool    // it is the newest push of its file's name
	States *States // nil: not read, or all records were accepted, or the states are forgotten
	// Words holds, by row, why the service rejected records; Sums, by key, the sums of the accepted
	// ones. Both are read together with States.
	Words map[int64]Words
	Sums  map[string]Sum
}

// Open reports whether there is something left to do.
func (p *Push) Open() bool { return p.Head.Ended.IsZero() }

// Live reports whether the states of single rows matter to other files. They don't when all records
// were accepted.
func (p *Push) Live() bool {
	return !p.Head.Pruned && (p.Open() || p.Head.Counts.Accepted != p.Head.Records)
}

// sameFile reports whether both pushes are of one file, and p has something that was to be sent.
func (p *Push) sameFile(o *Push) bool { return p.Head.Whole > 0 && p.Head.Name == o.Head.Name }

// Supersede ends open pushes for which a later push of the same file has ended: the file doesn't
// have their content any more, so that their rows can't be read.
func Supersede(pushes []*Push) {
	for i, p := range pushes {
		by := slices.IndexFunc(pushes[i+1:], func(o *Push) bool { return o.sameFile(p) && !o.Open() })
		if p.Open() && p.Head.Whole > 0 && by >= 0 {
			p.Head.Ended = pushes[i+1+by].Head.Ended
		}
	}
}

// resume sets waiting rows to pending after a process has ended, because they weren't sent.
func (p *Push) resume() {
	for row := int64(1); row <= p.States.Rows; row++ {
		if p.States.Get(row) == Waiting {
			p.States.Set(row, Pending)
		}
	}
	p.sumUp()
}

// sumUp counts all rows by state and reason, and sets the counts and reasons in the head. It does
// nothing when the states aren't known.
func (p *Push) sumUp() {
	if p.States == nil {
		return
	}
	p.Head.Counts, p.Head.Partly = p.States.Tally(), 0
	t := ReasonCounts{}
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

// Refuse records why nothing of the file is sent, or nothing more. What was sent of it before is in
// its segments.
func (p *Push) Refuse(why error, rejects string) {
	if p.Head.Error, p.Head.Rejects = why.Error(), rejects; p.Head.Whole == 0 {
		p.sumUp()
	}
}

// partly begins the reason for a record that the service has taken a part of.
const partly = "the service took a part of it"

// stateOf returns the state of a row, as it matters to another push that has the same record.
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

// Take adds to the push what a segment holds besides the states: the rejections and the sums.
func (p *Push) Take(s Segment) {
	maps.Copy(p.Words, s.Rejected)
	for key, sum := range s.Sums {
		addSum(p.Sums, key, sum.Records, sum.Amount)
	}
}

// Whole returns a segment with all that is known of a push. The states of its rows must have been
// read.
func (p *Push) Whole() Segment {
	p.sumUp()
	return Segment{Head: &p.Head, Sums: p.Sums, Spans: p.States.encode(), Rejected: p.Words}
}

// Age returns how long ago a push ended or, while it is open, started.
func (p *Push) Age(now time.Time) time.Duration {
	if p.Open() {
		return now.Sub(p.Head.Started)
	}
	return now.Sub(p.Head.Ended)
}
