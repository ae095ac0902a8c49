package table

import (
	"context"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/catalog"
)

// Rows takes rows that are typed already, each with one cell per column in the order of
// Options.Columns. A cell is nil for NULL, or
//
//	string      of a String column
//	civil.Date  of a date: the first day of its period
//	float64     of a Double column
//	int64       of any other: a count, an hour in microseconds since 1970-01-01, a decimal in
//	            millionths
//
// It may be called several times, and Read as well. Its errors are like those of Read.
func (c *Converter) Rows(ctx context.Context, rows [][]any) error {
	return c.attempt(ctx, "take typed rows", func() error {
		t := typedRows{Converter: c}
		for chunk := range slices.Chunk(rows, 1<<12) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			t.rows = chunk
			if err := c.take(&t, len(chunk)); err != nil {
				return err
			}
			t.before += len(chunk)
		}
		return nil
	})
}

// typedRows is the source of rows that are typed already.
type typedRows struct {
	*Converter
	rows   [][]any
	before int // the number of rows that came before these
}

// periods implements source.
func (t *typedRows) periods(days []int64) bool {
	for row, cells := range t.rows {
		if len(cells) != len(t.columns) {
			return false
		}
		v, _, result := t.stored(t.route, cells[t.route])
		if result != fits {
			return false
		}
		days[row] = dayOf(t.columns[t.route].Type, v)
	}
	return true
}

// column implements source.
func (t *typedRows) column(b *batch, i int) bool {
	isText := t.columns[i].Type == catalog.String
	for row := range b.rows {
		cells := t.rows[b.from+row]
		if len(cells) != len(t.columns) {
			return false
		}
		v, text, result := t.stored(i, cells[i])
		switch {
		case result != fits:
			return false
		case cells[i] == nil:
			b.null(i, row)
		case isText:
			if !b.text(i, row, []byte(text)) {
				return false
			}
		default:
			b.numbers(i)[row] = v
			b.hashes[row] = hashValue(b.hashes[row], uint64(v))
		}
	}
	if !isText {
		b.distribute(i)
	}
	return true
}

// stored returns a cell of column i as the file stores it: a text, or else a number.
func (t *typedRows) stored(i int, cell any) (v int64, text string, _ parseResult) {
	typ := t.columns[i].Type
	switch cell := cell.(type) {
	case nil:
		if t.columns[i].Dimension {
			return 0, "", blank
		}
		return 0, "", fits
	case string:
		if typ == catalog.String {
			if !utf8.ValidString(cell) {
				return 0, "", notUTF8
			}
			return 0, cell, fits
		}
	case civil.Date:
		if typ.IsDate() {
			if day, ok := daysOfDate(cell); ok {
				return day, "", fits
			}
			return 0, "", notTime
		}
	case float64:
		if typ == catalog.Double {
			if math.IsNaN(cell) || math.IsInf(cell, 0) {
				return 0, "", notDouble
			}
			return int64(math.Float64bits(cell + 0)), "", fits // minus zero becomes zero
		}
	case int64:
		if typ == catalog.Decimal && (cell <= -decimalBound || cell >= decimalBound) {
			return 0, "", notDecimal
		}
		if typ == catalog.Int64 || typ == catalog.Decimal || typ == catalog.Hour {
			return cell, "", fits
		}
	}
	return 0, "", mistyped
}

// locate implements source.
func (t *typedRows) locate() error {
	for row, cells := range t.rows {
		n := int64(t.before + row + 1)
		if len(cells) != len(t.columns) {
			return &CellError{Row: n, Reason: fmt.Sprintf("has %d cells, and the table has %d columns", len(cells),
				len(t.columns))}
		}
		for i, cell := range cells {
			v, _, result := t.stored(i, cell)
			if result == fits && i == t.route {
				if _, ok := t.byDay[dayOf(t.columns[i].Type, v)]; !ok {
					result = outside
				}
			}
			if result != fits {
				return &CellError{
					Row: n, Column: t.columns[i].Name, Value: shorten(fmt.Append(nil, cell)),
					Reason: result.reason(t.columns[i].Type),
				}
			}
		}
	}
	panic("table: a cell fits on its own that didn't fit in its column")
}
