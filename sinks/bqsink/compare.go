package bqsink

import (
	"fmt"
	"slices"
	"strings"

	"cloud.google.com/go/bigquery"

	"github.com/reportferry/reportferry/sinks"
)

// compare tells what a table lacks of the schema, and refuses a table that can't become it. Every difference is in the
// error, with what to do, because who mends one at a time waits for a night each.
func compare(name string, have *bigquery.TableMetadata, want *sinks.Schema) (missing bigquery.Schema, err error) {
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if have.Type != "" && have.Type != bigquery.RegularTable {
		say("it is a %s, and rows are loaded into tables only", strings.ToLower(string(have.Type)))
	}
	if was, should := describe(have), describeWanted(want); was != should {
		say("it is %s, and the job's rows want it %s; a table's partitioning can't be changed", was, should)
	}
	if was, should := clusterNames(have.Clustering), strings.Join(want.ClusterBy, ", "); !strings.EqualFold(was, should) {
		say("it is clustered by %s, and the job's config says %s; set cluster_by to what it is, or alter the table's clustering", orNothing(was), orNothing(should))
	}
	for _, c := range want.Columns {
		i := slices.IndexFunc(have.Schema, func(f *bigquery.FieldSchema) bool { return strings.EqualFold(f.Name, c.Name) })
		if i < 0 {
			missing = append(missing, field(c, false)) // rows that are there already have no value in it
			continue
		}
		switch f := have.Schema[i]; {
		case typeName(f.Type) != typeNames[c.Type] || f.Repeated:
			say("column %s is %s, and the job gives %s", f.Name, strings.TrimSpace(typeName(f.Type)+" "+repeated(f)), typeNames[c.Type])
		case f.Required && !c.Required:
			say("column %s is REQUIRED, and the job may give NULL; ALTER COLUMN %s DROP NOT NULL mends it", f.Name, f.Name)
		}
	}
	for _, f := range have.Schema {
		ours := slices.ContainsFunc(want.Columns, func(c sinks.Column) bool { return strings.EqualFold(f.Name, c.Name) })
		if !ours && f.Required {
			say("column %s is REQUIRED, and the job doesn't give it; ALTER COLUMN %s DROP NOT NULL mends it", f.Name, f.Name)
		}
	}
	if len(wrong) > 0 {
		return nil, fmt.Errorf("the table %s is not the one that the job writes: %s. Nothing was changed. Mend what can be mended, "+
			"name another table in the job, or drop the table and run a backfill", name, strings.Join(wrong, "; "))
	}
	return missing, nil
}

func repeated(f *bigquery.FieldSchema) string {
	if f.Repeated {
		return "REPEATED"
	}
	return ""
}

// typeName gives a type the name of the SQL reference: the REST interface answers with the older names
// (https://cloud.google.com/bigquery/docs/reference/rest/v2/tables#TableFieldSchema).
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

func describeWanted(want *sinks.Schema) string {
	kind, _ := partitioning(want.Period) // locate has refused what has none
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
