package strict

import (
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/internal/lazy"
)

// An Env returns the value of an environment variable, and whether it is set, as os.LookupEnv does.
type Env func(name string) (value string, set bool)

// variable matches what may be a variable, with or without a $ before it that makes it plain text;
// variableName matches one that is well formed.
var (
	variable     = lazy.Regexp(`\$?\$\{[^}]*\}?`)
	variableName = lazy.Regexp(`^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$`)
)

// filled replaces each ${NAME} in the text of a node by the value of the environment variable; $${
// becomes the text ${. A mistake is noted at the node, and later mistakes at that node aren't.
// Messages show ${NAME} instead of its value, which may be a secret.
func (d *Decoder) filled(n Node, raw string) string {
	if d.opts.Env == nil || !strings.Contains(raw, "${") {
		return raw
	}
	complain := func(format string, args ...any) {
		d.Fail(n, format, args...)
		if d.unfilled == nil {
			d.unfilled = map[Node]bool{}
		}
		d.unfilled[d.resolve(n)] = true
	}
	text := variable().ReplaceAllStringFunc(raw, func(found string) string {
		if literal, is := strings.CutPrefix(found, "$$"); is {
			return "$" + literal
		}
		name := variableName().FindStringSubmatch(found)
		if name == nil {
			complain("want ${NAME} of an environment variable; the text ${ itself is written $${")
			return found
		}
		value, set := d.opts.Env(name[1])
		if !set {
			complain("the environment variable %[1]s isn't set; set it by export %[1]s=...; the text ${ itself is "+
				"written $${", name[1])
		}
		d.hide(value, found)
		return value
	})
	if text != raw {
		d.hide(text, raw)
	}
	return text
}

// hide makes messages show another text, such as ${NAME}, in place of a text that may be secret.
func (d *Decoder) hide(text, shown string) {
	pair := [2]string{text, shown}
	if text != "" && !slices.Contains(d.hidden, pair) {
		d.hidden = append(d.hidden, pair)
	}
}

// leastUnquoted is the length in bytes from which a hidden text is replaced even without quotes
// around it. A shorter one would be found inside of unrelated words.
const leastUnquoted = 6

// scrub replaces the hidden texts in a message.
func (d *Decoder) scrub(msg string) string {
	for _, h := range d.hidden {
		msg = strings.ReplaceAll(msg, strconv.Quote(h[0]), strconv.Quote(h[1]))
		if len(h[0]) >= leastUnquoted {
			msg = strings.ReplaceAll(msg, h[0], h[1])
		}
	}
	return msg
}

// variableForm matches ${NAME} in the syntax of JSON Schema.
const variableForm = `\$\{[A-Za-z_][A-Za-z0-9_]*\}`

// AllowVariables makes a schema accept ${NAME} wherever it wants a text that matches a pattern or
// is one of several words. A Reference is left as it is.
func AllowVariables(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf, {s.Items, s.AdditionalProperties, s.Then}} {
		for _, inner := range list {
			AllowVariables(inner)
		}
	}
	for _, inner := range s.Definitions {
		AllowVariables(inner)
	}
	if s.Properties != nil {
		for p := s.Properties.Oldest(); p != nil; p = p.Next() {
			AllowVariables(p.Value)
		}
	}
	word, _ := s.Const.(string)
	switch {
	case s.Comments == notFilled:
	case s.Pattern != "":
		s.Pattern = "(" + s.Pattern + ")|" + variableForm
	case s.Enum != nil:
		s.AnyOf, s.Enum = []*jsonschema.Schema{{Enum: s.Enum}, {Type: "string", Pattern: variableForm}}, nil
	case word != "":
		s.AnyOf, s.Const = []*jsonschema.Schema{{Const: word}, {Type: "string", Pattern: variableForm}}, nil
	}
}
