package table

import (
	"bufio"
	"fmt"
	"os"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/format"
)

// Files are written here page by page: parquet-go's writer, which takes values one by one, needed half of the time of a
// conversion. Of parquet-go there remain the structs of the footer, the types and the codecs.

// A window of half a megabyte keeps the compressor's memory small; dictionaries and texts are about as large.
var zstandard = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(512<<10),
		zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
})

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

// encoder writes the files of one table.
type encoder struct {
	columns  []Column
	schema   []format.SchemaElement
	codec    compress.Codec
	zstd     bool
	general  *zstd.Encoder
	frames   frames
	dir      string
	metadata map[string]string
	out      *bufio.Writer // of the file at work
	raw      []int         // by column: of so many of the next row groups the texts are taken for ones that hardly repeat

	// Of the page at work:
	values []int64
	ids    []uint32
	plain  []byte // before compression
	size   int    // of plain, which isn't always made
	body   []byte // compressed
	levels []byte
	head   []byte
}

func newEncoder(o Options) (e *encoder, err error) {
	e = &encoder{columns: o.Columns, schema: schemaElements(o.Columns), dir: o.Dir, metadata: o.Metadata, raw: make([]int, len(o.Columns)), out: bufio.NewWriterSize(nil, 64<<10)}
	if e.codec, err = codec(o.Codec); err != nil {
		return nil, err
	}
	if e.zstd = e.codec.CompressionCodec() == format.Zstd; e.zstd {
		e.general, err = zstandard()
	}
	return e, err
}

// compress makes the body of what is plain.
func (e *encoder) compress() (err error) {
	e.size = len(e.plain)
	switch {
	case e.zstd && e.size == 0:
		e.body = e.frames.store(e.body[:0], nil)
	case e.zstd:
		e.body = e.general.EncodeAll(e.plain, e.body[:0])
	default:
		e.body, err = e.codec.Encode(e.body[:0], e.plain)
	}
	return err
}

// begin tells a new row group what its predecessors found out, now and then excepted: texts may begin to repeat.
func (e *encoder) begin(g *rowGroup) {
	for i := range e.raw {
		if e.raw[i] > 0 {
			e.raw[i]--
			g.raws[i].on = true
		}
	}
}

// partFile holds the row groups of one partition.
type partFile struct {
	path     string
	file     *os.File
	metadata format.FileMetaData
	offset   int64
	bounds   []columnIndexes // by row group and column
}

func (e *encoder) create(partition string) (*partFile, error) {
	f, err := os.CreateTemp(e.dir, "part-"+partition+"-*.parquet")
	if err != nil {
		return nil, fmt.Errorf("create a spool file: %w", err)
	}
	p := &partFile{path: f.Name(), file: f}
	p.metadata = format.FileMetaData{Version: 2, Schema: e.schema, CreatedBy: "reportferry", ColumnOrders: columnOrders(len(e.columns))}
	for _, key := range sortedKeys(e.metadata) {
		p.note(key, e.metadata[key])
	}
	p.note("partition", partition)
	return p, nil
}

// note adds key-value metadata.
func (f *partFile) note(key, value string) {
	f.metadata.KeyValueMetadata = append(f.metadata.KeyValueMetadata, format.KeyValue{Key: key, Value: value})
}

// put appends bytes to the file at work.
func (e *encoder) put(f *partFile, b []byte) error {
	n, err := e.out.Write(b)
	f.offset += int64(n)
	return err
}

// write appends a row group, whose rows are all pages, to a file, one column after the other.
func (e *encoder) write(f *partFile, g *rowGroup) (err error) {
	e.out.Reset(f.file)
	if f.offset == 0 {
		err = e.put(f, magic)
	}
	group := format.RowGroup{NumRows: int64(g.rows), FileOffset: f.offset, Ordinal: int16(len(f.metadata.RowGroups))}
	for i := range e.columns {
		if err != nil {
			break
		}
		var chunk format.ColumnChunk
		if chunk, err = e.writeColumn(f, g, i); err != nil {
			err = fmt.Errorf("column %s: %w", e.columns[i].Name, err)
		}
		group.TotalByteSize += chunk.MetaData.TotalUncompressedSize
		group.TotalCompressedSize += chunk.MetaData.TotalCompressedSize
		group.Columns = append(group.Columns, chunk)
	}
	if err == nil {
		err = e.out.Flush()
	}
	if err != nil {
		return fmt.Errorf("write a row group of %d rows: %w", g.rows, err)
	}
	f.metadata.RowGroups = append(f.metadata.RowGroups, group)
	f.metadata.NumRows += int64(g.rows)
	return nil
}

func (e *encoder) writeColumn(f *partFile, g *rowGroup, i int) (format.ColumnChunk, error) {
	m := format.ColumnMetaData{
		Type: e.schema[1+i].Type.V, PathInSchema: []string{e.columns[i].Name}, Codec: e.codec.CompressionCodec(), NumValues: int64(g.rows),
		Statistics: e.statistics(g, i),
	}
	begin := f.offset
	if err := e.dictionaryPage(&m, f, g, i); err != nil {
		return format.ColumnChunk{}, err
	}
	m.DataPageOffset = f.offset
	at := f.offset
	for _, p := range g.pages[i] {
		if err := e.put(f, p.data); err != nil {
			return format.ColumnChunk{}, err
		}
		m.TotalUncompressedSize += int64(p.content)
	}
	m.TotalCompressedSize = f.offset - begin
	m.Encoding = encodings(g.pages[i], m.DictionaryPageOffset > 0)
	indexes, err := e.indexes(g.pages[i], i, at)
	f.bounds = append(f.bounds, indexes)
	return format.ColumnChunk{MetaData: m}, err
}

// dictionaryPage writes the dictionary of a column, if there is one.
func (e *encoder) dictionaryPage(m *format.ColumnMetaData, f *partFile, g *rowGroup, i int) error {
	n := 0
	e.plain, e.body = e.plain[:0], e.body[:0]
	switch {
	case g.texts[i] != nil:
		n = len(g.texts[i].ends)
		e.plain = g.texts[i].appendPlain(e.plain)
	case g.numbers[i] != nil:
		n = len(g.numbers[i].values)
		e.plain = appendPlain(e.plain, e.columns[i].Type, g.numbers[i].values)
	}
	if n == 0 {
		return nil
	}
	if err := e.compress(); err != nil {
		return err
	}
	e.head = dictionaryPageHeader(e.head[:0], n, len(e.plain), len(e.body))
	m.DictionaryPageOffset = f.offset
	m.TotalUncompressedSize += int64(len(e.head) + len(e.plain))
	if err := e.put(f, e.head); err != nil {
		return err
	}
	return e.put(f, e.body)
}
