package table

import (
	"bytes"
	"context"
	"fmt"
	"io"
)

const (
	blockSize  = 256 << 10 // large enough to work column by column, small enough to stay in a core's cache
	longestRow = 16 << 20  // in bytes; a longer row is an error
)

var byteOrderMark = []byte("\ufeff")

// scanner cuts an answer into blocks of whole rows. It always fills its buffer before it cuts a
// block, so that blocks, and with them row groups, don't depend on how the bytes arrive.
type scanner struct {
	ctx    context.Context
	r      io.Reader
	buffer []byte
	from   int // buffer[from:to] has been read, and is still to be cut
	to     int
	final  bool  // the reader has ended
	rows   int64 // rows cut so far, without the header
	line   int64 // line of buffer[from], from 1
	block  block

	specials specials
}

// block is a number of consecutive whole rows, all of the same width.
type block struct {
	data  []byte
	cells []cell // row by row
	width int    // cells in a row
	rows  int
	first int64 // number of the first row, from 1
	line  int64 // line of data[0], from 1
}

// text returns the cell at index at of a row.
func (b *block) text(row, at int) []byte {
	c := b.cells[row*b.width+at]
	return b.data[c.start:c.end]
}

// lineOf returns the line on which a row of the block begins.
func (b *block) lineOf(row int) int64 {
	return b.line + int64(bytes.Count(b.data[:b.cells[row*b.width].start], []byte{'\n'}))
}

// header cuts the first row of the answer, and returns its cells.
func (s *scanner) header() ([]string, error) {
	s.line = 1
	if err := s.fill(); err != nil {
		return nil, err
	}
	if bytes.HasPrefix(s.buffer[:s.to], byteOrderMark) {
		s.from = len(byteOrderMark)
	}
	if s.from == s.to {
		return nil, ErrEmpty
	}
	for {
		data := s.buffer[s.from:s.to]
		cells, next, end := cutRow(data, 0, s.final, s.block.cells[:0])
		if end == partialRow {
			if err := s.fill(); err != nil {
				return nil, err
			}
			continue
		}
		if end != wholeRow {
			return nil, &CellError{Line: 1, Value: firstLine(data), Reason: end.reason()}
		}
		undouble(data, cells)
		names := make([]string, len(cells))
		for i, c := range cells {
			names[i] = string(data[c.start:c.end])
		}
		s.line += int64(bytes.Count(data[:next], []byte{'\n'}))
		s.from += next
		s.block.cells = cells[:0]
		return names, nil
	}
}

// next cuts the next block of rows, each of width cells. The block is valid until the next call. A
// block that is returned with an error holds the rows before the broken one. After the last block,
// next returns io.EOF.
func (s *scanner) next(width int) (*block, error) {
	b := &s.block
	for {
		if !s.final {
			if err := s.fill(); err != nil {
				return nil, err
			}
		}
		*b = block{data: s.buffer[s.from:s.to], cells: b.cells[:0], width: width, first: s.rows + 1, line: s.line}
		at := s.cut(b)
		for at < len(b.data) {
			if width > 1 && onlyLineEnds(b.data[at:]) { // a blank line behind the last row
				if s.final {
					at = len(b.data)
				}
				break
			}
			kept := len(b.cells)
			cells, next, end := cutRow(b.data, at, s.final, b.cells)
			if end == partialRow {
				b.cells = cells[:kept]
				break
			}
			if end != wholeRow || len(cells)-kept != width {
				b.cells = cells[:kept]
				return b, b.broken(at, end, len(cells)-kept)
			}
			undouble(b.data, cells[kept:])
			b.cells = cells
			b.rows++
			at = next
		}
		s.rows += int64(b.rows)
		if b.rows > 0 {
			s.line += int64(bytes.Count(b.data[:at], []byte{'\n'}))
			s.from += at
			return b, nil
		}
		if s.final {
			return nil, io.EOF
		}
	}
}

// onlyLineEnds reports whether data has nothing but line ends: CR LF, LF, and a CR at the end of
// the data, which may be a line end cut in half. Any other CR is content.
func onlyLineEnds(data []byte) bool {
	for i, c := range data {
		if c != '\n' && (c != '\r' || i+1 < len(data) && data[i+1] != '\n') {
			return false
		}
	}
	return true
}

// cut cuts the rows of a block by cutRows, and returns the index at which that stopped.
func (s *scanner) cut(b *block) (at int) {
	s.specials = specials{data: b.data, base: -64}
	b.cells, b.rows, at = cutRows(&s.specials, 0, b.width, b.cells)
	undouble(b.data, b.cells)
	return at
}

// broken returns the error of the row that begins at index at of the block, which isn't whole or
// has another number of cells than the header.
func (b *block) broken(at int, end cutResult, cells int) error {
	e := &CellError{
		Row:   b.first + int64(b.rows),
		Line:  b.line + int64(bytes.Count(b.data[:at], []byte{'\n'})),
		Value: firstLine(b.data[at:]),
	}
	switch {
	case end != wholeRow:
		e.Reason = end.reason()
	case e.Value == `""`:
		e.Value, e.Reason = "", "the line is blank"
	default:
		e.Reason = fmt.Sprintf("has %d cells, and the header has %d", cells, b.width)
	}
	return e
}

// firstLine returns the first line of data, shortened for a message.
func firstLine(data []byte) string {
	line, _, _ := bytes.Cut(data, []byte{'\n'})
	return shorten(bytes.TrimSuffix(line, []byte{'\r'}))
}

// fill moves what isn't cut yet to the front of the buffer, and reads until the buffer is full or
// the answer ends. If what isn't cut yet fills the buffer, the buffer grows.
func (s *scanner) fill() error {
	s.to = copy(s.buffer, s.buffer[s.from:s.to])
	s.from = 0
	if s.to == len(s.buffer) {
		if len(s.buffer) >= longestRow {
			return &CellError{Row: s.rows + 1, Line: s.line, Value: shorten(s.buffer[:64]),
				Reason: fmt.Sprintf("is longer than %d MiB; a closing quote may be missing", longestRow>>20)}
		}
		s.buffer = append(s.buffer, make([]byte, max(blockSize, len(s.buffer)))...)
	}
	for idle := 0; s.to < len(s.buffer); {
		if s.ctx.Err() != nil {
			return context.Cause(s.ctx)
		}
		n, err := s.r.Read(s.buffer[s.to:])
		s.to += n
		if err == io.EOF { // a wrapped io.EOF is a broken connection, not the end of the answer
			s.final = true
			return nil
		}
		if err != nil {
			return err
		}
		if idle++; n > 0 {
			idle = 0
		} else if idle == 100 {
			return io.ErrNoProgress
		}
	}
	return nil
}
