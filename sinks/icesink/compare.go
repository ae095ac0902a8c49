package icesink

import (
	"fmt"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/reportferry/reportferry/sinks"
)

// notOurs is the reason for which a table without this program's property is left alone.
const notOurs = "reportferry didn't make it, and a put would take files out of it"

// ours reports whether this program made a table.
func ours(t *table.Table) bool { return t.Properties()[propertyTable] != "" }

// compare returns the columns that a table lacks of the schema. A table that can't be brought to
// the schema is an error, which lists every difference with its remedy: a nightly job that named
// one at a time would cost a night each.
func compare(name string, t *table.Table, want *sinks.Schema) (missing []sinks.Column, err error) {
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if !ours(t) {
		say(notOurs)
	}
	have := t.Schema()
	if was, should := partitioningOf(t), partitioningWanted(want); was != should {
		say("it is %s, and the job wants it %s; somebody has changed it, or the job's period has", was, should)
	}
	wanted := map[string]bool{}
	for _, c := range want.Columns {
		wanted[c.Name] = true
		f, there := have.FindFieldByName(c.Name)
		switch {
		case !there:
			missing = append(missing, c)
		case !f.Type.Equals(types[c.Type]):
			say("column %s is %s, and the job writes %s", f.Name, f.Type, types[c.Type])
		case f.Required && !c.Required:
			say("column %s is required, and the job may write NULL; ALTER COLUMN %s DROP NOT NULL fixes it", f.Name,
				f.Name)
		}
	}
	for _, f := range have.Fields() {
		if !wanted[f.Name] && f.Required {
			say("column %s is required, and the job doesn't write it; ALTER COLUMN %s DROP NOT NULL fixes it", f.Name,
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

// partitioningOf says in words how a table is partitioned.
func partitioningOf(t *table.Table) string {
	spec, schema := t.Spec(), t.Schema()
	var by []string
	for _, f := range spec.Fields() {
		name, found := schema.FindColumnName(f.SourceID())
		if !found {
			name = "a dropped column"
		}
		by = append(by, transformText(f.Transform, name))
	}
	return partitioningText(by)
}

// partitioningWanted says in the same words how the table of a schema should be partitioned.
func partitioningWanted(s *sinks.Schema) string {
	of := fields(s)
	spec, err := partitioning(s, of)
	if err != nil {
		return err.Error()
	}
	var by []string
	for _, f := range spec.Fields() {
		by = append(by, transformText(f.Transform, s.On))
	}
	return partitioningText(by)
}

// transformText writes a partition transform of a column, such as day(date).
func transformText(by iceberg.Transform, column string) string {
	if _, plain := by.(iceberg.IdentityTransform); plain {
		return column
	}
	return by.String() + "(" + column + ")"
}

func partitioningText(list []string) string {
	if len(list) == 0 {
		return "not partitioned"
	}
	return "partitioned by " + strings.Join(list, ", ")
}
