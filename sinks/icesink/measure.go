package icesink

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"cloud.google.com/go/civil"
	"github.com/apache/iceberg-go"
	"github.com/parquet-go/parquet-go/format"
)

// longestBound is how many characters of a text a bound has at most, as other writers do by default
// (https://iceberg.apache.org/docs/latest/configuration/, write.metadata.metrics.default).
const longestBound = 16

// dataFile returns the description of a part's file for a manifest, made from the file's footer.
// By its bounds of the columns' values, readers skip files without opening them.
func (s *source) dataFile(at place, location string, size int64, spec iceberg.PartitionSpec,
	schema *iceberg.Schema) (iceberg.DataFile, error) {
	values, kinds := map[int]any{}, map[int]string{}
	for _, f := range spec.Fields() { // there is one, or none
		values[f.FieldID], kinds[f.FieldID] = iceberg.Date(at.first.DaysSince(epoch)), "date"
	}
	b, err := iceberg.NewDataFileBuilder(spec, iceberg.EntryContentData, location, iceberg.ParquetFile, values, kinds,
		nil, s.part.Rows, size)
	if err != nil {
		return nil, err
	}
	// The keys of all these maps are the columns' field IDs.
	sizes, counts, nulls := map[int]int64{}, map[int]int64{}, map[int]int64{}
	low, high := map[int][]byte{}, map[int][]byte{}
	var offsets []int64
	for _, g := range s.footer.RowGroups {
		offsets = append(offsets, offset(g))
	}
	for i := range s.footer.Schema[1:] {
		f, _ := schema.FindFieldByName(s.footer.Schema[1+i].Name)
		bounded := true // false when a row group with values has no bounds
		var least, most []byte
		for _, g := range s.footer.RowGroups {
			m := g.Columns[i].MetaData
			sizes[f.ID] += m.TotalCompressedSize
			counts[f.ID] += m.NumValues
			nulls[f.ID] += m.Statistics.NullCount
			switch {
			case m.Statistics.NullCount == m.NumValues: // the column has no values here, so no bounds
			case m.Statistics.MinValue == nil && m.Statistics.MaxValue == nil:
				bounded = false
			default:
				if least == nil || less(f.Type, m.Statistics.MinValue, least) {
					least = m.Statistics.MinValue
				}
				if most == nil || less(f.Type, most, m.Statistics.MaxValue) {
					most = m.Statistics.MaxValue
				}
			}
		}
		if !bounded || least == nil || most == nil {
			continue
		}
		if low[f.ID], high[f.ID], err = bounds(f.Type, least, most); err != nil {
			return nil, fmt.Errorf("column %s: %w", f.Name, err)
		}
		if high[f.ID] == nil { // no text of so few characters is an upper bound
			delete(high, f.ID)
		}
	}
	b.ColumnSizes(sizes).ValueCounts(counts).NullValueCounts(nulls).LowerBoundValues(low).UpperBoundValues(
		high).SplitOffsets(offsets)
	return b.Build(), nil
}

// offset returns where a row group begins in its file.
func offset(g format.RowGroup) int64 {
	if len(g.Columns) == 0 {
		return g.FileOffset
	}
	m := g.Columns[0].MetaData
	if m.DictionaryPageOffset > 0 && m.DictionaryPageOffset < m.DataPageOffset {
		return m.DictionaryPageOffset
	}
	return m.DataPageOffset
}

// number reads a bound of Parquet's statistics, which is little-endian, as an integer. The integers
// compare like the values of the type: those of a negative double have all bits but the sign
// flipped.
func number(t iceberg.Type, b []byte) (int64, bool) {
	switch {
	case len(b) == 4:
		return int64(int32(binary.LittleEndian.Uint32(b))), true
	case len(b) == 8:
		if _, double := t.(iceberg.Float64Type); double {
			bits := int64(binary.LittleEndian.Uint64(b))
			return bits ^ (bits>>63)&math.MaxInt64, true
		}
		return int64(binary.LittleEndian.Uint64(b)), true
	}
	return 0, false
}

// less compares two bounds of a column with this type.
func less(t iceberg.Type, a, b []byte) bool {
	if _, text := t.(iceberg.StringType); text {
		return string(a) < string(b)
	}
	x, _ := number(t, a)
	y, _ := number(t, b)
	return x < y
}

// bounds returns bounds as manifests have them
// (https://iceberg.apache.org/spec/#appendix-d-single-value-serialization):
//   - Texts are cut to their first characters.
//   - Decimals are big-endian, in as few bytes as keep the value and its sign.
//   - Other numbers are as in Parquet.
func bounds(t iceberg.Type, least, most []byte) (low, high []byte, err error) {
	switch t.(type) {
	case iceberg.StringType:
		return cut(least), cutAbove(most), nil
	case iceberg.DecimalType:
		a, good := number(t, least)
		b, both := number(t, most)
		if !good || !both {
			return nil, nil, errors.New("the file's statistics aren't of a decimal in 8 bytes")
		}
		return decimal(a), decimal(b), nil
	}
	return least, most, nil
}

// decimal writes a decimal's digits, as an integer, in the form of a bound.
func decimal(v int64) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(v))
	for len(b) > 1 && (b[0] == 0 && b[1] < 0x80 || b[0] == 0xff && b[1] >= 0x80) {
		b = b[1:]
	}
	return b
}

// cut returns the first characters of a text, which are a lower bound of it.
func cut(text []byte) []byte {
	n := 0
	for i := range string(text) {
		if n++; n > longestBound {
			return text[:i]
		}
	}
	return text
}

// cutAbove returns a text of few characters that is an upper bound of text, or nil when there is
// none.
func cutAbove(text []byte) []byte {
	short := cut(text)
	if len(short) == len(text) {
		return text
	}
	for len(short) > 0 {
		last, size := utf8.DecodeLastRune(short)
		short = short[:len(short)-size]
		switch {
		case last == 0xD7FF: // surrogates follow, which aren't characters
			last = 0xE000
		case last >= utf8.MaxRune || last == utf8.RuneError && size == 1:
			continue
		default:
			last++
		}
		return utf8.AppendRune(short[:len(short):len(short)], last)
	}
	return nil
}

// checkDay returns an error if the file's statistics show a row of another partition: queries of
// the row's day wouldn't find it.
func (s *source) checkDay(at place) error {
	on := s.part.Schema.On
	if on == "" {
		return nil
	}
	for i := range s.footer.Schema[1:] {
		column := s.footer.Schema[1+i]
		if column.Name != on {
			continue
		}
		for _, g := range s.footer.RowGroups {
			of := g.Columns[i].MetaData.Statistics
			for _, bound := range [][]byte{of.MinValue, of.MaxValue} {
				day, known := dayOf(bound)
				if known && day != at.first {
					return fmt.Errorf("%w: a row has the %s %s, and the part is of %s", errSource, on, day, at.first)
				}
			}
		}
		return nil
	}
	return fmt.Errorf("%w: the file has no column %s", errSource, on)
}

// dayOf returns the day of a bound that is a date, or a timestamp in microseconds.
func dayOf(bound []byte) (day civil.Date, known bool) {
	v, known := number(nil, bound)
	if len(bound) == 8 {
		const perDay = 24 * 60 * 60 * 1_000_000
		v = (v - (v%perDay+perDay)%perDay) / perDay
	}
	return epoch.AddDays(int(v)), known
}
