package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// The bytes that every file begins and ends with, and the encoding of its metadata.
var (
	magic    = []byte("PAR1")
	protocol thrift.CompactProtocol
)

// statistics returns the bounds and the NULL count of column i of a row group.
func statistics(t Type, g *Group, i int) format.Statistics {
	var s format.Statistics
	var limits []int64 // the bounds of all pages that have values
	for _, p := range g.sealed[i] {
		s.NullCount += int64(p.nulls)
		if p.nulls < p.rows {
			limits = append(limits, p.low, p.high)
		}
	}
	switch {
	case len(limits) == 0:
	case t == Text:
		s.MinValue, s.MaxValue = textBounds(g.texts[i])
	default:
		low, high := bounds(t, limits)
		s.MinValue, s.MaxValue = bound(t, low), bound(t, high)
	}
	return s
}

// bound encodes a value for statistics: PLAIN, without a length.
func bound(t Type, v int64) []byte { return appendPlain(nil, t, []int64{v}) }

// longestBounds limits the bounds of a column of texts, both together, in bytes. Longer ones are
// left out, because a reader reads the whole footer for every query. A shortened bound isn't an
// option: some readers answer min() and max() by it. Arrow and parquet-java have the same limit.
const longestBounds = 4096

// textBounds returns the least and the greatest text of a column of a row group, or nothing when
// they are too long.
func textBounds(t *Texts) (low, high []byte) {
	low, high = t.low, t.high
	for _, word := range t.order {
		text := t.words.text(word)
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

// columnIndexes is the encoded page index of a column of a row group. The file has it after all row
// groups.
type columnIndexes struct {
	column []byte // bounds and NULLs of each page; nil for texts, since a page of dictionary indexes knows no bounds
	offset []byte // where each page is
}

// pageIndexes makes the page index of a column whose first data page is at an offset of the file.
func pageIndexes(t Type, pages []page, at int64) (x columnIndexes, err error) {
	var offsets format.OffsetIndex
	var index format.ColumnIndex
	row := int64(0)
	for _, p := range pages {
		offsets.PageLocations = append(offsets.PageLocations, format.PageLocation{Offset: at,
			CompressedPageSize: int32(p.size), FirstRowIndex: row})
		at += int64(p.size)
		row += int64(p.rows)
		var low, high []byte
		if p.nulls < p.rows {
			low, high = bound(t, p.low), bound(t, p.high)
		}
		index.NullPages = append(index.NullPages, p.nulls == p.rows)
		index.NullCounts = append(index.NullCounts, int64(p.nulls))
		index.MinValues, index.MaxValues = append(index.MinValues, low), append(index.MaxValues, high)
	}
	if x.offset, err = thrift.Marshal(&protocol, &offsets); err == nil && t != Text {
		x.column, err = thrift.Marshal(&protocol, &index)
	}
	return x, err
}

// Close appends the page index and the footer, and returns the file's size in bytes. It doesn't
// close the writer that Create was given.
func (f *File) Close() (size int64, err error) {
	if err := f.close(); err != nil {
		return 0, fmt.Errorf("end the file: %w", err)
	}
	return f.offset, nil
}

// close does what Close does. The indexes of all columns of all row groups are in f.indexes, one
// after the other.
func (f *File) close() error {
	if err := f.begin(); err != nil {
		return err
	}
	chunk := func(k int) *format.ColumnChunk {
		n := len(f.w.columns)
		return &f.metadata.RowGroups[k/n].Columns[k%n]
	}
	for k, x := range f.indexes {
		if x.column == nil {
			continue
		}
		c := chunk(k)
		c.ColumnIndexOffset, c.ColumnIndexLength = f.offset, int32(len(x.column))
		if err := f.put(x.column); err != nil {
			return err
		}
	}
	for k, x := range f.indexes {
		c := chunk(k)
		c.OffsetIndexOffset, c.OffsetIndexLength = f.offset, int32(len(x.offset))
		if err := f.put(x.offset); err != nil {
			return err
		}
	}
	footer, err := thrift.Marshal(&protocol, &f.metadata)
	if err != nil {
		return err
	}
	footer = append(binary.LittleEndian.AppendUint32(footer, uint32(len(footer))), magic...)
	if err := f.put(footer); err != nil {
		return err
	}
	return f.w.out.Flush()
}
