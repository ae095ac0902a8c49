package bqtest

import (
	"fmt"
	"strings"
	"testing"

	"cloud.google.com/go/bigquery"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

const (
	rowA = "2026-01-01|a|3|1.5|0.25"
	rowB = "2026-01-02|b|␀|␀|2"
)

func oneRow(t *testing.T, date, app string, installs int) []byte {
	return installFile(t, install{date, app, installs, "1", 1})
}

func TestWriteDispositions(t *testing.T) {
	b := newBench(t, Options{})
	b.createInstalls()
	first := installFile(t, install{"2026-01-01", "a", 3, "1.500000", 0.25}, install{"2026-01-02", "b", nil, "", 2})
	b.mustLoad(load{id: "whole", to: "installs", file: first, schema: installSchema})
	b.wantRows("installs", rowA, rowB)

	b.mustLoad(load{id: "day", to: "installs$20260101", file: oneRow(t, "2026-01-01", "z", 9), schema: installSchema})
	b.wantRows("installs", "2026-01-01|z|9|1|1", rowB)
	b.wantRows("installs$20260102", rowB)

	b.mustLoad(load{id: "append", to: "installs$20260101", file: oneRow(t, "2026-01-01", "y", 8), schema: installSchema,
		mode: bigquery.WriteAppend})
	b.wantRows("installs$20260101", "2026-01-01|y|8|1|1", "2026-01-01|z|9|1|1")

	b.wantFailure(load{id: "empty", to: "installs$20260101", file: oneRow(t, "2026-01-01", "x", 7),
		schema: installSchema, mode: bigquery.WriteEmpty},
		"duplicate", "Already Exists: Table p:d.installs$20260101")
	b.mustLoad(load{id: "empty3", to: "installs$20260103", file: oneRow(t, "2026-01-03", "x", 7), schema: installSchema,
		mode: bigquery.WriteEmpty})
	b.wantRows("installs$20260103", "2026-01-03|x|7|1|1")

	b.mustLoad(load{id: "none", to: "installs$20260103", file: installFile(t), schema: installSchema})
	b.wantRows("installs$20260103")
	b.mustLoad(load{id: "anew", to: "installs", file: oneRow(t, "2026-02-01", "n", 1), schema: installSchema})
	b.wantRows("installs", "2026-02-01|n|1|1|1")
}

// wantFailure wants the job taken and its status bad.
func (b *bench) wantFailure(l load, reason, message string) *bigquery.JobStatus {
	b.Helper()
	status := b.load(l)
	if status.Err() == nil {
		b.Errorf("the job succeeded; want %s: %s", reason, message)
		return status
	}
	if first := status.Errors[0]; first.Reason != reason || !strings.Contains(first.Message, message) {
		b.Errorf("the job failed with\n%s: %s\nwant\n%s: %s", first.Reason, first.Message, reason, message)
	}
	return status
}

// wantRefusal wants no job at all.
func (b *bench) wantRefusal(l load, status int, reason, message string) {
	b.Helper()
	jobs := len(b.Jobs())
	_, err := b.start(l)
	if got, why := reasonOf(err); got != status || why != reason || !strings.Contains(err.Error(), message) {
		b.Errorf("insert gave %v, want %d %s: %s", err, status, reason, message)
	}
	if len(b.Jobs()) != jobs {
		b.Error("the refused insert made a job")
	}
}

func TestPartitionDecorators(t *testing.T) {
	stamps := []arrow.Field{{Name: "hour", Type: &arrow.TimestampType{Unit: arrow.Microsecond}, Nullable: true}}
	hours := func(at ...int64) []byte {
		return parquetFile(t, stamps, func(b *array.RecordBuilder) {
			for _, a := range at {
				b.Field(0).(*array.TimestampBuilder).Append(arrow.Timestamp(a))
			}
		})
	}
	const newYear = 1767225600_000000 // 2026-01-01T00:00:00
	for _, c := range []struct {
		kind, column, decorator string
		file                    []byte
		reason, message         string // of a failure
	}{
		{"DAY", "date", "20260131", oneRow(t, "2026-01-31", "a", 1), "", ""},
		{"MONTH", "date", "202601", oneRow(t, "2026-01-31", "a", 1), "", ""},
		{"YEAR", "date", "2026", oneRow(t, "2026-01-31", "a", 1), "", ""},
		{"DAY", "hour", "20260101", hours(newYear, newYear+86399_999999), "", ""},
		{"HOUR", "hour", "2026010100", hours(newYear), "", ""},

		{"DAY", "date", "20260130", oneRow(t, "2026-01-31", "a", 1), "invalid",
			"Some rows belong to different partitions rather than destination partition p:d.t$20260130"},
		{"DAY", "date", "20260131", installFile(t, install{"2026-01-31", "a", 1, "1", 1},
			install{"2026-02-01", "a", 1, "1", 1}), "invalid", "Some rows belong to different partitions"},
		{"MONTH", "date", "202602", oneRow(t, "2026-01-31", "a", 1), "invalid",
			"Some rows belong to different partitions"},
		{"YEAR", "date", "2025", oneRow(t, "2026-01-31", "a", 1), "invalid",
			"Some rows belong to different partitions"},
		{"DAY", "hour", "20260101", hours(newYear - 1), "invalid", "Some rows belong to different partitions"},
		{"MONTH", "date", "20260131", oneRow(t, "2026-01-31", "a", 1), "invalid", `Invalid partition ID "20260131"`},
		{"DAY", "date", "202601", oneRow(t, "2026-01-31", "a", 1), "invalid", `Invalid partition ID "202601"`},
		{"DAY", "date", "20260230", oneRow(t, "2026-01-31", "a", 1), "invalid", `Invalid partition ID "20260230"`},
		{"", "date", "20260131", oneRow(t, "2026-01-31", "a", 1), "invalid", "the table is not partitioned"},
	} {
		t.Run(c.kind+" "+c.column+" "+c.decorator, func(t *testing.T) {
			b := newBench(t, Options{})
			schema := installSchema
			if c.column == "hour" {
				schema = bigquery.Schema{{Name: "hour", Type: bigquery.DateTimeFieldType}}
			}
			meta := &bigquery.TableMetadata{Schema: schema}
			if c.kind != "" {
				meta.TimePartitioning = &bigquery.TimePartitioning{Type: bigquery.TimePartitioningType(c.kind),
					Field: c.column}
			}
			if err := b.client.Dataset("d").Table("t").Create(t.Context(), meta); err != nil {
				t.Fatal(err)
			}
			l := load{id: "one", to: "t$" + c.decorator, file: c.file, schema: schema}
			if c.reason != "" {
				b.wantFailure(l, c.reason, c.message)
				b.wantRows("t")
				return
			}
			b.mustLoad(l)
			if rows, _ := b.Rows("p.d.t$" + c.decorator); len(rows) == 0 {
				t.Error("no rows in the partition")
			}
		})
	}
}

func TestValuesOfEachType(t *testing.T) {
	fields := []arrow.Field{
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "i", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "f", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "n", Type: &arrow.Decimal128Type{Precision: 38, Scale: 9}, Nullable: true},
		{Name: "d", Type: arrow.FixedWidthTypes.Date32, Nullable: true},
		{Name: "dt", Type: &arrow.TimestampType{Unit: arrow.Microsecond}, Nullable: true},
		{Name: "ts", Type: &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"}, Nullable: true},
		{Name: "b", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
	}
	file := parquetFile(t, fields, func(b *array.RecordBuilder) {
		b.Field(0).(*array.StringBuilder).AppendValues([]string{"", "ä'\"\n", ""}, []bool{true, true, false})
		b.Field(1).(*array.Int64Builder).AppendValues([]int64{0, 9223372036854775807, 0}, []bool{true, true, false})
		b.Field(2).(*array.Float64Builder).AppendValues([]float64{2, 0.1, 0}, []bool{true, true, false})
		for _, text := range []string{"-0.000000001", "99999999999999999999999999999.999999999"} {
			n, err := decimal128.FromString(text, 38, 9)
			if err != nil {
				t.Fatal(err)
			}
			b.Field(3).(*array.Decimal128Builder).Append(n)
		}
		b.Field(3).AppendNull()
		b.Field(4).(*array.Date32Builder).AppendValues([]arrow.Date32{-719162, 2932896, 0}, []bool{true, true, false})
		b.Field(5).(*array.TimestampBuilder).AppendValues([]arrow.Timestamp{0, 1767225600_500000, 0},
			[]bool{true, true, false})
		b.Field(6).(*array.TimestampBuilder).AppendValues([]arrow.Timestamp{0, 1767225600_500, 0},
			[]bool{true, true, false})
		b.Field(7).(*array.BooleanBuilder).AppendValues([]bool{false, true, false}, []bool{true, true, false})
	})
	b := newBench(t, Options{})
	b.mustLoad(load{id: "one", to: "t", file: file})
	b.wantRows("t",
		"|0|2|-0.000000001|0001-01-01|1970-01-01T00:00:00|0|false",
		"ä'\"\n|9223372036854775807|0.1|99999999999999999999999999999.999999999|9999-12-31|2026-01-01T00:00:00.5|1767225600500000|true",
		"␀|␀|␀|␀|␀|␀|␀|␀")
	meta, err := b.client.Dataset("d").Table("t").Metadata(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, f := range meta.Schema {
		kinds = append(kinds, string(f.Type))
	}
	if got := strings.Join(kinds, " "); got != "STRING INTEGER FLOAT NUMERIC DATE DATETIME TIMESTAMP BOOLEAN" {
		t.Errorf("types from the file: %s", got)
	}
	if meta.NumRows != 3 || meta.NumBytes == 0 {
		t.Errorf("%d rows, %d bytes", meta.NumRows, meta.NumBytes)
	}
}

func TestDecimalTargetTypes(t *testing.T) {
	for _, c := range []struct {
		precision, scale int32
		wanted           []string
		want             string
	}{
		{18, 6, nil, "NUMERIC"},
		{38, 9, []string{"STRING", "NUMERIC"}, "NUMERIC"},
		{38, 10, []string{"NUMERIC", "STRING"}, "STRING"},
		{38, 8, []string{"NUMERIC", "BIGNUMERIC"}, "BIGNUMERIC"},
		{38, 10, []string{"NUMERIC"}, "NUMERIC"},
	} {
		if got := decimalTarget(c.precision, c.scale, c.wanted); got != c.want {
			t.Errorf("DECIMAL(%d, %d) by %v: %s, want %s", c.precision, c.scale, c.wanted, got, c.want)
		}
	}
}

func TestInsertRefusals(t *testing.T) {
	b := newBench(t, Options{})
	b.createInstalls()
	file := oneRow(t, "2026-01-01", "a", 1)
	ok := load{id: "one", to: "installs$20260101", file: file, schema: installSchema}
	for _, c := range []struct {
		name            string
		change          func(*load)
		status          int
		reason, message string
	}{
		{"other location", func(l *load) { l.change = func(x *bigquery.Loader) { x.Location = "EU" } }, 404, "notFound",
			"Dataset p:d was not found in location EU"},
		{"no dataset", func(l *load) { l.change = func(x *bigquery.Loader) { x.Dst.DatasetID = "nowhere" } }, 404,
			"notFound", "Not found: Dataset p:nowhere"},
		{"job ID", func(l *load) { l.id = "a b" }, 400, "invalid", `Invalid job ID "a b"`},
		{"long job ID", func(l *load) { l.id = strings.Repeat("x", 1025) }, 400, "invalid", "Invalid job ID"},
		{"empty decorator", func(l *load) { l.to = "installs$" }, 400, "invalid", "Invalid table ID"},
		{"update options", func(l *load) { l.to, l.options = "installs", []string{"ALLOW_FIELD_ADDITION"} }, 400,
			"invalid", "Schema update options should only be specified with WRITE_APPEND"},
		{"update option", func(l *load) { l.options = []string{"ALLOW_ALL"} }, 400, "invalid",
			"schemaUpdateOptions: ALLOW_ALL"},
		{"disposition", func(l *load) { l.mode = "WRITE_OVER" }, 400, "invalid", "writeDisposition: WRITE_OVER"},
		{"labels", func(l *load) { l.change = func(x *bigquery.Loader) { x.Labels = map[string]string{"Run": "1"} } },
			400, "invalid", `Label key "Run"`},
		{"label value", func(l *load) {
			l.change = func(x *bigquery.Loader) { x.Labels = map[string]string{"run": strings.Repeat("a", 64)} }
		}, 400, "invalid", "Label value"},
		{"csv", func(l *load) {
			l.change = func(x *bigquery.Loader) { x.Src.(*bigquery.ReaderSource).SourceFormat = bigquery.CSV }
		}, 501, "notImplemented", "PARQUET"},
		{"wildcard", func(l *load) { l.uris = []string{"gs://b/x*"} }, 400, "invalid", "no wildcards"},
		{"no key", func(l *load) { l.uris = []string{"gs://b"} }, 400, "invalid", "gs://b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bb := *b
			bb.T = t
			l := ok
			c.change(&l)
			bb.wantRefusal(l, c.status, c.reason, c.message)
		})
	}
	b.wantRows("installs")
}

func TestCreateDispositions(t *testing.T) {
	b := newBench(t, Options{})
	file := oneRow(t, "2026-01-01", "a", 1)
	b.wantFailure(load{id: "never", to: "t", file: file, schema: installSchema,
		change: func(x *bigquery.Loader) { x.CreateDisposition = bigquery.CreateNever }},
		"notFound", "Not found: Table p:d.t")
	if len(b.Tables()) != 0 {
		t.Error("a failed load made a table")
	}
	b.wantFailure(load{id: "outside", to: "t$20260102", file: file, schema: installSchema,
		change: func(x *bigquery.Loader) {
			x.TimePartitioning = &bigquery.TimePartitioning{Field: "date"}
		}}, "invalid", "Some rows belong to different partitions")
	if len(b.Tables()) != 0 {
		t.Error("a failed load made a table")
	}
	b.mustLoad(load{id: "made", to: "t$20260101", file: file, schema: installSchema, change: func(x *bigquery.Loader) {
		x.TimePartitioning, x.Clustering = &bigquery.TimePartitioning{Field: "date"},
			&bigquery.Clustering{Fields: []string{"app"}}
	}})
	meta := b.Tables()["p.d.t"]
	if meta.TimePartitioning.Type != "DAY" || meta.TimePartitioning.Field != "date" ||
		meta.Clustering.Fields[0] != "app" {
		t.Errorf("made %+v", meta)
	}
	b.wantFailure(load{id: "other", to: "t$20260101", file: file, schema: installSchema,
		change: func(x *bigquery.Loader) {
			x.TimePartitioning = &bigquery.TimePartitioning{Type: bigquery.MonthPartitioningType, Field: "date"}
		}}, "invalid",
		"Expected partitioning specification interval(type:day,field:date), but input partitioning specification is "+
			"interval(type:month,field:date)")
	b.wantFailure(load{id: "cluster", to: "t$20260101", file: file, schema: installSchema,
		change: func(x *bigquery.Loader) {
			x.Clustering = &bigquery.Clustering{Fields: []string{"installs"}}
		}}, "invalid", "Expected clustering clustering(app)")
	b.wantFailure(load{id: "rubbish", to: "t$20260101", file: []byte("PAR1 or not"), schema: installSchema}, "invalid",
		"Error while reading data, error message: not a Parquet file")
	b.wantFailure(load{id: "nothing", to: "t$20260101", file: nil, schema: installSchema}, "invalid",
		"Error while reading data")
	b.wantRows("t", "2026-01-01|a|1|1|1")
}

func TestJSONLines(t *testing.T) {
	b := newBench(t, Options{})
	schema := bigquery.Schema{
		{Name: "run", Type: bigquery.StringFieldType, Required: true}, {Name: "at", Type: bigquery.TimestampFieldType},
		{Name: "n", Type: bigquery.IntegerFieldType},
		{Name: "cost", Type: bigquery.NumericFieldType}, {Name: "day", Type: bigquery.DateFieldType},
		{Name: "ok", Type: bigquery.BooleanFieldType},
	}
	lines := func(l *load) {
		l.change = func(x *bigquery.Loader) { x.Src.(*bigquery.ReaderSource).SourceFormat = bigquery.JSON }
	}
	one := load{id: "one", to: "runs", mode: bigquery.WriteAppend, schema: schema,
		file: []byte(`{"run":"r1","at":"2026-01-01T00:00:00Z","n":"3","cost":1.50,"day":"2026-01-01","ok":true}
{"run":"r2","n":4}
`)}
	lines(&one)
	b.mustLoad(one)
	two := load{id: "two", to: "runs", mode: bigquery.WriteAppend, file: []byte(`{"RUN":"r3"}`)}
	lines(&two)
	b.mustLoad(two)
	b.wantRows("runs", "r1|1767225600000000|3|1.5|2026-01-01|true", "r2|␀|4|␀|␀|␀", "r3|␀|␀|␀|␀|␀")
	for i, c := range [][2]string{
		{`{"run":"x","n":1.5}`, "could not convert value of field n to INTEGER"},
		{`{"run":"x","other":1}`, "'other' is not in the schema"}, {`{"n":1}`, "column 'run' is missing"},
		{`[1]`, "line 1"}, {`{"run":{}}`, "no scalar"},
	} {
		l := load{id: fmt.Sprint("bad", i), to: "runs", mode: bigquery.WriteAppend, schema: schema, file: []byte(c[0])}
		lines(&l)
		b.wantFailure(l, "invalid", c[1])
	}
	if rows, _ := b.Rows("p.d.runs"); len(rows) != 3 {
		t.Errorf("%d rows", len(rows))
	}
}
