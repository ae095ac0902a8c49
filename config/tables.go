package config

import (
	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/config/strict"
)

// Postgres is what a job asks of the tables that a Postgres keeps for it.
type Postgres struct {
	Partitioned bool       // each partition is a table of its own
	Indexes     [][]string // columns
}

// postgres is the block postgres of a job.
var postgres = strict.ObjectOf(func(p *Postgres) strict.Object {
	return strict.Object{What: "postgres", Fields: []strict.Field{
		strict.Optional("partitioned", strict.Bool, &p.Partitioned, "true", "Whether each partition is a table of its own below the table (PARTITION BY RANGE), which is swapped instead of deleted and filled. "+
			"It is for tables of many millions of rows, and can't be changed later."),
		strict.Optional("indexes", columnLists, &p.Indexes, "[[app_token, network], [country_code]]", "Indexes of the table, each a list of columns, beside the one by date that it always has unless it is partitioned."),
	}}
})

// columnLists are names only: whether the table has such columns is known with its schema.
var columnLists = strict.Shape[[][]string]{
	Read: func(d *strict.Decoder, n strict.Node, key string) (lists [][]string, ok bool) {
		for _, e := range d.Elements(n, key) {
			if columns, good := strict.TextsOf(columnName).Read(d, e, key); good {
				lists = append(lists, columns)
			}
		}
		return lists, len(lists) > 0
	},
	Schema: func() *jsonschema.Schema { return strict.ArrayOf(strict.TextsOf(columnName).Schema()) },
}

// Iceberg is what a job asks of the tables that an Iceberg catalog keeps for it.
type Iceberg struct {
	ExpireDays int // a state can be read for so many days after the next one replaced it; 0: for ever
}

// expiry leaves the states of a night and a day: a query that has begun reads files of the state that it began with, and a put that
// was interrupted finds in the states what became of it.
var expiry = daysAs(`^([2-9]|[1-9][0-9]{1,4})d$`, "a number of days from 2d to 99999d, such as 30d")

// iceberg is the block iceberg of a job.
var iceberg = strict.ObjectOf(func(i *Iceberg) strict.Object {
	return strict.Object{What: "iceberg", Fields: []strict.Field{
		daysFieldOf(expiry, "expire", &i.ExpireDays, "30d", "How long old states of a table can be read (time travel). Runs remove snapshots that are older, "+
			"with the files that no other snapshot has. Without the key none are removed."),
	}}
})
