package bqsink

import (
	"fmt"
	"slices"
	"strings"

	"cloud.google.com/go/bigquery"

	"github.com/reportferry/reportferry/sinks"
)

// compare returns the columns that a table lacks of the schema. A table that can't be brought to
// the schema is an error, which lists every difference with its remedy: a nightly job that named
// one at a time would cost a night each.
func compare(name string, have *bigquery.TableMetadata, want *sinks.Schema) (missing bigquery.Schema, err error) {
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if have.Type != "" && have.Type != bigquery.RegularTable {
		say("it is a %s, and rows can be loaded only into a table", strings.ToLower(string(have.Type)))
	}
	if was, should := describe(have), describeWanted(want); was != should {
		say("it is %s, and the job's rows need it %s; a table's partitioning can't be changed", was, should)
	}
	if was, should := clusterNames(have.Clustering), strings.Join(want.ClusterBy, ", "); !strings.EqualFold(was,
		should) {
		say("it is clustered by %s, and the job's config says %s; set cluster_by to what it is, or alter the "+
			"table's clustering", orNothing(was), orNothing(should))
	}
	for _, c := range want.Columns {
		i := slices.IndexFunc(have.Schema, func(f *bigquery.FieldSchema) bool {
			return strings.EqualFold(f.Name,
				c.Name)
		})
		if i < 0 {
			missing = append(missing, field(c, false)) // not required: rows that exist have no value for it
			continue
		}
		switch f := have.Schema[i]; {
		case typeName(f.Type) != typeNames[c.Type] || f.Repeated:
			say("column %s is %s, and the job writes %s", f.Name, strings.TrimSpace(typeName(f.Type)+" "+repeated(f)),
				typeNames[c.Type])
		case f.Required && !c.Required:
			say("column %s is REQUIRED, and the job may write NULL; ALTER COLUMN %s DROP NOT NULL fixes it", f.Name,
				f.Name)
		}
	}
	for _, f := range have.Schema {
		ours := slices.ContainsFunc(want.Columns, func(c sinks.Column) bool {
			return strings.EqualFold(f.Name,
				c.Name)
		})
		if !ours && f.Required {
			say("column %s is REQUIRED, and the job doesn't write it; ALTER COLUMN %s DROP NOT NULL fixes it", f.Name,
				f.Name)
		}
	}
	if len(wrong) > 0 {
		return nil, fmt.Errorf("the table %s doesn't fit what the job writes: %s. Nothing was changed. Fix what can "+
			"be fixed, "+
			"name another table in the job, or drop the table and run a backfill", name, strings.Join(wrong, "; "))
	}
	return missing, nil
}

// repeated returns the word for a column that is an array, and "" for any other.
func repeated(f *bigquery.FieldSchema) string {
	if f.Repeated {
		return "REPEATED"
	}
	return ""
}

// typeName returns the name of a type in the SQL reference. The REST interface answers with older
// names (https://cloud.google.com/bigquery/docs/reference/rest/v2/tables#TableFieldSchema).
func typeName(name bigquery.FieldType) string {
	switch name {
	case bigquery.IntegerFieldType:
		return "INT64"
	case bigquery.FloatFieldType:
		return "FLOAT64"
	case bigquery.BooleanFieldType:
		return "BOOL"
	case bigquery.RecordFieldType:
		return "STRUCT"
	}
	return string(name)
}

// describe writes how a table is partitioned, for comparison with describeWanted.
func describe(t *bigquery.TableMetadata) string {
	switch p := t.TimePartitioning; {
	case t.RangePartitioning != nil:
		return fmt.Sprintf("partitioned by ranges of %s", t.RangePartitioning.Field)
	case p == nil:
		return "not partitioned"
	case p.Field == "":
		return fmt.Sprintf("partitioned by %s of the time of loading", p.Type)
	default:
		return fmt.Sprintf("partitioned by %s of %s", p.Type, strings.ToLower(p.Field))
	}
}

// describeWanted writes how a table should be partitioned, in the words of describe.
func describeWanted(want *sinks.Schema) string {
	kind, _ := partitioning(want.Period) // locate has refused unknown periods
	if kind == "" {
		return "not partitioned"
	}
	return fmt.Sprintf("partitioned by %s of %s", kind, strings.ToLower(want.On))
}

func clusterNames(c *bigquery.Clustering) string {
	if c == nil {
		return ""
	}
	return strings.Join(c.Fields, ", ")
}

func orNothing(names string) string {
	if names == "" {
		return "nothing"
	}
	return names
}
