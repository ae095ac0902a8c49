package bqtest

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	bq "google.golang.org/api/bigquery/v2"
)

// A partScope is what the ORDER BY behind a SELECT may name besides the columns of the result.
type partScope struct {
	scope   *scope
	groups  []string // SQL of the GROUP BY
	grouped bool
}

// part compiles one SELECT.
func (c *compiler) part(p *selectPart, ctes map[string]compiled) (compiled, *partScope) {
	sc := &scope{ctes: ctes}
	from := c.from(p, sc)
	items := c.expandStars(p.items, sc)
	ps := &partScope{scope: sc, grouped: len(p.groups) > 0 || p.having != nil}
	for _, item := range items {
		ps.grouped = ps.grouped || hasAggregate(item.value)
	}
	for _, g := range p.groups {
		t := c.expr(c.unalias(g, items, sc), sc)
		if t.kind == typeFloat {
			c.fail(g.pos, "Grouping by expressions of type FLOAT64 is not allowed")
		}
		ps.groups = append(ps.groups, t.sql)
	}
	out := compiled{}
	var columns []string
	seen := map[string]bool{}
	for i, item := range items {
		if ps.grouped {
			c.checkGrouped(item.value, ps)
		}
		t := c.expr(item.value, sc)
		name := c.itemName(item, i)
		if seen[strings.ToLower(name)] {
			c.fail(item.value.pos, "Duplicate column names in the result are not supported. Found duplicate(s): %s", name)
		}
		seen[strings.ToLower(name)] = true
		columns = append(columns, t.sql+" AS "+quotedName(name))
		kind := t.kind
		if kind == "" {
			kind = typeInteger // what BigQuery makes of a NULL without a type
		}
		out.fields = append(out.fields, &bq.TableFieldSchema{Name: name, Type: kind, Mode: "NULLABLE"})
	}
	out.sql = "SELECT "
	if p.distinct {
		out.sql += "DISTINCT "
	}
	tail := from
	if p.where != nil {
		if hasAggregate(p.where) {
			c.fail(p.where.pos, "Aggregate function not allowed in WHERE clause")
		}
		tail += " WHERE " + c.condition(p.where, sc)
	}
	if len(ps.groups) > 0 {
		tail += " GROUP BY " + strings.Join(ps.groups, ", ")
	}
	if p.having != nil {
		having := c.unaliasAll(p.having, items, sc)
		c.checkGrouped(having, ps)
		tail += " HAVING " + c.condition(having, sc)
	}
	if p.qualify != nil {
		qualify := c.condition(c.unaliasAll(p.qualify, items, sc), sc)
		inner := out.sql + strings.Join(append(columns, qualify+` AS "__root__qualify"`), ", ") + tail
		var names []string
		for _, f := range out.fields {
			names = append(names, quotedName(f.Name))
		}
		out.sql = "SELECT " + strings.Join(names, ", ") + " FROM (" + inner + `) WHERE "__root__qualify"`
		return out, nil
	}
	out.sql += strings.Join(columns, ", ") + tail
	return out, ps
}

// from compiles the FROM clause and fills the scope.
func (c *compiler) from(p *selectPart, sc *scope) string {
	if len(p.from) == 0 {
		return ""
	}
	sql := " FROM "
	outside := c.pushed
	defer func() { c.pushed = outside }()
	for i, item := range p.from {
		alias := item.alias
		if alias == "" {
			alias = item.path[strings.LastIndex(item.path, ".")+1:]
		}
		c.pushed = pushedTo(p, alias, item.on, outside)
		q, t := c.relation(item.relation, sc.ctes)
		src := &scopeSource{name: c.alias(), alias: alias, fields: q.fields}
		sc.sources = append(sc.sources, src)
		if i > 0 {
			sql += " " + item.join + " "
		}
		sql += "(" + q.sql + ") AS " + src.name
		if item.on != nil {
			sql += " ON " + c.condition(item.on, sc)
		}
		if t != nil {
			c.requireFilter(t, c.pushed)
		}
	}
	return sql
}

// pushedTo is the columns of a source that the query filters by: its own conditions do, or the query around it does by a
// column that it passes on.
func pushedTo(p *selectPart, alias string, on *expr, outside map[string]bool) map[string]bool {
	names := map[string]bool{}
	filtered(p.where, alias, names)
	filtered(on, alias, names)
	for _, item := range p.items {
		switch {
		case item.value.is(opStar):
			maps.Copy(names, outside)
		case item.value.is(opColumn):
			column := strings.ToLower(item.value.text[strings.LastIndex(item.value.text, ".")+1:])
			if outside[column] && item.alias == "" || outside[strings.ToLower(item.alias)] {
				names[column] = true
			}
		}
	}
	return names
}

// filtered adds the columns of a source that the condition compares.
func filtered(e *expr, alias string, into map[string]bool) {
	if e == nil {
		return
	}
	compares := slices.Contains([]string{"=", "<", "<=", ">", ">=", "BETWEEN", "IN", "IS NULL"}, e.op)
	for _, a := range e.args {
		if compares && a.is(opColumn) {
			owner, name, qualified := strings.Cut(a.text, ".")
			if !qualified {
				into[strings.ToLower(owner)] = true
			} else if strings.EqualFold(owner, alias) {
				into[strings.ToLower(name)] = true
			}
		}
		filtered(a, alias, into)
	}
}

// requireFilter refuses to read a table whole that says it mustn't be.
// https://cloud.google.com/bigquery/docs/querying-partitioned-tables#require-partition-filter
func (c *compiler) requireFilter(t *table, filters map[string]bool) {
	if !t.Doc.RequirePartitionFilter || c.anyPart {
		return
	}
	column := t.partitioned().Field
	if !filters[strings.ToLower(column)] {
		panic(refuse("invalidQuery", "Cannot query over table '%s' without a filter over column(s) '%s' that can be used for partition elimination", t.key(), column))
	}
}

func (c *compiler) expandStars(items []selectItem, sc *scope) []selectItem {
	var all []selectItem
	for _, item := range items {
		if !item.value.is(opStar) {
			all = append(all, item)
			continue
		}
		found := false
		for _, src := range sc.sources {
			if item.value.text != "" && !strings.EqualFold(item.value.text, src.alias) {
				continue
			}
			found = true
			for _, f := range src.fields {
				text := f.Name
				if src.alias != "" {
					text = src.alias + "." + f.Name
				}
				all = append(all, selectItem{value: &expr{op: opColumn, text: text, pos: item.value.pos}, alias: f.Name})
			}
		}
		if !found {
			c.fail(item.value.pos, "SELECT * must have a FROM clause that it can mean")
		}
	}
	return all
}

// itemName is the column's name: its alias, the last name of a path, or f0_ and so on.
func (c *compiler) itemName(item selectItem, i int) string {
	switch {
	case item.alias != "":
		return item.alias
	case item.value.is(opColumn):
		return item.value.text[strings.LastIndex(item.value.text, ".")+1:]
	}
	return "f" + strconv.Itoa(i) + "_"
}

// unalias takes what GROUP BY may name (an ordinal, an alias) for the expression that is meant.
func (c *compiler) unalias(e *expr, items []selectItem, sc *scope) *expr {
	if e.is(opLiteral) && e.kind == typeInteger {
		n, err := strconv.Atoi(e.text)
		if err != nil || n < 1 || n > len(items) {
			c.fail(e.pos, "GROUP BY is out of SELECT column number range: %s", e.text)
		}
		return items[n-1].value
	}
	if e.is(opColumn) && len(sc.find(e.text)) == 0 {
		for _, item := range items {
			if strings.EqualFold(item.alias, e.text) {
				return item.value
			}
		}
	}
	return e
}

// unaliasAll is unalias for every column in an expression, as HAVING and QUALIFY may name aliases anywhere.
func (c *compiler) unaliasAll(e *expr, items []selectItem, sc *scope) *expr {
	if e.is(opColumn) {
		return c.unalias(e, items, sc)
	}
	fresh := *e
	fresh.args = slices.Clone(e.args)
	for i, a := range fresh.args {
		fresh.args[i] = c.unaliasAll(a, items, sc)
	}
	return &fresh
}

// checkGrouped refuses what has many values in a group.
func (c *compiler) checkGrouped(e *expr, ps *partScope) {
	if isAggregate(e) || e.op == opLiteral || e.op == opPart {
		return
	}
	if slices.Contains(ps.groups, c.expr(e, ps.scope).sql) {
		return
	}
	if e.op == opColumn {
		c.fail(e.pos, "SELECT list expression references column %s which is neither grouped nor aggregated", e.text)
	}
	for _, a := range e.args {
		if a.op != opStar && a.op != "INTERVAL" && a.op != opPart {
			c.checkGrouped(a, ps)
		}
	}
}

func (c *compiler) orderOf(order []ordering, fields []*bq.TableFieldSchema, ps *partScope) string {
	var terms []string
	for _, o := range order {
		term, kind := "", ""
		for i, f := range fields {
			if o.by.is(opColumn) && strings.EqualFold(o.by.text, f.Name) || o.by.is(opLiteral) && o.by.kind == typeInteger && o.by.text == strconv.Itoa(i+1) {
				term, kind = strconv.Itoa(i+1), f.Type
			}
		}
		if term == "" {
			if ps == nil || o.by.is(opLiteral) {
				c.fail(o.by.pos, "ORDER BY must name a column of the result here")
			}
			if ps.grouped {
				c.checkGrouped(o.by, ps)
			}
			t := c.expr(o.by, ps.scope)
			term, kind = t.sql, t.kind
		}
		terms = append(terms, sorted(term, kind, o.desc))
	}
	return strings.Join(terms, ", ")
}

func sorted(term, kind string, desc bool) string {
	if kind == typeNumeric {
		term += " COLLATE bq_numeric"
	}
	if desc {
		term += " DESC"
	}
	return term
}

// deletion compiles the condition of a DELETE.
func (c *compiler) deletion(d *deletion) (string, *table) {
	t := c.tableOf(d.table.path, d.table.pos)
	if t.isView() {
		c.fail(d.table.pos, "%s is a view and can't be modified", t.key())
	}
	src := &scopeSource{name: t.Rows, alias: d.table.alias, fields: t.Doc.Schema.Fields}
	if src.alias == "" {
		src.alias = t.Doc.TableReference.TableId
	}
	filters := map[string]bool{}
	filtered(d.where, src.alias, filters)
	c.requireFilter(t, filters)
	return c.condition(d.where, &scope{sources: []*scopeSource{src}}), t
}

// tablesOf are the datasets that a statement names, for the location that its job runs in.
func tablesOf(st *statement) []string {
	paths := map[string]bool{}
	var walk func(q *selection)
	walk = func(q *selection) {
		for _, w := range q.with {
			walk(w.query)
		}
		for _, p := range q.parts {
			for _, f := range p.from {
				if f.query != nil {
					walk(f.query)
				} else {
					paths[f.path] = true
				}
			}
		}
	}
	if st.query != nil {
		walk(st.query)
	}
	if st.del != nil {
		paths[st.del.table.path] = true
	}
	return slices.Sorted(maps.Keys(paths))
}
