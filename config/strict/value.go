package strict

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// resolve follows aliases and anchors to the node that holds the value. It gives up after 32
// steps, because aliases may form a cycle.
func (d *Decoder) resolve(n Node) Node {
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
func missing(n Node) bool {
	return n == nil || (n.Type() == ast.NullType && n.GetToken().Type == token.ImplicitNullType)
}

// Describe says what a node is, for the end of "want ..., got ...". Of a text it says only that it
// is one, because it may be a secret.
func (d *Decoder) Describe(n Node) string {
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
		return "a number that isn't finite"
	case ast.BoolType:
		return v.GetToken().Value
	case ast.NullType:
		return "null"
	case ast.MappingType, ast.MappingValueType:
		return "a mapping"
	case ast.SequenceType:
		return "a list"
	case ast.TagType:
		return "a tag (!), which isn't needed here"
	case ast.AliasType:
		return "an alias of an anchor that the file doesn't have"
	}
	return "something else"
}

// IsMapping tells whether a node is a mapping of keys to values.
func (d *Decoder) IsMapping(n Node) bool {
	_, ok := d.resolve(n).(ast.MapNode)
	return ok
}

// List returns the elements of a list, which may be empty. It returns false when the node is
// something else.
func (d *Decoder) List(n Node) ([]Node, bool) {
	s, ok := d.resolve(n).(*ast.SequenceNode)
	if !ok {
		return nil, false
	}
	return s.Values, true
}

// Scalar returns a single value: a bool, an int64, a uint64, a float64, a string with its variables
// filled in, or nil for null. It returns false when the node is something else.
func (d *Decoder) Scalar(n Node) (any, bool) {
	switch v := d.resolve(n).(type) {
	case *ast.BoolNode:
		return v.Value, true
	case *ast.IntegerNode:
		return v.Value, true
	case *ast.FloatNode:
		return v.Value, true
	case *ast.NullNode:
		return nil, true
	}
	if s, ok := d.textOf(n); ok {
		return s, true
	}
	return nil, false
}

// textOf returns the text of a node, with its variables filled in. It returns false when the node
// isn't a text.
func (d *Decoder) textOf(n Node) (string, bool) {
	s, ok := rawText(d.resolve(n))
	return d.filled(n, s), ok
}

// rawText returns the text of a node as it stands in the file. It returns false when the node isn't
// a text.
func rawText(n Node) (string, bool) {
	switch v := n.(type) {
	case *ast.StringNode:
		return v.Value, true
	case *ast.LiteralNode:
		return v.Value.Value, true
	}
	return "", false
}

// text reads a text that isn't empty.
func (d *Decoder) text(n Node, key string) (string, bool) {
	s, ok := d.textOf(n)
	switch {
	case !ok:
		d.Fail(n, "%s: want text, got %s", key, d.Describe(n))
	case s == "":
		d.Fail(n, "%s is empty", key)
	default:
		return s, !d.unfilled[d.resolve(n)]
	}
	return "", false
}

// word reads text, and takes a number, true or false as it is spelled in the file.
func (d *Decoder) word(n Node, key string) (string, bool) {
	v := d.resolve(n)
	switch v.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return v.GetToken().Value, true
	}
	return d.text(n, key)
}

func (d *Decoder) boolean(n Node, key string) (value, ok bool) {
	if v, ok := d.resolve(n).(*ast.BoolNode); ok {
		return v.Value, true
	}
	d.Fail(n, "%s: want true or false, got %s", key, d.Describe(n))
	return false, false
}

func (d *Decoder) number(n Node, key string) (float64, bool) {
	v := d.resolve(n)
	switch v.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		f, err := strconv.ParseFloat(v.GetToken().Value, 64)
		if err == nil && !math.IsInf(f, 0) {
			return f, true
		}
	}
	d.Fail(n, "%s: want a number, got %s", key, d.Describe(n))
	return 0, false
}

// whole reads a whole number from low to high.
func (d *Decoder) whole(n Node, key string, low, high int) (int, bool) {
	got := d.Describe(n)
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
	d.Fail(n, "%s: want a whole number from %d to %d, got %s", key, low, high, got)
	return 0, false
}

// oneOf reads one of the allowed words. The word null may be among them.
func (d *Decoder) oneOf(n Node, key string, allowed []string) (string, bool) {
	var s string
	if v := d.resolve(n); !missing(v) && v.Type() == ast.NullType {
		s = v.GetToken().Value
	} else if word, ok := d.word(n, key); ok {
		s = word
	} else {
		return "", false
	}
	if !slices.Contains(allowed, s) {
		d.Fail(n, "%s: unknown value %q; allowed: %s", key, s, strings.Join(allowed, ", "))
		return "", false
	}
	return s, true
}
