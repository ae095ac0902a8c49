package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/reportferry/reportferry/internal/catalog"
)

// decoder walks the nodes of one file. It goes on after a mistake, so that all are reported at once: what reads a node
// gives a zero value and false when the node is wrong, and the mistake is noted.
type decoder struct {
	file    string
	anchors map[string]ast.Node
	errs    []*Error
	warned  []*Error

	env      Env               // nil: ${NAME} is a text like any other
	unfilled map[ast.Node]bool // of which a variable isn't set
	hidden   [][2]string       // texts with variables filled in, and as they stand in the file
}

func (d *decoder) fail(n ast.Node, format string, args ...any) {
	if d.unfilled[d.resolve(n)] {
		return
	}
	d.failAt(position(n), format, args...)
}

func (d *decoder) failAt(p *token.Position, format string, args ...any) {
	d.errs = append(d.errs, d.at(p, format, args...))
}

// warn notes what is likely a slip and may be meant.
func (d *decoder) warn(n ast.Node, format string, args ...any) {
	d.warned = append(d.warned, d.at(position(n), format, args...))
}

func (d *decoder) at(p *token.Position, format string, args ...any) *Error {
	e := &Error{File: d.file, Line: 1, Col: 1, Msg: d.scrub(fmt.Sprintf(format, args...))}
	if p != nil {
		e.Line, e.Col = max(1, p.Line), max(1, p.Column)
	}
	return e
}

// position is where a node begins; the parser's own place of a mapping is its first colon.
func position(n ast.Node) *token.Position {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return position(m.Values[0].Key)
	}
	if n == nil || n.GetToken() == nil {
		return nil
	}
	return n.GetToken().Position
}

// resolve follows aliases and anchors to the node that holds the value. The bound ends a chain that names itself.
func (d *decoder) resolve(n ast.Node) ast.Node {
	for range 32 {
		switch v := n.(type) {
		case *ast.AnchorNode:
			n = v.Value
		case *ast.AliasNode:
			target := d.anchors[v.Value.GetToken().Value]
			if target == nil {
				return n
			}
			n = target
		default:
			return n
		}
	}
	return n
}

// missing tells whether a key stands without a value.
func missing(n ast.Node) bool {
	return n == nil || (n.Type() == ast.NullType && n.GetToken().Type == token.ImplicitNullType)
}

// describe says what a node is, for "got": never its text, which may be a secret.
func (d *decoder) describe(n ast.Node) string {
	v := d.resolve(n)
	if missing(v) {
		return "nothing"
	}
	switch v.Type() {
	case ast.StringType, ast.LiteralType:
		return "text"
	case ast.IntegerType, ast.FloatType:
		return "a number"
	case ast.InfinityType, ast.NanType:
		return "no finite number"
	case ast.BoolType:
		return v.GetToken().Value
	case ast.NullType:
		return "null"
	case ast.MappingType, ast.MappingValueType:
		return "a mapping"
	case ast.SequenceType:
		return "a list"
	case ast.TagType:
		return "a tag (!), which a config doesn't need"
	case ast.AliasType:
		return "an alias of an anchor that the file doesn't have"
	}
	return "something else"
}

func (d *decoder) text(n ast.Node, key string) (string, bool) {
	s, ok := d.textOf(n)
	switch {
	case !ok:
		d.fail(n, "%s: want text, got %s", key, d.describe(n))
	case s == "":
		d.fail(n, "%s is empty", key)
	default:
		return s, !d.unfilled[d.resolve(n)]
	}
	return "", false
}

// textOf gives the text of a node, with its variables filled in; false when it is something else.
func (d *decoder) textOf(n ast.Node) (string, bool) {
	s, ok := d.rawText(n)
	return d.filled(n, s), ok
}

// rawText is the text as it stands in the file.
func (d *decoder) rawText(n ast.Node) (string, bool) {
	switch v := d.resolve(n).(type) {
	case *ast.StringNode:
		return v.Value, true
	case *ast.LiteralNode:
		return v.Value.Value, true
	}
	return "", false
}

// word reads text, and takes a number, true or false as it is spelled in the file.
func (d *decoder) word(n ast.Node, key string) (string, bool) {
	v := d.resolve(n)
	switch v.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return v.GetToken().Value, true
	}
	return d.text(n, key)
}

func (d *decoder) boolean(n ast.Node, key string) (value, ok bool) {
	if v, ok := d.resolve(n).(*ast.BoolNode); ok {
		return v.Value, true
	}
	d.fail(n, "%s: want true or false, got %s", key, d.describe(n))
	return false, false
}

func (d *decoder) number(n ast.Node, key string) (float64, bool) {
	v := d.resolve(n)
	switch v.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		f, err := strconv.ParseFloat(v.GetToken().Value, 64)
		if err == nil && !math.IsInf(f, 0) {
			return f, true
		}
	}
	d.fail(n, "%s: want a number, got %s", key, d.describe(n))
	return 0, false
}

// whole reads a whole number from low to high.
func (d *decoder) whole(n ast.Node, key string, low, high int) (int, bool) {
	got := d.describe(n)
	switch v := d.resolve(n).(type) {
	case *ast.IntegerNode:
		i, err := strconv.Atoi(v.GetToken().Value)
		if err == nil && i >= low && i <= high {
			return i, true
		}
		got = v.GetToken().Value
	case *ast.FloatNode:
		got = v.GetToken().Value
	}
	d.fail(n, "%s: want a whole number from %d to %d, got %s", key, low, high, got)
	return 0, false
}

// oneOf reads one of the allowed words, among which null is one too.
func (d *decoder) oneOf(n ast.Node, key string, allowed ...string) (string, bool) {
	var s string
	if v := d.resolve(n); !missing(v) && v.Type() == ast.NullType {
		s = v.GetToken().Value
	} else if word, ok := d.word(n, key); ok {
		s = word
	} else {
		return "", false
	}
	if !slices.Contains(allowed, s) {
		d.fail(n, "%s: unknown value %q; allowed: %s", key, s, strings.Join(allowed, ", "))
		return "", false
	}
	return s, true
}

// item is one element of a list and its place.
type item struct {
	text string
	node ast.Node
}

// list reads a list of distinct texts, each with read.
func (d *decoder) list(n ast.Node, key string, read func(n ast.Node, key string) (string, bool)) []item {
	var out []item
	for _, element := range d.elements(n, key) {
		s, ok := read(element, key)
		if !ok {
			continue
		}
		if i := slices.IndexFunc(out, func(o item) bool { return o.text == s }); i >= 0 {
			d.fail(element, "%s: the same again as on line %d", key, position(out[i].node).Line)
			continue
		}
		out = append(out, item{s, element})
	}
	return out
}

func texts(items []item) []string {
	out := make([]string, len(items))
	for i, it := range items {
		out[i] = it.text
	}
	return out
}

func (d *decoder) elements(n ast.Node, key string) []ast.Node {
	s, ok := d.resolve(n).(*ast.SequenceNode)
	if !ok {
		d.fail(n, "%s: want a list, got %s", key, d.describe(n))
		return nil
	}
	if len(s.Values) == 0 {
		d.fail(n, "%s: the list is empty", key)
	}
	return s.Values
}

// didYouMean is the tail of a message about an unknown name; empty when nothing is near.
func didYouMean(name string, names []string) string {
	near := catalog.Nearest(name, names)
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, " or ") + "?"
}

// yamlError is what the parser's errors offer: the message without an excerpt of the file, which may hold a secret.
type yamlError interface {
	error
	GetToken() *token.Token
	GetMessage() string
}

func (d *decoder) failSyntax(err error) {
	var e yamlError
	if errors.As(err, &e) && e.GetToken() != nil {
		d.failAt(e.GetToken().Position, "not YAML: %s", e.GetMessage())
		return
	}
	d.failAt(nil, "not YAML: %s", err)
}
