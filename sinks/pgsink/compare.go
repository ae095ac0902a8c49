package pgsink

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/sinks"
)

// notOurs is why a table for which no load is recorded is left alone.
const notOurs = "reportferry didn't make it, and a put would delete rows of it"

// relations are the values of pg_class.relkind for what isn't an ordinary table
// (https://www.postgresql.org/docs/current/catalog-pg-class.html).
var relations = map[string]string{
	"v": "a view", "m": "a materialized view", "f": "a foreign table", "S": "a sequence", "i": "an index",
	"I": "an index", "c": "a type",
}

// compare returns the columns of the schema that a table doesn't have yet. If the table can't be
// changed to fit the schema, the error lists every difference with its remedy, because a nightly
// job that named one at a time would cost a night each.
func compare(name string, have tableInfo, want *sinks.Schema) (missing []sinks.Column, err error) {
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if kind := relations[have.kind]; kind != "" {
		say("it is %s, and rows can be put only into a table", kind)
	} else if !have.ours {
		say(notOurs)
	}
	if was, should := describe(have), describeWanted(want); was != should {
		say("it is %s, and the job's config says %s; a table can't be changed from one to the other", was, should)
	}
	for _, c := range want.Columns {
		i := slices.IndexFunc(have.columns, func(h column) bool { return h.name == c.Name })
		if i < 0 {
			missing = append(missing, c)
			continue
		}
		switch h := have.columns[i]; {
		case h.sqlType != typeNames[c.Type]:
			say("column %s is %s, and the job writes %s", h.name, h.sqlType, typeNames[c.Type])
		case h.required && !c.Required:
			say("column %s is NOT NULL, and the job may write NULL; ALTER COLUMN %s DROP NOT NULL fixes it", h.name,
				quote(h.name))
		}
	}
	for _, h := range have.columns {
		ours := slices.ContainsFunc(want.Columns, func(c sinks.Column) bool { return h.name == c.Name })
		if !ours && h.required && !h.hasDefault {
			say("column %s is NOT NULL, and the job doesn't write it; ALTER COLUMN %s DROP NOT NULL fixes it", h.name,
				quote(h.name))
		}
	}
	if len(wrong) > 0 {
		return nil, fmt.Errorf("the table %s doesn't fit what the job writes: %s. Nothing was changed. Fix what can "+
			"be fixed, "+
			"name another table in the job, or drop the table and run a backfill", name, strings.Join(wrong, "; "))
	}
	return missing, nil
}

// describe returns in words how a table is partitioned.
func describe(have tableInfo) string {
	if have.partitionKey == "" {
		return "not partitioned"
	}
	return "partitioned by " + strings.ReplaceAll(have.partitionKey, `"`, "")
}

// describeWanted returns in words how the schema wants a table partitioned.
func describeWanted(want *sinks.Schema) string {
	if !want.Partitioned {
		return "not partitioned"
	}
	return "partitioned by RANGE (" + want.On + ")"
}
