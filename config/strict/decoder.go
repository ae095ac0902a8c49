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

// A Decoder walks the nodes of one file and collects its mistakes. When a node is wrong, the method
// that reads it notes the mistake and returns a zero value and false.
type Decoder struct {
	opts    Options
	body    Node
	anchors map[string]Node // the value of each anchor (&name), by name
	errs    []*Error        // the mistakes
	warned  []*Error        // the warnings

	unfilled map[Node]bool // texts with an unset variable, whose mistake has been noted already
	hidden   [][2]string   // pairs: a text with its variables filled in, and as written in the file

	objects map[Node]Object // the object by which each mapping was read, for Show
	asIs    map[Node]bool   // secret texts, whose variables are not filled in
}

// File returns the name by which errors refer to the file.
func (d *Decoder) File() string { return d.opts.File }

// Env returns the value of an environment variable; "" if it isn't set.
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

// Warn notes a warning at a node: something that is allowed, but likely a slip.
func (d *Decoder) Warn(n Node, format string, args ...any) {
	d.warned = append(d.warned, d.at(position(n), format, args...))
}

// failAt notes a mistake at a position of the file; nil stands for its beginning.
func (d *Decoder) failAt(p *token.Position, format string, args ...any) {
	d.errs = append(d.errs, d.at(p, format, args...))
}

// at makes the error of a position. Messages with the same format are of one kind, and if they
// begin with a key, those with the same key.
func (d *Decoder) at(p *token.Position, format string, args ...any) *Error {
	e := &Error{File: d.opts.File, Line: 1, Col: 1, Msg: d.scrub(fmt.Sprintf(format, args...)), kind: format}
	if strings.HasPrefix(format, "%s: ") { // the message begins with a key
		e.kind += fmt.Sprint(args[0])
	}
	if p != nil {
		e.Line, e.Col = max(1, p.Line), max(1, p.Column)
	}
	return e
}

// position returns where a node begins. For a block mapping, the parser's own position is its first
// colon, so the position of the first key is used instead.
func position(n Node) *token.Position {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return position(m.Values[0].Key)
	}
	if n == nil || n.GetToken() == nil {
		return nil
	}
	return n.GetToken().Position
}

// Line returns the line on which a node begins, counted from 1; 0 if the node has no position.
func Line(n Node) int {
	if p := position(n); p != nil {
		return p.Line
	}
	return 0
}
