package store

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Segment is one step of a push, written once. One that is whole (Base is its own number) says all that is known up to
// it; the others add to it.
type Segment struct {
	Base     int            `json:"base"`
	Writer   string         `json:"writer"` // this object's alone, to know it again
	Run      string         `json:"run"`
	At       time.Time      `json:"at"`
	Reserved int64          `json:"reserved"` // of earlier versions: pending rows up to this one may have been sent
	Spans    []byte         `json:"spans"`    // of rows that changed, or of all; what may be sent next is in doubt
	Words    []string       `json:"words,omitempty"`
	Rejected []wordsOf      `json:"rejected,omitempty"` // by the service
	Sums     map[string]Sum `json:"sums,omitempty"`     // of what was accepted
	Head     *Head          `json:"head,omitempty"`     // of a whole one
}

// wordsOf says which of the segment's words are those of a row.
type wordsOf struct {
	Row   int64 `json:"row"`
	Words int   `json:"words"`
}

// Words say why a record isn't taken. They never quote what identifies a person.
type Words struct{ Field, Reason string }

// A Head is what a push is about.
type Head struct {
	Name    string    `json:"file"`
	Order   string    `json:"order,omitempty"`
	Version string    `json:"version"`
	Digest  string    `json:"digest"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`    // zero: open
	Rows    int64     `json:"rows"`              // those that are records, or should be
	Skipped int64     `json:"skipped,omitempty"` // the others: totals, notes, empty ones
	Records int64     `json:"records"`           // in the object of records
	Sum     string    `json:"xxh64"`             // of that object; empty: it isn't written yet, and nothing was sent
	Pruned  bool      `json:"pruned,omitempty"`
	Rejects string    `json:"rejects,omitempty"`
	Error   string    `json:"error,omitempty"` // why nothing of it is sent, or nothing more
	Counts  Counts    `json:"counts"`          // once it has ended

	Refusals []Reason `json:"refusals,omitempty"` // of rows that aren't sent; earlier versions noted none
}

// A Push is a name with one content, as read from its segments.
type Push struct {
	ID       string // its folder
	Records  bool   // the object of records is there
	Last     int    // number of the last segment
	Base     int    // of the last whole one
	Head     Head
	Run      string
	At       time.Time // when the last segment that was read was written
	Newest   bool      // of its name
	States   *States   // nil: it has ended, and all its records were accepted
	Spans    []byte    // then, the states as they are on record
	Words    map[int64]Words
	Sums     map[string]Sum
	reserved int64
}

// Key is the key of segment n below the table's folder.
func (p *Push) Key(n int) string { return fmt.Sprintf("%s/%06d.json", p.ID, n) }

// RecordsKey is the key of the object of records.
func (p *Push) RecordsKey() string { return p.ID + "/records" }

// Open tells whether there is something left to do.
func (p *Push) Open() bool { return p.Head.Ended.IsZero() }

// fate is what became of a row, as it matters to another push that has the same record.
func (p *Push) fate(row int64) State {
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
	p.Run, p.reserved, p.At = s.Run, s.Reserved, s.At
	for _, r := range s.Rejected {
		if r.Words >= 0 && r.Words < len(s.Words) {
			field, reason, _ := strings.Cut(s.Words[r.Words], "\t")
			p.Words[r.Row] = Words{field, reason}
		}
	}
	for key, sum := range s.Sums {
		addSum(p.Sums, key, sum.Records, sum.Amount)
	}
}

// Whole is the segment that says all that is known of the push.
func (p *Push) Whole(run string) Segment {
	h := p.Head
	s := Segment{Run: run, Head: &h, Sums: p.Sums, Spans: p.Spans}
	if p.States != nil {
		s.Spans = p.States.encode()
	}
	s.Words, s.Rejected = ListWords(p.Words)
	return s
}

// ListWords gives the rejections of rows with each text once.
func ListWords(of map[int64]Words) (words []string, rows []wordsOf) {
	index := map[Words]int{}
	for _, row := range slices.Sorted(maps.Keys(of)) {
		r := of[row]
		i, known := index[r]
		if !known {
			i = len(words)
			index[r] = i
			words = append(words, r.Field+"\t"+r.Reason)
		}
		rows = append(rows, wordsOf{row, i})
	}
	return words, rows
}

// Age is how long ago a push ended or, while it is open, started.
func (p *Push) Age(now time.Time) time.Duration {
	if p.Open() {
		return now.Sub(p.Head.Started)
	}
	return now.Sub(p.Head.Ended)
}
