package bench

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	arrowcsv "github.com/apache/arrow-go/v18/arrow/csv"
	arrowparquet "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/parquet-go/parquet-go"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/table"
)

// contender converts a file of CSV to Parquet files in a folder.
type contender func(file, dir string, s Shape) (files []string, err error)

const (
	ours   = "reportferry"
	duckDB = "DuckDB"
	arrowG = "arrow-go"
	plain  = "encoding/csv + parquet-go"
)

// goContenders run in a process of this test; DuckDB runs in one of node.
var goContenders = map[string]contender{ours: byTable, arrowG: byArrow, plain: byRows}

func byTable(file, dir string, s Shape) ([]string, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	return convertAnswer(in, dir, s, nil)
}

func convertAnswer(in io.Reader, dir string, s Shape, budget *table.Budget) (files []string, err error) {
	c, err := table.New(table.Options{Columns: tableColumns(s), Partitions: Days(), Dir: dir, Budget: budget})
	if err != nil {
		return nil, err
	}
	defer c.Abort()
	if err := c.Read(context.Background(), in); err != nil {
		return nil, err
	}
	parts, err := c.Finish()
	for _, p := range parts {
		files = append(files, p.Path)
	}
	return files, err
}

func tableColumns(s Shape) (all []table.Column) {
	for _, c := range s.Columns() {
		all = append(all, table.Column{Name: c.Name, Source: c.Name, Type: c.Type, Dimension: c.Dimension,
			Additive: c.Additive()})
	}
	return all
}

func byArrow(file, dir string, s Shape) (_ []string, err error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	var fields []arrow.Field
	for _, c := range s.Columns() {
		f := arrow.Field{Name: c.Name, Nullable: !c.Dimension, Type: arrow.BinaryTypes.String}
		switch c.Type {
		case catalog.Day:
			f.Type = arrow.FixedWidthTypes.Date32
		case catalog.Int64:
			f.Type = arrow.PrimitiveTypes.Int64
		case catalog.Decimal:
			f.Type = &arrow.Decimal128Type{Precision: 18, Scale: 6}
		case catalog.Double:
			f.Type = arrow.PrimitiveTypes.Float64
		}
		fields = append(fields, f)
	}
	schema := arrow.NewSchema(fields, nil)
	r := arrowcsv.NewReader(in, schema, arrowcsv.WithHeader(true), arrowcsv.WithChunk(1<<16),
		arrowcsv.WithNullReader(false, ""))
	defer r.Release()
	name := filepath.Join(dir, "arrow.parquet")
	out, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	props := arrowparquet.NewWriterProperties(arrowparquet.WithCompression(compress.Codecs.Zstd),
		arrowparquet.WithStoreDecimalAsInteger(true))
	w, err := pqarrow.NewFileWriter(schema, out, props, pqarrow.DefaultWriterProps())
	if err != nil {
		return nil, err
	}
	for r.Next() {
		if err := w.WriteBuffered(r.RecordBatch()); err != nil {
			return nil, err
		}
	}
	return []string{name}, errors.Join(r.Err(), w.Close())
}

func byRows(file, dir string, s Shape) (_ []string, err error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	columns := s.Columns()
	node := orderedGroup{Group: parquet.Group{}}
	for _, c := range columns {
		n := parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
		switch c.Type {
		case catalog.Day:
			n = parquet.Date()
		case catalog.Int64:
			n = parquet.Int(64)
		case catalog.Decimal:
			n = parquet.Decimal(6, 18, parquet.Int64Type)
		case catalog.Double:
			n = parquet.Leaf(parquet.DoubleType)
		}
		if !c.Dimension {
			n = parquet.Optional(n)
		}
		node.Group[c.Name] = n
		node.names = append(node.names, c.Name)
	}
	name := filepath.Join(dir, "rows.parquet")
	out, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	w := parquet.NewGenericWriter[any](out, parquet.NewSchema("rows", node), parquet.Compression(&parquet.Zstd),
		parquet.MaxRowsPerRowGroup(122_880))
	r := csv.NewReader(in)
	r.ReuseRecord = true
	if _, err := r.Read(); err != nil {
		return nil, err
	}
	row := make(parquet.Row, len(columns))
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return []string{name}, errors.Join(w.Close(), out.Close())
		}
		if err != nil {
			return nil, err
		}
		for i, cell := range record {
			if row[i], err = rowValue(cell, i, columns[i]); err != nil {
				return nil, err
			}
		}
		if _, err := w.WriteRows([]parquet.Row{row}); err != nil {
			return nil, err
		}
	}
}

// orderedGroup keeps the order of its fields; parquet.Group sorts them by name.
type orderedGroup struct {
	parquet.Group
	names []string
}

func (g orderedGroup) Fields() []parquet.Field {
	fields := make([]parquet.Field, len(g.names))
	for _, f := range g.Group.Fields() {
		for i, n := range g.names {
			if f.Name() == n {
				fields[i] = f
			}
		}
	}
	return fields
}

func rowValue(cell string, i int, c Column) (parquet.Value, error) {
	if c.Dimension && c.Type == catalog.String {
		return parquet.ByteArrayValue([]byte(cell)).Level(0, 0, i), nil
	}
	if cell == "" {
		return parquet.NullValue().Level(0, 0, i), nil
	}
	var v parquet.Value
	switch c.Type {
	case catalog.Day:
		d, err := strconv.Atoi(strings.TrimPrefix(cell, "2026-03-"))
		if err != nil {
			return v, err
		}
		return parquet.Int32Value(int32(firstDay+d-1)).Level(0, 0, i), nil
	case catalog.Int64:
		n, err := strconv.ParseInt(cell, 10, 64)
		if err != nil {
			return v, err
		}
		v = parquet.Int64Value(n)
	case catalog.Decimal:
		whole, fraction, _ := strings.Cut(cell, ".")
		if len(fraction) > 6 {
			return v, fmt.Errorf("%s has more than six decimals", cell)
		}
		n, err := strconv.ParseInt(whole+fraction+"000000"[len(fraction):], 10, 64)
		if err != nil {
			return v, err
		}
		v = parquet.Int64Value(n)
	default:
		f, err := strconv.ParseFloat(cell, 64)
		if err != nil {
			return v, err
		}
		v = parquet.DoubleValue(f)
	}
	return v.Level(0, 1, i), nil
}

const firstDay = 20513 // 2026-03-01 in days since 1970-01-01
