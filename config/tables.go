package config

import (
	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/config/shape"
	"github.com/reportferry/reportferry/config/strict"
)

// Postgres has the settings of the tables that a Postgres keeps for a job.
type Postgres struct {
	Partitioned bool       // each partition is a table of its own
	Indexes     [][]string // the columns of each index
}

// postgres reads the block postgres of a job.
var postgres = strict.ObjectOf(func(p *Postgres) strict.Object {
	return strict.Object{What: "postgres", Fields: []strict.Field{
		strict.Optional("partitioned", strict.Bool, &p.Partitioned, "true",
			"Whether each partition is a table of its own below the table (PARTITION BY RANGE), which is swapped "+
				"instead of deleted and filled. "+
				"It is for tables of many millions of rows, and can't be changed later."),
		strict.Optional("indexes", columnLists, &p.Indexes, "[[app_token, network], [country_code]]",
			"Indexes of the table, each a list of columns, beside the one by date that it always has unless it is "+
				"partitioned."),
	}}
})

// columnLists reads lists of columns. It checks the names only: whether the table has such columns
// is known with its schema.
var columnLists = strict.Shape[[][]string]{
	Read: func(d *strict.Decoder, n strict.Node, key string) (lists [][]string, ok bool) {
		for _, e := range d.Elements(n, key) {
			if columns, good := strict.TextsOf(shape.ColumnName).Read(d, e, key); good {
				lists = append(lists, columns)
			}
		}
		return lists, len(lists) > 0
	},
	Schema: func() *jsonschema.Schema { return strict.ArrayOf(strict.TextsOf(shape.ColumnName).Schema()) },
}

// Iceberg has the settings of the tables that an Iceberg catalog keeps for a job.
type Iceberg struct {
	ExpireDays int // how many days a state can be read after the next one replaced it; 0: for ever
}

// usualStates is how the names of the state tables begin by default: those that say what is final
// and what was restated.
const usualStates = "_reportferry_"

// statesForm leaves room for the names of jobs' tables in the 63 bytes of a name in Postgres.
var statesForm = strict.Matching(strict.Expr(`^[a-z_][a-z0-9_]{0,30}_$`),
	"how their names begin: small letters, digits and underscores, with one at the end, as in reportferry_")

// states returns the key state_tables, which fills *to.
func states(to *string) strict.Field {
	f := strict.Optional("state_tables", strict.Shape[string]{
		Read: func(d *strict.Decoder, n strict.Node, key string) (string, bool) {
			switch v, ok := strict.Word.Read(d, n, key); {
			case !ok || v == "false":
				return "", ok
			case v == "true":
				return usualStates, true
			}
			return statesForm.Read(d, n, key)
		},
		Schema: func() *jsonschema.Schema {
			return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{strict.Bool.Schema(), statesForm.Schema()}}
		},
	}, to, "reportferry_",
		"Whether the sinks get the tables `_reportferry_partitions` and `_reportferry_restatements`, which say "+
			"what is final and what was restated, or how their names begin instead: Athena reads no folder that "+
			"begins with an underscore. The next run that fetches something writes all of them under a new name; "+
			"the old ones stay.")
	f.Now = func() any {
		if *to == "" {
			return strict.Literal("false")
		}
		return *to
	}
	return f
}

// expiry reads a number of days. It is at least 2, so that the states of a night and a day are
// left: a query that has begun reads files of the state that it began with, and a put that was
// interrupted finds in the states what became of it.
var expiry = shape.DaysAs(`^([2-9]|[1-9][0-9]{1,4})d$`, "a number of days from 2d to 99999d, such as 30d")

// iceberg reads the block iceberg of a job.
var iceberg = strict.ObjectOf(func(i *Iceberg) strict.Object {
	return strict.Object{What: "iceberg", Fields: []strict.Field{
		shape.DaysFieldOf(expiry, "expire", &i.ExpireDays, "30d",
			"How long old states of a table can be read (time travel). Runs remove snapshots that are older, "+
				"with the files that no other snapshot has. Without the key none are removed."),
	}}
})
