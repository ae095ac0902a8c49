package config

import (
	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/config/shape"
	"github.com/reportferry/reportferry/config/strict"
)

// Warehouse has the settings of the tables that BigQuery keeps for a job.
type Warehouse struct {
	ClusterBy     []string          // columns, at most four; none: the kind's choice
	RequireFilter bool              // queries must say which partitions they read
	ExpireDays    int               // a partition is deleted so many days after its own day; 0: never
	KMSKey        string            // resource name of the key that encrypts the table; may be empty
	Labels        map[string]string // besides those that this program sets
}

// mostClustered is how many clustering columns BigQuery takes
// (cloud.google.com/bigquery/docs/clustered-tables).
const mostClustered = 4

// warehouse reads the block bigquery of a job.
var warehouse = strict.ObjectOf(func(w *Warehouse) strict.Object {
	return strict.Object{What: "bigquery", Fields: []strict.Field{
		strict.Optional("cluster_by", clusters, &w.ClusterBy, "[app, network]",
			"Columns by which a table's rows are sorted in storage, at most four."),
		strict.Optional("require_partition_filter", strict.Bool, &w.RequireFilter, "true",
			"Whether BigQuery refuses queries that don't say which partitions they read."),
		strict.Optional("expire_days", strict.Whole(1, 36500), &w.ExpireDays, "400",
			"Days after its own day at which BigQuery deletes a partition. Without the key the dataset's default "+
				"holds."),
		strict.Optional("kms_key", kmsKey, &w.KMSKey,
			"projects/my-project/locations/eu/keyRings/my-ring/cryptoKeys/my-key", "Key that encrypts the table."),
		strict.Optional("labels", labels, &w.Labels, "{team: data}", "Labels of the table, beside our own."),
	}}
})

// clusters reads a list of columns. It checks the names only: whether the table has such columns is
// known with its schema.
var clusters = strict.Shape[[]string]{
	Read: strict.Checked(strict.TextsOf(shape.ColumnName), func(d *strict.Decoder, n strict.Node, key string,
		names []string) bool {
		if len(names) > mostClustered {
			d.Fail(n, "%s: %d columns; BigQuery takes at most %d", key, len(names), mostClustered)
		}
		return len(names) <= mostClustered
	}).Read,
	Schema: func() *jsonschema.Schema {
		s, most := strict.TextsOf(shape.ColumnName).Schema(), uint64(mostClustered)
		s.MaxItems = &most
		return s
	},
}

var (
	kmsKey = strict.Matching(strict.Expr(`^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$`),
		"a key of the form projects/P/locations/L/keyRings/R/cryptoKeys/K")
)

// What BigQuery takes as the key and as the value of a label
// (cloud.google.com/bigquery/docs/labels-intro), without the other scripts that it also takes.
var (
	labelForm      = strict.Expr(`^[a-z][a-z0-9_-]{0,62}$`)
	labelValueForm = strict.Expr(`^[a-z0-9_-]{0,63}$`)
)

// labels reads the table's labels. They are checked here, because BigQuery would refuse wrong ones
// only at the first load, at night.
var labels = strict.MapOf(func(d *strict.Decoder, e strict.Entry, key string) (string, bool) {
	value, ok := strict.Word.Read(d, e.Value, key)
	switch {
	case !ok:
	case !labelForm.MatchString(e.Key):
		d.Fail(e.KeyNode, "%s: want a key of a small letter, then up to 62 small letters, digits, underscores and "+
			"hyphens, got %q", key, e.Key)
	case !labelValueForm.MatchString(value):
		d.Fail(e.Value, "%s: want a value of up to 63 small letters, digits, underscores and hyphens, got %q", key,
			value)
	default:
		return value, true
	}
	return "", false
}, func() *jsonschema.Schema {
	return &jsonschema.Schema{
		Type:          "object",
		PropertyNames: &jsonschema.Schema{Pattern: labelForm.String()},
		AdditionalProperties: &jsonschema.Schema{Extras: map[string]any{"type": []string{"string", "number",
			"boolean"}}},
	}
})
