package icesink

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/io/gocloud/blobfs"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"gocloud.dev/blob"

	"github.com/reportferry/reportferry/sinks"
)

// errSource marks errors of the part's file, for which another try can't help.
var errSource = errors.New("read the part")

// A source is the open file of a part, with what its footer says.
type source struct {
	io.ReadCloser
	readerAt    io.ReaderAt
	part        sinks.Part // the part that the file belongs to
	footer      *format.FileMetaData
	body        int64  // bytes before the footer
	fingerprint string // what the part's numbers mean, see sinks.FingerprintKey
}

// openPart opens a part's file and reads its footer.
func openPart(p sinks.Part) (s *source, err error) {
	file, err := p.Open()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSource, err)
	}
	s = &source{ReadCloser: file, part: p}
	if err := s.read(); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", errSource, err), file.Close())
	}
	return s, nil
}

// read reads the footer, and checks that it has as many rows as the part.
func (s *source) read() error {
	var ok bool
	if s.readerAt, ok = s.ReadCloser.(io.ReaderAt); !ok {
		return fmt.Errorf("a %T can't be read here and there, as Parquet needs", s.ReadCloser)
	}
	f, err := parquet.OpenFile(s.readerAt, s.part.Size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return err
	}
	s.footer = f.Metadata()
	s.fingerprint, _ = f.Lookup(sinks.FingerprintKey)
	var tail [8]byte // the footer's length, and the magic bytes
	if _, err := s.readerAt.ReadAt(tail[:], s.part.Size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	s.body = s.part.Size - int64(len(tail)) - int64(binary.LittleEndian.Uint32(tail[:]))
	if s.footer.NumRows != s.part.Rows {
		return fmt.Errorf("the file has %d rows, and the part %d", s.footer.NumRows, s.part.Rows)
	}
	return nil
}

// footerWithIDs returns the footer with the field IDs of a table's columns, by which readers find
// the columns (https://iceberg.apache.org/spec/#column-projection), and the bytes that follow the
// footer in a file: its length and the magic bytes.
func (s *source) footerWithIDs(schema *iceberg.Schema) ([]byte, error) {
	for i := range s.footer.Schema[1:] { // the first is the root
		column := &s.footer.Schema[1+i]
		f, found := schema.FindFieldByName(column.Name)
		if !found {
			return nil, fmt.Errorf("the file's column %s isn't one of the table", column.Name)
		}
		column.FieldID = int32(f.ID)
	}
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), s.footer)
	if err != nil {
		return nil, err
	}
	return append(binary.LittleEndian.AppendUint32(footer, uint32(len(footer))), "PAR1"...), nil
}

// save writes the part as a file of the table, whole or not at all, and returns the file's size.
func (s *source) save(ctx context.Context, to store, location string, schema *iceberg.Schema) (size int64, err error) {
	footer, err := s.footerWithIDs(schema)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errSource, err)
	}
	ctx, abort := context.WithCancel(ctx)
	defer abort()
	w, err := create(ctx, to, location)
	if err != nil {
		return 0, fmt.Errorf("write %s: %w", location, err)
	}
	body := &contextReader{ctx: ctx, from: io.NewSectionReader(s.readerAt, 0, s.body)}
	size, err = io.Copy(w, io.MultiReader(body, bytes.NewReader(footer)))
	if err == nil {
		err = s.checkEnd(ctx)
	}
	if body.err != nil {
		err = fmt.Errorf("%w: %w", errSource, body.err)
	}
	if err != nil {
		abort() // otherwise closing the writer would publish what it has got
		return 0, errors.Join(fmt.Errorf("write %s: %w", location, err), closeAborted(w, to, location))
	}
	if err := w.Close(); err != nil {
		return 0, fmt.Errorf("write %s: %w", location, err)
	}
	return size, nil
}

// checkEnd returns an error if the file is longer than the part's size, or ctx has ended.
func (s *source) checkEnd(ctx context.Context) error {
	var more [1]byte
	switch n, err := s.readerAt.ReadAt(more[:], s.part.Size); {
	case n > 0:
		return fmt.Errorf("%w: the file is longer than the part's %d bytes", errSource, s.part.Size)
	case err != nil && !errors.Is(err, io.EOF):
		return fmt.Errorf("%w: %w", errSource, err)
	}
	return ctx.Err()
}

// A contextReader ends with a context, and remembers the error of reading the file.
type contextReader struct {
	ctx  context.Context
	from io.Reader
	err  error
}

func (r *contextReader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.from.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// create begins a file. In an object store, the end of ctx keeps the file from appearing.
func create(ctx context.Context, to store, location string) (io.WriteCloser, error) {
	if objects, ok := to.WriteFileIO.(*blobfs.FileIO); ok {
		return objects.NewWriter(ctx, location, true,
			&blob.WriterOptions{ContentType: "application/vnd.apache.parquet"})
	}
	return to.Create(location)
}

// closeAborted closes a file whose writing has failed. In an object store, the error of the
// cancelled writer says nothing new, and is ignored. A local file is removed.
func closeAborted(w io.Closer, to store, location string) error {
	err := w.Close()
	if _, objects := to.WriteFileIO.(*blobfs.FileIO); objects {
		return nil
	}
	return errors.Join(err, to.Remove(location))
}
