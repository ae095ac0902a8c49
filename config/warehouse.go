package config

import (
	"github.com/goccy/go-yaml/ast"
	"github.com/invopop/jsonschema"
)

// Warehouse is what a job asks of the tables that a warehouse makes for it.
type Warehouse struct {
	ClusterBy     []string // columns, at most four; none: the kind's choice
	RequireFilter bool     // queries must say which partitions they read
	ExpireDays    int      // a partition goes so many days after its own day; 0: never
	KMSKey        string
	Labels        map[string]string
}

// mostClustered is how many clustering columns BigQuery takes (cloud.google.com/bigquery/docs/clustered-tables).
const mostClustered = 4

// warehouse is the block bigquery: of a job.
var warehouse = shape[Warehouse]{
	func(d *decoder, n ast.Node, _ string) (Warehouse, bool) {
		var w Warehouse
		return w, d.object(n, warehouseObject(&w)) != nil
	},
	func() *jsonschema.Schema { return warehouseObject(new(Warehouse)).schema() },
}

func warehouseObject(w *Warehouse) object {
	return object{what: "bigquery", fields: []field{
		optional("cluster_by", clusters, &w.ClusterBy, "Columns by which a table's rows are sorted in storage, at most four."),
		optional("require_partition_filter", boolean, &w.RequireFilter, "Refuse queries that don't say which partitions they read."),
		optional("expire_days", whole(1, 36500), &w.ExpireDays, "Days after which a partition is deleted by BigQuery, counted from its own day."),
		optional("kms_key", kmsKey, &w.KMSKey, "Key that encrypts the table: projects/P/locations/L/keyRings/R/cryptoKeys/K."),
		optional("labels", labels, &w.Labels, "Labels of the table, beside our own."),
	}}
}

var clusters = shape[[]string]{
	func(d *decoder, n ast.Node, key string) ([]string, bool) {
		names, ok := textsOf(columnName).read(d, n, key)
		if len(names) > mostClustered {
			d.fail(n, "%s: %d columns; BigQuery takes at most %d", key, len(names), mostClustered)
			return nil, false
		}
		return names, ok
	},
	func() *jsonschema.Schema {
		s, most := textsOf(columnName).schema(), uint64(mostClustered)
		s.MaxItems = &most
		return s
	},
}

var columnName = matching(columnPattern, "is no name of a column: want letters, digits and underscores")

var kmsKey = matching(expr(`^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$`),
	"is no key; want projects/P/locations/L/keyRings/R/cryptoKeys/K")

// labelPattern is what BigQuery takes as the key or value of a label (cloud.google.com/bigquery/docs/labels-intro),
// without the other scripts that it also takes.
var labelPattern = expr(`^[a-z][a-z0-9_-]{0,62}$`)

var labelValue = expr(`^[a-z0-9_-]{0,63}$`)

const notALabel = "is no label: want a small letter, then up to 62 small letters, digits, underscores and hyphens"

var labels = shape[map[string]string]{
	func(d *decoder, n ast.Node, key string) (map[string]string, bool) {
		entries, ok := d.collect(n, key, 0)
		out := map[string]string{}
		for _, e := range entries {
			value, read := d.word(e.value, key)
			switch {
			case !read:
				ok = false
			case !labelPattern.MatchString(e.key):
				d.fail(e.keyNode, "%s: %q %s", key, e.key, notALabel)
				ok = false
			case !labelValue.MatchString(value):
				d.fail(e.value, "%s: %q is no label's value: want up to 63 small letters, digits, underscores and hyphens", key, value)
				ok = false
			}
			out[e.key] = value
		}
		return out, ok
	},
	func() *jsonschema.Schema {
		return &jsonschema.Schema{
			Type:                 "object",
			PropertyNames:        &jsonschema.Schema{Pattern: labelPattern.String()},
			AdditionalProperties: &jsonschema.Schema{Extras: map[string]any{"type": []string{"string", "number", "boolean"}}},
		}
	},
}
