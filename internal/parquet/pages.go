package parquet

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/parquet-go/parquet-go/format"
)

// page is a data page of a column, with its header.
type page struct {
	data      []byte // nil when the page is in the spill file
	at        int64  // offset in the spill file
	size      int    // bytes of data
	content   int    // bytes of the page with its header, before compression
	rows      int
	nulls     int
	low, high int64 // bounds of its values, doubles as their bits; not set for texts
	encoding  format.Encoding
}

// Commit adds the next n rows to a group, after the caller has set all their cells. It makes pages
// when the group's chunk is full.
func (w *Writer) Commit(g *Group, n int) error {
	g.chunk.rows += n
	g.rows += n
	if g.Room() > 0 {
		return nil
	}
	return w.seal(g)
}

// seal makes pages of the rows in a group's chunk, one for each column, and empties the chunk.
func (w *Writer) seal(g *Group) error {
	if g.chunk.rows == 0 {
		return nil
	}
	for i := range w.columns {
		p, err := w.page(g, i)
		if err != nil {
			return err
		}
		p.data = g.pages.keep(&g.pool.blocks, p.data)
		p.size = len(p.data)
		g.sealed[i] = append(g.sealed[i], p)
		g.weight += int64(p.size)
		if d := g.numbers[i]; d != nil {
			g.weight += numberBytes * int64(len(d.values)-d.sealed)
			d.sealed = len(d.values)
		}
	}
	g.chunk.reset()
	return nil
}

// page makes a page of the chunk's column i. Its data is valid until the next call.
func (w *Writer) page(g *Group, i int) (page, error) {
	c := g.chunk
	p := page{rows: c.rows, nulls: c.nullCount[i], encoding: format.Plain}
	w.plain, w.body, w.size = w.plain[:0], w.body[:0], 0
	// The definition levels.
	levels := w.levels[:0]
	if !w.columns[i].Required {
		levels = appendLevels(levels, c, i)
		if w.levels = levels; w.pages == format.DataPage { // version 1 has the levels, and their length, in the body
			w.plain = append(binary.LittleEndian.AppendUint32(w.plain, uint32(len(levels))), levels...)
			levels = levels[:0]
		}
	}
	// The body, in w.body.
	var err error
	switch {
	case p.nulls == p.rows:
		err = w.compressPlain()
	case w.columns[i].Type == Text:
		err = w.textBody(&p, g, i)
	default:
		err = w.numberBody(&p, g.numbers[i], w.nonNull(c, i), i)
	}
	// The header, and the definition levels of version 2.
	w.head = w.dataPageHeader(w.head[:0], p, w.size, len(w.body), len(levels))
	p.content = len(w.head) + len(levels) + w.size
	w.head = append(append(w.head, levels...), w.body...)
	p.data = w.head
	return p, err
}

// compressPlain compresses w.plain into w.body with the general codec.
func (w *Writer) compressPlain() (err error) {
	w.size = len(w.plain)
	w.body, err = w.codec.compress(w.body[:0], w.plain)
	return err
}

// nonNull returns the values of column i that aren't NULL.
func (w *Writer) nonNull(c *chunk, i int) []int64 {
	values := c.values[i][:c.rows]
	if c.nullCount[i] == 0 {
		return values
	}
	w.values = w.values[:0]
	for k, word := range c.nulls[i] {
		from := k * 64
		if from >= c.rows {
			break
		}
		for has := ^word; has != 0; has &= has - 1 {
			row := from + bits.TrailingZeros64(has)
			if row >= c.rows {
				break
			}
			w.values = append(w.values, values[row])
		}
	}
	return w.values
}

const (
	// A column of texts gives up its dictionary when more than fewestTexts are distinct in the row
	// group, and more than half of the texts of a page are new. One page of the greatest length may
	// be enough to know: of texts that repeat so little, half of the next page would be new, too.
	fewestTexts = 7168
	// Then so many further row groups begin without a dictionary. The one after these tries again,
	// because texts may repeat there.
	rawGroups = 16
)

// textBody makes the body of a page of dictionary indexes, or of texts when they hardly repeat.
func (w *Writer) textBody(p *page, g *Group, i int) (err error) {
	t := g.texts[i]
	if t.raw {
		w.plain = append(w.plain, t.plain...)
		t.plain = t.plain[:0]
		return w.compressPlain()
	}
	ids := g.chunk.ids[i][:g.chunk.rows]
	if p.nulls > 0 {
		w.ids = w.ids[:0]
		for row, id := range ids {
			if !g.chunk.isNull(i, row) {
				w.ids = append(w.ids, id)
			}
		}
		ids = w.ids
	}
	p.encoding = format.RLEDictionary
	fresh := len(t.order) - t.sealed
	t.sealed = len(t.order)
	if len(t.order) > fewestTexts && fresh > len(ids)/2 {
		t.end()
		g.raw[i] = rawGroups
	}
	return w.indexBody(ids, len(t.order))
}

// indexBody makes the body of a page of dictionary indexes.
func (w *Writer) indexBody(ids []uint32, distinct int) (err error) {
	w.plain = appendIDs(w.plain, ids, distinct)
	w.size = len(w.plain)
	w.body, err = w.codec.compressIndexes(w.body, w.plain)
	return err
}

// numberBody makes the body of a page of dictionary indexes, or of values.
func (w *Writer) numberBody(p *page, dict *numberDict, values []int64, i int) (err error) {
	t := w.columns[i].Type
	p.low, p.high = bounds(t, values)
	if dict != nil && !dict.plain {
		if ids, ok := dict.add(w.ids[:0], values); ok {
			w.ids = ids
			p.encoding = format.RLEDictionary
			return w.indexBody(ids, len(dict.values))
		}
	}
	if t != Date && len(w.plain) == 0 {
		var ok bool
		if w.body, ok = w.codec.compressWords(w.body, values); ok {
			w.size = 8 * len(values)
			return nil
		}
	}
	w.plain = appendPlain(w.plain, t, values)
	return w.compressPlain()
}

// bounds returns the least and the greatest of values. There must be at least one.
func bounds(t Type, values []int64) (low, high int64) {
	turned := int64(0) // flips the bits of negative doubles, which sort in the opposite order
	if t == Double {
		turned = math.MaxInt64
	}
	order := func(v int64) int64 { return v ^ v>>63&turned }
	low, high = order(values[0]), order(values[0])
	for _, v := range values {
		v = order(v)
		low, high = min(low, v), max(high, v)
	}
	if low, high = order(low), order(high); t == Double && low == 0 {
		// parquet.thrift, ColumnOrder: a minimum of zero is written as minus zero, which a reader
		// may look for.
		low = math.MinInt64
	}
	return low, high
}

// appendPlain appends values in PLAIN encoding: dates in four bytes, all others in eight.
func appendPlain(dst []byte, t Type, values []int64) []byte {
	for _, v := range values {
		if t == Date {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(v))
		} else {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
		}
	}
	return dst
}

// appendLevels appends the definition levels of a page: one run when no value, or every one, is
// NULL, else a bit each.
func appendLevels(dst []byte, c *chunk, i int) []byte {
	if c.nullCount[i] == 0 || c.nullCount[i] == c.rows {
		has := byte(1)
		if c.nullCount[i] > 0 {
			has = 0
		}
		return append(binary.AppendUvarint(dst, uint64(c.rows)<<1), has)
	}
	n := (c.rows + 7) / 8
	dst = beginBits(dst, c.rows)
	for k := range n {
		dst = append(dst, ^byte(c.nulls[i][k/8]>>(8*(k%8))))
	}
	return dst
}

// Page headers are encoded by hand, in Thrift's compact protocol: there is one for every few
// thousand cells, and parquet-go's encoder would allocate for each.

// The types of fields in Thrift's compact protocol.
const (
	thriftI32    = 5
	thriftStruct = 12
)

// i32 appends the next field of a struct, an integer.
func i32(dst []byte, v int) []byte {
	return binary.AppendVarint(append(dst, 1<<4|thriftI32), int64(v)) // zigzag, as Thrift has it
}

// pageHeader appends the fields that all page headers begin with, and opens the struct for the
// fields of this kind of page, which has the given field number.
func pageHeader(dst []byte, kind format.PageType, content, body int, field byte) []byte {
	dst = i32(i32(i32(dst, int(kind)), content), body)
	return append(dst, (field-3)<<4|thriftStruct)
}

// dataPageHeader appends the header of a data page. Its values take plain bytes before compression
// and body bytes after it; its definition levels, which aren't compressed, take levels bytes. In
// version 1, levels is 0 because the definition levels are compressed with the values.
func (w *Writer) dataPageHeader(dst []byte, p page, plain, body, levels int) []byte {
	if w.pages == format.DataPage {
		dst = pageHeader(dst, format.DataPage, plain, body, 5)
		for _, v := range [...]int{p.rows, int(p.encoding), int(format.RLE), int(format.RLE)} {
			dst = i32(dst, v)
		}
		return append(dst, 0, 0)
	}
	dst = pageHeader(dst, format.DataPageV2, plain+levels, body+levels, 8)
	for _, v := range [...]int{p.rows, p.nulls, p.rows, int(p.encoding), levels, 0} {
		dst = i32(dst, v)
	}
	return append(dst, 0, 0)
}

// dictionaryPageHeader appends the header of a dictionary page.
func dictionaryPageHeader(dst []byte, values, plain, body int) []byte {
	dst = pageHeader(dst, format.DictionaryPage, plain, body, 7)
	return append(i32(i32(dst, values), int(format.Plain)), 0, 0)
}
