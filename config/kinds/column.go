package kinds

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/config/shape"
	"github.com/reportferry/reportferry/config/strict"
	"github.com/reportferry/reportferry/internal/catalog"
)

// dimension reads any name of a column. Its schema lets an editor complete the catalogue's names.
var dimension = strict.Shape[string]{
	Read: strict.Text.Read,
	Schema: func() *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string",
			AnyOf: []*jsonschema.Schema{strict.OneOf(catalog.Dimensions()...).Schema(),
				{Pattern: shape.ColumnForm.String()}}}
	},
}

// checkDimensions warns of dimensions that the catalogue lacks, and refuses metrics among the
// dimensions. As with metrics, the service has more than any list of them, so an unknown dimension
// is asked for. Its column is a text, because it is unknown how the service would write a date.
func checkDimensions(d *strict.Decoder, r *Report, p *parts) {
	for _, dim := range p.dimensions {
		_, known := catalog.Dimension(dim.Text)
		_, metric := catalog.Metric(dim.Text)
		declared := slices.ContainsFunc(p.types, func(t strict.Item) bool { return t.Text == dim.Text })
		switch {
		case known || declared || !shape.ColumnForm.MatchString(dim.Text): // checkColumns reports a bad name
		case metric:
			d.Fail(dim.Node, "dimensions: %s is a metric; it belongs under metrics", dim.Text)
		default:
			d.Warn(dim.Node, "dimensions: the catalogue doesn't know %s%s the service is asked for it, and its "+
				"column is STRING; "+
				"types: {%s: string} ends this warning", dim.Text, otherwise(didYouMeanDimension(dim.Text)), dim.Text)
		}
	}
	// The header of an answer shows whether the service knows a dimension. Nothing would show that
	// it ignored a filter, so a filter that is likely misspelt is refused.
	for _, f := range p.filteredDimensions {
		near := didYouMeanDimension(f.Text)
		switch {
		case slices.Contains(r.Dimensions, f.Text):
		case near != "":
			d.Fail(f.Node, "filters: unknown dimension %q%s if the service has it, list it under dimensions too",
				f.Text, near)
		default:
			d.Warn(f.Node, "filters: the catalogue doesn't know the dimension %s; the service is asked to filter by it",
				f.Text)
		}
	}
}

func didYouMeanDimension(name string) string {
	if name == "date" { // what every other tool calls it
		return "; did you mean day?"
	}
	return strict.DidYouMean(name, catalog.Dimensions())
}

// checkColumns checks that the columns that are known before the service is asked have valid and
// distinct names.
func checkColumns(d *strict.Decoder, r *Report, p *parts, at map[string]strict.Node) {
	lines := map[string]int{}           // folded name of a column -> its line
	spelled := map[string]bool{}        // names of columns as they are spelled
	typed := map[string]bool{}          // folded names by which types may name a column
	renamed := map[string]strict.Node{} // dimension or metric -> its new name's place
	for _, e := range p.renamed {
		renamed[e.Key] = e.Value
		if near := slices.Concat(r.Dimensions, r.Metrics); !slices.Contains(near, e.Key) {
			d.Fail(e.KeyNode, "rename: the job lists no dimension or metric %q%s", e.Key,
				cmp.Or(strict.DidYouMean(e.Key, near), "; columns of events are named by as, under events"))
		}
	}
	// add checks one column: slug is the service's name, name the column's, key the key under which
	// the file has it, and way the end of the message when the name is taken. Names are compared
	// without case, because BigQuery and most readers do so.
	add := func(slug, name, key string, n strict.Node, way string) {
		typed[catalog.Fold(name)] = true
		if to, is := renamed[slug]; is && r.Rename[slug] != "" {
			name, key, n, way = r.Rename[slug], "rename", to, ""
		}
		line, taken := lines[catalog.Fold(name)]
		switch first, _, semicolon := strings.Cut(slug, ";"); {
		case strings.Contains(slug, ",") || semicolon && known(first):
			d.Fail(n, "%s: each name is an element of its own, as in [installs, cost], got %q; the service can't be "+
				"asked for a slug that has a comma", key, slug)
		case catalog.SameWord(name, catalog.PartitionKey):
			d.Fail(n, "%s: a column can't be named %s, which is the partition's own key", key, name)
		case !shape.ColumnForm.MatchString(name):
			d.Fail(n, "%s: want a column name of letters, digits and underscores, got %q; the command reportferry "+
				"fields lists what the service has", key, name)
		case taken:
			d.Fail(n, "%s: column %s already stands on line %d%s", key, name, line, way)
		}
		lines[catalog.Fold(name)], spelled[name] = strict.Line(n), true
	}
	for _, c := range p.dimensions {
		add(c.Text, c.Text, "dimensions", c.Node, "")
	}
	for _, c := range p.metrics {
		name, way := catalog.ColumnName(c.Text), ""
		if slug, metric, is := ofEvent(c.Text); is {
			way = fmt.Sprintf("; a name of its own is set under events: {slug: %s, metrics: [%s], as: another_name}",
				strconv.Quote(slug), metric)
		}
		add(c.Text, name, "metrics", c.Node, way)
	}
	open := false // whether the service's answer will name columns that the file doesn't
	for i, e := range r.Events {
		if e.As == "" && e.Slug == "" { // the event's slug is known once the service is asked
			open = true
			continue
		}
		for _, m := range e.Metrics {
			add("", e.column(m), "events", p.events[i], "; as: gives an event's columns another name")
		}
	}
	// Dropped and typed columns are checked against all those.
	for _, name := range r.Drop {
		if line, taken := lines[catalog.Fold(name)]; spelled[name] {
			d.Fail(at["drop"], "drop: column %s is wanted on line %d; take it out of one of the two", name, line)
		} else if taken {
			d.Warn(at["drop"], "drop: partitions lose a column %s, and not the one of line %d, which differs in case",
				name, line)
		}
	}
	for _, t := range p.types {
		if _, isDimension := catalog.Dimension(t.Text); isDimension {
			d.Fail(t.Node, "types: the type of dimension %s is fixed", t.Text)
		} else if typ, good := r.Types[t.Text]; good && typ != catalog.String && slices.Contains(r.Dimensions, t.Text) {
			d.Fail(t.Node, "types: %s is a dimension, which is always a string", t.Text)
		} else if known := typed[catalog.Fold(t.Text)]; !known && !open {
			d.Fail(t.Node, "types: the job has no column %q%s", t.Text,
				strict.DidYouMean(t.Text, slices.Sorted(maps.Keys(typed))))
		}
	}
}

// known tells whether the catalogue has a dimension or a metric of this name.
func known(name string) bool {
	_, dimension := catalog.Dimension(name)
	_, metric := catalog.Metric(name)
	return dimension || metric
}

// ofEvent splits the name of an event's metric into the event's slug and the catalogue's metric.
func ofEvent(name string) (slug, metric string, is bool) {
	for at := range name {
		if _, known := catalog.EventMetric(name[at+1:]); at > 0 && name[at] == '_' && known {
			return name[:at], name[at+1:], true
		}
	}
	return "", "", false
}

// The names that every sink allows for a column:
//   - they aren't longer than Postgres takes them
//   - they aren't those of the system columns that Postgres has in each table
//   - they don't begin with an underscore, as do the names that BigQuery and Iceberg reserve, and
//     the columns about the fetch
var (
	newName = strict.Matching(strict.Expr(`^[A-Za-z][A-Za-z0-9_]{0,62}$`),
		"a column name of a letter, and up to 62 letters, digits and underscores")
	systemColumn = strict.Expr(`^(?i:tableoid|[cx](min|max)|ctid)$`)
)

// newNames reads a mapping of dimensions and metrics to names of columns. It appends the entries to
// *all.
func newNames(all *[]strict.Entry) strict.Shape[map[string]string] {
	return strict.MapOf(func(d *strict.Decoder, e strict.Entry, key string) (string, bool) {
		*all = append(*all, e)
		name, ok := newName.Read(d, e.Value, key)
		if ok && systemColumn.MatchString(name) {
			d.Fail(e.Value, "%s: Postgres has a column %s in each table, so that no other can have its name", key, name)
		}
		return name, ok
	}, func() *jsonschema.Schema {
		return &jsonschema.Schema{Type: "object", AdditionalProperties: newName.Schema()}
	})
}

var columnType = strict.OneOf(catalog.String.String(), catalog.Int64.String(), catalog.Decimal.String(),
	catalog.Double.String())

// types reads a mapping of columns to types. It appends the columns to *columns.
func types(columns *[]strict.Item) strict.Shape[map[string]catalog.Type] {
	return strict.MapOf(func(d *strict.Decoder, e strict.Entry, key string) (t catalog.Type, ok bool) {
		*columns = append(*columns, strict.Item{Text: e.Key, Node: e.KeyNode})
		s, ok := columnType.Read(d, e.Value, key)
		if !ok {
			return t, false
		}
		if err := t.UnmarshalText([]byte(s)); err != nil {
			d.Fail(e.Value, "%s: %v", key, err)
			return t, false
		}
		return t, true
	}, func() *jsonschema.Schema {
		return &jsonschema.Schema{Type: "object", AdditionalProperties: columnType.Schema()}
	})
}
