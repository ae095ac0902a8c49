package strict

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/internal/lazy"
)

// A Shape says what one value must look like: how it is read, and how the JSON Schema describes it.
// The schema may allow more than Read does, never less, because a time zone or a cron expression
// can't be fully checked by a schema.
type Shape[T any] struct {
	Read   func(d *Decoder, n Node, key string) (T, bool) // key names the value in messages
	Schema func() *jsonschema.Schema
}

// AtLeastOne is the number 1 as a schema has it, for MinLength and MinItems.
var AtLeastOne = func() *uint64 { n := uint64(1); return &n }()

// Text is any text that isn't empty.
var Text = Shape[string]{
	(*Decoder).text,
	func() *jsonschema.Schema { return &jsonschema.Schema{Type: "string", MinLength: AtLeastOne} },
}

// Word is text, or a number, true or false, which is read as the file spells it.
var Word = Shape[string]{
	(*Decoder).word,
	func() *jsonschema.Schema {
		return &jsonschema.Schema{MinLength: AtLeastOne, Extras: map[string]any{"type": []string{"string", "number",
			"boolean"}}}
	},
}

// Bool is true or false.
var Bool = Shape[bool]{
	(*Decoder).boolean,
	func() *jsonschema.Schema { return &jsonschema.Schema{Type: "boolean"} },
}

// Number is any finite number.
var Number = Shape[float64]{
	(*Decoder).number,
	func() *jsonschema.Schema { return &jsonschema.Schema{Type: "number"} },
}

// Whole returns the shape of a whole number from low to high.
func Whole(low, high int) Shape[int] {
	return Shape[int]{
		func(d *Decoder, n Node, key string) (int, bool) { return d.whole(n, key, low, high) },
		func() *jsonschema.Schema {
			return &jsonschema.Schema{Type: "integer", Minimum: json.Number(strconv.Itoa(low)),
				Maximum: json.Number(strconv.Itoa(high))}
		},
	}
}

// An Expression is a regular expression that is compiled when it is first needed. A file needs few
// of all the expressions, and compiling them all, with their long repetitions, would take 2 ms of
// every start.
type Expression struct {
	text     string
	compiled func() *regexp.Regexp
}

// Expr returns an expression, given in the syntax that Go and JSON Schema share.
func Expr(text string) Expression {
	return Expression{text, lazy.Regexp(text)}
}

// String returns the text that Expr was given.
func (e Expression) String() string { return e.text }

// MatchString reports whether the text contains a match.
func (e Expression) MatchString(s string) bool { return e.compiled().MatchString(s) }

// Submatch returns the first match in the text and those of the expression's groups, or nil if
// there is none.
func (e Expression) Submatch(s string) []string { return e.compiled().FindStringSubmatch(s) }

// Matching returns the shape of a text that matches an expression. want names its form in messages
// and as the title of the schema, such as "a length of time such as 90s".
func Matching(form Expression, want string) Shape[string] {
	return Shape[string]{
		func(d *Decoder, n Node, key string) (string, bool) {
			read := d.word
			if _, ok := d.resolve(n).(*ast.BoolNode); ok {
				read = d.text
			}
			s, ok := read(n, key)
			if ok && !form.MatchString(s) {
				d.Fail(n, "%s: want %s, got %q", key, want, s)
				return "", false
			}
			return s, ok
		},
		func() *jsonschema.Schema {
			return &jsonschema.Schema{Type: "string", Title: want, Pattern: form.String()}
		},
	}
}

// notFilled marks the schema of a text whose variables aren't filled in.
const notFilled = "Variables aren't filled in here."

// bareVariable matches $NAME without braces, as a shell allows it. No token begins with a $.
var bareVariable = Expr(`^\$[A-Za-z_][A-Za-z0-9_]*$`)

// Reference returns the shape of a text that stands for a secret and matches an expression. The
// text is used as written in the file, with no variable filled in. The message about a wrong text
// doesn't repeat it, because it may be the secret itself.
func Reference(form Expression, want string) Shape[string] {
	return Shape[string]{
		func(d *Decoder, n Node, key string) (string, bool) {
			s, _ := rawText(d.resolve(n))
			d.asIs[d.resolve(n)] = true
			switch {
			case form.MatchString(s):
				return s, true
			case bareVariable.MatchString(s):
				d.Fail(n, "%s: the name of a variable stands in braces: write ${%s}", key, s[1:])
			default:
				d.Fail(n, "%s: want %s", key, want)
			}
			return "", false
		},
		func() *jsonschema.Schema {
			return &jsonschema.Schema{Type: "string", Title: want, Pattern: form.String(), Comments: notFilled}
		},
	}
}

// As returns a shape that reads a value by s and converts it with made. For a value that a schema
// can't exclude, made notes a mistake and returns false.
func As[S, T any](s Shape[S], made func(d *Decoder, n Node, key string, value S) (T, bool)) Shape[T] {
	return Shape[T]{
		func(d *Decoder, n Node, key string) (v T, ok bool) {
			if plain, good := s.Read(d, n, key); good {
				v, ok = made(d, n, key, plain)
			}
			return v, ok
		},
		s.Schema,
	}
}

// Checked returns s with a further check, of what a schema can't express. On a mistake, check notes
// it and returns false.
func Checked[T any](s Shape[T], check func(d *Decoder, n Node, key string, value T) bool) Shape[T] {
	return As(s, func(d *Decoder, n Node, key string, v T) (T, bool) { return v, check(d, n, key, v) })
}

// OneOf returns the shape of a text that must be one of the allowed words.
func OneOf(allowed ...string) Shape[string] {
	return Shape[string]{
		func(d *Decoder, n Node, key string) (string, bool) { return d.oneOf(n, key, allowed) },
		func() *jsonschema.Schema {
			s := &jsonschema.Schema{}
			for _, word := range allowed {
				s.Enum = append(s.Enum, word)
			}
			for _, word := range allowed { // without quotes, YAML reads these words as values of other types
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

var durationForm = Expr(`^([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$`)

// Duration returns the shape of a length of time of at least low.
func Duration(low time.Duration) Shape[time.Duration] {
	return As(Matching(durationForm, "a length of time such as 90s, 2m or 1h30m"),
		func(d *Decoder, n Node, key, s string) (time.Duration, bool) {
			v, err := time.ParseDuration(s)
			switch {
			case err != nil:
				d.Fail(n, "%s: %q is too long a time", key, s)
			case v < low:
				d.Fail(n, "%s: want at least %s, got %s", key, low, s)
			default:
				return v, true
			}
			return 0, false
		})
}

var controlCharacter = Expr(`\p{Cc}`)

// OneLine returns s restricted to at most the given bytes, without blanks at its ends, and without
// control characters, which would end a line or a header. Messages don't repeat the text.
func OneLine(s Shape[string], most int) Shape[string] {
	return Checked(s, func(d *Decoder, n Node, key, text string) bool {
		switch {
		case controlCharacter.MatchString(text):
			d.Fail(n, "%s holds a control character, such as the end of a line", key)
		case strings.TrimSpace(text) != text:
			d.Fail(n, "%s begins or ends with a blank", key)
		case len(text) > most:
			d.Fail(n, "%s has %d bytes; it may have at most %d", key, len(text), most)
		default:
			return true
		}
		return false
	})
}
