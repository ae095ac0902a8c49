package views

import "strings"

// InCatalog returns the Place of a namespace of a catalog, as an engine names it. Spark has a name
// for each level of the namespace. Trino and DuckDB have one schema, whose name has dots. DuckDB
// can't keep views in a catalog that it attaches, so they have no catalog in their names there.
func InCatalog(d Dialect, catalog string, namespace []string) Place {
	path := []string{catalog, strings.Join(namespace, ".")}
	if d.Name == Spark.Name {
		path = append([]string{catalog}, namespace...)
	}
	table := func(name string) string {
		var quoted []string
		for _, part := range append(path[:len(path):len(path)], name) {
			quoted = append(quoted, d.Quote(part))
		}
		return strings.Join(quoted, ".")
	}
	if d.Name == DuckDB.Name {
		return Place{Dialect: d, Table: table, Named: d.Quote}
	}
	return Place{Dialect: d, Table: table, Named: table}
}
