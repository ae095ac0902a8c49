package strict

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// A Node is a place in the file: a value, or a key. A nil Node stands for the beginning of the
// file.
type Node = ast.Node

// A Decoder walks the nodes of one file and notes its mistakes. Whatever reads a node gives a zero
// value and false when the node is wrong, and the mistake has been noted by then.
type Decoder struct {
	opts    Options
	body    Node
	anchors map[string]Node
	errs    []*Error
	warned  []*Error

	unfilled map[Node]bool // texts with a variable that isn't set: their mistake has been noted
	hidden   [][2]string   // texts with variables filled in, and as they stand in the file

	objects map[Node]Object // by their mappings, for Show
	asIs    map[Node]bool   // texts that stand for secrets, whose variables stay as they are
}

// File is what errors call the file.
func (d *Decoder) File() string { return d.opts.File }

// Env is the value of an environment variable; empty: it isn't set.
func (d *Decoder) Env(name string) string {
	if d.opts.Env == nil {
		return ""
	}
	value, _ := d.opts.Env(name)
	return value
}

// Fail notes a mistake at a node.
func (d *Decoder) Fail(n Node, format string, args ...any) {
	if !d.unfilled[d.resolve(n)] {
		d.failAt(position(n), format, args...)
	}
}

// Warn notes what is likely a slip at a node and may be meant.
func (d *Decoder) Warn(n Node, format string, args ...any) {
	d.warned = append(d.warned, d.at(position(n), format, args...))
}

func (d *Decoder) failAt(p *token.Position, format string, args ...any) {
	d.errs = append(d.errs, d.at(p, format, args...))
}

func (d *Decoder) at(p *token.Position, format string, args ...any) *Error {
	e := &Error{File: d.opts.File, Line: 1, Col: 1, Msg: d.scrub(fmt.Sprintf(format, args...)), kind: format}
	if strings.HasPrefix(format, "%s: ") { // the key
		e.kind += fmt.Sprint(args[0])
	}
	if p != nil {
		e.Line, e.Col = max(1, p.Line), max(1, p.Column)
	}
	return e
}

// position is where a node begins. The parser's own place of a block mapping is its first colon, so
// the first key's place is taken instead.
func position(n Node) *token.Position {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return position(m.Values[0].Key)
	}
	if n == nil || n.GetToken() == nil {
		return nil
	}
	return n.GetToken().Position
}

// Line is the line on which a node begins, counted from 1; 0: it has no place.
func Line(n Node) int {
	if p := position(n); p != nil {
		return p.Line
	}
	return 0
}
