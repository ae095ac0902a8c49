package bqsink

import (
	"fmt"
	"slices"
	"strings"

	bq "google.golang.org/api/bigquery/v2"

	"github.com/reportferry/reportferry/sinks"
)

// Modes of a field.
const (
	nullableMode = "NULLABLE"
	requiredMode = "REQUIRED"
)

// compare tells what a table lacks of the schema, and refuses a table that can't become it. Every difference is in the
// error, with what to do, because who mends one at a time waits for a night each.
func compare(have *bq.Table, want *sinks.Schema) (missing []*bq.TableFieldSchema, err error) {
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if have.Type != "" && have.Type != "TABLE" {
		say("it is a %s, and rows are loaded into tables only", strings.ToLower(have.Type))
	}
	if was, should := describe(have), describeWanted(want); was != should {
		say("it is %s, and the job's rows want it %s; a table's partitioning can't be changed", was, should)
	}
	if was, should := clusterNames(have.Clustering), strings.Join(want.ClusterBy, ", "); !strings.EqualFold(was, should) {
		say("it is clustered by %s, and the job's config says %s; set cluster_by to what it is, or alter the table's clustering", orNothing(was), orNothing(should))
	}
	var fields []*bq.TableFieldSchema
	if have.Schema != nil {
		fields = have.Schema.Fields
	}
	for _, c := range want.Columns {
		i := slices.IndexFunc(fields, func(f *bq.TableFieldSchema) bool { return strings.EqualFold(f.Name, c.Name) })
		if i < 0 {
			missing = append(missing, field(c, false)) // rows that are there already have no value in it
			continue
		}
		switch f := fields[i]; {
		case typeName(f.Type) != string(c.Type) || f.Mode == "REPEATED":
			say("column %s is %s, and the job gives %s", f.Name, strings.TrimSpace(typeName(f.Type)+" "+repeated(f)), c.Type)
		case f.Mode == requiredMode && !c.Required:
			say("column %s is REQUIRED, and the job may give NULL; ALTER COLUMN %s DROP NOT NULL mends it", f.Name, f.Name)
		}
	}
	for _, f := range fields {
		ours := slices.ContainsFunc(want.Columns, func(c sinks.Column) bool { return strings.EqualFold(f.Name, c.Name) })
		if !ours && f.Mode == requiredMode {
			say("column %s is REQUIRED, and the job doesn't give it; ALTER COLUMN %s DROP NOT NULL mends it", f.Name, f.Name)
		}
	}
	if len(wrong) > 0 {
		return nil, fmt.Errorf("the table %s is not the one that the job writes: %s. Nothing was changed. Mend what can be mended, "+
			"name another table in the job, or drop the table and run a backfill", have.TableReference.TableId, strings.Join(wrong, "; "))
	}
	return missing, nil
}

func repeated(f *bq.TableFieldSchema) string {
	if f.Mode == "REPEATED" {
		return "REPEATED"
	}
	return ""
}

// typeName gives a type the name of the SQL reference: the REST interface answers with the older names
// (https://cloud.google.com/bigquery/docs/reference/rest/v2/tables#TableFieldSchema).
func typeName(name string) string {
	switch name {
	case "INTEGER":
		return string(sinks.Int64)
	case "FLOAT":
		return string(sinks.Float64)
	case "BOOLEAN":
		return "BOOL"
	case "RECORD":
		return "STRUCT"
	}
	return name
}

func describe(t *bq.Table) string {
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

func clusterNames(c *bq.Clustering) string {
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
