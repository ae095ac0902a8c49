package config

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/invopop/jsonschema"
)

// shape is what one value must look like. How it is read and how the JSON Schema describes it stand side by side, so
// that an editor and the decoder can't disagree about a key. The schema may take more than read does, never less: a
// zone or a cron expression needs more than a schema can say.
type shape[T any] struct {
	read   func(d *decoder, n ast.Node, key string) (T, bool)
	schema func() *jsonschema.Schema
}

func ofType(name string) *jsonschema.Schema { return &jsonschema.Schema{Type: name} }

var one = uint64(1)

// text is any text but the empty one.
var text = shape[string]{
	(*decoder).text,
	func() *jsonschema.Schema { return &jsonschema.Schema{Type: "string", MinLength: &one} },
}

// word is text, or a number, true or false as the file spells it.
var word = shape[string]{
	(*decoder).word,
	func() *jsonschema.Schema {
		return &jsonschema.Schema{MinLength: &one, Extras: map[string]any{"type": []string{"string", "number", "boolean"}}}
	},
}

// matching is text of one form; complaint is what is said of other text. The expression is in the syntax that Go and
// JSON Schema share.
func matching(re expression, complaint string) shape[string] {
	return shape[string]{
		func(d *decoder, n ast.Node, key string) (string, bool) {
			read := d.word
			if _, ok := d.resolve(n).(*ast.BoolNode); ok {
				read = d.text
			}
			s, ok := read(n, key)
			if ok && !re.MatchString(s) {
				d.fail(n, "%s: %q %s", key, s, complaint)
				return "", false
			}
			return s, ok
		},
		func() *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Pattern: re.String()} },
	}
}

// checked is s, with a look at what it has read that a schema can't take. The look notes the mistake and gives false.
func checked(s shape[string], look func(d *decoder, n ast.Node, key, value string) bool) shape[string] {
	return shape[string]{
		func(d *decoder, n ast.Node, key string) (string, bool) {
			v, ok := s.read(d, n, key)
			return v, ok && look(d, n, key, v)
		},
		s.schema,
	}
}

// oneOf is one of the allowed words.
func oneOf(allowed ...string) shape[string] {
	return shape[string]{
		func(d *decoder, n ast.Node, key string) (string, bool) { return d.oneOf(n, key, allowed...) },
		func() *jsonschema.Schema {
			s := &jsonschema.Schema{}
			for _, word := range allowed {
				s.Enum = append(s.Enum, word)
			}
			for _, word := range allowed { // without quotes YAML takes these for values of other types
				switch word {
				case "true", "false":
					s.Enum = append(s.Enum, word == "true")
				case "null":
					s.Enum = append(s.Enum, nil)
				}
			}
			return s
		},
	}
}

var boolean = shape[bool]{
	func(d *decoder, n ast.Node, key string) (bool, bool) { return d.boolean(n, key) },
	func() *jsonschema.Schema { return ofType("boolean") },
}

// whole is a whole number from low to high.
func whole(low, high int) shape[int] {
	return shape[int]{
		func(d *decoder, n ast.Node, key string) (int, bool) { return d.whole(n, key, low, high) },
		func() *jsonschema.Schema {
			return &jsonschema.Schema{Type: "integer", Minimum: json.Number(strconv.Itoa(low)), Maximum: json.Number(strconv.Itoa(high))}
		},
	}
}

var durationPattern = expr(`^([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$`)

// duration is a length of time, at least low.
func duration(low time.Duration) shape[time.Duration] {
	form := matching(durationPattern, "is no length of time; write it like 90s, 2m or 1h30m")
	return shape[time.Duration]{
		func(d *decoder, n ast.Node, key string) (time.Duration, bool) {
			s, ok := form.read(d, n, key)
			if !ok {
				return 0, false
			}
			v, err := time.ParseDuration(s)
			switch {
			case err != nil:
				d.fail(n, "%s: %q is too long a time", key, s)
			case v < low:
				d.fail(n, "%s: %s is too short; want at least %s", key, s, low)
			default:
				return v, true
			}
			return 0, false
		},
		form.schema,
	}
}

// list is a list of at least one element, no two the same.
func list(element shape[string]) shape[[]item] {
	return shape[[]item]{
		func(d *decoder, n ast.Node, key string) ([]item, bool) {
			items := d.list(n, key, func(n ast.Node, key string) (string, bool) { return element.read(d, n, key) })
			return items, len(items) > 0
		},
		func() *jsonschema.Schema { return arrayOf(element.schema()) },
	}
}

func arrayOf(element *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "array", Items: element, MinItems: &one, UniqueItems: element.Type == "string" || element.Enum != nil}
}

// textsOf is a list without the places of its elements.
func textsOf(element shape[string]) shape[[]string] {
	items := list(element)
	return shape[[]string]{
		func(d *decoder, n ast.Node, key string) ([]string, bool) {
			v, ok := items.read(d, n, key)
			return texts(v), ok
		},
		items.schema,
	}
}
