package report

import (
	"fmt"
	"net/http"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/brotli"

	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/metrics"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

const (
	parquetType = "application/octet-stream"
	// parquetGroupRows bounds what a report holds in memory before a row group goes out.
	parquetGroupRows = 16 << 10
	parquetBatch     = 256 // rows handed to the writer at once
)

// serveParquet answers GET /parquet_report: the rows of csv_report in one Parquet file, with
// columns by slug. Dimensions are STRING, integers INT64, all else DOUBLE; every column is
// required. It streams: a client whose connection ends early has no footer, and so no file.
func (s *Service) serveParquet(x *wire.Exchange, r *http.Request) {
	q := s.readUnlessBulk(x, r)
	if q == nil {
		return
	}
	s.end(x, r, s.stream(x, r, q, func(st metrics.Statement, rows *answerRows) error {
		return writeParquet(x, q.reportColumns(st.Units, x.Fault), rows)
	}))
}

// writeParquet writes the rows as one Parquet file in batches. rows is at its first row already.
func writeParquet(x *wire.Exchange, columns []column, rows *answerRows) error {
	body := x.PlainBody(parquetType)
	w := parquet.NewWriter(body, parquetSchema(columns),
		parquet.Compression(&brotli.Codec{Quality: 3, LGWin: brotli.DefaultLGWin}), // the service's files are Brotli
		parquet.MaxRowsPerRowGroup(parquetGroupRows), parquet.CreatedBy("reportferry emulator", "", ""))
	batch := make([]parquet.Row, 0, parquetBatch)
	err := rows.each(func(row []any) error {
		values := make(parquet.Row, len(columns))
		for i, c := range columns {
			v, err := parquetValue(c, row)
			if err != nil {
				return err
			}
			values[i] = v.Level(0, 0, i)
		}
		if batch = append(batch, values); len(batch) < parquetBatch {
			return nil
		}
		_, err := w.WriteRows(batch)
		batch = batch[:0]
		return err
	})
	if err == nil {
		_, err = w.WriteRows(batch)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return err // without the footer: what went out is no file
	}
	return body.Close()
}

// parquetValue returns a column's cell of a row, as its Parquet type.
func parquetValue(c column, row []any) (parquet.Value, error) {
	switch v := c.value(row).(type) {
	case string:
		return parquet.ByteArrayValue([]byte(v)), nil
	case float64:
		return parquet.DoubleValue(v), nil
	case int64:
		if c.unit == metrics.Micros {
			// A single division gives the double nearest to the printed decimal.
			return parquet.DoubleValue(float64(v) / facts.Million), nil
		}
		return parquet.Int64Value(v), nil
	default:
		return parquet.Value{}, fmt.Errorf("column %s is a %T", c.slug, v)
	}
}

// orderedGroup is a group with its fields as asked for; parquet.Group sorts them by name.
type orderedGroup struct {
	parquet.Group
	fields []parquet.Field
}

// Fields implements parquet.Node.
func (g orderedGroup) Fields() []parquet.Field { return g.fields }

// parquetSchema returns the file's schema, in the order of the columns.
func parquetSchema(columns []column) *parquet.Schema {
	g := orderedGroup{Group: parquet.Group{}}
	for _, c := range columns {
		node := parquet.Leaf(parquet.DoubleType)
		switch {
		case c.text:
			node = parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
		case c.whole:
			node = parquet.Int(64)
		}
		g.Group[c.slug] = parquet.Required(node)
	}
	byName := map[string]parquet.Field{}
	for _, f := range g.Group.Fields() {
		byName[f.Name()] = f
	}
	for _, c := range columns {
		g.fields = append(g.fields, byName[c.slug])
	}
	return parquet.NewSchema("report", g)
}
