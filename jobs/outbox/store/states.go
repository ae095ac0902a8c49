package store

import (
	"encoding/binary"
	"errors"
)

// A State is the state of a row, in four bits, so that fifty million rows take 25 MB.
type State byte

// These are the states of a row.
const (
	None      State = iota // the row is no record
	Pending                // to be sent
	Accepted               // the service has it
	Rejected               // the service rejected it
	Unknown                // in doubt: the service may have it
	Refused                // refused by the kind of job; never sent
	Duplicate              // the service has it from another row or file
	Conflict               // the service has the record with another content

	Doubt State = 8 // a flag besides the states above: the row may have been sent already

	// Waiting means pending for a later run, because an earlier record of its ID is pending or in
	// doubt. It is a state of its own, although it has the bit of the flag.
	Waiting = None | Doubt
)

// Maybe reports whether the service may already have a record that is to be sent: its state is
// Unknown, or has the flag Doubt. It also reports true for Waiting, which has the same bit.
func (s State) Maybe() bool { return s == Unknown || s&Doubt != 0 }

// MaxRow is the highest row that fits an index entry.
const MaxRow = 1<<32 - 1

// States holds the states of all rows of a file, from row 1 on.
type States struct {
	b    []byte // two rows a byte: the even one in the lower four bits
	Rows int64  // the highest row that was set
}

// Get returns the state of a row; None if it was never set.
func (s *States) Get(row int64) State {
	if i := row >> 1; i < int64(len(s.b)) {
		return State(s.b[i]>>(row&1*4)) & 15
	}
	return None
}

// Set sets the state of a row.
func (s *States) Set(row int64, v State) {
	i := row >> 1
	if i >= int64(len(s.b)) {
		s.b = append(s.b, make([]byte, i+1-int64(len(s.b)))...)
	}
	shift := row & 1 * 4
	s.b[i] = s.b[i]&^(15<<shift) | byte(v)<<shift
	s.Rows = max(s.Rows, row)
}

// Counts holds the numbers of rows by state. Doubtful rows are counted under their state too.
type Counts struct {
	Pending    int64 `json:"pending,omitempty"`
	Accepted   int64 `json:"accepted,omitempty"`
	Rejected   int64 `json:"rejected,omitempty"`
	Unknown    int64 `json:"unknown,omitempty"`
	Refused    int64 `json:"refused,omitempty"`
	Duplicates int64 `json:"duplicates,omitempty"`
	Conflicts  int64 `json:"conflicts,omitempty"`
	Doubtful   int64 `json:"doubtful,omitempty"`
}

// Tally counts the rows by their states.
func (s *States) Tally() (c Counts) {
	var n [16]int64
	for _, b := range s.b {
		n[b&15]++
		n[b>>4]++
	}
	n[Pending] += n[Waiting]
	n[None], n[Waiting] = 0, 0
	for flagged := Pending | Doubt; flagged < 16; flagged++ {
		c.Doubtful += n[flagged]
		n[flagged&^Doubt] += n[flagged]
	}
	c.Pending, c.Accepted, c.Rejected, c.Unknown = n[Pending], n[Accepted], n[Rejected], n[Unknown]
	c.Refused, c.Duplicates, c.Conflicts = n[Refused], n[Duplicate], n[Conflict]
	return c
}

// A span is a range of consecutive rows in one state.
type span struct {
	first, count int64
	state        State
}

// spans calls each with the ranges of rows in one state, in order, without rows in the state None.
func (s *States) spans(each func(span)) {
	now := span{}
	for row := int64(1); row <= s.Rows; row++ {
		if i := row >> 1; row&1 == 0 && s.b[i] == byte(now.state)*17 && row < s.Rows {
			now.count += 2 // both rows of the byte continue the span
			row++
			continue
		}
		if v := s.Get(row); v != now.state {
			if now.state != None {
				each(now)
			}
			now = span{row, 0, v}
		}
		now.count++
	}
	if now.state != None && now.count > 0 {
		each(now)
	}
}

// appendSpan appends a span that comes after all those before it: first the number of rows in
// between, then the length, with the state in its lowest four bits. end is the row after the last
// span.
func appendSpan(b []byte, end int64, s span) []byte {
	b = binary.AppendUvarint(b, uint64(s.first-end))
	return binary.AppendUvarint(b, uint64(s.count)<<4|uint64(s.state))
}

// SpansOf returns the states of some rows, which ascend, in the form that Apply reads.
func SpansOf(s *States, rows []int64) (b []byte) {
	end := int64(1)
	for len(rows) > 0 {
		x := span{rows[0], 1, s.Get(rows[0])}
		for rows = rows[1:]; len(rows) > 0 && rows[0] == x.first+x.count && s.Get(rows[0]) == x.state; rows = rows[1:] {
			x.count++
		}
		b = appendSpan(b, end, x)
		end = x.first + x.count
	}
	return b
}

// encode returns the states of all rows in the form that Apply reads.
func (s *States) encode() (b []byte) {
	end := int64(1)
	s.spans(func(x span) {
		b = appendSpan(b, end, x)
		end = x.first + x.count
	})
	return b
}

// Apply sets the states of the rows in b, which SpansOf or encode has written.
func (s *States) Apply(b []byte) error {
	row := int64(1)
	for len(b) > 0 {
		gap, n := binary.Uvarint(b)
		if n <= 0 {
			return errSpans
		}
		length, m := binary.Uvarint(b[n:])
		if m <= 0 || gap > MaxRow || length>>4 > MaxRow || row+int64(gap)+int64(length>>4) > MaxRow+1 {
			return errSpans
		}
		b = b[n+m:]
		row += int64(gap)
		for end := row + int64(length>>4); row < end; row++ {
			s.Set(row, State(length&15))
		}
	}
	return nil
}

// errSpans is the error of Apply for spans that are cut, or lead beyond MaxRow.
var errSpans = errors.New("its row ranges can't be read")
