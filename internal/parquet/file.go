package parquet

import (
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go/format"
)

// A File is one Parquet file that is being written.
type File struct {
	w        *Writer
	out      io.Writer
	metadata format.FileMetaData
	offset   int64           // bytes written so far
	indexes  []columnIndexes // by row group and column
}

// Version is the program's version, which goes into the footer of each file. The program sets it
// before it writes the first file.
var Version = "devel"

// createdBy returns the program's name and version in the form that the format asks for
// (parquet.thrift, created_by): parquet-java ignores the bounds of texts in files whose created_by
// it can't parse.
func createdBy() string {
	version, build := strings.TrimPrefix(Version, "v"), "unknown"
	if version == "" || version[0] < '0' || version[0] > '9' { // parquet-java wants three numbers
		version = "0.0.0-" + version
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				build = s.Value
			}
		}
	}
	return fmt.Sprintf("reportferry version %s (build %s)", version, build)
}

// Create begins a file, which is written to out.
func (w *Writer) Create(out io.Writer) *File {
	return &File{w: w, out: out, metadata: format.FileMetaData{
		Version: 2, Schema: w.schema, CreatedBy: createdBy(), ColumnOrders: columnOrders(len(w.columns)),
	}}
}

// Note adds key-value metadata to the footer. It may be called until Close.
func (f *File) Note(key, value string) {
	f.metadata.KeyValueMetadata = append(f.metadata.KeyValueMetadata, format.KeyValue{Key: key, Value: value})
}

// Write appends a group, which has at least one row, as a row group. Afterwards, the group may only
// be given to Pool.Recycle.
func (f *File) Write(g *Group) error {
	if err := f.write(g); err != nil {
		return fmt.Errorf("write a row group of %d rows: %w", g.rows, err)
	}
	return nil
}

func (f *File) write(g *Group) error {
	if err := f.w.seal(g); err != nil {
		return err
	}
	if err := f.begin(); err != nil {
		return err
	}
	group := format.RowGroup{NumRows: int64(g.rows), FileOffset: f.offset, Ordinal: int16(len(f.metadata.RowGroups))}
	for i, c := range f.w.columns {
		chunk, err := f.column(g, i)
		if err != nil {
			return fmt.Errorf("column %s: %w", c.Name, err)
		}
		group.TotalByteSize += chunk.MetaData.TotalUncompressedSize
		group.TotalCompressedSize += chunk.MetaData.TotalCompressedSize
		group.Columns = append(group.Columns, chunk)
	}
	if err := f.w.out.Flush(); err != nil {
		return err
	}
	f.metadata.RowGroups = append(f.metadata.RowGroups, group)
	f.metadata.NumRows += int64(g.rows)
	return nil
}

// begin makes this file the one that put appends to. An empty file begins with the format's magic
// bytes.
func (f *File) begin() error {
	f.w.out.Reset(f.out)
	if f.offset == 0 {
		return f.put(magic)
	}
	return nil
}

// put appends bytes.
func (f *File) put(b []byte) error {
	n, err := f.w.out.Write(b)
	f.offset += int64(n)
	return err
}

// column appends the dictionary page, if there is one, and the data pages of a column.
func (f *File) column(g *Group, i int) (format.ColumnChunk, error) {
	c := f.w.columns[i]
	m := format.ColumnMetaData{
		Type: f.w.schema[1+i].Type.V, PathInSchema: []string{c.Name}, Codec: f.w.codec.id(), NumValues: int64(g.rows),
		Statistics: statistics(c.Type, g, i),
	}
	begin := f.offset
	if err := f.dictionary(&m, g, i); err != nil {
		return format.ColumnChunk{}, err
	}
	m.DataPageOffset = f.offset
	at := f.offset
	for _, p := range g.sealed[i] {
		data, err := g.pool.spill.data(p)
		if err == nil {
			err = f.put(data)
		}
		if err != nil {
			return format.ColumnChunk{}, err
		}
		m.TotalUncompressedSize += int64(p.content)
	}
	m.TotalCompressedSize = f.offset - begin
	m.Encoding = encodings(g.sealed[i], m.DictionaryPageOffset > 0)
	x, err := pageIndexes(c.Type, g.sealed[i], at)
	f.indexes = append(f.indexes, x)
	return format.ColumnChunk{MetaData: m}, err
}

// dictionary appends the dictionary page of a column that has distinct values.
func (f *File) dictionary(m *format.ColumnMetaData, g *Group, i int) error {
	w, n := f.w, 0
	w.plain, w.body = w.plain[:0], w.body[:0]
	switch {
	case g.texts[i] != nil:
		n = len(g.texts[i].order)
		w.plain = g.texts[i].appendPlain(w.plain)
	case g.numbers[i] != nil:
		n = len(g.numbers[i].values)
		w.plain = appendPlain(w.plain, w.columns[i].Type, g.numbers[i].values)
	}
	if n == 0 {
		return nil
	}
	if err := w.compressPlain(); err != nil {
		return err
	}
	w.head = dictionaryPageHeader(w.head[:0], n, len(w.plain), len(w.body))
	m.DictionaryPageOffset = f.offset
	m.TotalUncompressedSize += int64(len(w.head) + len(w.plain))
	if err := f.put(w.head); err != nil {
		return err
	}
	return f.put(w.body)
}

// encodings lists the encodings of a column chunk, for the footer.
func encodings(pages []page, dictionary bool) []format.Encoding {
	all := []format.Encoding{format.RLE} // that of the definition levels
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
