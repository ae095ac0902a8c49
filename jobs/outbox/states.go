package outbox

import (
	"encoding/binary"
	"errors"
)

// A state is what became of a row, in four bits, so that fifty million rows are 25 MB.
type state byte

const (
	none      state = iota // no record
	pending                // to be sent
	accepted               // the service has it
	rejected               // the service refused it
	unknown                // the service may have it
	refused                // by the kind; never sent
	duplicate              // the service has it from another row or file
	conflict               // the service has another content of it

	doubt state = 8 // a flag: it may have been sent more than once

	waiting = none | doubt // pending, but for this push: an earlier record of its ID isn't settled
)

// maybe tells whether the service may have a record that is to be sent.
func (s state) maybe() bool { return s == unknown || s&doubt != 0 }

// maxRow is the highest row that fits an index entry.
const maxRow = 1<<32 - 1

// states are those of all rows of a file, from 1 on.
type states struct {
	b    []byte
	rows int64 // the highest that was set
}

func (s *states) get(row int64) state {
	if i := row >> 1; i < int64(len(s.b)) {
		return state(s.b[i]>>(row&1*4)) & 15
	}
	return none
}

func (s *states) set(row int64, v state) {
	i := row >> 1
	if i >= int64(len(s.b)) {
		s.b = append(s.b, make([]byte, i+1-int64(len(s.b)))...)
	}
	shift := row & 1 * 4
	s.b[i] = s.b[i]&^(15<<shift) | byte(v)<<shift
	s.rows = max(s.rows, row)
}

// counts gives how many rows are in each of the sixteen states.
func (s *states) counts() (n [16]int64) {
	for _, b := range s.b {
		n[b&15]++
		n[b>>4]++
	}
	n[none] = 0
	return n
}

// A span is a row of neighbours in one state.
type span struct {
	first, count int64
	state        state
}

// spans gives the neighbours in one state, in order, without the rows that have none.
func (s *states) spans(each func(span)) {
	now := span{}
	for row := int64(1); row <= s.rows; row++ {
		if i := row >> 1; row&1 == 0 && s.b[i] == byte(now.state)*17 && row < s.rows {
			now.count += 2 // both of the byte go on
			row++
			continue
		}
		if v := s.get(row); v != now.state {
			if now.state != none {
				each(now)
			}
			now = span{row, 0, v}
		}
		now.count++
	}
	if now.state != none && now.count > 0 {
		each(now)
	}
}

// appendSpan adds a span that comes after all those before: the rows that lie between, then the length with the state in
// its lowest four bits. end is the row after the last span.
func appendSpan(b []byte, end int64, s span) []byte {
	b = binary.AppendUvarint(b, uint64(s.first-end))
	return binary.AppendUvarint(b, uint64(s.count)<<4|uint64(s.state))
}

// spansOf gives what became of some rows, which ascend, in the form that apply reads.
func spansOf(s *states, rows []int64) (b []byte) {
	end := int64(1)
	for len(rows) > 0 {
		x := span{rows[0], 1, s.get(rows[0])}
		for rows = rows[1:]; len(rows) > 0 && rows[0] == x.first+x.count && s.get(rows[0]) == x.state; rows = rows[1:] {
			x.count++
		}
		b = appendSpan(b, end, x)
		end = x.first + x.count
	}
	return b
}

// encode gives all rows in the form that apply reads.
func (s *states) encode() (b []byte) {
	end := int64(1)
	s.spans(func(x span) {
		b = appendSpan(b, end, x)
		end = x.first + x.count
	})
	return b
}

// apply sets what the spans say.
func (s *states) apply(b []byte) error {
	row := int64(1)
	for len(b) > 0 {
		gap, n := binary.Uvarint(b)
		if n <= 0 {
			return errSpans
		}
		length, m := binary.Uvarint(b[n:])
		if m <= 0 || gap > maxRow || length>>4 > maxRow || row+int64(gap)+int64(length>>4) > maxRow+1 {
			return errSpans
		}
		b = b[n+m:]
		row += int64(gap)
		for end := row + int64(length>>4); row < end; row++ {
			s.set(row, state(length&15))
		}
	}
	return nil
}

var errSpans = errors.New("its row ranges can't be read")
