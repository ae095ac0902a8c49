package bqtest

import (
	"slices"
	"strings"
)

// binding is how strongly the binary operators bind, weakest first.
// https://cloud.google.com/bigquery/docs/reference/standard-sql/operators#operator_precedence
var binding = [][]string{{"OR"}, {"AND"}}

func (p *parser) expression() *expr { return p.logical(0) }

func (p *parser) logical(level int) *expr {
	if level == len(binding) {
		return p.not()
	}
	left := p.logical(level + 1)
	for {
		pos, op := p.peek().pos, binding[level][0]
		if !p.word(op) {
			return left
		}
		left = &expr{op: op, args: []*expr{left, p.logical(level + 1)}, pos: pos}
	}
}

func (p *parser) not() *expr {
	pos := p.peek().pos
	if p.word("NOT") {
		return &expr{op: "NOT", args: []*expr{p.not()}, pos: pos}
	}
	return p.comparison()
}

func (p *parser) comparison() *expr {
	left := p.arithmetic(0)
	pos := p.peek().pos
	for _, op := range []string{"=", "<=", ">=", "!=", "<>", "<", ">"} {
		if p.symbol(op) {
			if op == "<>" {
				op = "!="
			}
			return &expr{op: op, args: []*expr{left, p.arithmetic(0)}, pos: pos}
		}
	}
	if p.word("IS") {
		not := p.word("NOT")
		if !p.word("NULL") {
			panic(refuse("notImplemented", "bqtest has IS NULL and IS NOT NULL only, at %s", place(p.query, pos)))
		}
		return &expr{op: "IS NULL", args: []*expr{left}, flag: not, pos: pos}
	}
	not := p.word("NOT")
	switch {
	case p.word("BETWEEN"):
		low := p.arithmetic(0)
		p.wantWord("AND")
		return &expr{op: "BETWEEN", args: []*expr{left, low, p.arithmetic(0)}, flag: not, pos: pos}
	case p.word("LIKE"):
		return &expr{op: "LIKE", args: []*expr{left, p.arithmetic(0)}, flag: not, pos: pos}
	case p.word("IN"):
		p.want("(")
		return &expr{op: "IN", args: append([]*expr{left}, p.list(")")...), flag: not, pos: pos}
	case not:
		p.fail("Unexpected keyword NOT")
	}
	return left
}

// arithmetics bind in this order, weakest first.
var arithmetics = [][]string{{"+", "-"}, {"*", "/", "||"}}

func (p *parser) arithmetic(level int) *expr {
	if level == len(arithmetics) {
		return p.unary()
	}
	left := p.arithmetic(level + 1)
	for {
		t := p.peek()
		if t.kind != "symbol" || !slices.Contains(arithmetics[level], t.text) {
			return left
		}
		p.next++
		left = &expr{op: t.text, args: []*expr{left, p.arithmetic(level + 1)}, pos: t.pos}
	}
}

func (p *parser) unary() *expr {
	pos := p.peek().pos
	if p.symbol("-") {
		zero := &expr{op: opLiteral, text: "0", kind: typeInteger, pos: pos}
		return &expr{op: "-", args: []*expr{zero, p.unary()}, pos: pos}
	}
	return p.primary()
}

// list is expressions with commas between them up to the closing symbol.
func (p *parser) list(closing string) []*expr {
	var all []*expr
	for !p.symbol(closing) {
		if len(all) > 0 {
			p.want(",")
		}
		all = append(all, p.expression())
	}
	return all
}

func (p *parser) primary() *expr {
	t := p.peek()
	switch t.kind {
	case "number":
		p.next++
		kind := typeInteger
		if strings.ContainsAny(t.text, ".eE") {
			kind = typeFloat
		}
		return &expr{op: opLiteral, text: t.text, kind: kind, pos: t.pos}
	case "string":
		p.next++
		return &expr{op: opLiteral, text: t.text, kind: typeString, pos: t.pos}
	case "symbol":
		if p.symbol("(") {
			if p.isWord("SELECT") || p.isWord("WITH") {
				panic(refuse("notImplemented", "bqtest has no subqueries in expressions, at %s", place(p.query, t.pos)))
			}
			e := p.expression()
			p.want(")")
			return e
		}
	case "word":
		if e := p.special(); e != nil {
			return e
		}
	}
	path := []string{p.name()}
	if p.isSymbol("(") && t.kind == "word" {
		return p.call(strings.ToUpper(t.text), t.pos)
	}
	for p.symbol(".") {
		next := p.peek()
		path = append(path, p.name())
		if p.isSymbol("(") && strings.EqualFold(path[0], "SAFE") {
			e := p.call(strings.ToUpper(next.text), t.pos)
			e.safe = true
			return e
		}
	}
	return &expr{op: opColumn, text: strings.Join(path, "."), pos: t.pos}
}

// special is what begins with a word and is neither a column nor a plain function.
func (p *parser) special() *expr {
	pos := p.peek().pos
	at := p.next
	switch {
	case p.word("NULL"):
		return &expr{op: opLiteral, text: "NULL", pos: pos}
	case p.word("TRUE"):
		return &expr{op: opLiteral, text: "1", kind: typeBool, pos: pos}
	case p.word("FALSE"):
		return &expr{op: opLiteral, text: "0", kind: typeBool, pos: pos}
	case p.word("CASE"):
		return p.caseWhen(pos)
	case p.word("CAST"), p.word("SAFE_CAST"):
		op := strings.ToUpper(p.all[at].text)
		p.want("(")
		e := &expr{op: op, args: []*expr{p.expression()}, pos: pos}
		p.wantWord("AS")
		e.text = strings.ToUpper(p.name())
		p.want(")")
		return e
	case p.word("EXTRACT"):
		p.want("(")
		part := &expr{op: opPart, text: strings.ToUpper(p.name()), pos: pos}
		p.wantWord("FROM")
		e := &expr{op: "EXTRACT", args: []*expr{p.expression(), part}, pos: pos}
		p.want(")")
		return e
	case p.word("IF"):
		return p.call("IF", pos)
	}
	for _, kind := range []string{typeDate, typeDateTime, typeTimestamp, typeNumeric} {
		if p.word(kind) {
			if t := p.peek(); t.kind == "string" {
				p.next++
				return &expr{op: opLiteral, text: t.text, kind: kind, pos: pos}
			}
			p.next = at
		}
	}
	return nil
}

// caseWhen: its arguments are condition and value by turns, and the value of ELSE last when flag is set.
func (p *parser) caseWhen(pos int) *expr {
	e := &expr{op: "CASE", pos: pos}
	var operand *expr
	if !p.isWord("WHEN") {
		operand = p.expression()
	}
	for p.word("WHEN") {
		when := p.expression()
		if operand != nil {
			when = &expr{op: "=", args: []*expr{operand, when}, pos: when.pos}
		}
		p.wantWord("THEN")
		e.args = append(e.args, when, p.expression())
	}
	if p.word("ELSE") {
		e.flag = true
		e.args = append(e.args, p.expression())
	}
	p.wantWord("END")
	return e
}

// dateParts are arguments, not columns, behind the functions that take them.
var dateParts = []string{"MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "ISOWEEK", "MONTH", "QUARTER", "YEAR"}

func (p *parser) call(name string, pos int) *expr {
	e := &expr{op: name, pos: pos}
	p.want("(")
	e.flag = p.word("DISTINCT")
	if p.symbol("*") {
		e.args = []*expr{{op: opStar, pos: pos}}
		p.want(")")
	} else {
		for !p.symbol(")") {
			if len(e.args) > 0 {
				p.want(",")
			}
			e.args = append(e.args, p.argument(name, len(e.args)))
		}
	}
	if p.word("OVER") {
		e.over = &window{}
		p.want("(")
		if p.word("PARTITION", "BY") {
			for {
				e.over.partition = append(e.over.partition, p.expression())
				if !p.symbol(",") {
					break
				}
			}
		}
		if p.word("ORDER", "BY") {
			e.over.order = p.orderings()
		}
		p.want(")")
	}
	return e
}

// argument is an expression, a date part, or INTERVAL n PART, which becomes a node of its own.
func (p *parser) argument(function string, index int) *expr {
	t := p.peek()
	if p.word("INTERVAL") {
		n := p.unary()
		part := strings.ToUpper(p.name())
		return &expr{op: "INTERVAL", args: []*expr{n}, text: part, pos: t.pos}
	}
	family, _, _ := strings.Cut(function, "_")
	takesPart := index > 0 && family != function && (family == typeDate || family == typeDateTime || family == typeTimestamp)
	if takesPart && t.kind == "word" && slices.Contains(dateParts, strings.ToUpper(t.text)) {
		p.next++
		part := &expr{op: opPart, text: strings.ToUpper(t.text), pos: t.pos}
		if part.text == "WEEK" && p.symbol("(") {
			part.text = "WEEK(" + strings.ToUpper(p.name()) + ")"
			p.want(")")
		}
		return part
	}
	return p.expression()
}
