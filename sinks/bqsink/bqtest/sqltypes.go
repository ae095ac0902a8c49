package bqtest

import (
	"fmt"
	"slices"
	"strings"
)

// find is the columns that a path may mean.
func (sc *scope) find(path string) []typed {
	var found []typed
	for _, src := range sc.sources {
		name := path
		if alias, rest, ok := strings.Cut(path, "."); ok {
			if !strings.EqualFold(alias, src.alias) {
				continue
			}
			name = rest
		}
		for _, f := range src.fields {
			if strings.EqualFold(f.Name, name) {
				found = append(found, typed{sql: src.name + "." + quotedName(f.Name), kind: f.Type})
			}
		}
	}
	return found
}

func textLiteral(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// expr compiles an expression.
func (c *compiler) expr(e *expr, sc *scope) typed {
	switch e.op {
	case opLiteral:
		return c.literal(e)
	case opColumn:
		found := sc.find(e.text)
		if len(found) == 0 {
			c.fail(e.pos, "Unrecognized name: %s", e.text)
		}
		if len(found) > 1 {
			c.fail(e.pos, "Column name %s is ambiguous", e.text)
		}
		return found[0]
	case opStar, opPart, "INTERVAL":
		c.fail(e.pos, "Unexpected %s", e.op)
	}
	if f, ok := c.functions[e.op]; ok {
		return c.function(e, f, sc)
	}
	if e.over != nil {
		c.missing(e.pos, "%s with OVER", e.op)
	}
	var args []typed
	for _, a := range e.args {
		args = append(args, c.expr(a, sc))
	}
	not := ""
	if e.flag {
		not = "NOT "
	}
	switch e.op {
	case "AND", "OR":
		c.want(e.args, args, typeBool)
		return typed{sql: "(" + args[0].sql + " " + e.op + " " + args[1].sql + ")", kind: typeBool}
	case "NOT":
		c.want(e.args, args, typeBool)
		return typed{sql: "(NOT " + args[0].sql + ")", kind: typeBool}
	case "IS NULL":
		return typed{sql: "(" + args[0].sql + " IS " + not + "NULL)", kind: typeBool}
	case "=", "!=", "<", "<=", ">", ">=":
		kind := c.common(e, args)
		return typed{sql: "(" + collated(args[0].sql, kind) + " " + e.op + " " + args[1].sql + ")", kind: typeBool}
	case "BETWEEN":
		kind := c.common(e, args)
		return typed{sql: "(" + collated(args[0].sql, kind) + " " + not + "BETWEEN " + args[1].sql + " AND " + args[2].sql + ")", kind: typeBool}
	case "IN":
		kind := c.common(e, args)
		return typed{sql: "(" + collated(args[0].sql, kind) + " " + not + "IN (" + join(args[1:]) + "))", kind: typeBool}
	case "LIKE":
		c.want(e.args, args, typeString)
		return typed{sql: "(" + not + "bq_like(" + join(args) + "))", kind: typeBool} // SQLite's own knows no case
	case "||":
		c.want(e.args, args, typeString)
		return typed{sql: "(" + args[0].sql + " || " + args[1].sql + ")", kind: typeString}
	case "+", "-", "*", "/":
		return c.arithmetic(e, args)
	case "CASE":
		return c.caseWhen(e, args)
	case "CAST", "SAFE_CAST":
		return c.cast(e, args[0])
	}
	c.missing(e.pos, "the function %s", e.op)
	return typed{}
}

func collated(sql, kind string) string {
	if kind == typeNumeric {
		return sql + " COLLATE bq_numeric"
	}
	return sql
}

func join(args []typed) string {
	var sqls []string
	for _, a := range args {
		sqls = append(sqls, a.sql)
	}
	return strings.Join(sqls, ", ")
}

func (c *compiler) literal(e *expr) typed {
	t := typed{kind: e.kind, literal: true, sql: e.text}
	switch e.kind {
	case typeString:
		t.sql = textLiteral(e.text)
	case typeNumeric:
		n, err := numericText(e.text)
		if err != nil {
			c.fail(e.pos, "Invalid NUMERIC literal '%s'", e.text)
		}
		t.sql = textLiteral(n.(string))
	case typeDate, typeDateTime, typeTimestamp:
		at, err := instant(e.text)
		if err != nil || e.kind == typeDate && strings.ContainsAny(e.text, "T :") {
			c.fail(e.pos, "Invalid %s literal '%s'", e.kind, e.text)
		}
		switch e.kind {
		case typeDate:
			t.sql = textLiteral(at.Format("2006-01-02"))
		case typeDateTime:
			t.sql = textLiteral(at.Format("2006-01-02T15:04:05.999999"))
		default:
			t.sql = fmt.Sprint(at.UnixMicro())
		}
	}
	return t
}

// condition is an expression that must be a BOOL.
func (c *compiler) condition(e *expr, sc *scope) string {
	t := c.expr(e, sc)
	if t.kind != typeBool && t.kind != "" {
		c.fail(e.pos, "WHERE, HAVING and ON should return type BOOL, but return type %s", t.kind)
	}
	return t.sql
}

func (c *compiler) want(nodes []*expr, args []typed, kind string) {
	for i, a := range args {
		if a.kind != kind && a.kind != "" {
			c.fail(nodes[i].pos, "No matching signature: want %s, got %s", kind, a.kind)
		}
	}
}

// common gives the arguments one type: that of the numbers among them that holds all, or that of a string literal's
// partner. https://cloud.google.com/bigquery/docs/reference/standard-sql/conversion_rules#coercion
func (c *compiler) common(e *expr, args []typed) string {
	kind := ""
	for i, a := range args {
		if a.literal && a.kind == typeString && !slices.ContainsFunc(args, func(o typed) bool { return o.kind == typeString && !o.literal }) {
			continue
		}
		super, ok := supertype(kind, a.kind)
		if !ok {
			c.fail(e.args[i].pos, "No matching signature for %s for argument types: %s, %s", e.op, kind, a.kind)
		}
		kind = super
	}
	if kind == "" {
		kind = typeString
	}
	for i, a := range args {
		if a.literal && a.kind == typeString && kind != typeString {
			if kind != typeDate && kind != typeDateTime && kind != typeTimestamp {
				c.fail(e.args[i].pos, "No matching signature for %s for argument types: %s, STRING", e.op, kind)
			}
			args[i] = c.literal(&expr{op: opLiteral, text: e.args[i].text, kind: kind, pos: e.args[i].pos})
			continue
		}
		args[i].sql, args[i].kind = c.convert(a, kind, e.pos), kind
	}
	return kind
}

var numericNames = map[string]string{"+": "bq_add", "-": "bq_subtract", "*": "bq_multiply", "/": "bq_quotient"}

func (c *compiler) arithmetic(e *expr, args []typed) typed {
	kind := c.common(e, args)
	if e.op == "/" && kind == typeInteger {
		kind = typeFloat
	}
	switch {
	case kind == typeNumeric:
		return typed{sql: numericNames[e.op] + "(" + join(args) + ")", kind: kind}
	case kind != typeInteger && kind != typeFloat:
		c.fail(e.pos, "No matching signature for operator %s for argument types: %s", e.op, kind)
	case e.op == "/":
		return typed{sql: "bq_divide(" + join(args) + ")", kind: kind}
	}
	return typed{sql: "(" + args[0].sql + " " + e.op + " " + args[1].sql + ")", kind: kind}
}

func (c *compiler) caseWhen(e *expr, args []typed) typed {
	var nodes []*expr
	var values []typed
	last := len(args)
	if e.flag {
		last--
	}
	for i := 0; i < last; i += 2 {
		c.want(e.args[i:i+1], args[i:i+1], typeBool)
		nodes, values = append(nodes, e.args[i+1]), append(values, args[i+1])
	}
	if e.flag {
		nodes, values = append(nodes, e.args[last]), append(values, args[last])
	}
	kind := c.common(&expr{op: "CASE", args: nodes, pos: e.pos}, values)
	var b strings.Builder
	b.WriteString("CASE")
	for i := 0; i < last; i += 2 {
		b.WriteString(" WHEN " + args[i].sql + " THEN " + values[i/2].sql)
	}
	if e.flag {
		b.WriteString(" ELSE " + values[len(values)-1].sql)
	}
	return typed{sql: "(" + b.String() + " END)", kind: kind}
}

// cast is CAST between the types that have one meaning in both engines.
func (c *compiler) cast(e *expr, a typed) typed {
	kind := e.text
	if legacy, ok := standardNames[kind]; ok {
		kind = legacy
	}
	sql := ""
	switch from := a.kind; {
	case !slices.Contains(keptTypes, kind):
		c.missing(e.pos, "the type %s", e.text)
	case from == kind || from == "":
		sql = a.sql
	case kind == typeNumeric && (from == typeInteger || from == typeFloat || from == typeString && e.op == "CAST"):
		sql = "bq_to_numeric(" + a.sql + ")"
	case kind == typeFloat && (from == typeInteger || from == typeNumeric):
		sql = "CAST(" + a.sql + " AS REAL)"
	case kind == typeInteger && from == typeNumeric:
		sql = "CAST(bq_round(" + a.sql + ", 0) AS INTEGER)"
	case kind == typeInteger && from == typeFloat:
		sql = "CAST(ROUND(" + a.sql + ") AS INTEGER)"
	case kind == typeInteger && from == typeBool:
		sql = a.sql
	case kind == typeString && (from == typeDate || from == typeInteger || from == typeNumeric):
		sql = "CAST(" + a.sql + " AS TEXT)"
	case kind == typeDate && (from == typeDateTime || from == typeTimestamp || from == typeString && e.op == "CAST"):
		sql = "bq_date(" + a.sql + ")"
	default:
		c.missing(e.pos, "%s from %s to %s", e.op, from, kind)
	}
	return typed{sql: sql, kind: kind}
}
