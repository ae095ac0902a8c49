package bqtest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	bq "google.golang.org/api/bigquery/v2"
)

// A compiler turns a parsed statement into SQLite's SQL, with a type for every expression: NUMERIC is text here and needs
// functions of its own, and the result needs a schema. Its methods panic with a *refusal, see caught.
type compiler struct {
	s        *Server
	query    string
	defaults *bq.DatasetReference // of tables that are named without a dataset; may be nil
	location string               // where the job runs; "" anywhere
	now      time.Time
	views    []string // those being expanded
	aliases  int
	pushed   map[string]bool // columns of the query being compiled that the query around it filters by, in small letters
	anyPart  bool            // a view is being made: who reads it brings the partition filter

	functions map[string]function
}

// A typed is an expression in SQLite's SQL.
type typed struct {
	sql     string
	kind    string // "" for a NULL without a type
	literal bool
}

// A compiled is a query in SQLite's SQL.
type compiled struct {
	sql    string
	fields []*bq.TableFieldSchema
}

// A scope is what an expression may name.
type scope struct {
	sources []*scopeSource
	ctes    map[string]compiled
}

type scopeSource struct {
	alias  string // as the query names it
	name   string // in the SQL
	fields []*bq.TableFieldSchema
}

func (c *compiler) fail(pos int, format string, args ...any) {
	panic(refuse("invalidQuery", "%s at %s", fmt.Sprintf(format, args...), place(c.query, pos)))
}

func (c *compiler) missing(pos int, format string, args ...any) {
	panic(refuse("notImplemented", "bqtest doesn't know %s at %s", fmt.Sprintf(format, args...), place(c.query, pos)))
}

func (c *compiler) alias() string {
	c.aliases++
	return fmt.Sprintf("s%d", c.aliases)
}

// tableOf finds the table that a path names.
func (c *compiler) tableOf(path string, pos int) *table {
	parts := strings.Split(path, ".")
	switch {
	case len(parts) == 1 && c.defaults != nil:
		parts = []string{c.defaults.ProjectId, c.defaults.DatasetId, parts[0]}
	case len(parts) == 1:
		c.fail(pos, "Table \"%s\" must be qualified with a dataset (e.g. dataset.table).", path)
	case len(parts) == 2 && c.defaults != nil:
		parts = append([]string{c.defaults.ProjectId}, parts...)
	}
	if len(parts) != 3 {
		c.missing(pos, "a table path of %d names (%s)", len(parts), path)
	}
	if _, r := c.s.place(parts[0], parts[1], c.location); r != nil {
		panic(r)
	}
	t, r := c.s.findTable(parts[0], parts[1], parts[2])
	if r != nil {
		panic(r)
	}
	return t
}

// relation is a table, view, WITH or nested query as something to select from.
func (c *compiler) relation(r relation, ctes map[string]compiled) (compiled, *table) {
	if r.query != nil {
		return c.selection(r.query, ctes), nil
	}
	if q, ok := ctes[strings.ToLower(r.path)]; ok {
		return q, nil
	}
	if q, ok := c.metadata(r.path, r.pos); ok {
		return q, nil
	}
	t := c.tableOf(r.path, r.pos)
	if !t.isView() {
		return compiled{"SELECT * FROM " + t.Rows, t.Doc.Schema.Fields}, t
	}
	if slices.Contains(c.views, t.key()) {
		c.fail(r.pos, "View %s references itself", t.key())
	}
	inner := &compiler{s: c.s, query: t.Doc.View.Query, location: c.location, now: c.now, views: append(slices.Clone(c.views), t.key()), aliases: c.aliases, functions: c.functions, pushed: c.pushed, anyPart: c.anyPart}
	st, refused := parseStatement(inner.query)
	if refused != nil {
		panic(refused)
	}
	q := inner.selection(st.query, nil)
	c.aliases = inner.aliases
	return q, nil
}

// selection compiles a whole query.
func (c *compiler) selection(q *selection, outer map[string]compiled) compiled {
	ctes := map[string]compiled{}
	for name, cte := range outer {
		ctes[name] = cte
	}
	for _, w := range q.with {
		ctes[strings.ToLower(w.alias)] = c.selection(w.query, ctes)
	}
	var parts []compiled
	var first *partScope
	for _, p := range q.parts {
		compiledPart, ps := c.part(p, ctes)
		parts = append(parts, compiledPart)
		first = ps
	}
	all := c.union(parts, q.pos)
	if len(q.order) > 0 {
		if len(parts) > 1 {
			first = nil
		}
		all.sql += " ORDER BY " + c.orderOf(q.order, all.fields, first)
	}
	if q.limit != nil {
		if q.limit.op != opLiteral || q.limit.kind != typeInteger {
			c.fail(q.limit.pos, "LIMIT expects an integer literal")
		}
		all.sql += " LIMIT " + q.limit.text
	}
	return all
}

// union gives the parts' columns their common types.
func (c *compiler) union(parts []compiled, pos int) compiled {
	if len(parts) == 1 {
		return parts[0]
	}
	fields := make([]*bq.TableFieldSchema, len(parts[0].fields))
	for i, f := range parts[0].fields {
		fields[i] = &bq.TableFieldSchema{Name: f.Name, Type: f.Type, Mode: "NULLABLE"}
		for _, p := range parts[1:] {
			if len(p.fields) != len(fields) {
				c.fail(pos, "Queries in UNION ALL have mismatched column count; query 1 has %d columns, another has %d", len(fields), len(p.fields))
			}
			super, ok := supertype(fields[i].Type, p.fields[i].Type)
			if !ok {
				c.fail(pos, "Column %d in UNION ALL has incompatible types: %s, %s", i+1, fields[i].Type, p.fields[i].Type)
			}
			fields[i].Type = super
		}
	}
	var sqls []string
	for _, p := range parts {
		name := c.alias()
		var columns []string
		for i, f := range p.fields {
			cell := c.convert(typed{sql: name + "." + quotedName(f.Name), kind: f.Type}, fields[i].Type, pos)
			columns = append(columns, cell+" AS "+quotedName(fields[i].Name))
		}
		sqls = append(sqls, "SELECT "+strings.Join(columns, ", ")+" FROM ("+p.sql+") AS "+name)
	}
	return compiled{strings.Join(sqls, " UNION ALL "), fields}
}

// supertype is what both coerce to. https://cloud.google.com/bigquery/docs/reference/standard-sql/conversion_rules
func supertype(a, b string) (string, bool) {
	numbers := []string{typeInteger, typeNumeric, typeFloat}
	i, j := slices.Index(numbers, a), slices.Index(numbers, b)
	switch {
	case a == b || b == "":
		return a, true
	case a == "":
		return b, true
	case i >= 0 && j >= 0:
		return numbers[max(i, j)], true
	}
	return "", false
}

// convert makes an expression another type's, as far as that happens without a CAST.
func (c *compiler) convert(t typed, kind string, pos int) string {
	switch {
	case t.kind == kind || t.kind == "":
		return t.sql
	case t.kind == typeInteger && kind == typeNumeric:
		return "CAST(" + t.sql + " AS TEXT)"
	case (t.kind == typeInteger || t.kind == typeNumeric) && kind == typeFloat:
		return "CAST(" + t.sql + " AS REAL)"
	}
	c.fail(pos, "A value of type %s can't be used as %s", t.kind, kind)
	return ""
}

// quotedName quotes a name that may hold anything.
func quotedName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
