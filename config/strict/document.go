package strict

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// document returns the one YAML document of a file. It returns nil when there is none, and has then
// noted the mistake.
func (d *Decoder) document(data []byte) Node {
	if most := d.opts.MaxFile; most > 0 && len(data) > most {
		d.failAt(nil, "the file has more than %d bytes, which is the most that it may have", most)
		return nil
	}
	data, ok := d.plain(data)
	if !ok {
		return nil
	}
	// Duplicate keys are allowed here, because Entries finds them together with all other mistakes.
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		d.failSyntax(data, err)
		return nil
	}
	if len(file.Docs) > 1 {
		d.Fail(file.Docs[1].Body, "a second YAML document begins here; the file must be one document")
		return nil
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		d.failAt(nil, "the file is empty; %s shows what belongs here", d.opts.Example)
		return nil
	}
	body := file.Docs[0].Body
	d.findAnchors(body)
	if !d.allShort(body) {
		return nil
	}
	return body
}

// plain drops a byte order mark. It refuses data that isn't UTF-8 or has a NUL, because the parser
// would read it as something else.
func (d *Decoder) plain(data []byte) ([]byte, bool) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	line, col := 1, 1
	for rest := data; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		switch {
		case r == utf8.RuneError && size == 1:
			d.failAt(&token.Position{Line: line, Column: col}, "the file is not UTF-8 from here on")
			return nil, false
		case r == 0:
			d.failAt(&token.Position{Line: line, Column: col}, "the file holds a NUL character")
			return nil, false
		case r == '\n':
			line, col = line+1, 0
		}
		col++
		rest = rest[size:]
	}
	return data, true
}

// failSyntax notes the parser's message without the excerpt of the file, because the excerpt may
// hold a secret.
func (d *Decoder) failSyntax(data []byte, err error) {
	var e interface {
		error
		GetToken() *token.Token
		GetMessage() string
	}
	if errors.As(err, &e) && e.GetToken() != nil {
		p := e.GetToken().Position
		d.failAt(p, "not YAML: %s", hint(data, p.Line, e.GetMessage()))
		return
	}
	d.failAt(nil, "not YAML: %s", err)
}

// findAnchors stores the value of each anchor (&name). It refuses a name that is set twice, because
// an alias between the two would be read as the later one.
func (d *Decoder) findAnchors(body Node) {
	d.anchors = map[string]Node{}
	for _, n := range ast.Filter(ast.AnchorType, body) {
		a := n.(*ast.AnchorNode)
		name := a.Name.GetToken().Value
		if d.anchors[name] != nil {
			d.Fail(a, "anchor &%s is already set; give each a name of its own", name)
			continue
		}
		d.anchors[name] = a.Value
	}
}

// allShort refuses texts longer than MaxValue, before any message can repeat one.
func (d *Decoder) allShort(body Node) bool {
	if d.opts.MaxValue == 0 {
		return true
	}
	inside := map[Node]bool{} // the strings inside literals, which have no position of their own
	texts := ast.Filter(ast.LiteralType, body)
	for _, n := range texts {
		inside[n.(*ast.LiteralNode).Value] = true
	}
	short := true
	for _, n := range append(texts, ast.Filter(ast.StringType, body)...) {
		if s, _ := rawText(n); !inside[n] && len(s) > d.opts.MaxValue {
			d.Fail(n, "a value has %d bytes; it may have at most %d", len(s), d.opts.MaxValue)
			short = false
		}
	}
	return short
}
