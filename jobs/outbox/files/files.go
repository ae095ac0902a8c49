// Package files reads the files that push jobs take: CSV, JSON Lines, a JSON array, Parquet or
// XLSX, plain, under gzip or zstd or alone in a ZIP archive, from any bucket. Without it, each kind
// of job would decide differently what a damaged or hostile file may do to a run, and when a file
// is due.
//
//	Inbox.Due ─ Plan: one unit for the table ─ Push: file by file ─ File.Read ─ decompress ─ rows ─ Mapping ─ Record
//
// A file's format is recognized by its first bytes, not by its name. Whatever a file contains,
// reading it takes a limited amount of memory and ends in rows or an error: a row has 256 KiB at
// most, a file 1,000 columns, compressed data expand to 200 times their size, a page of Parquet to
// 32 MiB. A file beyond a limit is refused with a message that names the limit. No error quotes a
// file, because it may hold what identifies a person.
package files

import (
	"context"
	"errors"
	"io"
	"strings"
)

// A Refusal is why a row isn't sent. It holds nothing of the row: a column that was mapped wrongly
// may be full of what identifies a person.
type Refusal struct {
	Field  string // the record's field; empty: the row as a whole
	Reason string
}

func (r *Refusal) Error() string { return strings.TrimSpace(r.Field + " " + r.Reason) }

// A Row is one row of a file.
type Row struct {
	Row     int64    // from 1; names and blank lines don't count
	Values  []string // one for each field of the mapping, as the file spells it
	Refused *Refusal // not nil: there are no values
	Skipped string   // why the row is no record; empty: it is one. A skipped row may still have values
	Cells   func() []string
}

// Read reads a file once, row by row. It calls begin first, with the names of the columns and how
// the file was understood, and then each for every row. A row is valid only during the call.
// Reading stops at an error of each, of the file's store, or of a file that can't be split into
// rows. dir takes the copy of a Parquet or XLSX file.
func Read(ctx context.Context, in io.Reader, m Mapping, dir string, begin func(names []string, u Understanding),
	each func(l *Row) error) error {
	r, done, err := openRows(in, m, dir)
	if err != nil {
		return err
	}
	defer done()
	names, read := r.header()
	begin(names, read)
	from, _ := m.sources() // by field: its column
	l := Row{Values: make([]string, len(m.Fields)), Cells: r.cells}
	for {
		err := r.next(l.Values)
		if errors.Is(err, io.EOF) {
			return nil
		}
		l.Row++
		if l.Refused = nil; err != nil && !errors.As(err, &l.Refused) {
			return err
		}
		if err != nil {
			clear(l.Values) // they are those of the row before
		}
		if l.Skipped = m.skipReason(&l, names, from); l.Skipped != "" {
			l.Refused = nil
		}
		if l.Refused == nil {
			m.fillConstants(l.Values)
		}
		if err := each(&l); err != nil {
			return err
		}
		if l.Row%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}
