package icesink

import (
	"context"
	"net/url"
	"testing"

	"cloud.google.com/go/civil"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/sinktest"
)

// newURL is a namespace of a catalog in a file.
func newURL(t testing.TB) string {
	dir := t.TempDir()
	q := url.Values{"type": {"sql"}, "uri": {"sqlite:///" + dir + "/catalog.db"},
		"warehouse": {"file://" + dir + "/warehouse"}}
	return "iceberg://local/adjust?" + q.Encode()
}

func openURL(t testing.TB, rawURL string) *Sink {
	t.Helper()
	s, err := Open(t.Context(), rawURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.(*Sink)
}

// visible gives all rows of all tables of the suite, as the library's own reader sees them.
func visible(t *testing.T, s *Sink) (rows []sinktest.Row) {
	t.Helper()
	ctx := context.Background()
	c, err := s.connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	there, err := c.CheckNamespaceExists(ctx, s.namespace)
	if err != nil {
		t.Fatal(err)
	}
	if !there {
		return nil
	}
	for ident, err := range c.ListTables(ctx, s.namespace) {
		if err != nil {
			t.Fatal(err)
		}
		of, err := c.LoadTable(ctx, ident)
		if err != nil {
			t.Fatal(err)
		}
		_, batches, err := of.Scan().ToArrowRecords(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for batch, err := range batches {
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, rowsOf(batch, ident[len(ident)-1])...)
			batch.Release()
		}
	}
	return rows
}

func rowsOf(batch arrow.RecordBatch, table string) (rows []sinktest.Row) {
	for i := range int(batch.NumRows()) {
		row := sinktest.Row{Table: table, Partition: sinks.Whole}
		for j, f := range batch.Schema().Fields() {
			switch column := batch.Column(j).(type) {
			case *array.Date32:
				row.Partition = civil.DateOf(column.Value(i).ToTime())
			case *array.String:
				row.Name = column.Value(i)
			case *array.LargeString:
				row.Name = column.Value(i)
			case *array.Int64:
				row.Number = column.Value(i)
			default:
				panic(f.Name + " is a " + column.DataType().String())
			}
		}
		rows = append(rows, row)
	}
	return rows
}

type testRow struct {
	Day      int32   `parquet:"day,date"`
	Campaign string  `parquet:"campaign"`
	Installs *int64  `parquet:"installs,optional"`
	Cost     *int64  `parquet:"cost,optional,decimal(6:18)"`
	Ratio    float64 `parquet:"ratio,optional"`
}

func testSchema() *sinks.Schema {
	return &sinks.Schema{
		Period: "day", On: "day", About: &sinks.About{Text: "Installs by campaign", Job: "installs"},
		Columns: []sinks.Column{
			{Name: "day", Type: sinks.Date, Required: true, Description: "Day in the report's zone"},
			{Name: "campaign", Type: sinks.String, Required: true, Description: "Campaign"},
			{Name: "installs", Type: sinks.Int64, Description: "Installs", Unit: "count"},
			{Name: "cost", Type: sinks.Decimal, Description: "Spend"},
			{Name: "ratio", Type: sinks.Double},
		},
	}
}

var date = sinktest.Date

// testPart is a part of one row for each name.
func testPart(day string, names ...string) sinks.Part {
	var rows []testRow
	for i, name := range names {
		installs, cost := int64(i+1), int64(-1_500_000*i)
		rows = append(rows, testRow{int32(date(day).DaysSince(epoch)), name, &installs, &cost, 0.25})
	}
	return sinktest.FilePart(day, testSchema(), rows)
}
