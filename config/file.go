package config

import (
	"bytes"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

func (d *decoder) parse(data []byte) *Config {
	body := d.document(data, "config/example.yml")
	if body == nil {
		return nil
	}
	c := &Config{}
	d.object(body, configObject(c))
	return c
}

// document gives the one YAML document of a file, and nil when there is none, which is noted; example is a file that shows
// what belongs there.
func (d *decoder) document(data []byte, example string) ast.Node {
	data, ok := d.plain(data)
	if !ok {
		return nil
	}
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey()) // doubled keys are found by mapping, with the rest
	if err != nil {
		d.failSyntax(err)
		return nil
	}
	if len(file.Docs) > 1 {
		d.fail(file.Docs[1].Body, "a second YAML document begins here; a config is one document")
		return nil
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		d.failAt(nil, "the file is empty; %s shows what belongs here", example)
		return nil
	}
	body := file.Docs[0].Body
	d.findAnchors(body)
	return body
}

// plain drops a byte order mark and refuses what is not text: the parser would read it as something else.
func (d *decoder) plain(data []byte) ([]byte, bool) {
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

// findAnchors notes what each anchor (&name) stands for. A name used twice is refused: an alias between the two would
// be read as the later one.
func (d *decoder) findAnchors(body ast.Node) {
	d.anchors = map[string]ast.Node{}
	for _, n := range ast.Filter(ast.AnchorType, body) {
		a := n.(*ast.AnchorNode)
		name := a.Name.GetToken().Value
		if d.anchors[name] != nil {
			d.fail(a, "anchor &%s is already set; give each a name of its own", name)
			continue
		}
		d.anchors[name] = a.Value
	}
}
