package table

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/reportferry/reportferry/internal/catalog"
)

var (
	magic    = []byte("PAR1")
	protocol thrift.CompactProtocol
)

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// columnIndexes are the page index of a column of a row group, as they are written behind all of them.
type columnIndexes struct {
	column []byte // bounds and NULLs of each page; none of texts, whose pages in a dictionary's order have no bounds at hand
	offset []byte // where each page is
}

func encodings(pages []page, dictionary bool) []format.Encoding {
	all := []format.Encoding{format.RLE} // of the levels
	if dictionary {
		all = append(all, format.Plain)
	}
	for _, p := range pages {
		if !slices.Contains(all, p.encoding) {
			all = append(all, p.encoding)
		}
	}
	return all
}

// bound is a value as statistics have it: PLAIN, without a length.
func bound(t catalog.Type, v int64) []byte { return appendPlain(nil, t, []int64{v}) }

// statistics are the bounds and the NULLs of a column of a row group.
func (e *encoder) statistics(g *rowGroup, i int) format.Statistics {
	var s format.Statistics
	var seen []int64
	for _, p := range g.pages[i] {
		s.NullCount += int64(p.nulls)
		if p.nulls < p.rows {
			seen = append(seen, p.low, p.high)
		}
	}
	switch t := e.columns[i].Type; {
	case len(seen) == 0:
	case t == catalog.String:
		s.MinValue, s.MaxValue = textBounds(g.texts[i], &g.raws[i])
	default:
		low, high := bounds(t, seen)
		s.MinValue, s.MaxValue = bound(t, low), bound(t, high)
	}
	return s
}

// longestBounds are the bytes from which on texts are no bounds: a footer is read whole, for every question. A part of a
// text as a bound would be wrong for readers that answer min() and max() by it. Arrow and parquet-java draw the same line.
const longestBounds = 4096

func textBounds(d *dictionary, r *rawTexts) (low, high []byte) {
	low, high = r.low, r.high
	for id := range d.ends {
		text := d.text(uint32(id))
		if low == nil || bytes.Compare(text, low) < 0 {
			low = text
		}
		if high == nil || bytes.Compare(text, high) > 0 {
			high = text
		}
	}
	if len(low)+len(high) > longestBounds {
		return nil, nil
	}
	return append([]byte{}, low...), append([]byte{}, high...)
}

// indexes make the page index of a column whose first data page is at an offset.
func (e *encoder) indexes(pages []page, i int, at int64) (x columnIndexes, err error) {
	var offsets format.OffsetIndex
	var index format.ColumnIndex
	t, row := e.columns[i].Type, int64(0)
	for _, p := range pages {
		offsets.PageLocations = append(offsets.PageLocations, format.PageLocation{Offset: at, CompressedPageSize: int32(len(p.data)), FirstRowIndex: row})
		at += int64(len(p.data))
		row += int64(p.rows)
		var low, high []byte
		if p.nulls < p.rows {
			low, high = bound(t, p.low), bound(t, p.high)
		}
		index.NullPages = append(index.NullPages, p.nulls == p.rows)
		index.NullCounts = append(index.NullCounts, int64(p.nulls))
		index.MinValues, index.MaxValues = append(index.MinValues, low), append(index.MaxValues, high)
	}
	if x.offset, err = thrift.Marshal(&protocol, &offsets); err == nil && t != catalog.String {
		x.column, err = thrift.Marshal(&protocol, &index)
	}
	return x, err
}

// close ends the file and tells its size.
func (e *encoder) close(f *partFile, rows int64) (size int64, err error) {
	f.note("rows", strconv.FormatInt(rows, 10))
	e.out.Reset(f.file)
	if f.offset == 0 {
		err = e.put(f, magic)
	}
	chunk := func(k int) *format.ColumnChunk {
		n := len(e.columns)
		return &f.metadata.RowGroups[k/n].Columns[k%n]
	}
	for k, x := range f.bounds {
		if c := chunk(k); err == nil && x.column != nil {
			c.ColumnIndexOffset, c.ColumnIndexLength = f.offset, int32(len(x.column))
			err = e.put(f, x.column)
		}
	}
	for k, x := range f.bounds {
		if c := chunk(k); err == nil {
			c.OffsetIndexOffset, c.OffsetIndexLength = f.offset, int32(len(x.offset))
			err = e.put(f, x.offset)
		}
	}
	var footer []byte
	if err == nil {
		footer, err = thrift.Marshal(&protocol, &f.metadata)
	}
	if err == nil {
		footer = append(binary.LittleEndian.AppendUint32(footer, uint32(len(footer))), magic...)
		err = e.put(f, footer)
	}
	if err == nil {
		err = e.out.Flush()
	}
	if err == nil {
		err = f.file.Close()
	}
	if err != nil {
		return 0, fmt.Errorf("end the file: %w", err)
	}
	return f.offset, nil
}
