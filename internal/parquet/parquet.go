// Package parquet writes Parquet files from columns of integers and texts. Without it, parquet-go
// would write them, in 1.4 to 2.6 times as much CPU time, into files of up to a fifth more bytes
// (figures below).
//
// It is a leaf: it knows columns, pages and files, and nothing of CSV, partitions, jobs or the
// service. It reads no Parquet.
//
//	Pool ── Group ──> Group.Values, Group.Texts: the caller fills the cells of a few rows
//	  ▲       │                 │
//	  │       │       Writer.Commit: takes the rows; each few thousand become one page a column
//	  │       ▼
//	  └─ File.Write: dictionaries and pages as one row group ── File.Close: page index, footer
//
// A pool has one group for each file that is being written. For each column of texts, the groups
// share one table of the texts, but each numbers them in an order of its own. What a group writes,
// and its Weight, depend on its rows alone: neither other groups, nor how rows were committed, nor
// whether pages had to wait on the disk (Pool.Spill) changes a byte.
//
// # What it writes
//
// A file is a flat table (https://parquet.apache.org/docs/file-format). Required columns have no
// NULLs, the others have definition levels of one bit. Dates are DATE, timestamps are TIMESTAMP of
// microseconds without a zone, decimals are DECIMAL(18,6) on INT64, texts are STRING.
//
//   - Data pages have up to 8192 rows. They are of version 2 or, for readers that know no other, of
//     version 1, whose definition levels are compressed with the values.
//   - Texts, dates, timestamps and doubles are RLE_DICTIONARY, with the row group's distinct values
//     in a dictionary page, until values hardly repeat; from then on, as integers and decimals
//     always are, they are PLAIN.
//   - Bodies of pages are compressed with Zstandard, Snappy or not at all. With Zstandard, pages of
//     dictionary indexes, and of numbers that fit five bytes, are framed by package zstdframe, all
//     other ones by klauspost's encoder.
//   - Statistics hold the NULL count and exact bounds of each column of a row group, except bounds
//     of long texts. The page index holds those of each page, except for texts. Readers use both to
//     skip row groups and pages.
//
// # What it uses of parquet-go
//
// The structs of the footer (format), the encoder for Thrift's compact protocol (encoding/thrift),
// its names of the types, and Snappy. The headers of pages are encoded by hand in pages.go, because
// they are many.
//
// # How it is tested
//
// TestWriter writes random columns and reads them back with parquet-go. The tests of internal/table
// make random tables of every type and size, read them with arrow-go, and walk over each page to
// compare levels, encodings, statistics and the page index with the values; the gate gives the same
// files to DuckDB, Polars, pyarrow and DataFusion, with filters that use the statistics. All these
// readers share no code with this package.
//
// # When to delete it
//
// BenchmarkWriter writes the same columns, which are in memory, as one row group of Zstandard: with
// this package, and with the column writers of parquet-go v0.32, which are faster than its rows,
// with dictionaries for the same columns. Making parquet-go's values of ours isn't counted. Medians
// of five on one core:
//
//	columns × rows             writer                CPU ns/cell   bytes/row   allocations, MiB
//	17 × 300,000               this package               25          18.2       2965    20
//	                           parquet-go, fastest        44          19.8       1760    30
//	                           parquet-go, default        56          20.9       1438    35
//	77 × 100,000               this package               27          60.2      13740    18
//	                           parquet-go, fastest        37          60.0       5280    49
//	                           parquet-go, default        42          60.0       5300    59
//	17 × 300,000, with         this package               40          26.8       2813    26
//	two million campaigns      parquet-go, fastest       105          31.8       5879   159
//	                           parquet-go, default       128          33.5       5579   129
//
// A whole conversion from CSV takes 49 to 64 ns a cell, so that it would take 1.2 to 2 times as
// long with parquet-go. If that is fast enough, write the batches of internal/table with a
// parquet.GenericWriter, and delete this folder.
package parquet

import (
	"bufio"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/format"

	"github.com/reportferry/reportferry/internal/parquet/zstdframe"
)

// A Type says what the values of a column are.
type Type uint8

// The types. All but Text are handed over as int64.
const (
	Text      Type = iota // UTF-8
	Date                  // days since 1970-01-01
	Timestamp             // microseconds since 1970-01-01 00:00:00, on a clock without a zone
	Instant               // microseconds since 1970-01-01 00:00:00 UTC
	Int64                 // a whole number
	Decimal               // a decimal with DecimalScale decimals, as a whole number of its last place
	Double                // the bits of a float64 (math.Float64bits); neither NaN nor minus zero
)

// A decimal has DecimalPrecision digits, DecimalScale of them behind the point.
const (
	DecimalPrecision = 18
	DecimalScale     = 6
)

// A Column is one column of a file.
type Column struct {
	Name     string
	Type     Type
	Required bool // it has no NULLs
}

// numbered tells whether a column of numbers begins each row group with a dictionary. Ratios and
// times repeat; counts and amounts become as small without one, by compression of their bytes.
func (c Column) numbered() bool {
	return c.Type == Date || c.Type == Timestamp || c.Type == Instant || c.Type == Double
}

// A Writer encodes the rows of one table, whose files differ in their rows only. It is used by one
// goroutine at a time.
type Writer struct {
	columns []Column
	schema  []format.SchemaElement
	codec   codec
	pages   format.PageType // DataPageV2, or DataPage, which is of version 1
	out     *bufio.Writer   // to the file that is being written

	// Buffers for the page that is being made:
	values []int64
	ids    []uint32
	plain  []byte // before compression
	size   int    // the body's size before compression; plain itself isn't always made
	body   []byte // compressed
	levels []byte
	head   []byte
}

// NewWriter makes a writer for a table. The codec is "zstd" (also when empty), "snappy" or "none";
// data pages are of version "v2" (also when empty) or "v1".
func NewWriter(columns []Column, codec, pages string) (*Writer, error) {
	w := &Writer{columns: columns, schema: schemaElements(columns), pages: format.DataPageV2,
		out: bufio.NewWriterSize(nil, 64<<10)}
	switch pages {
	case "", "v2":
	case "v1":
		w.pages = format.DataPage
	default:
		return nil, fmt.Errorf("unknown version %q of data pages; want v1 or v2", pages)
	}
	return w, w.codec.set(codec)
}

// codec compresses the bodies of pages.
type codec struct {
	compress.Codec
	zstd   *zstd.Encoder // nil for another codec
	frames zstdframe.Packer
}

// set selects the codec by its name.
func (c *codec) set(name string) (err error) {
	switch name {
	case "", "zstd":
		c.zstd, err = zstandard()
	case "snappy":
		c.Codec = &parquet.Snappy
	case "none":
		c.Codec = &parquet.Uncompressed
	default:
		err = fmt.Errorf("unknown codec %q; want zstd, snappy or none", name)
	}
	return err
}

// zstandard returns the encoder that all writers share. A window of half a megabyte keeps its
// memory small; dictionaries and texts are about as large.
var zstandard = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(512<<10),
		zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
})

// id returns the codec's number in the footer.
func (c *codec) id() format.CompressionCodec {
	if c.zstd != nil {
		return format.Zstd
	}
	return c.CompressionCodec()
}

// compress compresses any bytes and appends them: it is the general codec.
func (c *codec) compress(dst, plain []byte) ([]byte, error) {
	switch {
	case c.zstd == nil:
		return c.Encode(dst, plain)
	case len(plain) == 0: // klauspost's encoder makes no frame of nothing
		return c.frames.Bytes(dst, nil), nil
	}
	return c.zstd.EncodeAll(plain, dst), nil
}

// compressIndexes compresses the body of a page of dictionary indexes and appends it.
func (c *codec) compressIndexes(dst, plain []byte) ([]byte, error) {
	if c.zstd == nil {
		return c.Encode(dst, plain)
	}
	return c.frames.Bytes(dst, plain), nil
}

// compressWords compresses numbers of eight bytes each and appends them. It is not ok, and appends
// nothing, when compress is better at them.
func (c *codec) compressWords(dst []byte, values []int64) (_ []byte, ok bool) {
	if c.zstd == nil {
		return dst, false
	}
	return c.frames.Words(dst, values)
}
