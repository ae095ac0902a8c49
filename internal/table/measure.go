package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"cloud.google.com/go/civil"
	"github.com/parquet-go/parquet-go"

	"github.com/reportferry/reportferry/internal/catalog"
)

// Measure reads a part's file and returns its number of rows and its content hash, as in Part. The
// columns must have the names, types, stamps and order with which the part was written. Measure
// takes eight bytes of memory for each row of the largest row group.
func Measure(ctx context.Context, r io.ReaderAt, size int64, columns []Column) (rows int64, hash string, err error) {
	file, err := openColumns(r, size, columns)
	var d digest
	if err == nil {
		for _, group := range file.RowGroups() {
			if err = measureGroup(ctx, &d, group, columns); err != nil {
				break
			}
		}
	}
	if err != nil {
		return 0, "", fmt.Errorf("measure a part: %w", err)
	}
	return d.rows, d.String(), nil
}

// Content is what the footer of a part's file says about the file.
type Content struct {
	Columns []string
	Notes   map[string]string // Options.Metadata, and more that the converter noted
}

// notePrefix begins the keys of the converter's metadata in a file, because other programs may add
// keys, too.
const notePrefix = "reportferry."

// Contents reads the footer of a part's file, and no rows.
func Contents(r io.ReaderAt, size int64) (c Content, err error) {
	file, err := parquet.OpenFile(r, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return c, fmt.Errorf("read what a part says of itself: %w", err)
	}
	for _, column := range file.Root().Columns() {
		c.Columns = append(c.Columns, column.Name())
	}
	c.Notes = map[string]string{}
	for _, note := range file.Metadata().KeyValueMetadata {
		c.Notes[strings.TrimPrefix(note.Key, notePrefix)] = note.Value
	}
	return c, nil
}

// ReadRows reads a part's file and calls use with its rows in chunks, with cells as Converter.Rows
// takes them; use may keep them. The columns must be as in Measure.
func ReadRows(ctx context.Context, r io.ReaderAt, size int64, columns []Column,
	use func(rows [][]any) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("read the rows of a part: %w", err)
		}
	}()
	file, err := openColumns(r, size, columns)
	if err != nil {
		return err
	}
	rows := parquet.MultiRowGroup(file.RowGroups()...).Rows()
	defer func() { err = errors.Join(err, rows.Close()) }()
	chunk := make([]parquet.Row, 1<<10)
	for {
		n, err := rows.ReadRows(chunk)
		typed := make([][]any, n)
		for k, row := range chunk[:n] {
			typed[k] = make([]any, len(columns))
			for i, v := range row {
				typed[k][i] = cellOf(v, columns[i].Type)
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if failed := use(typed); failed != nil {
			return failed
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// cellOf returns a stored value as Converter.Rows takes it.
func cellOf(v parquet.Value, t catalog.Type) any {
	switch {
	case v.IsNull():
		return nil
	case t == catalog.String:
		return string(v.ByteArray())
	case t.IsDate():
		return civil.Date{Year: 1970, Month: 1, Day: 1}.AddDays(int(v.Int32()))
	case t == catalog.Double:
		return v.Double()
	}
	return unscaled(v)
}

// openColumns opens a part's file, which must have these columns.
func openColumns(r io.ReaderAt, size int64, columns []Column) (*parquet.File, error) {
	file, err := parquet.OpenFile(r, size)
	if err != nil {
		return nil, err
	}
	have := file.Root().Columns()
	if len(have) != len(columns) {
		return nil, fmt.Errorf("the file has %d columns, and the ledger records %d", len(have), len(columns))
	}
	for i, c := range columns {
		if have[i].Name() != c.Name {
			return nil, fmt.Errorf("column %d of the file is %s, and the ledger records %s there", i+1, have[i].Name(),
				c.Name)
		}
	}
	return file, nil
}

// measureGroup adds the rows of a row group to the digest.
func measureGroup(ctx context.Context, d *digest, group parquet.RowGroup, columns []Column) error {
	hashes := make([]uint64, group.NumRows())
	start := seed(columns)
	for k := range hashes {
		hashes[k] = start
	}
	for i, chunk := range group.ColumnChunks() {
		if columns[i].Stamp != "" {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := eachValue(chunk, len(hashes), func(row int, v parquet.Value) {
			hashes[row] = hashParquet(hashes[row], v, columns[i].Type)
		}); err != nil {
			return fmt.Errorf("column %s: %w", columns[i].Name, err)
		}
	}
	for _, h := range hashes {
		d.add(h)
	}
	return nil
}

// eachValue calls use with each value of a column chunk, which must have so many rows. A value is
// valid until use returns.
func eachValue(chunk parquet.ColumnChunk, rows int, use func(row int, v parquet.Value)) (err error) {
	pages := chunk.Pages()
	defer func() { err = errors.Join(err, pages.Close()) }()
	row := 0
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		row, err = eachOfPage(page, row, rows, use)
		parquet.Release(page)
		if err != nil {
			return err
		}
	}
	if row != rows {
		return fmt.Errorf("%d values in a row group of %d rows", row, rows)
	}
	return nil
}

// eachOfPage calls use with each value of a page whose first row is row, and returns the row after
// the page.
func eachOfPage(page parquet.Page, row, rows int, use func(row int, v parquet.Value)) (int, error) {
	values := make([]parquet.Value, 512)
	reader := page.Values()
	for {
		n, err := reader.ReadValues(values)
		if row+n > rows {
			return row, fmt.Errorf("more values than the %d rows of the row group", rows)
		}
		for _, v := range values[:n] {
			use(row, v)
			row++
		}
		if errors.Is(err, io.EOF) {
			return row, nil
		}
		if err != nil {
			return row, err
		}
	}
}

// hashParquet adds a value to the hash of its row, as the converter does: dates as days, doubles as
// their bits.
func hashParquet(h uint64, v parquet.Value, t catalog.Type) uint64 {
	switch {
	case v.IsNull():
		return hashNull(h)
	case t == catalog.String:
		return hashValue(h, hashText(v.ByteArray()))
	case t.IsDate():
		return hashValue(h, uint64(int64(v.Int32())))
	case t == catalog.Double:
		return hashValue(h, math.Float64bits(v.Double()))
	}
	return hashValue(h, uint64(unscaled(v)))
}

// unscaled returns an integer, or a decimal in units of its last place. Programs that rewrite
// parts, such as jobs that compact files, may store a decimal as bytes
// (https://parquet.apache.org/docs/file-format/types/logicaltypes/#decimal).
func unscaled(v parquet.Value) (n int64) {
	if k := v.Kind(); k != parquet.FixedLenByteArray && k != parquet.ByteArray {
		return v.Int64()
	}
	for i, b := range v.ByteArray() {
		if i == 0 && b >= 0x80 {
			n = -1
		}
		n = n<<8 | int64(b)
	}
	return n
}
