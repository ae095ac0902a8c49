package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"gocloud.dev/blob"

	"github.com/reportferry/reportferry/jobs/outbox"
)

// A Path is the location of a file, and its name in every run.
type Path struct {
	Name   string // used in the ledger, in logs, and before RejectsSuffix
	Bucket *blob.Bucket
	Key    string
}

// Stat identifies the file's content by what its store knows: its size and time, and an ETag if
// there is one.
func (p Path) Stat(ctx context.Context) (outbox.Stat, error) {
	a, err := p.Bucket.Attributes(ctx, p.Key)
	if err != nil {
		return outbox.Stat{}, fmt.Errorf("look at the file: %w", err)
	}
	version := fmt.Sprintf("%s %d %s", a.ETag, a.Size, a.ModTime.UTC().Format(time.RFC3339Nano))
	return outbox.Stat{Version: version, Modified: a.ModTime, Size: a.Size}, nil
}

// A File is a file that the outbox reads. A push reads it twice.
type File[V any] struct {
	Path
	Mapping Mapping
	Spool   string // folder for the copy of a Parquet or XLSX file

	// Record fills a record from the values of a row: ID, Content and Value, or else a Refusal,
	// together with as much of the Value as is right.
	Record func(values []string, o *outbox.Record[V])

	// Show returns the fields of a record as they would be sent, for people; what identifies
	// somebody is hidden. If it is nil, no record is shown.
	Show func(V) []Shown

	names []string      // of the columns; set by Read
	read  Understanding // how the file was understood; set by Read
}

// Header returns the names of the original cells.
func (f *File[V]) Header() []string { return f.names }

// Read reads the file once and calls each for every record.
func (f *File[V]) Read(ctx context.Context, sending bool, each func(*outbox.Record[V]) error) (err error) {
	in, err := f.Bucket.NewReader(ctx, f.Key, nil)
	if err != nil {
		return fmt.Errorf("open the file: %w", err)
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	var o outbox.Record[V]
	source := &watchedReader{Reader: in}
	var stopped error // the error of each, which is no fault of the file
	err = Read(ctx, source, f.Mapping, f.Spool, func(names []string, u Understanding) { f.names, f.read = names, u },
		func(l *Row) error {
			o = outbox.Record[V]{Row: l.Row}
			if o.Skipped = l.Skipped; o.Skipped != "" {
				f.Record(l.Values, &o)
				o = outbox.Record[V]{Row: l.Row, Skipped: l.Skipped, Value: o.Value} // the Value is for summing up
				stopped = each(&o)
				return stopped
			}
			if l.Refused != nil {
				o.Refusal = &outbox.Rejection{Field: l.Refused.Field, Reason: l.Refused.Reason}
			} else {
				f.Record(l.Values, &o)
			}
			if sending || o.Refusal != nil {
				o.Cells = inUTF8(l.Cells())
			}
			stopped = each(&o)
			return stopped
		})
	if stopped != nil || ctx.Err() != nil {
		return err
	}
	return source.blame(err)
}

// A watchedReader reads a file from its store. failed says that the store failed to deliver it,
// which must not be taken for a fault of the file.
type watchedReader struct {
	io.Reader
	failed bool
}

// blame marks an error of reading as a fault of the file, unless the store failed, or the disk that
// the copy is on.
func (w *watchedReader) blame(err error) error {
	if path := (*fs.PathError)(nil); err == nil || w.failed || errors.As(err, &path) {
		return err
	}
	return &outbox.UnfitError{Err: err}
}

func (w *watchedReader) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	w.failed = w.failed || err != nil && !errors.Is(err, io.EOF)
	return n, err
}
