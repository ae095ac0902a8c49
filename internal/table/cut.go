package table

import "bytes"

// cell is where the content of a cell lies in its block, without the quotes around it.
type cell struct{ start, end uint32 }

// doubled is the bit of a cell's end that marks a cell with doubled quotes, which undouble is to
// make single.
const doubled = 1 << 31

// cutResult says how the cutting of a row into cells ended.
type cutResult uint8

const (
	wholeRow   cutResult = iota
	partialRow           // the row goes on behind the data
	strayQuote           // a quote inside a cell that doesn't begin with one
	afterQuote           // something between a closing quote and the end of its cell
	openQuote            // the answer ends inside a quoted cell
)

// reason returns the rest of a sentence about a row that was cut like this.
func (c cutResult) reason() string {
	switch c {
	case strayQuote:
		return "holds a quote inside a cell that doesn't begin with one"
	case afterQuote:
		return "holds text behind the closing quote of a cell"
	case openQuote:
		return "ends inside a quoted cell; the answer was cut off, or a quote is missing"
	}
	return "is broken"
}

// plainByte has the bytes that can't end an unquoted cell and aren't quotes.
var plainByte = func() (t [256]bool) {
	for i := range t {
		t[i] = i != ',' && i != '\n' && i != '"'
	}
	return t
}()

// cutRow cuts the row that begins at p into cells, which it appends, and returns the index at which
// the next row begins. final says that the answer ends with the data. Rows follow RFC 4180, or end
// with a bare LF. Cells keep their bytes, including line breaks between quotes. A lone CR is
// content, but one that ends the answer is taken for a line end cut in half.
func cutRow(data []byte, p int, final bool, cells []cell) (_ []cell, next int, end cutResult) {
	for {
		// One cell, quoted or not.
		start := p
		if p < len(data) && data[p] == '"' {
			closing, mark := 0, uint32(0)
			for q := p + 1; ; q += 2 {
				i := bytes.IndexByte(data[q:], '"')
				if i < 0 {
					return cells, start, unfinished(final, openQuote)
				}
				q += i
				if q+1 == len(data) || data[q+1] != '"' {
					closing = q
					break
				}
				mark = doubled
			}
			cells = append(cells, cell{uint32(start + 1), uint32(closing) | mark})
			p = closing + 1
		} else {
			for p < len(data) && plainByte[data[p]] {
				p++
			}
			if p < len(data) && data[p] == '"' {
				return cells, p, strayQuote
			}
			content := p
			if content > start && data[content-1] == '\r' && (p == len(data) || data[p] == '\n') {
				content--
			}
			cells = append(cells, cell{uint32(start), uint32(content)})
		}
		// p is at the byte that ends the cell.
		switch {
		case p == len(data):
			return cells, p, unfinished(final, wholeRow)
		case data[p] == ',':
			p++
		case data[p] == '\n':
			return cells, p + 1, wholeRow
		case data[p] == '\r' && p+1 < len(data) && data[p+1] == '\n':
			return cells, p + 2, wholeRow
		case data[p] == '\r' && p+1 == len(data):
			return cells, p + 1, unfinished(final, wholeRow)
		default:
			return cells, p, afterQuote
		}
	}
}

// unfinished returns how the cutting of a row ended at the end of the data: as end says if the
// answer ends there, too.
func unfinished(final bool, end cutResult) cutResult {
	if final {
		return end
	}
	return partialRow
}

// undouble makes one quote of every doubled one, in place. It fills the bytes behind the shorter
// cell with quotes, because lines are counted in the block later on: stale line feeds would be
// counted twice.
func undouble(data []byte, cells []cell) {
	for i := range cells {
		c := &cells[i]
		if c.end&doubled == 0 {
			continue
		}
		c.end &^= doubled
		text := data[c.start:c.end]
		n := 0
		for j := 0; j < len(text); j++ {
			text[n] = text[j]
			n++
			if text[j] == '"' {
				j++
			}
		}
		for j := n; j < len(text); j++ {
			text[j] = '"'
		}
		c.end = c.start + uint32(n)
	}
}
