package push

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/reportferry/reportferry/jobs/outbox/files"
)

// A spendFile has what the beginning of a partner's file of spend shows.
type spendFile struct {
	Read      files.Understanding // what the reader took the file for
	Decimal   string              // the decimal sign of amounts: point or comma
	Thousands string              // the sign between thousands, as the config calls it; empty: none
	Date      string              // the form of the times, if a job can't read them without it; set by columns
	Names     []string            // of the columns
	Rows      [][]string          // the first ones
	Skipped   int                 // how many rows were left out: totals, notes and empty ones
	Notes     []string            // what isn't plain from the file, for a person to look at
}

// mostRows is how many rows are read at most.
const mostRows = 200

// openSpendFile reads the beginning of a file. A file that isn't UTF-8 is read as Windows-1252. A
// Parquet, XLSX or ZIP file is copied into dir to be read.
func openSpendFile(ctx context.Context, path, dir string) (*spendFile, error) {
	f, err := readBeginning(ctx, path, dir, files.Format{})
	if foreign := func(row []string) bool { return !utf8.ValidString(strings.Join(row, "")) }; err != nil &&
		strings.Contains(err.Error(), "is not UTF-8") || err == nil && slices.ContainsFunc(f.Rows, foreign) {
		f, err = readBeginning(ctx, path, dir, files.Format{Encoding: "windows-1252"})
		if err == nil {
			f.Notes = append(f.Notes,
				"the file isn't UTF-8 and doesn't say what it is; it was taken for Windows-1252: look whether names "+
					"with accents are right")
		}
	}
	if err == nil {
		f.findNumberSigns()
	}
	return f, err
}

// errEnough ends the reading of a file after mostRows rows.
var errEnough = errors.New("enough")

// readBeginning reads the columns' names and the first rows, as a run would.
func readBeginning(ctx context.Context, path, dir string, format files.Format) (*spendFile, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close() //nolint:errcheck // only read
	f := &spendFile{Decimal: "point"}
	err = files.Read(ctx, in, files.Mapping{Score: knownColumns, Format: format}, dir,
		func(names []string, u files.Understanding) {
			f.Names, f.Read = slices.Clone(names), u
		}, func(r *files.Row) error {
			switch {
			case r.Skipped != "":
				f.Skipped++
			case r.Refused == nil:
				f.Rows = append(f.Rows, slices.Clone(r.Cells()))
			}
			if len(f.Rows) == mostRows {
				return errEnough
			}
			return nil
		})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	if strings.TrimSpace(strings.Join(f.Names, "")) == "" {
		return nil, errors.New("is empty: not even names of columns")
	}
	if strings.HasPrefix(f.Read.Kind, "JSON") {
		return f, f.spreadObjects()
	}
	return f, nil
}

// spreadObjects makes columns of JSON objects, one in each row: their keys become the names, in the
// order in which they come up.
func (f *spendFile) spreadObjects() error {
	lines := f.Rows
	f.Names, f.Rows = nil, nil
	at := map[string]int{}
	for _, line := range lines {
		in := json.NewDecoder(strings.NewReader(line[0]))
		in.UseNumber()
		_, _ = in.Token() // its first brace: the line is an object
		row := make([]string, len(f.Names))
		for in.More() {
			key, _ := in.Token()
			var value any
			_ = in.Decode(&value) // the reader has checked that it is valid
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
		f.Rows = append(f.Rows, row)
	}
	if len(f.Rows) == 0 {
		return errors.New("it has no JSON object")
	}
	return nil
}
