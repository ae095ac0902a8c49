package sinktest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/civil"
	"github.com/parquet-go/parquet-go"

	"github.com/reportferry/reportferry/sinks"
)

// A Row is a row of the parts that RunRows puts. Its table has the columns day (a date, which is
// the partition; a table without periods lacks it), name (a string, required) and number (an
// int64).
type Row struct {
	Table     string
	Partition civil.Date // sinks.Whole in a table without periods
	Name      string
	Number    int64
}

// compareRows orders rows by table, partition, number and name.
func compareRows(a, b Row) int {
	return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Partition.String(), b.Partition.String()),
		cmp.Compare(a.Number, b.Number), cmp.Compare(a.Name, b.Name))
}

// A RowFixture is a place without tables and a sink that writes to it.
type RowFixture struct {
	Sink sinks.Sink

	// Visible returns every row that a reader of the place finds, in any order.
	Visible func(t *testing.T) []Row
}

// rowPlace is a fixture and the parts that were made for it.
type rowPlace struct {
	place
	visible func(t *testing.T) []Row
	rows    map[*part][]Row // of each part
}

// dayRow is a row in the file of a table by day.
type dayRow struct {
	Day    int32  `parquet:"day,date"`
	Name   string `parquet:"name"`
	Number *int64 `parquet:"number,optional"`
}

// wholeRow is a row in the file of a table without periods.
type wholeRow struct {
	Name   string `parquet:"name"`
	Number *int64 `parquet:"number,optional"`
}

// part makes a part of count rows, each with a name of width characters. The same seed gives the
// same rows.
func (p *rowPlace) part(table, date string, seed byte, count, width int) *part {
	partition, err := civil.ParseDate(date)
	if err != nil {
		panic(err)
	}
	made := &part{}
	noise := rand.NewChaCha8([32]byte{seed})
	for i := range count {
		text := make([]byte, (width+1)/2)
		_, _ = noise.Read(text) // never fails
		p.rows[made] = append(p.rows[made], Row{table, partition, fmt.Sprintf("%x", text),
			int64(seed)*1_000_000 + int64(i)})
	}
	made.content = encodeRows(p.rows[made], partition)
	made.Part = sinks.Part{
		Table: table, Partition: partition, Rows: int64(count), Size: int64(len(made.content)),
		Run:  "20260201T060000.000Z-1f2e3d4c",
		Hash: fmt.Sprintf("%x", sha256.Sum256(made.content))[:48], Schema: rowSchema(partition), Open: made.open,
	}
	p.parts = append(p.parts, made)
	return made
}

// rowSchema returns the schema of a table with this partition.
func rowSchema(partition civil.Date) *sinks.Schema {
	s := &sinks.Schema{Period: "whole", Columns: []sinks.Column{
		{Name: "name", Type: sinks.String, Required: true, Description: "who"},
		{Name: "number", Type: sinks.Int64, Description: "how many"},
	}}
	if partition != sinks.Whole {
		s.Period, s.On = "day", "day"
		s.Columns = slices.Insert(s.Columns, 0, sinks.Column{Name: "day", Type: sinks.Date, Required: true,
			Description: "when"})
	}
	return s
}

// encodeRows returns a partition's rows as a Parquet file.
func encodeRows(rows []Row, partition civil.Date) []byte {
	var b bytes.Buffer
	var err error
	if partition == sinks.Whole {
		made := make([]wholeRow, len(rows))
		for i, r := range rows {
			made[i] = wholeRow{r.Name, &r.Number}
		}
		err = parquet.Write(&b, made)
	} else {
		made := make([]dayRow, len(rows))
		for i, r := range rows {
			made[i] = dayRow{int32(partition.In(time.UTC).Unix() / (24 * 60 * 60)), r.Name, &r.Number}
		}
		err = parquet.Write(&b, made)
	}
	if err != nil {
		panic(err) // nothing but memory can fail
	}
	return b.Bytes()
}

// mustShow checks that the rows of exactly these parts are visible.
func (p *rowPlace) mustShow(t *testing.T, want ...*part) {
	t.Helper()
	if diff := p.differ(p.visible(t), want...); diff != "" {
		t.Fatal(diff)
	}
}

// differ says in one line how the rows differ from those of the parts, or returns "".
func (p *rowPlace) differ(got []Row, want ...*part) string {
	var rows []Row
	for _, part := range want {
		rows = append(rows, p.rows[part]...)
	}
	got = slices.SortedFunc(slices.Values(got), compareRows)
	slices.SortFunc(rows, compareRows)
	if slices.Equal(got, rows) {
		return ""
	}
	i := 0
	for i < len(got) && i < len(rows) && got[i] == rows[i] {
		i++
	}
	return fmt.Sprintf("%d rows are visible, want %d; from number %d on they differ: %s, want %s", len(got), len(rows),
		i+1,
		shortRow(got[i:]), shortRow(rows[i:]))
}

// shortRow describes the first of the rows.
func shortRow(rows []Row) string {
	if len(rows) == 0 {
		return "(end)"
	}
	r := rows[0]
	return strings.Join([]string{r.Table, r.Partition.String(), r.Name[:min(len(r.Name), 20)], fmt.Sprint(r.Number)},
		" ")
}

// mustPut puts the parts in their order, and returns the last receipt.
func (p *rowPlace) mustPut(t *testing.T, parts ...*part) (r sinks.Receipt) {
	t.Helper()
	for _, part := range parts {
		var err error
		if r, err = p.Sink.Put(context.Background(), part.Part); err != nil {
			t.Fatalf("put: %v", err)
		}
	}
	return r
}
