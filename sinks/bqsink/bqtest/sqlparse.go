package bqtest

import (
	"slices"
	"strings"
)

// A parser reads the subset of GoogleSQL that the package doc lists. Its methods panic with a *refusal, which
// parseStatement turns into a result: an expression has too many places where it can be wrong for anything else.
type parser struct {
	query string
	all   []token
	next  int
}

func parseStatement(query string) (st *statement, r *refusal) {
	all, r := tokens(query)
	if r != nil {
		return nil, r
	}
	defer caught(&r)
	p := &parser{query: query, all: all}
	st = &statement{}
	switch {
	case p.isWord("SELECT") || p.isWord("WITH") || p.isSymbol("("):
		st.query = p.selection()
	case p.word("DELETE"):
		p.word("FROM")
		st.del = &deletion{table: p.tablePath()}
		if p.word("AS") || p.peek().kind == "word" && !p.isWord("WHERE") {
			st.del.table.alias = p.name()
		}
		if !p.word("WHERE") {
			p.fail("Expected keyword WHERE: DELETE needs a condition")
		}
		st.del.where = p.expression()
	default:
		panic(refuse("notImplemented", "bqtest runs SELECT and DELETE only, not %q at %s", p.peek().text, place(query, p.peek().pos)))
	}
	p.symbol(";")
	if p.peek().kind != "" {
		p.fail("Expected end of input but got \"" + p.peek().text + "\"")
	}
	return st, nil
}

// caught makes a refusal that was thrown a result.
func caught(r **refusal) {
	switch thrown := recover().(type) {
	case nil:
	case *refusal:
		*r = thrown
	default:
		panic(thrown)
	}
}

func (p *parser) peek() token { return p.all[p.next] }

func (p *parser) fail(message string) { panic(syntax(p.query, p.peek().pos, message)) }

func (p *parser) isWord(w string) bool {
	t := p.peek()
	return t.kind == "word" && strings.EqualFold(t.text, w)
}

func (p *parser) isSymbol(s string) bool { return p.peek().kind == "symbol" && p.peek().text == s }

// word takes the words when they stand here, all or none.
func (p *parser) word(words ...string) bool {
	at := p.next
	for _, w := range words {
		if !p.isWord(w) {
			p.next = at
			return false
		}
		p.next++
	}
	return true
}

func (p *parser) symbol(s string) bool {
	if p.isSymbol(s) {
		p.next++
		return true
	}
	return false
}

func (p *parser) want(s string) {
	if !p.symbol(s) {
		p.fail("Expected \"" + s + "\" but got \"" + p.peek().text + "\"")
	}
}

func (p *parser) wantWord(w string) {
	if !p.word(w) {
		p.fail("Expected keyword " + w + " but got \"" + p.peek().text + "\"")
	}
}

// reserved words can't be names without backticks; the ones that this grammar meets.
// https://cloud.google.com/bigquery/docs/reference/standard-sql/lexical#reserved_keywords
var reserved = []string{"ALL", "AND", "AS", "ASC", "BETWEEN", "BY", "CASE", "CAST", "CROSS", "DEFAULT", "DESC", "DISTINCT", "ELSE", "END",
	"EXISTS", "EXTRACT", "FALSE", "FOR", "FROM", "FULL", "GROUP", "GROUPING", "HASH", "HAVING", "IF", "IN", "INNER", "INTERVAL", "IS", "JOIN", "LEFT", "LIKE",
	"LIMIT", "NATURAL", "NEW", "NOT", "NULL", "ON", "OR", "ORDER", "OUTER", "OVER", "PARTITION", "QUALIFY", "RANGE", "RIGHT", "ROWS", "SELECT", "SET", "SOME", "THEN", "TO",
	"TRUE", "UNION", "USING", "WHEN", "WHERE", "WINDOW", "WITH", "WITHIN"}

func (p *parser) name() string {
	t := p.peek()
	if t.kind != "quoted" && (t.kind != "word" || slices.Contains(reserved, strings.ToUpper(t.text))) {
		p.fail("Expected an identifier but got \"" + t.text + "\"")
	}
	p.next++
	return t.text
}

// startsName tells whether an alias without AS stands here.
func (p *parser) startsName() bool {
	t := p.peek()
	return t.kind == "quoted" || t.kind == "word" && !slices.Contains(reserved, strings.ToUpper(t.text)) && !p.isWord("EXCEPT") && !p.isWord("INTERSECT")
}

func (p *parser) selection() *selection {
	q := &selection{pos: p.peek().pos}
	if p.word("WITH") {
		for {
			r := relation{alias: p.name(), pos: p.peek().pos}
			p.wantWord("AS")
			r.query = p.nested()
			q.with = append(q.with, r)
			if !p.symbol(",") {
				break
			}
		}
	}
	for {
		q.parts = append(q.parts, p.selectPart())
		if p.word("UNION", "ALL") {
			continue
		}
		if p.isWord("UNION") || p.isWord("EXCEPT") || p.isWord("INTERSECT") {
			panic(refuse("notImplemented", "bqtest joins queries by UNION ALL only, at %s", place(p.query, p.peek().pos)))
		}
		break
	}
	if p.word("ORDER", "BY") {
		q.order = p.orderings()
	}
	if p.word("LIMIT") {
		q.limit = p.primary()
	}
	return q
}

// nested is a query in parentheses.
func (p *parser) nested() *selection {
	p.want("(")
	q := p.selection()
	p.want(")")
	return q
}

func (p *parser) orderings() []ordering {
	var all []ordering
	for {
		o := ordering{by: p.expression()}
		o.desc = p.word("DESC")
		if !o.desc {
			p.word("ASC")
		}
		all = append(all, o)
		if !p.symbol(",") {
			return all
		}
	}
}

func (p *parser) selectPart() *selectPart {
	if p.isSymbol("(") { // (SELECT ...) UNION ALL (SELECT ...)
		pos := p.peek().pos
		star := selectItem{value: &expr{op: opStar}}
		return &selectPart{items: []selectItem{star}, from: []fromItem{{relation: relation{query: p.nested(), pos: pos}}}, pos: pos}
	}
	s := &selectPart{pos: p.peek().pos}
	p.wantWord("SELECT")
	s.distinct = p.word("DISTINCT")
	for {
		s.items = append(s.items, p.selectItem())
		if !p.symbol(",") || p.isWord("FROM") { // a comma may trail
			break
		}
	}
	if p.word("FROM") {
		s.from = p.fromItems()
	}
	if p.word("WHERE") {
		s.where = p.expression()
	}
	if p.word("GROUP", "BY") {
		for {
			s.groups = append(s.groups, p.expression())
			if !p.symbol(",") {
				break
			}
		}
	}
	if p.word("HAVING") {
		s.having = p.expression()
	}
	if p.word("QUALIFY") {
		s.qualify = p.expression()
	}
	return s
}

func (p *parser) selectItem() selectItem {
	pos := p.peek().pos
	if p.symbol("*") {
		return selectItem{value: &expr{op: opStar, pos: pos}}
	}
	if at := p.next; p.startsName() {
		if alias := p.name(); p.symbol(".") && p.symbol("*") {
			return selectItem{value: &expr{op: opStar, text: alias, pos: pos}}
		}
		p.next = at
	}
	item := selectItem{value: p.expression()}
	if p.word("AS") || p.startsName() {
		item.alias = p.name()
	}
	return item
}

func (p *parser) fromItems() []fromItem {
	items := []fromItem{{relation: p.relation()}}
	for {
		item := fromItem{}
		switch {
		case p.symbol(","), p.word("CROSS", "JOIN"):
			item.join = "CROSS JOIN"
		case p.word("LEFT", "OUTER", "JOIN"), p.word("LEFT", "JOIN"):
			item.join = "LEFT JOIN"
		case p.word("INNER", "JOIN"), p.word("JOIN"):
			item.join = "JOIN"
		default:
			return items
		}
		item.relation = p.relation()
		if item.join != "CROSS JOIN" {
			if !p.word("ON") {
				panic(refuse("notImplemented", "bqtest joins by ON only, at %s", place(p.query, p.peek().pos)))
			}
			item.on = p.expression()
		}
		items = append(items, item)
	}
}

func (p *parser) relation() relation {
	r := relation{pos: p.peek().pos}
	if p.isSymbol("(") {
		r.query = p.nested()
	} else {
		r = p.tablePath()
	}
	if p.word("AS") || p.startsName() {
		r.alias = p.name()
	}
	return r
}

// tablePath is `p.d.t`, `p`.`d`.`t` or the name of a WITH. A dash may be in a project without backticks.
func (p *parser) tablePath() relation {
	r := relation{pos: p.peek().pos}
	parts := []string{p.name()}
	for {
		if p.isSymbol("-") && len(parts) == 1 {
			p.next++
			parts[0] += "-" + p.all[p.next].text
			p.next++
			continue
		}
		if !p.symbol(".") {
			break
		}
		parts = append(parts, p.name())
	}
	r.path = strings.Join(parts, ".")
	return r
}
