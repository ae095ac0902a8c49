package table

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"github.com/reportferry/reportferry/internal/catalog"
)

// This file alone writes by parquet-go: whoever finds a faster way to write pages changes nothing else.

const (
	// A page of at most 128 KiB is one Zstandard block: the encoder then keeps no history, which would be 8 MiB for every
	// one at work (github.com/klauspost/compress/zstd, Encoder.EncodeAll).
	pageBytes       = 128 << 10
	dictionaryBytes = 128 << 10 // a column chunk with more text than that goes on without its dictionary
)

// pageBuffers hold the pages of a row group until it is whole: in small pieces, because a wide table has many columns with
// little in them.
var pageBuffers = parquet.NewChunkBufferPool(4 << 10)

func codec(name string) (compress.Codec, error) {
	switch name {
	case "", "zstd":
		return &parquet.Zstd, nil
	case "snappy":
		return &parquet.Snappy, nil
	case "none":
		return &parquet.Uncompressed, nil
	}
	return nil, fmt.Errorf("unknown codec %q; want zstd, snappy or none", name)
}

// rootNode is a group with its fields in the order of the table; parquet.Group sorts them by name.
type rootNode struct {
	parquet.Group
	fields []parquet.Field
}

func (n rootNode) Fields() []parquet.Field { return n.fields }

func newSchema(columns []Column) *parquet.Schema {
	root := rootNode{Group: parquet.Group{}}
	for _, c := range columns {
		root.Group[c.Name] = columnNode(c)
	}
	byName := map[string]parquet.Field{}
	for _, f := range root.Group.Fields() {
		byName[f.Name()] = f
	}
	for _, c := range columns {
		root.fields = append(root.fields, byName[c.Name])
	}
	return parquet.NewSchema("table", root)
}

func columnNode(c Column) parquet.Node {
	var n parquet.Node
	switch {
	case c.Type == catalog.String:
		n = parquet.String()
	case c.Type.IsDate():
		n = parquet.Date()
	case c.Type == catalog.Hour:
		n = parquet.TimestampAdjusted(parquet.Microsecond, false)
	case c.Type == catalog.Int64:
		n = parquet.Int(64)
	case c.Type == catalog.Decimal:
		n = parquet.Decimal(decimalScale, decimalPrecision, parquet.Int64Type)
	default:
		n = parquet.Leaf(parquet.DoubleType)
	}
	switch {
	case c.Type == catalog.String || c.Type.IsTime():
		n = parquet.Encoded(n, &parquet.RLEDictionary)
	case c.Type != catalog.Double:
		n = parquet.Encoded(n, &parquet.DeltaBinaryPacked)
	}
	if c.Dimension {
		return parquet.Required(n)
	}
	return parquet.Optional(n)
}

// encoder writes the files of one table.
type encoder struct {
	columns  []Column
	schema   *parquet.Schema
	codec    compress.Codec
	dir      string
	metadata map[string]string
	paths    [][]string      // of all columns
	values   []parquet.Value // of one chunk and column
}

func newEncoder(o Options) (*encoder, error) {
	codec, err := codec(o.Codec)
	if err != nil {
		return nil, err
	}
	e := &encoder{columns: o.Columns, schema: newSchema(o.Columns), codec: codec, dir: o.Dir, metadata: o.Metadata}
	for _, c := range o.Columns {
		e.paths = append(e.paths, []string{c.Name})
	}
	return e, nil
}

// partFile holds the row groups of one partition.
type partFile struct {
	path   string
	file   *os.File
	writer *parquet.GenericWriter[any]
}

func (e *encoder) create(partition string) (*partFile, error) {
	f, err := os.CreateTemp(e.dir, "part-"+partition+"-*.parquet")
	if err != nil {
		return nil, fmt.Errorf("create a spool file: %w", err)
	}
	metadata := map[string]string{}
	maps.Copy(metadata, e.metadata)
	metadata["partition"] = partition
	w := parquet.NewGenericWriter[any](f, &parquet.WriterConfig{
		Schema:           e.schema,
		Compression:      e.codec,
		KeyValueMetadata: metadata,
		PageBufferSize:   pageBytes,
		// Many files are open, and few are active.
		WriteBufferSize:    4 << 10,
		ColumnPageBuffers:  pageBuffers,
		DictionaryMaxBytes: dictionaryBytes,
		// Bounds stand whole in the chunk and in the page index. In page headers nobody reads them, and bounds cut to
		// a number of bytes need not be UTF-8.
		SkipPageStatistics:   e.paths,
		ColumnIndexSizeLimit: func([]string) int { return 0 },
	})
	return &partFile{path: f.Name(), file: f, writer: w}, nil
}

// write appends a row group to a file, one column after the other.
func (e *encoder) write(f *partFile, g *rowGroup) error {
	// The columns of a row group writer keep their memory after a commit, and an idle file would hold it for nothing: so
	// every row group has a writer of its own.
	rg := f.writer.BeginRowGroup()
	for i, w := range rg.ColumnWriters() {
		if err := e.writeColumn(w, g, i); err != nil {
			return fmt.Errorf("write column %s: %w", e.columns[i].Name, err)
		}
	}
	if _, err := rg.Commit(); err != nil {
		return fmt.Errorf("write a row group of %d rows: %w", g.rows, err)
	}
	return nil
}

func (e *encoder) writeColumn(w *parquet.ColumnWriter, g *rowGroup, i int) error {
	for _, chunk := range g.chunks {
		e.values = slices.Grow(e.values[:0], chunk.rows)[:chunk.rows]
		chunk.fill(e.values, i, e.columns[i], g.dicts[i])
		if _, err := w.WriteRowValues(e.values); err != nil {
			return err
		}
	}
	return w.Flush()
}

// fill makes parquet values of column i of the chunk.
func (c *chunk) fill(values []parquet.Value, i int, column Column, dict *dictionary) {
	switch {
	case column.Type == catalog.String:
		for row, id := range c.ids[i][:c.rows] {
			if c.null[i] == 0 || !c.isNull(i, row) {
				values[row] = parquet.ByteArrayValue(dict.text(id))
			}
		}
	case column.Type.IsDate():
		for row, v := range c.values[i][:c.rows] {
			values[row] = parquet.Int32Value(int32(v))
		}
	case column.Type == catalog.Double:
		for row, v := range c.values[i][:c.rows] {
			values[row] = parquet.DoubleValue(math.Float64frombits(uint64(v)))
		}
	default:
		for row, v := range c.values[i][:c.rows] {
			values[row] = parquet.Int64Value(v)
		}
	}
	if column.Dimension {
		return // a value is born with the levels of a required column
	}
	for row := range values {
		if c.null[i] > 0 && c.isNull(i, row) {
			values[row] = parquet.NullValue().Level(0, 0, i)
		} else {
			values[row] = values[row].Level(0, 1, i)
		}
	}
}

// close ends the file and tells its size.
func (f *partFile) close(rows int64) (int64, error) {
	f.writer.SetKeyValueMetadata("rows", strconv.FormatInt(rows, 10))
	if err := f.writer.Close(); err != nil {
		return 0, fmt.Errorf("end the file: %w", err)
	}
	info, err := f.file.Stat()
	if err != nil {
		return 0, fmt.Errorf("end the file: %w", err)
	}
	if err := f.file.Close(); err != nil {
		return 0, fmt.Errorf("end the file: %w", err)
	}
	return info.Size(), nil
}
