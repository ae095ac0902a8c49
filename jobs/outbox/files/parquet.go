package files

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/parquet-go/parquet-go"
)

// parquetRows are those of a Parquet file. Columns that hold more than one value a row, and groups, aren't read.
type parquetRows struct {
	file    *parquet.File
	mapping Mapping
	names   []string
	columns []*parquetColumn
	at      []int // columns of the fields
	group   int   // the next one to open
	left    int64 // rows of the open one
}

// openParquet copies the file into dir, because Parquet is read from its end, and checks it.
func openParquet(in io.Reader, m Mapping, dir string) (r *parquetRows, done func(), err error) {
	file, err := os.CreateTemp(dir, "files-*.parquet")
	if err != nil {
		return nil, nil, fmt.Errorf("copy a Parquet file: %w", err)
	}
	remove := func() {
		_ = file.Close()           // only read
		_ = os.Remove(file.Name()) // where an open file can't be removed
	}
	_ = os.Remove(file.Name()) // a process that is killed must not leave the copy behind
	defer func() {
		if p := recover(); p != nil { // the library trusts what it reads more than a stranger's file deserves
			err = fmt.Errorf("is no Parquet file that can be read: %v", p)
		}
		if done = remove; err != nil {
			remove()
			r, done = nil, nil
		}
	}()
	size, err := io.Copy(file, in)
	if err != nil {
		return nil, nil, fmt.Errorf("copy a Parquet file: %w", err)
	}
	if err := checkFooter(file, size); err != nil {
		return nil, nil, err
	}
	f, err := parquet.OpenFile(file, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, nil, fmt.Errorf("is no Parquet file that can be read: %w", err)
	}
	r = &parquetRows{file: f, mapping: m}
	for _, c := range f.Root().Columns() {
		if c.Leaf() && !c.Repeated() {
			r.names = append(r.names, c.Name())
			r.columns = append(r.columns, newParquetColumn(c))
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
			if c.index >= len(group.Columns) {
				return nil, nil, errors.New("is no Parquet file that can be read: a row group lacks columns")
			}
			if err := checkPages(file, size, &group.Columns[c.index].MetaData); err != nil {
				return nil, nil, err
			}
		}
	}
	return r, nil, nil // done is set above
}

func (r *parquetRows) header() []string { return r.names }

func (r *parquetRows) cells() []string {
	cells := make([]string, len(r.columns))
	for i, c := range r.columns {
		cells[i] = c.text(c.value)
	}
	return cells
}

func (r *parquetRows) next(values []string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("row group %d can't be read: %v", r.group, p)
		}
	}()
	for r.left == 0 {
		groups := r.file.RowGroups()
		if r.group == len(groups) {
			return io.EOF
		}
		for _, c := range r.columns {
			c.open(groups[r.group].ColumnChunks()[c.index])
		}
		r.left = groups[r.group].NumRows()
		r.group++
	}
	r.left--
	for i, c := range r.columns {
		if err := c.next(); err != nil {
			return fmt.Errorf("row group %d, column %d of %d: %w", r.group, i+1, len(r.columns), err)
		}
	}
	for f, i := range r.at {
		values[f] = ""
		if i >= 0 {
			c := r.columns[i]
			if len(c.value.Bytes()) > longestRow {
				return &Refusal{r.mapping.Fields[f].Name, fmt.Sprintf("is longer than %d bytes", longestRow)}
			}
			values[f] = c.text(c.value)
		}
	}
	return nil
}

// A parquetColumn gives one value a row.
type parquetColumn struct {
	index  int // among the leaves
	text   func(parquet.Value) string
	pages  parquet.Pages
	page   parquet.Page
	values parquet.ValueReader
	buf    [64]parquet.Value
	ready  []parquet.Value // those of buf that are still to come
	value  parquet.Value   // of the row; it may point into page
}

func newParquetColumn(c *parquet.Column) *parquetColumn {
	return &parquetColumn{index: c.Index(), text: textOf(c.Type())}
}

func (c *parquetColumn) open(chunk parquet.ColumnChunk) {
	if c.pages != nil {
		_ = c.pages.Close() // only read
	}
	c.pages, c.values, c.ready = chunk.Pages(), nil, nil
}

func (c *parquetColumn) next() error {
	for len(c.ready) == 0 {
		if c.values == nil {
			if c.page != nil {
				parquet.Release(c.page)
				c.page = nil
			}
			page, err := c.pages.ReadPage()
			if errors.Is(err, io.EOF) {
				return errors.New("it ends before its rows do")
			}
			if err != nil {
				return err
			}
			c.page, c.values = page, page.Values()
		}
		n, err := c.values.ReadValues(c.buf[:])
		c.ready = c.buf[:n]
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if err != nil || n == 0 {
			c.values = nil
		}
	}
	c.value, c.ready = c.ready[0], c.ready[1:]
	return nil
}
