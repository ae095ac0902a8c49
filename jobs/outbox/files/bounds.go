package files

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

const (
	// largestPage limits a page's bytes, before and after compression. Writers aim at 1 MiB;
	// dictionaries, and pages of some writers, are larger.
	largestPage = 32 << 20
	// mostValues limits the values of a page, because the library needs five bytes for each, even
	// where the file has all of them in three bytes.
	mostValues = 4 << 20
	// largestHeader limits a page's header: a few dozen bytes, and the smallest and largest value.
	largestHeader = 64 << 10
)

// checkPages checks the headers of the pages of one column in one row group, and decompresses the
// pages without keeping anything. It is needed because the library trusts those headers, and would
// allocate as much memory as they say.
func checkPages(file io.ReaderAt, size int64, m *format.ColumnMetaData) error {
	start := m.DataPageOffset
	if d := m.DictionaryPageOffset; d != 0 {
		start = d // as the library does
	}
	if start < 0 || m.TotalCompressedSize < 0 || start > size || m.TotalCompressedSize > size-start {
		return errors.New("has a column that lies outside the file")
	}
	in := bufio.NewReaderSize(io.NewSectionReader(file, start, m.TotalCompressedSize), largestHeader)
	// The library jumps from the dictionary to the first data page, so a page must begin there.
	at, atData := start, false
	for {
		atData = atData || at == m.DataPageOffset
		peek, err := in.Peek(largestHeader)
		if len(peek) == 0 && !atData && at > start {
			return errors.New("has a column whose data pages don't begin where it says")
		}
		if len(peek) == 0 {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		var h format.PageHeader
		protocol := thrift.CompactProtocol{}
		r := protocol.NewReaderFromBytes(peek)
		if err := thrift.NewDecoder(r).Decode(&h); err != nil {
			if len(peek) == largestHeader {
				return fmt.Errorf("has a page whose header is longer than %d KiB: a cell in it may be, too",
					largestHeader>>10)
			}
			return fmt.Errorf("has a page whose header can't be read: %w", err)
		}
		if err := checkPage(&h); err != nil {
			return err
		}
		_, _ = in.Discard(r.BytesRead()) // Peek has returned these bytes already
		body := io.LimitReader(in, int64(h.CompressedPageSize))
		if err := checkBody(body, &h, m.Codec); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, body); err != nil {
			return err
		}
		at += int64(r.BytesRead()) + int64(h.CompressedPageSize)
	}
}

// checkPage checks the sizes in a page's header.
func checkPage(h *format.PageHeader) error {
	count := max(h.DataPageHeader.V.NumValues, h.DictionaryPageHeader.V.NumValues, h.DataPageHeaderV2.V.NumValues)
	switch {
	case h.CompressedPageSize < 0 || h.UncompressedPageSize < 0 || count < 0:
		return errors.New("has a page of negative size")
	case h.CompressedPageSize > largestPage || h.UncompressedPageSize > largestPage:
		return fmt.Errorf("has a page of more than %d MiB", largestPage>>20)
	case count > mostValues:
		return fmt.Errorf("has a page of %d values; at most %d", count, mostValues)
	}
	return nil
}

// checkBody checks that a page decompresses to no more than its header says.
func checkBody(body io.Reader, h *format.PageHeader, codec format.CompressionCodec) error {
	want := int64(h.UncompressedPageSize)
	if v2 := h.DataPageHeaderV2; v2.Valid { // the levels come first, and aren't compressed
		levels := int64(v2.V.DefinitionLevelsByteLength) + int64(v2.V.RepetitionLevelsByteLength)
		if levels < 0 || levels > want {
			return errors.New("has a page of negative size")
		}
		if _, err := io.CopyN(io.Discard, body, levels); err != nil {
			return fmt.Errorf("has a page that is cut: %w", err)
		}
		want -= levels
		if v2.V.IsCompressed.Valid && !v2.V.IsCompressed.V {
			return nil
		}
	}
	got, err := expandedSize(body, codec, want)
	if err != nil {
		return fmt.Errorf("has a page that can't be decompressed: %w", err)
	}
	if got > want {
		return errors.New("has a page that is larger than it says")
	}
	return nil
}

// expandedSize returns the size of a page after decompression, or, if that is more than limit, any
// number above limit. For an uncompressed page it returns 0.
func expandedSize(body io.Reader, codec format.CompressionCodec, limit int64) (int64, error) {
	var inner io.Reader
	switch codec {
	case format.Uncompressed:
		return 0, nil
	case format.Snappy: // the data begin with their size (github.com/google/snappy/blob/main/format_description.txt)
		data, err := io.ReadAll(io.LimitReader(body, binary.MaxVarintLen64))
		if err != nil {
			return 0, err
		}
		n, length := binary.Uvarint(data)
		if length <= 0 || n > largestPage {
			return largestPage + 1, nil
		}
		return int64(n), nil
	case format.Gzip:
		z, err := gzip.NewReader(body)
		if errors.Is(err, io.EOF) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		inner = z
	case format.Zstd:
		z, err := zstd.NewReader(body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(largestWindow))
		if err != nil {
			return 0, err
		}
		defer z.Close()
		inner = z
	default:
		return 0, fmt.Errorf("its codec is %s; want none, snappy, gzip or zstd", codec)
	}
	return io.Copy(io.Discard, io.LimitReader(inner, limit+1))
}

const (
	largestFooter = 16 << 20 // bytes
	mostElements  = 300_000  // of all lists in a footer: a thousand row groups of twenty columns have 120,000
)

// checkFooter checks that the lists in a footer are as long as they say, because the library
// allocates memory for them before it reads them.
func checkFooter(file io.ReaderAt, size int64) error {
	var tail [8]byte
	if size < int64(len(tail))+4 {
		return errors.New("is a Parquet file that was cut")
	}
	if _, err := file.ReadAt(tail[:], size-int64(len(tail))); err != nil {
		return err
	}
	length := int64(binary.LittleEndian.Uint32(tail[:4]))
	switch {
	case !bytes.Equal(tail[4:], []byte("PAR1")):
		return errors.New("begins as a Parquet file and doesn't end as one; it was cut, or is encrypted")
	case length > size-int64(len(tail))-4:
		return errors.New("is a Parquet file that was cut")
	case length > largestFooter:
		return fmt.Errorf("has a Parquet footer of %d MiB; at most %d", length>>20, largestFooter>>20)
	}
	footer := make([]byte, length)
	if _, err := file.ReadAt(footer, size-int64(len(tail))-length); err != nil {
		return err
	}
	w := thriftSkipper{data: footer}
	w.structure(0)
	if w.bad {
		return errors.New("has a Parquet footer that is damaged, or too large")
	}
	return nil
}

// A thriftSkipper skips values in Thrift's compact protocol, without keeping them
// (github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md).
type thriftSkipper struct {
	data     []byte // what is still to be skipped
	elements int    // how many elements the lists so far have
	bad      bool   // the data are cut, nested too deeply, or have too many elements
}

// These are the types of the compact protocol.
const (
	thriftStop = iota
	thriftTrue
	thriftFalse
	thriftByte
	thriftI16
	thriftI32
	thriftI64
	thriftDouble
	thriftBinary
	thriftList
	thriftSet
	thriftMap
	thriftStruct
)

// skip skips n bytes.
func (w *thriftSkipper) skip(n uint64) {
	if n > uint64(len(w.data)) {
		w.bad, w.data = true, nil
		return
	}
	w.data = w.data[n:]
}

// byte skips one byte and returns it.
func (w *thriftSkipper) byte() byte {
	if len(w.data) == 0 {
		w.bad = true
		return thriftStop
	}
	b := w.data[0]
	w.data = w.data[1:]
	return b
}

// varint skips a number of variable length and returns it.
func (w *thriftSkipper) varint() uint64 {
	n, size := binary.Uvarint(w.data)
	if size <= 0 {
		w.bad, w.data = true, nil
		return 0
	}
	w.data = w.data[size:]
	return n
}

// structure skips a struct: its fields up to the stop mark.
func (w *thriftSkipper) structure(depth int) {
	for !w.bad {
		head := w.byte()
		kind := head & 0xf
		if kind == thriftStop {
			return
		}
		if head>>4 == 0 {
			w.varint() // the field's number, which usually is in head
		}
		if kind > thriftFalse { // true and false have no other value
			w.value(kind, depth+1)
		}
	}
}

// value skips one value of a type.
func (w *thriftSkipper) value(kind byte, depth int) {
	if depth > 32 {
		w.bad = true
	}
	if w.bad {
		return
	}
	switch kind {
	case thriftTrue, thriftFalse, thriftByte:
		w.skip(1)
	case thriftI16, thriftI32, thriftI64:
		w.varint()
	case thriftDouble:
		w.skip(8)
	case thriftBinary:
		w.skip(w.varint())
	case thriftList, thriftSet:
		head := w.byte()
		n := uint64(head >> 4)
		if n == 0xf {
			n = w.varint()
		}
		w.repeat(n, depth, head&0xf)
	case thriftMap:
		if n := w.varint(); n > 0 {
			kinds := w.byte()
			w.repeat(n, depth, kinds>>4, kinds&0xf)
		}
	case thriftStruct:
		w.structure(depth)
	default:
		w.bad = true
	}
}

// repeat skips n elements, each with one value of every kind.
func (w *thriftSkipper) repeat(n uint64, depth int, kinds ...byte) {
	if n > mostElements || w.elements+int(n) > mostElements {
		w.bad = true
		return
	}
	w.elements += int(n)
	for range n {
		for _, kind := range kinds {
			w.value(kind, depth+1)
		}
	}
}
