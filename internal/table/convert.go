package table

import (
	"bytes"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/reportferry/reportferry/internal/catalog"
)

// timeCache remembers the last cell of a time column and its value, because reports come sorted by
// date.
type timeCache struct {
	text  []byte
	value int64
}

// parse returns the value of a cell, from the cache if it is the same as the last one.
func (t *timeCache) parse(typ catalog.Type, text []byte) (int64, parseResult) {
	if len(text) > 0 && bytes.Equal(text, t.text) {
		return t.value, fits
	}
	v, result := parseTime(typ, text)
	if result == fits {
		t.text, t.value = append(t.text[:0], text...), v
	}
	return v, result
}

// mostDecimals is the most decimals, by type, of a cell that eightDigits may read. Up to eight
// digits always fit the type.
var mostDecimals = [...]int{catalog.Int64: 0, catalog.Decimal: decimalScale, catalog.Double: 8}

// numberParser returns the function that parses the cells of a type of numbers.
func numberParser(t catalog.Type) func([]byte) (v int64, decimals int, _ parseResult) {
	switch t {
	case catalog.Int64:
		return parseInt64
	case catalog.Decimal:
		return parseDecimal
	default:
		return parseDouble
	}
}

// noNumber reports whether a cell is a word that programs write where there is no number.
func noNumber(text []byte) bool {
	if len(text) == 0 || len(text) > 4 {
		return false
	}
	word := string(text)
	return word == "-" || strings.EqualFold(word, "null") || strings.EqualFold(word, "nan") ||
		strings.EqualFold(word, "none") || strings.EqualFold(word, "n/a")
}

// texts converts the cells of the text column i, which are at index at of a row.
func (a *csvRows) texts(b *batch, i, at int) bool {
	for m := range b.members {
		if !a.textsOf(b, &b.members[m], i, at) {
			return false
		}
	}
	return true
}

// textsOf does what texts does for the rows of one partition.
func (a *csvRows) textsOf(b *batch, m *member, i, at int) bool {
	dimension := a.columns[i].Dimension
	texts, ids := m.group.Texts(i)
	raw, nuls := texts.Raw(), a.nuls
	data, cells, width := a.block.data, a.block.cells[b.from*a.block.width+at:], a.block.width
	for k, row := range m.rows {
		c := cells[int(row)*width]
		text := data[c.start:c.end]
		if nuls {
			text = a.mend(b, i, int(row), text)
		}
		if len(text) == 0 && !dimension {
			b.null(i, int(row))
			continue
		}
		if raw {
			if !b.text(i, int(row), text) && (!a.mending.UTF8 || !b.text(i, int(row), a.mend(b, i, int(row), text))) {
				return false
			}
			continue
		}
		id, hash, ok := texts.ID(text)
		if !ok && a.mending.UTF8 {
			id, hash, ok = texts.ID(a.mend(b, i, int(row), text))
		}
		if !ok {
			return false
		}
		ids[k] = id
		b.hashes[row] = hashValue(b.hashes[row], hash)
	}
	return true
}

// timesOf converts the cells of the time column i, which are at index at of a row.
func (a *csvRows) timesOf(b *batch, i, at int) bool {
	t, cache, values := a.columns[i].Type, &a.times[i], b.numbers(i)
	if i == a.route && t != catalog.Hour {
		copy(values, b.days) // periods has parsed these cells already
	} else {
		for row := range values {
			v, result := cache.parse(t, a.block.text(b.from+row, at))
			if result != fits {
				return false
			}
			values[row] = v
		}
	}
	for row, v := range values {
		b.hashes[row] = hashValue(b.hashes[row], uint64(v))
	}
	b.distribute(i)
	return true
}

// numbers converts the cells of the number column i, which are at index at of a row.
func (a *csvRows) numbers(b *batch, i, at int) bool {
	t, nullable := a.columns[i].Type, !a.columns[i].Dimension
	values := b.numbers(i)
	hashes := b.hashes[:len(values)]
	parse, most := numberParser(t), mostDecimals[t]
	data, cells, width := a.block.data, a.block.cells[b.from*a.block.width+at:], a.block.width
	leastDecimals := b.leastDecimals(i)
	for row := range values {
		// A cell of up to eight bytes, digits and at most one point, is read as one word.
		c := cells[row*width]
		if word, size, ok := shortWord(data, c); ok {
			if digits, decimals, ok := eightDigits(word, size); ok && decimals <= most {
				v := int64(digits * powersOfTen[most-decimals])
				if t == catalog.Double {
					// Both are exact, so the quotient is the nearest double.
					v = int64(math.Float64bits(float64(digits) / exactDoubles[decimals]))
				}
				values[row] = v
				hashes[row] = hashValue(hashes[row], uint64(v))
				if decimals > leastDecimals {
					b.noteDecimals(i, row, decimals)
				}
				continue
			}
		}
		// All other cells, such as blank or long ones, and those with a sign or an exponent.
		text := data[c.start:c.end]
		if len(text) == 0 && nullable {
			b.null(i, row)
			continue
		}
		v, decimals, result := parse(text)
		if result != fits {
			if nullable && noNumber(text) {
				a.alter(b, i, row, noValue, text)
				b.null(i, row)
				continue
			}
			if result == notWhole && a.columns[i].Rounds {
				if v, decimals, result = parseRounded(text); result == rounded {
					a.alter(b, i, row, fraction, text)
				}
			} else if result == rounded {
				m, _ := b.member(row)
				m.tally[i].rounded++
			}
			if result != rounded {
				return false
			}
		}
		values[row] = v
		hashes[row] = hashValue(hashes[row], uint64(v))
		if decimals > leastDecimals {
			b.noteDecimals(i, row, decimals)
		}
	}
	b.distribute(i)
	return true
}

// locate finds the first cell of the block, row by row, that doesn't fit. Columns are converted one
// after the other, so the cell that ended the conversion needn't be in the first wrong row, which
// is the one that a reader of the answer looks for.
func (a *csvRows) locate() error {
	b := a.block
	for row := range b.rows {
		for at := range b.width {
			for i, place := range a.places {
				if place != at {
					continue
				}
				text := b.text(row, at)
				if v := a.check(i, text); v > rounded {
					return &CellError{
						Row: b.first + int64(row), Line: b.lineOf(row), Column: a.columns[i].Source,
						Value: shorten(text), Reason: v.reason(a.columns[i].Type),
					}
				}
			}
		}
	}
	panic("table: a cell fits on its own that didn't fit in its column")
}

// check returns whether a cell fits column i, or why not.
func (a *csvRows) check(i int, text []byte) parseResult {
	column := a.columns[i]
	switch t := column.Type; {
	case t == catalog.String:
		if !a.mending.UTF8 && !utf8.Valid(text) {
			return notUTF8
		}
	case t.IsTime():
		v, result := parseTime(t, text)
		if result == fits && i == a.route {
			if _, ok := a.byDay[dayOf(t, v)]; !ok {
				return outside
			}
		}
		return result
	case len(text) > 0:
		if !column.Dimension && noNumber(text) {
			return fits
		}
		_, _, result := numberParser(t)(text)
		if result == notWhole && column.Rounds {
			_, _, result = parseRounded(text)
		}
		return result
	case column.Dimension:
		return blank
	}
	return fits
}
