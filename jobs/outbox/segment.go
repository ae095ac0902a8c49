package outbox

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A segment is one step of a push, written once. One that is whole (Base is its own number) says all that is known up to
// it; the others add to it.
type segment struct {
	Base     int            `json:"base"`
	Writer   string         `json:"writer"` // this object's alone, to know it again
	Run      string         `json:"run"`
	At       time.Time      `json:"at"`
	Reserved int64          `json:"reserved"` // of earlier versions: pending rows up to this one may have been sent
	Spans    []byte         `json:"spans"`    // of rows that changed, or of all; what may be sent next is in doubt
	Words    []string       `json:"words,omitempty"`
	Rejected []wordsOf      `json:"rejected,omitempty"` // by the service
	Sums     map[string]Sum `json:"sums,omitempty"`     // of what was accepted
	Head     *head          `json:"head,omitempty"`     // of a whole one
}

// wordsOf says which of the segment's words are those of a row.
type wordsOf struct {
	Row   int64 `json:"row"`
	Words int   `json:"words"`
}

// Words say why a record isn't taken. They never quote what identifies a person.
type Words struct{ Field, Reason string }

// A head is what a push is about.
type head struct {
	Name    string    `json:"file"`
	Order   string    `json:"order,omitempty"`
	Version string    `json:"version"`
	Digest  string    `json:"digest"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"` // zero: open
	Rows    int64     `json:"rows"`           // those that are records
	Records int64     `json:"records"`        // in the object of records
	Sum     string    `json:"xxh64"`          // of that object; empty: it isn't written yet, and nothing was sent
	Pruned  bool      `json:"pruned,omitempty"`
	Rejects string    `json:"rejects,omitempty"`
	Error   string    `json:"error,omitempty"` // why nothing of it was sent
	Counts  counts    `json:"counts"`          // once it has ended
}

// A push is a name with one content, as read from its segments.
type push struct {
	id       string // its folder
	records  bool   // the object of records is there
	last     int    // number of the last segment
	base     int    // of the last whole one
	head     head
	run      string
	newest   bool    // of its name
	states   *states // nil: it has ended, and all its records were accepted
	spans    []byte  // then, the states as they are on record
	words    map[int64]Words
	sums     map[string]Sum
	reserved int64
}

func (p *push) key(n int) string   { return fmt.Sprintf("%s/%06d.json", p.id, n) }
func (p *push) recordsKey() string { return p.id + "/records" }

func (p *push) open() bool { return p.head.Ended.IsZero() }

// fate is what became of a row, for another push that has the same record.
func (p *push) fate(row int64) state {
	if p.states == nil {
		return accepted
	}
	switch s := p.states.get(row); s {
	case pending | doubt:
		return unknown
	case waiting:
		return pending
	default:
		return s &^ doubt
	}
}

// take adds what a segment says beside the states.
func (p *push) take(s segment) {
	p.run, p.reserved = s.Run, s.Reserved
	for _, r := range s.Rejected {
		if r.Words >= 0 && r.Words < len(s.Words) {
			field, reason, _ := strings.Cut(s.Words[r.Words], "\t")
			p.words[r.Row] = Words{field, reason}
		}
	}
	for key, sum := range s.Sums {
		addSum(p.sums, key, sum.Records, sum.Amount)
	}
}

// whole gives the segment that says everything.
func (p *push) whole(run string) segment {
	h := p.head
	s := segment{Run: run, Head: &h, Sums: p.sums, Spans: p.spans}
	if p.states != nil {
		s.Spans = p.states.encode()
	}
	s.Words, s.Rejected = listWords(p.words)
	return s
}

// listWords gives the rejections of rows with each text once.
func listWords(of map[int64]Words) (words []string, rows []wordsOf) {
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

// age is how long ago a push ended or, while it is open, started.
func (p *push) age(now time.Time) time.Duration {
	if p.open() {
		return now.Sub(p.head.Started)
	}
	return now.Sub(p.head.Ended)
}
