package table

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/parquet-go/parquet-go/format"

	"github.com/reportferry/reportferry/internal/catalog"
)

// page is a data page of a column, with its header.
type page struct {
	data      []byte
	content   int // bytes of the page with its header, not compressed
	rows      int
	nulls     int
	low, high int64 // bounds of its values; of a double their bits; nothing for texts
	encoding  format.Encoding
}

// seal makes pages of the rows in a chunk.
func (e *encoder) seal(g *rowGroup, free *[][]byte) error {
	if g.chunk.rows == 0 {
		return nil
	}
	for i := range e.columns {
		p, err := e.page(g, i)
		if err != nil {
			return err
		}
		p.data = g.arena.keep(free, p.data)
		g.pages[i] = append(g.pages[i], p)
	}
	g.chunk.reset()
	return nil
}

// page makes the page of column i; its data is good until the next one.
func (e *encoder) page(g *rowGroup, i int) (page, error) {
	c := g.chunk
	p := page{rows: c.rows, nulls: c.null[i], encoding: format.Plain}
	e.plain, e.body, e.size = e.plain[:0], e.body[:0], 0
	var err error
	switch {
	case p.nulls == p.rows:
		err = e.compress()
	case e.columns[i].Type == catalog.String:
		err = e.texts(&p, g, i)
	default:
		err = e.numbers(&p, g.numbers[i], e.present(c, i), i)
	}
	levels := e.levels[:0]
	if !e.columns[i].Dimension {
		levels = appendLevels(levels, c, i)
	}
	e.levels = levels
	e.head = dataPageHeader(e.head[:0], p, e.size, len(e.body), len(levels))
	p.content = len(e.head) + len(levels) + e.size
	e.head = append(append(e.head, levels...), e.body...)
	p.data = e.head
	return p, err
}

// present gives the values of a column that aren't NULL.
func (e *encoder) present(c *chunk, i int) []int64 {
	values := c.values[i][:c.rows]
	if c.null[i] == 0 {
		return values
	}
	e.values = e.values[:0]
	for w, word := range c.nulls[i] {
		from := w * 64
		if from >= c.rows {
			break
		}
		for has := ^word; has != 0; has &= has - 1 {
			row := from + bits.TrailingZeros64(has)
			if row >= c.rows {
				break
			}
			e.values = append(e.values, values[row])
		}
	}
	return e.values
}

// fewestTexts are the distinct texts of a row group before a column of them may be one whose texts hardly repeat.
const fewestTexts = 8192

// texts makes a page of ids, or of texts when they hardly repeat.
func (e *encoder) texts(p *page, g *rowGroup, i int) (err error) {
	dict, raw := g.texts[i], &g.raws[i]
	if raw.on {
		e.plain = append(e.plain, raw.data...)
		raw.written()
		return e.compress()
	}
	ids := g.chunk.ids[i][:g.chunk.rows]
	if p.nulls > 0 {
		e.ids = e.ids[:0]
		for row, id := range ids {
			if !g.chunk.isNull(i, row) {
				e.ids = append(e.ids, id)
			}
		}
		ids = e.ids
	}
	p.encoding = format.RLEDictionary
	fresh := len(dict.ends) - dict.sealed
	dict.sealed = len(dict.ends)
	if len(dict.ends) > fewestTexts && fresh > len(ids)/2 {
		raw.on, e.raw[i] = true, 16
	}
	return e.packIDs(ids, len(dict.ends))
}

// packIDs makes the body of a page of ids.
func (e *encoder) packIDs(ids []uint32, distinct int) (err error) {
	even := false
	e.plain, even = appendIDs(e.plain, ids, distinct)
	e.size = len(e.plain)
	switch {
	case !e.zstd:
		return e.compress()
	case even:
		e.body = e.frames.store(e.body, e.plain)
	default:
		e.body = e.frames.pack(e.body, e.plain)
	}
	return nil
}

// numbers makes a page of ids, or of values.
func (e *encoder) numbers(p *page, dict *numbers, values []int64, i int) (err error) {
	t := e.columns[i].Type
	p.low, p.high = bounds(t, values)
	if dict != nil && !dict.plain {
		if ids, ok := dict.add(e.ids[:0], values); ok {
			e.ids = ids
			p.encoding = format.RLEDictionary
			return e.packIDs(ids, len(dict.values))
		}
	}
	if e.zstd && !t.IsDate() {
		var ok bool
		if e.body, ok = e.frames.packWords(e.body, values); ok {
			e.size = 8 * len(values)
			return nil
		}
	}
	e.plain = appendPlain(e.plain, t, values)
	return e.compress()
}

func bounds(t catalog.Type, values []int64) (low, high int64) {
	if t != catalog.Double {
		low, high = values[0], values[0]
		for _, v := range values {
			low, high = min(low, v), max(high, v)
		}
		return low, high
	}
	from := math.Float64frombits(uint64(values[0]))
	to := from
	for _, v := range values {
		f := math.Float64frombits(uint64(v))
		from, to = min(from, f), max(to, f)
	}
	if from == 0 {
		from = math.Copysign(0, -1) // as the format asks (parquet.thrift, ColumnOrder): a reader may look for minus zero
	}
	return int64(math.Float64bits(from)), int64(math.Float64bits(to))
}

// appendPlain appends values as Parquet's PLAIN encoding has them: of dates four bytes, else eight.
func appendPlain(dst []byte, t catalog.Type, values []int64) []byte {
	for _, v := range values {
		if t.IsDate() {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(v))
		} else {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
		}
	}
	return dst
}

// appendLevels appends for every row whether it has a value: one run when all have, a bit each else.
func appendLevels(dst []byte, c *chunk, i int) []byte {
	if c.null[i] == 0 || c.null[i] == c.rows {
		has := byte(1)
		if c.null[i] > 0 {
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
