package metrics

import (
	"fmt"
	"strconv"
	"strings"
)

// Unit is what an SQL expression's number counts.
type Unit int

// The units; SQLite computes the first two as integers.
const (
	Whole  Unit = iota // INTEGER: things
	Micros             // INTEGER: millionths of the report's currency
	real               // REAL: anything divided
)

// expr is an SQL expression over a group's sums.
type expr struct {
	sql  string
	unit Unit
}

// float returns SQL for e in natural units as a double. Money in micros is divided once, which
// gives the double nearest to the decimal that is printed, so that a reader who recomputes a ratio
// from printed cells gets the same digits.
func (e expr) float() string {
	switch e.unit {
	case Micros:
		return "(" + e.sql + "/1e6)"
	case Whole:
		return "(" + e.sql + "*1.0)"
	default:
		return e.sql
	}
}

// formulaParser reads a formula of the tables: + - * / ( ) abs( ) over metric slugs and integers.
// Sums stay exact integers; products with money and all quotients are doubles; division by zero
// gives 0.0.
type formulaParser struct {
	rest    string
	resolve func(slug string) (expr, error)
}

// parseFormula turns a formula into SQL; resolve gives the SQL of a metric in it.
func parseFormula(text string, resolve func(string) (expr, error)) (expr, error) {
	p := &formulaParser{rest: text, resolve: resolve}
	e, err := p.sum()
	if err == nil && p.rest != "" {
		err = fmt.Errorf("unexpected %q", p.rest)
	}
	if err != nil {
		return expr{}, fmt.Errorf("formula %q: %w", text, err)
	}
	return e, nil
}

// take takes the next character if it is one of chars.
func (p *formulaParser) take(chars string) (byte, bool) {
	if p.rest != "" && strings.IndexByte(chars, p.rest[0]) >= 0 {
		c := p.rest[0]
		p.rest = p.rest[1:]
		return c, true
	}
	return 0, false
}

// sum reads products with + and - between them.
func (p *formulaParser) sum() (expr, error) {
	left, err := p.product()
	for err == nil {
		op, ok := p.take("+-")
		if !ok {
			break
		}
		var right expr
		if right, err = p.product(); err != nil {
			break
		}
		if left.unit == right.unit {
			left.sql = "(" + left.sql + string(op) + right.sql + ")"
		} else {
			left = expr{"(" + left.float() + string(op) + right.float() + ")", real}
		}
	}
	return left, err
}

// product reads atoms with * and / between them.
func (p *formulaParser) product() (expr, error) {
	left, err := p.atom()
	for err == nil {
		op, ok := p.take("*/")
		if !ok {
			break
		}
		var right expr
		if right, err = p.atom(); err != nil {
			break
		}
		switch {
		case op == '/':
			den := right.float()
			left = expr{"(CASE WHEN " + den + "=0 THEN 0.0 ELSE " + left.float() + "/" + den + " END)", real}
		case left.unit == Whole && right.unit == Whole:
			left.sql = "(" + left.sql + "*" + right.sql + ")"
		default:
			left = expr{"(" + left.float() + "*" + right.float() + ")", real}
		}
	}
	return left, err
}

// atom reads a metric, a number, abs(...) or a formula in parentheses.
func (p *formulaParser) atom() (expr, error) {
	if inner, ok := strings.CutPrefix(p.rest, "abs("); ok {
		p.rest = inner
		e, err := p.closing()
		e.sql = "abs(" + e.sql + ")"
		return e, err
	}
	if _, ok := p.take("("); ok {
		return p.closing()
	}
	end := strings.IndexAny(p.rest, "+-*/()")
	if end < 0 {
		end = len(p.rest)
	}
	word := p.rest[:end]
	p.rest = p.rest[end:]
	if _, err := strconv.Atoi(word); err == nil {
		return expr{word, Whole}, nil
	}
	return p.resolve(word)
}

// closing reads a formula up to its closing parenthesis.
func (p *formulaParser) closing() (expr, error) {
	e, err := p.sum()
	if err != nil {
		return e, err
	}
	if _, ok := p.take(")"); !ok {
		return e, fmt.Errorf("missing )")
	}
	return e, nil
}
