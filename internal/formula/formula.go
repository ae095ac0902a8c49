// Package formula writes the formula of a ratio as SQL over sums. Without it, each warehouse would
// divide in its own way, and the same dashboard would show other numbers on BigQuery than on files.
package formula

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
)

// A Dialect writes the parts of a formula in a warehouse's SQL. Divide must divide as doubles,
// because a decimal has too few digits, and give NULL for a division by zero, so that a dashboard
// shows nothing and no error.
type Dialect struct {
	Quote  func(name string) string
	Divide func(left, right string) string
	Sum    func(name string) string // writes a name in a formula; nil: as the SUM of its column
}

// SQL returns a formula in a dialect. The formula consists of names of columns, numbers, + - * /
// ( ) and abs( ). A name stands for the sum of its column.
func SQL(formula string, d Dialect) (string, error) {
	e, err := parser.ParseExpr(formula)
	if err != nil {
		return "", fmt.Errorf("formula %q: %w", formula, err)
	}
	return d.expression(e)
}

func (d Dialect) expression(e ast.Expr) (string, error) {
	switch e := e.(type) {
	case *ast.Ident:
		if d.Sum != nil {
			return d.Sum(e.Name), nil
		}
		return "SUM(" + d.Quote(e.Name) + ")", nil
	case *ast.BasicLit:
		return e.Value, nil
	case *ast.ParenExpr:
		inner, err := d.expression(e.X)
		return "(" + inner + ")", err
	case *ast.CallExpr:
		if f, ok := e.Fun.(*ast.Ident); ok && f.Name == "abs" && len(e.Args) == 1 {
			inner, err := d.expression(e.Args[0])
			return "ABS(" + inner + ")", err
		}
	case *ast.BinaryExpr:
		left, err := d.expression(e.X)
		if err != nil {
			return "", err
		}
		right, err := d.expression(e.Y)
		if err != nil {
			return "", err
		}
		switch e.Op {
		case token.QUO:
			return d.Divide(left, right), nil
		case token.ADD, token.SUB, token.MUL:
			return left + " " + e.Op.String() + " " + right, nil
		}
	}
	return "", errors.New("only names, numbers, + - * / ( ) and abs( ) may stand in a formula")
}
