package table

import (
	"bytes"
	"math"
	"unicode/utf8"

	"github.com/reportferry/reportferry/internal/catalog"
)

// batch is the rows of a block that go to the same chunk, one behind the other.
type batch struct {
	block  *block
	rows   []int32 // of the block
	group  *rowGroup
	chunk  *chunk
	first  int      // row of the chunk
	hashes []uint64 // by row of the batch
	tally  []tally  // by column
}

// timeCache remembers the last cell of a time column: reports are sorted by date.
type timeCache struct {
	text  []byte
	value int64
}

func (t *timeCache) parse(typ catalog.Type, text []byte) (int64, verdict) {
	if len(text) > 0 && bytes.Equal(text, t.text) {
		return t.value, fits
	}
	v, verdict := parseTime(typ, text)
	if verdict == fits {
		t.text, t.value = append(t.text[:0], text...), v
	}
	return v, verdict
}

// column converts the cells of column i of a batch; false when one of them doesn't fit, and locate tells which.
func (c *Converter) column(b *batch, i int) bool {
	at := c.places[i]
	switch t := c.columns[i].Type; {
	case at < 0:
		b.nulls(i)
		return true
	case t == catalog.String:
		return b.texts(i, at, c.columns[i].Dimension)
	case t.IsTime():
		return b.times(i, at, t, &c.times[i])
	default:
		if !b.numbers(i, at, t, !c.columns[i].Dimension) {
			return false
		}
		if c.columns[i].Additive {
			b.tally[i].sum(t, b.chunk.values[i][b.first:b.first+len(b.rows)])
		}
		return true
	}
}

// mostDecimals are those that a number of few digits may have to be read at once; eight digits can't be too many before
// the point.
var mostDecimals = [...]int{catalog.Int64: 0, catalog.Decimal: decimalScale, catalog.Double: 8}

func numberParser(t catalog.Type) func([]byte) (int64, verdict) {
	switch t {
	case catalog.Int64:
		return parseInt64
	case catalog.Decimal:
		return parseDecimal
	default:
		return parseDouble
	}
}

// nulls fills a column that wasn't asked for.
func (b *batch) nulls(i int) {
	for k := range b.rows {
		b.null(i, k)
	}
}

func (b *batch) null(i, k int) {
	row := b.first + k
	if b.chunk.ids[i] != nil {
		b.chunk.ids[i][row] = 0
	} else {
		b.chunk.values[i][row] = 0
	}
	b.chunk.setNull(i, row)
	b.hashes[k] = hashNull(b.hashes[k])
	b.tally[i].nulls++
}

func (b *batch) texts(i, at int, dimension bool) bool {
	ids, dict := b.chunk.ids[i][b.first:b.first+len(b.rows)], b.group.texts[i]
	if raw := &b.group.raws[i]; raw.on {
		return b.rawTexts(i, at, dimension, raw)
	}
	for k, row := range b.rows {
		text := b.block.text(int(row), at)
		if len(text) == 0 && !dimension {
			b.null(i, k)
			continue
		}
		id, hash, ok := dict.id(text)
		if !ok {
			return false
		}
		ids[k] = id
		b.hashes[k] = hashValue(b.hashes[k], hash)
	}
	return true
}

// rawTexts are the texts of a column that hardly repeat.
func (b *batch) rawTexts(i, at int, dimension bool, raw *rawTexts) bool {
	for k, row := range b.rows {
		text := b.block.text(int(row), at)
		if len(text) == 0 && !dimension {
			b.null(i, k)
			continue
		}
		if !utf8.Valid(text) {
			return false
		}
		raw.add(text)
		b.hashes[k] = hashValue(b.hashes[k], hashText(text))
	}
	return true
}

func (b *batch) times(i, at int, t catalog.Type, cache *timeCache) bool {
	values := b.chunk.values[i][b.first : b.first+len(b.rows)]
	for k, row := range b.rows {
		v, verdict := cache.parse(t, b.block.text(int(row), at))
		if verdict != fits {
			return false
		}
		values[k] = v
		b.hashes[k] = hashValue(b.hashes[k], uint64(v))
	}
	return true
}

func (b *batch) numbers(i, at int, t catalog.Type, nullable bool) bool {
	values := b.chunk.values[i][b.first : b.first+len(b.rows)]
	parse, most := numberParser(t), mostDecimals[t]
	data, cells := b.block.data, b.block.cells[at:]
	for k, row := range b.rows {
		c := cells[int(row)*b.block.width]
		if word, size, ok := short(data, c); ok {
			if digits, decimals, ok := eightDigits(word, size); ok && decimals <= most {
				v := int64(digits * powersOfTen[most-decimals])
				if t == catalog.Double {
					v = int64(math.Float64bits(float64(digits) / exactDoubles[decimals])) // both exact: the nearest double
				}
				values[k] = v
				b.hashes[k] = hashValue(b.hashes[k], uint64(v))
				continue
			}
		}
		text := data[c.start:c.end]
		if len(text) == 0 && nullable {
			b.null(i, k)
			continue
		}
		v, verdict := parse(text)
		if verdict != fits {
			if verdict != rounded {
				return false
			}
			b.tally[i].rounded++
		}
		values[k] = v
		b.hashes[k] = hashValue(b.hashes[k], uint64(v))
	}
	return true
}

// locate finds the first cell of a block, row by row, that doesn't fit. Columns are converted one after the other, and
// whoever reads the message reads rows.
func (c *Converter) locate(b *block) error {
	for row := range b.rows {
		for at := range b.width {
			for i, place := range c.places {
				if place != at {
					continue
				}
				text := b.text(row, at)
				if v := c.check(i, text); v > rounded {
					return &CellError{
						Row: b.first + int64(row), Line: b.lineOf(row), Column: c.columns[i].Source,
						Value: shorten(text), Reason: v.reason(c.columns[i].Type),
					}
				}
			}
		}
	}
	panic("table: a cell fits on its own that didn't fit in its column")
}

// check tells whether a cell fits column i.
func (c *Converter) check(i int, text []byte) verdict {
	column := c.columns[i]
	switch t := column.Type; {
	case t == catalog.String:
		if !utf8.Valid(text) {
			return notUTF8
		}
	case t.IsTime():
		v, verdict := parseTime(t, text)
		if verdict == fits && i == c.route {
			if _, ok := c.byDay[dayOf(t, v)]; !ok {
				return outside
			}
		}
		return verdict
	case len(text) > 0:
		_, verdict := numberParser(t)(text)
		return verdict
	case column.Dimension:
		return blank
	}
	return fits
}
