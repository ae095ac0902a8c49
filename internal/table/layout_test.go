//go:build !fuzz

package table

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/reportferry/reportferry/internal/catalog"
)

var protocol thrift.CompactProtocol

// checkLayout walks over a file byte by byte and holds every header, size, count and index against
// the values: what no reader looks at today, one will trust tomorrow.
func checkLayout(path, pages string, columns []Column, rows [][]string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	l := layoutCheck{data: data, columns: columns, first: pages == "v1"}
	end := len(data) - 8 - int(binary.LittleEndian.Uint32(data[len(data)-8:]))
	if string(data[:4]) != "PAR1" || string(data[len(data)-4:]) != "PAR1" {
		return errors.New("the magic bytes are missing")
	}
	if err := thrift.Unmarshal(&protocol, data[end:len(data)-8], &l.metadata); err != nil {
		return err
	}
	at, first := int64(4), 0
	for g := range l.metadata.RowGroups {
		group := &l.metadata.RowGroups[g]
		if group.FileOffset != at || int(group.Ordinal) != g || len(group.Columns) != len(columns) {
			return fmt.Errorf("row group %d: offset %d, want %d; ordinal %d, %d columns", g, group.FileOffset, at,
				group.Ordinal, len(group.Columns))
		}
		plain, compressed := int64(0), int64(0)
		for i := range columns {
			if at, err = l.chunk(&group.Columns[i], at, i, rows[first:first+int(group.NumRows)]); err != nil {
				return fmt.Errorf("row group %d, column %d: %w", g, i, err)
			}
			plain += group.Columns[i].MetaData.TotalUncompressedSize
			compressed += group.Columns[i].MetaData.TotalCompressedSize
		}
		if plain != group.TotalByteSize || compressed != group.TotalCompressedSize {
			return fmt.Errorf("row group %d: %d and %d bytes, want %d and %d", g, group.TotalByteSize,
				group.TotalCompressedSize, plain, compressed)
		}
		first += int(group.NumRows)
	}
	if first != len(rows) || l.metadata.NumRows != int64(first) || len(l.metadata.ColumnOrders) != len(columns) {
		return fmt.Errorf("%d rows in the row groups, %d in the footer, %d column orders", first, l.metadata.NumRows,
			len(l.metadata.ColumnOrders))
	}
	// Behind the pages there are the indexes, and nothing else.
	for _, index := range []func(c *format.ColumnChunk) (int64, int32){
		func(c *format.ColumnChunk) (int64, int32) { return c.ColumnIndexOffset, c.ColumnIndexLength },
		func(c *format.ColumnChunk) (int64, int32) { return c.OffsetIndexOffset, c.OffsetIndexLength },
	} {
		for g := range l.metadata.RowGroups {
			for i := range columns {
				if offset, length := index(&l.metadata.RowGroups[g].Columns[i]); length > 0 {
					if offset != at {
						return fmt.Errorf("an index is at %d, want %d", offset, at)
					}
					at += int64(length)
				}
			}
		}
	}
	if at != int64(end) {
		return fmt.Errorf("the indexes end at %d, the footer begins at %d", at, end)
	}
	return nil
}

type layoutCheck struct {
	data     []byte
	columns  []Column
	metadata format.FileMetaData
	first    bool // data pages are of version 1
}

// pages is the type of all data pages.
func (l *layoutCheck) pages() format.PageType {
	if l.first {
		return format.DataPage
	}
	return format.DataPageV2
}

// chunk checks a column chunk that begins at a place, and tells where it ends.
func (l *layoutCheck) chunk(c *format.ColumnChunk, at int64, i int, rows [][]string) (int64, error) {
	m := &c.MetaData
	var offsets format.OffsetIndex
	var index format.ColumnIndex
	if err := thrift.Unmarshal(&protocol, l.data[c.OffsetIndexOffset:c.OffsetIndexOffset+int64(c.OffsetIndexLength)],
		&offsets); err != nil {
		return 0, err
	}
	bounded := l.columns[i].Type != catalog.String
	if bounded != (c.ColumnIndexLength > 0) {
		return 0, fmt.Errorf("a column index of %d bytes", c.ColumnIndexLength)
	}
	if bounded {
		if err := thrift.Unmarshal(&protocol,
			l.data[c.ColumnIndexOffset:c.ColumnIndexOffset+int64(c.ColumnIndexLength)], &index); err != nil {
			return 0, err
		}
		if index.BoundaryOrder != format.Unordered || len(index.NullPages) != len(offsets.PageLocations) {
			return 0, fmt.Errorf("boundary order %v, bounds of %d pages, want %d", index.BoundaryOrder,
				len(index.NullPages), len(offsets.PageLocations))
		}
	}
	start, plain, distinct := at, int64(0), 0
	encodings := []format.Encoding{format.RLE}
	if m.DictionaryPageOffset != 0 {
		encodings = append(encodings, format.Plain)
		h, size, body, err := l.page(at, m)
		if m.DictionaryPageOffset != at || err != nil || h.Type != format.DictionaryPage ||
			h.DictionaryPageHeader.V.Encoding != format.Plain {
			return 0, fmt.Errorf("dictionary page at %d, want %d: %+v (%w)", m.DictionaryPageOffset, at, h, err)
		}
		distinct = int(h.DictionaryPageHeader.V.NumValues)
		if n := countPlain(l.columns[i].Type, body); n != distinct || n == 0 {
			return 0, fmt.Errorf("%d values in a dictionary that claims %d", n, distinct)
		}
		at += size
		plain += size - int64(h.CompressedPageSize) + int64(h.UncompressedPageSize)
	}
	if m.DataPageOffset != at {
		return 0, fmt.Errorf("data pages at %d, want %d", m.DataPageOffset, at)
	}
	row := 0
	for k, place := range offsets.PageLocations {
		h, size, body, err := l.page(at, m)
		if err != nil {
			return 0, err
		}
		v := h.DataPageHeaderV2.V
		if h.Type == format.DataPage { // of version 1: the definition levels are the body's beginning
			one := h.DataPageHeader.V
			v.NumValues, v.NumRows, v.Encoding = one.NumValues, one.NumValues, one.Encoding
			if !l.columns[i].Dimension {
				size := binary.LittleEndian.Uint32(body)
				for n := range int(v.NumRows) {
					if rows[row+n][i] == null {
						v.NumNulls++
					}
				}
				if body = body[4+size:]; size == 0 || one.DefinitionLevelEncoding != format.RLE ||
					one.RepetitionLevelEncoding != format.RLE {
					return 0, fmt.Errorf("page %d: %+v, levels of %d bytes", k, one, size)
				}
			}
		}
		if h.Type != l.pages() || place.Offset != at || int64(place.CompressedPageSize) != size ||
			place.FirstRowIndex != int64(row) {
			return 0, fmt.Errorf("page %d: %+v at %d, of %d bytes and from row %d", k, place, at, size, row)
		}
		if v.NumRows != v.NumValues || v.NumRows == 0 || row+int(v.NumRows) > len(rows) ||
			v.RepetitionLevelsByteLength != 0 || v.IsCompressed.Valid {
			return 0, fmt.Errorf("page %d: %+v", k, v)
		}
		if !slices.Contains(encodings, v.Encoding) {
			encodings = append(encodings, v.Encoding)
		}
		if v.Encoding == format.RLEDictionary && distinct == 0 || v.Encoding == format.Plain &&
			countPlain(l.columns[i].Type, body) != int(v.NumValues-v.NumNulls) {
			return 0, fmt.Errorf("page %d: %v of %d values in %d bytes", k, v.Encoding, v.NumValues-v.NumNulls,
				len(body))
		}
		cells := make([]string, v.NumRows)
		for n := range cells {
			cells[n] = rows[row+n][i]
		}
		if err := l.bounds(&index, k, i, int(v.NumNulls), cells, bounded); err != nil {
			return 0, fmt.Errorf("page %d: %w", k, err)
		}
		row += int(v.NumRows)
		at += size
		plain += size - int64(h.CompressedPageSize) + int64(h.UncompressedPageSize)
	}
	slices.Sort(encodings)
	said := slices.Sorted(slices.Values(m.Encoding))
	if row != len(rows) || m.NumValues != int64(row) || m.TotalCompressedSize != at-start ||
		m.TotalUncompressedSize != plain ||
		!slices.Equal(said, slices.Compact(encodings)) || m.Statistics.DistinctCount != 0 {
		return 0, fmt.Errorf("%d rows, %d bytes, %d before compression, encodings %v: %+v", row, at-start, plain,
			encodings, m)
	}
	return at, nil
}

// page reads a page's header, its size with the header, and its values before compression.
func (l *layoutCheck) page(at int64, m *format.ColumnMetaData) (h format.PageHeader, size int64, body []byte,
	err error) {
	r := bytes.NewReader(l.data[at:])
	if err := thrift.NewDecoder(protocol.NewReader(r)).Decode(&h); err != nil {
		return h, 0, nil, err
	}
	from := int64(len(l.data)) - int64(r.Len())
	levels := int64(h.DataPageHeaderV2.V.DefinitionLevelsByteLength)
	packed := l.data[from+levels : from+int64(h.CompressedPageSize)]
	codec := map[format.CompressionCodec]compress.Codec{format.Zstd: &parquet.Zstd, format.Snappy: &parquet.Snappy,
		format.Uncompressed: &parquet.Uncompressed}[m.Codec]
	if body, err = codec.Decode(nil, packed); err != nil {
		return h, 0, nil, fmt.Errorf("page at %d: %w", at, err)
	}
	if int64(len(body))+levels != int64(h.UncompressedPageSize) {
		return h, 0, nil, fmt.Errorf("page at %d: %d bytes before compression, the header says %d", at,
			int64(len(body))+levels, h.UncompressedPageSize)
	}
	return h, from - at + int64(h.CompressedPageSize), body, err
}

// countPlain counts values in PLAIN encoding; -1 when they don't fill it exactly.
func countPlain(t catalog.Type, body []byte) int {
	n, width := 0, 8
	if t.IsDate() {
		width = 4
	}
	for len(body) > 0 {
		if n++; t == catalog.String {
			if len(body) < 4 {
				return -1
			}
			width = 4 + int(binary.LittleEndian.Uint32(body))
		}
		if len(body) < width {
			return -1
		}
		body = body[width:]
	}
	return n
}

// bounds checks a page's line of the column index.
func (l *layoutCheck) bounds(index *format.ColumnIndex, k, i, nulls int, cells []string, bounded bool) error {
	values := slices.DeleteFunc(slices.Clone(cells), func(s string) bool { return s == null })
	if nulls != len(cells)-len(values) {
		return fmt.Errorf("%d NULLs, want %d", nulls, len(cells)-len(values))
	}
	if !bounded {
		return nil
	}
	low, high := index.MinValues[k], index.MaxValues[k]
	if index.NullPages[k] != (len(values) == 0) || index.NullCounts[k] != int64(nulls) || len(values) == 0 &&
		len(low)+len(high) > 0 {
		return fmt.Errorf("index: a page of NULLs %v, %d NULLs, bounds %x and %x", index.NullPages[k],
			index.NullCounts[k], low, high)
	}
	if len(values) == 0 {
		return nil
	}
	return sameBounds(l.columns[i].Type, values, low, high)
}

// sameBounds holds encoded bounds against the values.
func sameBounds(t catalog.Type, values []string, low, high []byte) error {
	least, most := values[0], values[0]
	for _, v := range values {
		if compareText(t, v, least) < 0 {
			least = v
		}
		if compareText(t, v, most) > 0 {
			most = v
		}
	}
	if t == catalog.Double && least == "0" {
		least = "-0" // a reader may look for minus zero: parquet.thrift, TypeDefinedOrder
	}
	if got := boundText(t, low); got != least {
		return fmt.Errorf("minimum %.50q, want %.50q", got, least)
	}
	if got := boundText(t, high); got != most {
		return fmt.Errorf("maximum %.50q, want %.50q", got, most)
	}
	return nil
}
