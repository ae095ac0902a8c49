package bqtest

import (
	"slices"
	"testing"

	"cloud.google.com/go/bigquery"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// changed is the test's schema with a column more, fewer or another.
func changed(f func(bigquery.Schema) bigquery.Schema) bigquery.Schema {
	var fresh bigquery.Schema
	for _, c := range installSchema {
		field := *c
		fresh = append(fresh, &field)
	}
	return f(fresh)
}

// wider is a file with the column clicks beside the others.
func wider(t *testing.T, date string) []byte {
	fields := append(slices.Clone(installFields), arrow.Field{Name: "clicks", Type: arrow.PrimitiveTypes.Int64,
		Nullable: true})
	return parquetFile(t, fields, func(b *array.RecordBuilder) {
		b.Field(0).(*array.Date32Builder).Append(dateOf(t, date))
		b.Field(1).(*array.StringBuilder).Append("w")
		b.Field(2).(*array.Int64Builder).Append(1)
		b.Field(3).AppendNull()
		b.Field(4).AppendNull()
		b.Field(5).(*array.Int64Builder).Append(7)
	})
}

func TestSchemaChangesOfALoad(t *testing.T) {
	clicks := func(mode bool) bigquery.Schema {
		return changed(func(s bigquery.Schema) bigquery.Schema {
			return append(s, &bigquery.FieldSchema{Name: "clicks", Type: bigquery.IntegerFieldType, Required: mode})
		})
	}
	plain := oneRow(t, "2026-01-01", "n", 1)
	const table = "installs$20260101"
	for _, c := range []struct {
		name    string
		l       load
		message string
	}{
		{"addition isn't allowed", load{to: table, file: wider(t, "2026-01-01"), schema: clicks(false)},
			"Provided Schema does not match Table p:d.installs. Cannot add fields (field: clicks)"},
		{"required addition", load{to: table, file: wider(t, "2026-01-01"), schema: clicks(true),
			options: []string{"ALLOW_FIELD_ADDITION"}}, "Cannot add required fields"},
		{"relaxation isn't allowed", load{to: table, file: plain,
			schema: changed(
				func(s bigquery.Schema) bigquery.Schema { s[1].Required = false; return s })}, "Field app has " +
			"changed mode from REQUIRED to NULLABLE"},
		{"tightening", load{to: table, file: plain,
			schema: changed(
				func(s bigquery.Schema) bigquery.Schema { s[2].Required = true; return s })}, "Field installs has " +
			"changed mode from NULLABLE to REQUIRED"},
		{"type", load{to: table, file: plain,
			schema: changed(
				func(
					s bigquery.Schema) bigquery.Schema {
					s[2].Type = bigquery.NumericFieldType
					return s
				})}, "Field installs has changed type from INTEGER to NUMERIC"},
		{"missing", load{to: table, file: plain, schema: installSchema[:4]}, "Field rate is missing in new schema"},
		{"the same by append", load{to: table, file: wider(t, "2026-01-01"), schema: clicks(false),
			mode: bigquery.WriteAppend}, "Cannot add fields"},
		{"a column of the file alone", load{to: table, file: wider(t, "2026-01-01"), schema: installSchema},
			"Parquet column 'clicks' is not in the schema"},
		{"no schema in the job", load{to: table, file: wider(t, "2026-01-01")}, "Cannot add fields (field: clicks)"},
		{"a whole table can't lose its partitioning", load{to: "installs", file: plain,
			schema: bigquery.Schema{{Name: "app", Type: bigquery.StringFieldType}}},
			"The field specified for partitioning cannot be found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, Options{})
			b.createInstalls()
			b.mustLoad(load{id: "before", to: table, file: oneRow(t, "2026-01-01", "old", 5), schema: installSchema})
			c.l.id = "one"
			b.wantFailure(c.l, "invalid", c.message)
			b.wantRows("installs", "2026-01-01|old|5|1|1")
		})
	}
	for _, c := range []struct {
		name string
		l    load
		want []string
	}{
		{"addition", load{to: table, file: wider(t, "2026-01-01"), schema: clicks(false),
			options: []string{"ALLOW_FIELD_ADDITION"}},
			[]string{"2026-01-01|w|1|␀|␀|7", "2026-01-02|other|6|1|1|␀"}},
		{"addition by append", load{to: table, file: wider(t, "2026-01-01"), schema: clicks(false),
			options: []string{"ALLOW_FIELD_ADDITION"}, mode: bigquery.WriteAppend},
			[]string{"2026-01-01|old|5|1|1|␀", "2026-01-01|w|1|␀|␀|7", "2026-01-02|other|6|1|1|␀"}},
		{"relaxation", load{to: table, file: plain,
			schema: changed(
				func(
					s bigquery.Schema) bigquery.Schema {
					s[1].Required = false
					return s
				}), options: []string{"ALLOW_FIELD_RELAXATION"}},
			[]string{"2026-01-01|n|1|1|1", "2026-01-02|other|6|1|1"}},
		{"a column less in the file", load{to: table, file: oneRow(t, "2026-01-01", "n", 1), schema: clicks(false),
			options: []string{"ALLOW_FIELD_ADDITION"}},
			[]string{"2026-01-01|n|1|1|1|␀", "2026-01-02|other|6|1|1|␀"}},
		{"the whole table takes any schema", load{to: "installs", file: wider(t, "2026-03-01"), schema: clicks(false)},
			[]string{"2026-03-01|w|1|␀|␀|7"}},
		{"unknown values are left out", load{to: table, file: wider(t, "2026-01-01"), schema: installSchema,
			change: func(x *bigquery.Loader) { x.Src.(*bigquery.ReaderSource).IgnoreUnknownValues = true }},
			[]string{"2026-01-01|w|1|␀|␀", "2026-01-02|other|6|1|1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, Options{})
			b.createInstalls()
			b.mustLoad(load{id: "before", to: table, file: oneRow(t, "2026-01-01", "old", 5), schema: installSchema})
			b.mustLoad(load{id: "beside", to: "installs$20260102", file: oneRow(t, "2026-01-02", "other", 6),
				schema: installSchema})
			c.l.id = "one"
			b.mustLoad(c.l)
			b.wantRows("installs", c.want...)
			if mode := b.Tables()["p.d.installs"].Schema.Fields[1].Mode; (mode == "NULLABLE") !=
				(c.name == "relaxation") {
				t.Errorf("app is %s", mode)
			}
		})
	}
}

func TestFilesThatDontFitTheirSchema(t *testing.T) {
	b := newBench(t, Options{})
	b.createInstalls()
	fields := slices.Clone(installFields)
	fields[1] = arrow.Field{Name: "app", Type: arrow.BinaryTypes.String, Nullable: true}
	fields[2] = arrow.Field{Name: "installs", Type: arrow.PrimitiveTypes.Float64, Nullable: true}
	fill := func(b *array.RecordBuilder) {
		b.Field(0).(*array.Date32Builder).Append(dateOf(t, "2026-01-01"))
		for i := 1; i < 5; i++ {
			b.Field(i).AppendNull()
		}
	}
	b.wantFailure(load{id: "type", to: "installs$20260101", file: parquetFile(t, fields, fill), schema: installSchema},
		"invalid",
		"Parquet column 'installs' has type FLOAT which does not match the target type INTEGER")
	fields[2] = installFields[2]
	status := b.wantFailure(load{id: "null", to: "installs$20260101",
		file: parquetFile(t, fields, func(b *array.RecordBuilder) { fill(b); fill(b) }), schema: installSchema},
		"invalid",
		"Required column value for column 'app' is missing in row 1")
	if len(status.Errors) != 2 {
		t.Errorf("%d errors for two rows", len(status.Errors))
	}
	fields[2] = arrow.Field{Name: "installs", Type: &arrow.TimestampType{Unit: arrow.Nanosecond}, Nullable: true}
	b.wantFailure(load{id: "nanos", to: "installs$20260101", file: parquetFile(t, fields, fill), schema: installSchema},
		"invalid", "TIMESTAMP(NANOS)")
	b.wantRows("installs")
}

func dateOf(t *testing.T, text string) arrow.Date32 {
	t.Helper()
	at, err := parseInstant(text)
	if err != nil {
		t.Fatal(err)
	}
	return arrow.Date32FromTime(at)
}
