package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"strconv"

	"github.com/zimmski/go-mutesting/mutator"
)

func init() {
	mutator.Register("value/text", otherText)
	mutator.Register("value/number", otherNumber)
	mutator.Register("value/field", otherField)
	mutator.Register("value/truth", otherTruth)
	mutator.Register("operator/other", otherOperator)
}

// aName matches texts that a program reads. Prose for people isn't changed.
var aName = regexp.MustCompile(`^[\w./%:{}+-]+$`)

// swap returns the mutation that sets *place to another value.
func swap[T any](place *T, to T) []mutator.Mutation {
	was := *place
	return []mutator.Mutation{{Change: func() { *place = to }, Reset: func() { *place = was }}}
}

// otherText appends a letter to a name.
func otherText(_ *types.Package, _ *types.Info, n ast.Node) []mutator.Mutation {
	lit, ok := n.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return nil
	}
	text, err := strconv.Unquote(lit.Value)
	if err != nil || !aName.MatchString(text) {
		return nil
	}
	return swap(&lit.Value, strconv.Quote(text+"x"))
}

// otherNumber adds 1 to a number, except in package facts, whose amounts are made up.
func otherNumber(p *types.Package, _ *types.Info, n ast.Node) []mutator.Mutation {
	lit, ok := n.(*ast.BasicLit)
	if !ok || lit.Kind != token.INT || p.Name() == "facts" {
		return nil
	}
	number, err := strconv.ParseInt(lit.Value, 0, 64)
	if err != nil {
		return nil
	}
	return swap(&lit.Value, strconv.FormatInt(number+1, 10))
}

// otherField replaces a field by the next one of the same type, as a slip would, such as a short
// name written where the full one belongs.
func otherField(_ *types.Package, info *types.Info, n ast.Node) []mutator.Mutation {
	sel, ok := n.(*ast.SelectorExpr)
	if !ok || info.Selections[sel] == nil || info.Selections[sel].Kind() != types.FieldVal {
		return nil
	}
	of := info.Selections[sel].Recv()
	if p, ok := of.Underlying().(*types.Pointer); ok {
		of = p.Elem()
	}
	fields, ok := of.Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	for i := range fields.NumFields() {
		if fields.Field(i).Name() != sel.Sel.Name {
			continue
		}
		for j := 1; j < fields.NumFields(); j++ {
			other := fields.Field((i + j) % fields.NumFields())
			if types.Identical(other.Type(), fields.Field(i).Type()) && other.Pkg() == fields.Field(i).Pkg() {
				return swap(&sel.Sel, ast.NewIdent(other.Name()))
			}
		}
	}
	return nil
}

// otherTruth swaps true and false.
func otherTruth(_ *types.Package, info *types.Info, n ast.Node) []mutator.Mutation {
	id, ok := n.(*ast.Ident)
	if !ok || info.Uses[id] == nil || info.Uses[id].Pkg() != nil {
		return nil
	}
	if to := map[string]string{"true": "false", "false": "true"}[id.Name]; to != "" {
		return swap(&id.Name, to)
	}
	return nil
}

var others = map[token.Token]token.Token{token.EQL: token.NEQ, token.NEQ: token.EQL, token.LSS: token.GEQ,
	token.GEQ: token.LSS,
	token.GTR: token.LEQ, token.LEQ: token.GTR, token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO,
	token.QUO: token.MUL,
	token.REM: token.MUL, token.LAND: token.LOR, token.LOR: token.LAND, token.ADD_ASSIGN: token.SUB_ASSIGN,
	token.SUB_ASSIGN: token.ADD_ASSIGN,
	token.INC:        token.DEC, token.DEC: token.INC, token.BREAK: token.CONTINUE, token.CONTINUE: token.BREAK}

// otherOperator replaces an operator by another one, and swaps break and continue; see others.
func otherOperator(_ *types.Package, _ *types.Info, n ast.Node) []mutator.Mutation {
	var place *token.Token
	switch n := n.(type) {
	case *ast.BinaryExpr:
		place = &n.Op
	case *ast.AssignStmt:
		place = &n.Tok
	case *ast.IncDecStmt:
		place = &n.Tok
	case *ast.BranchStmt:
		place = &n.Tok
	default:
		return nil
	}
	if to, ok := others[*place]; ok {
		return swap(place, to)
	}
	return nil
}
