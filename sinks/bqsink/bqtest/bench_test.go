package bqtest

import (
	"bytes"
	"cmp"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigquery"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
)

// A bench is a server and the unmodified client on it.
type bench struct {
	*Server
	*testing.T
	client *bigquery.Client
	url    string
}

func newBench(t *testing.T, o Options) *bench {
	t.Helper()
	if o.Datasets == nil {
		o.Datasets = []string{"p.d"}
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	client, err := bigquery.NewClient(t.Context(), "p", option.WithEndpoint(h.URL+"/bigquery/v2/"),
		option.WithoutAuthentication())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.Close()
		h.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &bench{s, t, client, h.URL}
}

// An install is a row of the test's files.
type install struct {
	date     string
	app      string
	installs any // int64 or nil
	cost     string
	rate     float64
}

var installFields = []arrow.Field{
	{Name: "date", Type: arrow.FixedWidthTypes.Date32},
	{Name: "app", Type: arrow.BinaryTypes.String},
	{Name: "installs", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "cost", Type: &arrow.Decimal128Type{Precision: 18, Scale: 6}, Nullable: true},
	{Name: "rate", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
}

var installSchema = bigquery.Schema{
	{Name: "date", Type: bigquery.DateFieldType, Required: true},
	{Name: "app", Type: bigquery.StringFieldType, Required: true},
	{Name: "installs", Type: bigquery.IntegerFieldType},
	{Name: "cost", Type: bigquery.NumericFieldType},
	{Name: "rate", Type: bigquery.FloatFieldType},
}

func installFile(t *testing.T, rows ...install) []byte {
	t.Helper()
	return parquetFile(t, installFields, func(b *array.RecordBuilder) {
		for _, r := range rows {
			day, err := time.Parse(time.DateOnly, r.date)
			if err != nil {
				t.Fatal(err)
			}
			b.Field(0).(*array.Date32Builder).Append(arrow.Date32FromTime(day))
			b.Field(1).(*array.StringBuilder).Append(r.app)
			if n, ok := r.installs.(int); ok {
				b.Field(2).(*array.Int64Builder).Append(int64(n))
			} else {
				b.Field(2).AppendNull()
			}
			if r.cost == "" {
				b.Field(3).AppendNull()
			} else {
				n, err := decimal128.FromString(r.cost, 18, 6)
				if err != nil {
					t.Fatal(err)
				}
				b.Field(3).(*array.Decimal128Builder).Append(n)
			}
			b.Field(4).(*array.Float64Builder).Append(r.rate)
		}
	})
}

func parquetFile(t *testing.T, fields []arrow.Field, fill func(*array.RecordBuilder)) []byte {
	t.Helper()
	schema := arrow.NewSchema(fields, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	fill(b)
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &out, parquet.NewWriterProperties(parquet.WithStoreDecimalAsInteger(true)),
		pqarrow.NewArrowWriterProperties())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(b.NewRecordBatch()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A load is a load job of the bench.
type load struct {
	id      string
	to      string // dataset d's table, with its decorator
	file    []byte
	chunk   int      // of a resumable upload; 0 is one multipart request
	uris    []string // instead of file
	schema  bigquery.Schema
	mode    bigquery.TableWriteDisposition
	options []string
	change  func(*bigquery.Loader)
}

// start inserts the job.
func (b *bench) start(l load) (*bigquery.Job, error) {
	b.Helper()
	var loader *bigquery.Loader
	table := b.client.Dataset("d").Table(l.to)
	if l.uris != nil {
		src := bigquery.NewGCSReference(l.uris...)
		src.SourceFormat, src.Schema = bigquery.Parquet, l.schema
		loader = table.LoaderFrom(src)
	} else {
		src := bigquery.NewReaderSource(bytes.NewReader(l.file))
		src.SourceFormat, src.Schema = bigquery.Parquet, l.schema
		loader = table.LoaderFrom(src)
		loader.MediaOptions = []googleapi.MediaOption{googleapi.ChunkSize(l.chunk)}
	}
	loader.JobID, loader.Location = l.id, "US"
	loader.WriteDisposition = cmp.Or(l.mode, bigquery.WriteTruncate)
	loader.SchemaUpdateOptions = l.options
	if l.change != nil {
		l.change(loader)
	}
	return loader.Run(b.Context())
}

// load runs the job to its end and returns its status.
func (b *bench) load(l load) *bigquery.JobStatus {
	b.Helper()
	job, err := b.start(l)
	if err != nil {
		b.Fatalf("insert: %v", err)
	}
	status, err := job.Wait(b.Context())
	if err != nil {
		b.Fatalf("wait: %v", err)
	}
	return status
}

// mustLoad is load of what must succeed.
func (b *bench) mustLoad(l load) *bigquery.JobStatus {
	b.Helper()
	status := b.load(l)
	if status.Err() != nil {
		b.Fatalf("load into %s: %v", l.to, status.Err())
	}
	return status
}

// createInstalls makes the table d.installs, partitioned by day.
func (b *bench) createInstalls() {
	b.Helper()
	err := b.client.Dataset("d").Table("installs").Create(b.Context(), &bigquery.TableMetadata{
		Schema:           installSchema,
		TimePartitioning: &bigquery.TimePartitioning{Type: bigquery.DayPartitioningType, Field: "date"},
		Clustering:       &bigquery.Clustering{Fields: []string{"app"}},
	})
	if err != nil {
		b.Fatal(err)
	}
}

// wantRows compares the rows of a table or partition, a line each, cells with | between them.
func (b *bench) wantRows(name string, want ...string) {
	b.Helper()
	rows, err := b.Rows("p.d." + name)
	if err != nil {
		b.Fatal(err)
	}
	var got []string
	for _, r := range rows {
		got = append(got, strings.Join(r, "|"))
	}
	if !slices.Equal(got, want) {
		b.Errorf("rows of %s:\n%s\nwant:\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
