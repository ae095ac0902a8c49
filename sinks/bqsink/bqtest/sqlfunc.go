package bqtest

import (
	"fmt"
	"slices"
	"strings"
)

// aggregates are the functions that make one value of a group.
var aggregates = map[string]bool{"COUNT": true, "COUNTIF": true, "SUM": true, "AVG": true, "MIN": true, "MAX": true, "ANY_VALUE": true}

// A function is one of GoogleSQL's.
type function struct {
	least, most int  // numbers of arguments; most is -1 without an end
	window      bool // it may only stand before OVER
	compile     func(c *compiler, e *expr, args []typed) typed
}

// functionTable is every function by its name. Those that take a date part or INTERVAL read it from the node itself.
// https://cloud.google.com/bigquery/docs/reference/standard-sql/functions-all
func functionTable() map[string]function {
	all := map[string]function{
		"COUNT":      {1, 1, false, compileCount},
		"COUNTIF":    {1, 1, false, compileCountIf},
		"SUM":        {1, 1, false, numericAggregate("SUM", "bq_sum", typeInteger)},
		"AVG":        {1, 1, false, numericAggregate("AVG", "bq_avg", typeFloat)},
		"MIN":        {1, 1, false, extreme("MIN")},
		"MAX":        {1, 1, false, extreme("MAX")},
		"ANY_VALUE":  {1, 1, false, extreme("MIN")},
		"ROW_NUMBER": {0, 0, true, compileRank},
		"RANK":       {0, 0, true, compileRank},

		"IF":              {3, 3, false, compileIf},
		"IFNULL":          {2, 2, false, compileCoalesce},
		"COALESCE":        {1, -1, false, compileCoalesce},
		"NULLIF":          {2, 2, false, compileNullIf},
		"SAFE_DIVIDE":     {2, 2, false, compileSafeDivide},
		"ROUND":           {1, 2, false, compileRound},
		"ABS":             {1, 1, false, compileAbs},
		"CONCAT":          {1, -1, false, compileConcat},
		"LENGTH":          {1, 1, false, compileLength},
		"SUBSTR":          {2, 3, false, compileSubstr},
		"STARTS_WITH":     {2, 2, false, matching("bq_starts_with")},
		"REGEXP_CONTAINS": {2, 2, false, matching("bq_regexp_contains")},
		"PARSE_DATE":      {2, 2, false, compileParseDate},
		"LOWER":           {1, 1, false, textFunction("LOWER")},
		"UPPER":           {1, 1, false, textFunction("UPPER")},
		"GREATEST":        {2, -1, false, compileGreatest("MAX")},
		"LEAST":           {2, -1, false, compileGreatest("MIN")},

		"CURRENT_DATE":      {0, 0, false, compileNow(typeDate)},
		"CURRENT_DATETIME":  {0, 0, false, compileNow(typeDateTime)},
		"CURRENT_TIMESTAMP": {0, 0, false, compileNow(typeTimestamp)},
		"DATE":              {1, 1, false, compileDate},
		"EXTRACT":           {2, 2, false, compileExtract},
		"FORMAT_DATE":       {2, 2, false, compileFormatDate},
	}
	for _, kind := range []string{typeDate, typeDateTime, typeTimestamp} {
		all[kind+"_DIFF"] = function{3, 3, false, compileDiff(kind)}
		all[kind+"_TRUNC"] = function{2, 2, false, compileTrunc(kind)}
		all[kind+"_ADD"] = function{2, 2, false, compileShift(kind, "")}
		all[kind+"_SUB"] = function{2, 2, false, compileShift(kind, "-")}
	}
	return all
}

func isAggregate(e *expr) bool { return aggregates[e.op] && e.over == nil }

// hasAggregate looks through an expression.
func hasAggregate(e *expr) bool {
	return isAggregate(e) || slices.ContainsFunc(e.args, hasAggregate)
}

func (c *compiler) function(e *expr, f function, sc *scope) typed {
	if len(e.args) < f.least || f.most >= 0 && len(e.args) > f.most {
		c.fail(e.pos, "No matching signature for function %s with %d arguments", e.op, len(e.args))
	}
	if e.safe && e.op != "PARSE_DATE" {
		c.missing(e.pos, "SAFE.%s", e.op)
	}
	if e.flag && e.op != "COUNT" {
		c.missing(e.pos, "%s with DISTINCT", e.op)
	}
	if f.window && e.over == nil {
		c.fail(e.pos, "Analytic function %s cannot be called without an OVER clause", e.op)
	}
	if e.over != nil && !f.window && !aggregates[e.op] {
		c.fail(e.pos, "Function %s does not support an OVER clause", e.op)
	}
	var args []typed
	for _, a := range e.args {
		if isAggregate(e) && hasAggregate(a) {
			c.fail(a.pos, "Aggregations of aggregations are not allowed")
		}
		switch a.op {
		case opStar, opPart:
			args = append(args, typed{sql: textLiteral(a.text)})
		case "INTERVAL":
			args = append(args, c.expr(a.args[0], sc))
		default:
			args = append(args, c.expr(a, sc))
		}
	}
	t := f.compile(c, e, args)
	if e.over != nil {
		t.sql += " OVER (" + c.window(e.over, sc) + ")"
	}
	return t
}

func (c *compiler) window(w *window, sc *scope) string {
	var clauses []string
	if len(w.partition) > 0 {
		var by []typed
		for _, e := range w.partition {
			by = append(by, c.expr(e, sc))
		}
		clauses = append(clauses, "PARTITION BY "+join(by))
	}
	if len(w.order) > 0 {
		var terms []string
		for _, o := range w.order {
			t := c.expr(o.by, sc)
			terms = append(terms, sorted(t.sql, t.kind, o.desc))
		}
		clauses = append(clauses, "ORDER BY "+strings.Join(terms, ", "))
	}
	return strings.Join(clauses, " ")
}

// one refuses an argument of a type that the function hasn't.
func (c *compiler) one(e *expr, i int, t typed, kinds ...string) {
	if t.kind != "" && !slices.Contains(kinds, t.kind) {
		c.fail(e.args[i].pos, "No matching signature for function %s for argument types: %s", e.op, t.kind)
	}
}

func compileCount(_ *compiler, e *expr, args []typed) typed {
	switch {
	case e.args[0].op == opStar:
		return typed{sql: "COUNT(*)", kind: typeInteger}
	case e.flag:
		return typed{sql: "COUNT(DISTINCT " + args[0].sql + ")", kind: typeInteger}
	}
	return typed{sql: "COUNT(" + args[0].sql + ")", kind: typeInteger}
}

func compileCountIf(c *compiler, e *expr, args []typed) typed {
	c.want(e.args, args, typeBool)
	return typed{sql: "COUNT(CASE WHEN " + args[0].sql + " THEN 1 END)", kind: typeInteger}
}

// numericAggregate: of INTEGER the result has the type given, of the others their own.
func numericAggregate(name, exact, ofInteger string) func(*compiler, *expr, []typed) typed {
	return func(c *compiler, e *expr, args []typed) typed {
		c.one(e, 0, args[0], typeInteger, typeNumeric, typeFloat)
		switch args[0].kind {
		case typeNumeric:
			return typed{sql: exact + "(" + args[0].sql + ")", kind: typeNumeric}
		case typeInteger:
			return typed{sql: name + "(" + args[0].sql + ")", kind: ofInteger}
		}
		return typed{sql: name + "(" + args[0].sql + ")", kind: typeFloat}
	}
}

func extreme(name string) func(*compiler, *expr, []typed) typed {
	return func(_ *compiler, _ *expr, args []typed) typed {
		return typed{sql: name + "(" + collated(args[0].sql, args[0].kind) + ")", kind: args[0].kind}
	}
}

func compileRank(_ *compiler, e *expr, _ []typed) typed {
	return typed{sql: e.op + "()", kind: typeInteger}
}

func compileIf(c *compiler, e *expr, args []typed) typed {
	c.want(e.args[:1], args[:1], typeBool)
	kind := c.common(&expr{op: "IF", args: e.args[1:], pos: e.pos}, args[1:])
	return typed{sql: fmt.Sprintf("(CASE WHEN %s THEN %s ELSE %s END)", args[0].sql, args[1].sql, args[2].sql), kind: kind}
}

func compileCoalesce(c *compiler, e *expr, args []typed) typed {
	kind := c.common(e, args)
	if len(args) == 1 {
		return args[0]
	}
	return typed{sql: "COALESCE(" + join(args) + ")", kind: kind}
}

func compileNullIf(c *compiler, e *expr, args []typed) typed {
	kind := c.common(e, args)
	return typed{sql: fmt.Sprintf("(CASE WHEN %s = %s THEN NULL ELSE %s END)", collated(args[0].sql, kind), args[1].sql, args[0].sql), kind: kind}
}

func compileSafeDivide(c *compiler, e *expr, args []typed) typed {
	for i := range args {
		c.one(e, i, args[i], typeInteger, typeNumeric, typeFloat)
	}
	quotient := c.arithmetic(&expr{op: "/", args: e.args, pos: e.pos}, args)
	zero := "0"
	if quotient.kind == typeNumeric {
		zero = "'0'"
	}
	return typed{sql: fmt.Sprintf("(CASE WHEN %s = %s THEN NULL ELSE %s END)", collated(args[1].sql, quotient.kind), zero, quotient.sql), kind: quotient.kind}
}

func compileRound(c *compiler, e *expr, args []typed) typed {
	c.one(e, 0, args[0], typeInteger, typeNumeric, typeFloat)
	digits := "0"
	if len(args) == 2 {
		c.one(e, 1, args[1], typeInteger)
		digits = args[1].sql
	}
	kind, value := args[0].kind, args[0].sql
	if kind == typeInteger {
		kind, value = typeFloat, "CAST("+value+" AS REAL)"
	}
	return typed{sql: "bq_round(" + value + ", " + digits + ")", kind: kind}
}

func compileAbs(c *compiler, e *expr, args []typed) typed {
	c.one(e, 0, args[0], typeInteger, typeNumeric, typeFloat)
	if args[0].kind == typeNumeric {
		return typed{sql: "LTRIM(" + args[0].sql + ", '-')", kind: typeNumeric}
	}
	return typed{sql: "ABS(" + args[0].sql + ")", kind: args[0].kind}
}

// compileGreatest: SQLite's MAX of several values is NULL when one of them is, as GREATEST is.
func compileGreatest(name string) func(*compiler, *expr, []typed) typed {
	return func(c *compiler, e *expr, args []typed) typed {
		kind := c.common(e, args)
		args[0].sql = collated(args[0].sql, kind)
		return typed{sql: name + "(" + join(args) + ")", kind: kind}
	}
}
