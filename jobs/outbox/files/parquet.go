package files

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/parquet-go/parquet-go"
)

// parquetRows reads the rows of a Parquet file. Groups, and columns with more than one value a row,
// aren't read, because such a row has no size limit.
type parquetRows struct {
	file    *parquet.File
	mapping Mapping
	speller speller
	names   []string                     // names of the columns that are read
	columns []int                        // their indexes among the file's leaf columns
	texts   []func(parquet.Value) string // convert their values to text
	textual []bool                       // whether their values are stored as text (isText)
	at      []int                        // by field: its index in names; -1: none

	group int   // index of the next row group to open
	left  int64 // rows still to come of the open row group
	rows  parquet.RowReadSeekCloser
	buf   [64]parquet.Row
	ready []parquet.Row // rows of buf that are still to come
	row   parquet.Row   // the current one
}

// openParquet copies the file into dir, because Parquet is read from its end, and checks it. done
// closes and removes the copy.
func openParquet(in io.Reader, m Mapping, dir string) (r *parquetRows, done func(), err error) {
	s, err := m.Format.speller()
	if err != nil {
		return nil, nil, err
	}
	file, err := os.CreateTemp(dir, "files-*.parquet")
	if err != nil {
		return nil, nil, fmt.Errorf("copy a Parquet file: %w", err)
	}
	remove := func() {
		_ = file.Close()           // only read
		_ = os.Remove(file.Name()) // needed where an open file can't be removed
	}
	_ = os.Remove(file.Name()) // removed already here, so that a killed process leaves no copy
	defer func() {
		if p := recover(); p != nil { // the library panics on some damaged files
			err = fmt.Errorf("isn't a Parquet file that can be read: %v", p)
		}
		if done = func() { r.close(); remove() }; err != nil {
			remove()
			r, done = nil, nil
		}
	}()
	// Copy the file, and check its footer before the library reads it.
	size, err := io.Copy(file, in)
	if err != nil {
		return nil, nil, fmt.Errorf("copy a Parquet file: %w", err)
	}
	if err := checkFooter(file, size); err != nil {
		return nil, nil, err
	}
	f, err := parquet.OpenFile(file, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, nil, fmt.Errorf("isn't a Parquet file that can be read: %w", err)
	}
	// Choose the columns, and check their pages.
	r = &parquetRows{file: f, mapping: m, speller: s}
	for _, c := range f.Root().Columns() {
		if c.Leaf() && !c.Repeated() {
			r.textual = append(r.textual, isText(c.Type()))
			r.names, r.columns, r.texts = append(r.names, c.Name()), append(r.columns, c.Index()),
				append(r.texts, textOf(c.Type()))
		}
	}
	if len(r.columns) > mostColumns {
		return nil, nil, fmt.Errorf("has %d columns; at most %d", len(r.columns), mostColumns)
	}
	if r.at, err = m.find(r.names); err != nil {
		return nil, nil, err
	}
	for _, group := range f.Metadata().RowGroups {
		for _, c := range r.columns {
			if c >= len(group.Columns) {
				return nil, nil, errors.New("isn't a Parquet file that can be read: a row group lacks columns")
			}
			if err := checkPages(file, size, &group.Columns[c].MetaData); err != nil {
				return nil, nil, err
			}
		}
	}
	return r, nil, nil // done is set above
}

func (r *parquetRows) header() ([]string, Understanding) {
	return r.names, Understanding{Kind: "Parquet"}
}

func (r *parquetRows) cells() []string {
	cells := make([]string, len(r.columns))
	for i, text := range r.texts {
		cells[i] = text(r.row[i])
	}
	return cells
}

func (r *parquetRows) next(values []string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("row group %d can't be read: %v", r.group, p)
		}
	}()
	if err := r.advance(); err != nil {
		return err
	}
	for f, i := range r.at {
		values[f] = ""
		if i >= 0 {
			if len(r.row[i].Bytes()) > longestRow {
				return &Refusal{r.mapping.Fields[f].Name, fmt.Sprintf("is longer than %d bytes", longestRow)}
			}
			values[f] = r.texts[i](r.row[i])
			if r.mapping.Fields[f].ID && len(values[f]) > 15 && (r.row[i].Kind() == parquet.Double ||
				r.row[i].Kind() == parquet.Float) {
				return &Refusal{r.mapping.Fields[f].Name, isRounded}
			}
			if r.textual[i] {
				var refused *Refusal
				if values[f], refused = r.speller.spell(&r.mapping.Fields[f], values[f]); refused != nil {
					return refused
				}
			}
		}
	}
	return nil
}

// advance goes to the next row, and opens the next row group where one ends.
func (r *parquetRows) advance() error {
	for r.left == 0 {
		groups := r.file.RowGroups()
		if r.group == len(groups) {
			return io.EOF
		}
		chunks := groups[r.group].ColumnChunks()
		read := make([]parquet.ColumnChunk, len(r.columns))
		for i, c := range r.columns {
			read[i] = chunks[c]
		}
		r.close()
		r.rows, r.ready, r.left = parquet.NewColumnChunkRowReader(read), nil, groups[r.group].NumRows()
		r.group++
	}
	if len(r.ready) == 0 {
		n, err := r.rows.ReadRows(r.buf[:])
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("row group %d: %w", r.group, err)
		}
		if r.ready = r.buf[:n]; n == 0 {
			return fmt.Errorf("row group %d ends before its rows do", r.group)
		}
	}
	r.row, r.ready = r.ready[0], r.ready[1:]
	if r.left--; len(r.row) < len(r.columns) {
		return fmt.Errorf("row group %d has a column that ends before its rows do", r.group)
	}
	return nil
}

// close closes the row group that is open, if one is.
func (r *parquetRows) close() {
	if r.rows != nil {
		_ = r.rows.Close() // only read
	}
}
