package bqtest

import "fmt"

func compileNow(kind string) func(*compiler, *expr, []typed) typed {
	return func(c *compiler, e *expr, _ []typed) typed {
		t := c.literal(&expr{op: opLiteral, kind: kind, text: map[string]string{
			typeDate:      c.now.Format("2006-01-02"),
			typeDateTime:  c.now.Format("2006-01-02T15:04:05.999999"),
			typeTimestamp: c.now.Format("2006-01-02 15:04:05.999999Z"),
		}[kind], pos: e.pos})
		t.literal = false
		return t
	}
}

func compileDate(c *compiler, e *expr, args []typed) typed {
	c.one(e, 0, args[0], typeDate, typeDateTime, typeTimestamp)
	return typed{sql: "bq_date(" + args[0].sql + ")", kind: typeDate}
}

// moment makes a string literal what the function wants.
func (c *compiler) moment(e *expr, i int, t typed, kind string) typed {
	if t.literal && t.kind == typeString {
		return c.literal(&expr{op: opLiteral, text: e.args[i].text, kind: kind, pos: e.args[i].pos})
	}
	c.one(e, i, t, kind)
	return t
}

func (c *compiler) partOf(e *expr, i int) string {
	if e.args[i].op != opPart {
		c.fail(e.args[i].pos, "%s wants a date part here", e.op)
	}
	return textLiteral(e.args[i].text)
}

func compileDiff(kind string) func(*compiler, *expr, []typed) typed {
	return func(c *compiler, e *expr, args []typed) typed {
		a, b := c.moment(e, 0, args[0], kind), c.moment(e, 1, args[1], kind)
		return typed{sql: fmt.Sprintf("bq_diff(%s, %s, %s)", a.sql, b.sql, c.partOf(e, 2)), kind: typeInteger}
	}
}

func compileTrunc(kind string) func(*compiler, *expr, []typed) typed {
	return func(c *compiler, e *expr, args []typed) typed {
		a := c.moment(e, 0, args[0], kind)
		return typed{sql: fmt.Sprintf("bq_trunc(%s, %s)", a.sql, c.partOf(e, 1)), kind: kind}
	}
}

func compileShift(kind, sign string) func(*compiler, *expr, []typed) typed {
	return func(c *compiler, e *expr, args []typed) typed {
		a := c.moment(e, 0, args[0], kind)
		if e.args[1].op != "INTERVAL" {
			c.fail(e.args[1].pos, "%s wants an INTERVAL here", e.op)
		}
		c.one(e, 1, args[1], typeInteger)
		part := e.args[1].text
		if kind == typeTimestamp && (spans[part] == 0) {
			c.fail(e.args[1].pos, "%s does not support the %s date part", e.op, part)
		}
		return typed{sql: fmt.Sprintf("bq_shift(%s, %s(%s), %s)", a.sql, sign, args[1].sql, textLiteral(part)), kind: kind}
	}
}

func compileExtract(c *compiler, e *expr, args []typed) typed {
	if e.args[1].text == typeDate {
		return compileDate(c, &expr{op: e.op, args: e.args[:1], pos: e.pos}, args[:1])
	}
	c.one(e, 0, args[0], typeDate, typeDateTime, typeTimestamp)
	return typed{sql: fmt.Sprintf("bq_extract(%s, %s)", args[0].sql, c.partOf(e, 1)), kind: typeInteger}
}

func compileFormatDate(c *compiler, e *expr, args []typed) typed {
	c.one(e, 0, args[0], typeString)
	c.one(e, 1, args[1], typeDate)
	return typed{sql: fmt.Sprintf("bq_format_date(%s, %s)", args[0].sql, args[1].sql), kind: typeString}
}
