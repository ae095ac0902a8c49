// Package guess looks at the beginning of a partner's file of spend and says how it is written, and which of its columns are
// which fields of a record. Without it, an analyst would write a job's mapping by hand, cell by cell and refusal by refusal.
//
//	file ── Look ── File: encoding, separator, decimals, names, first rows ── Columns ── Field: its column, or why there is none
//
// A guess is for a person to look at: whatever isn't plain from the file itself is in File.Notes. What a run does, only the
// config says that is made of it.
package guess

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/reportferry/reportferry/jobs/outbox/files"
)

// A File is what the beginning of a file shows.
type File struct {
	Kind      string // CSV, JSON Lines, XLSX or Parquet
	Encoding  string // of CSV, as the config calls it
	Separator string // of CSV: comma, semicolon or tab
	Decimal   string // of amounts: point or comma
	Date      string // the form of the times, where a job doesn't read it by itself; Columns finds it
	Names     []string
	Rows      [][]string // the first ones
	Notes     []string   // what the file doesn't say by itself
}

const (
	mostHead = 256 << 10 // bytes that are looked at
	mostRows = 200
)

// Look reads the beginning of a file. dir is for a Parquet file's copy.
func Look(ctx context.Context, path, dir string) (*File, error) {
	head, err := headOf(path)
	if err != nil {
		return nil, err
	}
	f := &File{Decimal: "point"}
	begin := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	switch {
	case len(begin) == 0:
		return nil, errors.New("the file is empty: not even names of columns")
	case bytes.HasPrefix(head, []byte("PAR1")):
		f.Kind = "Parquet"
		err = f.rowsOf(ctx, path, dir)
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		f.Kind = "XLSX"
		err = f.rowsOf(ctx, path, dir)
	case begin[0] == '{':
		f.Kind = "JSON Lines"
		err = f.objects(head)
	default:
		f.Kind = "CSV"
		err = f.text(head)
	}
	if err == nil {
		f.decimals()
	}
	return f, err
}

// headOf is the beginning of a file, as it is inside gzip or zstd.
func headOf(path string) (head []byte, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	in := bufio.NewReader(file)
	var inner io.Reader = in
	switch first, _ := in.Peek(4); {
	case bytes.HasPrefix(first, []byte{0x1f, 0x8b}):
		if inner, err = gzip.NewReader(in); err != nil {
			return nil, fmt.Errorf("gzip: %w", err)
		}
	case bytes.Equal(first, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(32<<20))
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		defer z.Close()
		inner = z
	}
	return io.ReadAll(io.LimitReader(inner, mostHead))
}

var errEnough = errors.New("enough")

// rowsOf reads names and first rows as a run would.
func (f *File) rowsOf(ctx context.Context, path, dir string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read
	err = files.Read(ctx, in, files.Mapping{}, dir, func(names []string, _ files.Understanding) { f.Names = slices.Clone(names) }, func(r *files.Row) error {
		if f.Rows = append(f.Rows, slices.Clone(r.Cells())); len(f.Rows) == mostRows {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// objects takes the keys of the first lines for names, in the order in which they come up.
func (f *File) objects(head []byte) error {
	in := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(head, []byte("\ufeff"))))
	in.UseNumber()
	at := map[string]int{}
	for len(f.Rows) < mostRows {
		if open, err := in.Token(); err != nil || open != json.Delim('{') {
			break
		}
		row := make([]string, len(f.Names))
		whole := true
		for whole && in.More() {
			key, err := in.Token()
			var value any
			if err == nil {
				err = in.Decode(&value)
			}
			if whole = err == nil; !whole {
				break
			}
			name, _ := key.(string)
			i, known := at[name]
			if !known {
				i = len(f.Names)
				at[name], f.Names, row = i, append(f.Names, name), append(row, "")
			}
			if value != nil {
				row[i] = fmt.Sprint(value)
			}
		}
		if _, err := in.Token(); err != nil || !whole {
			break // the line is cut where the head ends, or isn't right: a check will say
		}
		f.Rows = append(f.Rows, row)
	}
	if len(f.Rows) == 0 {
		return errors.New("its first line isn't a JSON object")
	}
	return nil
}
