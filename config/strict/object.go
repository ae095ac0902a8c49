package strict

import (
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/invopop/jsonschema"
)

// A Field is one key that a mapping may have.
type Field struct {
	Key      string
	Required bool
	Why      string                    // of a required key: what goes wrong without it, for the message; may be empty
	Doc      string                    // what an editor says about it: whole sentences
	Example  string                    // a value as the file would spell it; empty: none
	Read     func(d *Decoder, n Node)  // reads the value into the field's variable
	Now      func() any                // the value of a field that the file leaves out, as in Shown; nil: it has none
	Note     func() string             // what the value comes to, for Show; may be nil
	Schema   func() *jsonschema.Schema // describes the value
}

// Optional is a key whose value goes to *to. What is there before is the default, and the schema
// says so.
func Optional[T any](key string, s Shape[T], to *T, example, doc string) Field {
	byDefault := Default(*to)
	return Field{
		Key: key, Doc: doc, Example: example,
		Read: func(d *Decoder, n Node) { *to, _ = s.Read(d, n, key) },
		Now:  func() any { return Plain(*to) },
		Schema: func() *jsonschema.Schema {
			v := s.Schema()
			v.Default = byDefault
			return v
		},
	}
}

// Required is a key that must be there.
func Required[T any](key string, s Shape[T], to *T, example, doc string) Field {
	f := Optional(key, s, to, example, doc)
	f.Required = true
	return f
}

// Because gives a required key the reason that the message about its absence tells.
func (f Field) Because(why string) Field {
	f.Why = why
	return f
}

// Noting gives a key words that say what its value comes to once the whole file is read.
func (f Field) Noting(what func() string) Field {
	f.Note = what
	return f
}

// Default is a default as a schema has it, and nil for a value that no key has by default.
func Default(v any) any {
	switch v := v.(type) {
	case string:
		if v != "" {
			return v
		}
	case []string:
		if len(v) > 0 {
			return v
		}
	case bool:
		return v
	case int:
		if v > 0 { // -1 stands for a value that no file can have
			return v
		}
	case float64:
		if v != 0 {
			return v
		}
	case time.Duration:
		if v == 0 {
			return nil
		}
		text := v.String()
		for _, zero := range []string{"m0s", "h0m"} { // 2m0s is 2m
			if strings.HasSuffix(text, zero) {
				text = text[:len(text)-2]
			}
		}
		return text
	case fmt.Stringer: // as a file has it
		if text := v.String(); text != "" {
			return text
		}
	}
	return nil
}

// An Object is a mapping of the file: its keys, and what holds across them.
type Object struct {
	What    string // what messages call it
	Like    string // an example of one, for messages; may be empty
	Fields  []Field
	Refused map[string]string // a key that is known and not allowed -> the reason
	// Says of any other key what it is in truth; empty: nothing is known of it; may be nil.
	Unknown func(key string) string
	// Looks across keys, by the nodes of those that have a value; may be nil.
	Check func(d *Decoder, n Node, at map[string]Node)
	Rules func(s *jsonschema.Schema) // adds what a schema can say of Check; may be nil
}

// Object reads a mapping. It gives the nodes of the keys that have a value; nil: n is something
// else than a mapping.
func (d *Decoder) Object(n Node, o Object) map[string]Node {
	at := d.mapping(n, o)
	if at != nil && o.Check != nil {
		o.Check(d, n, at)
	}
	return at
}

// Schema describes the mapping. It allows no key beyond those of the table.
func (o Object) Schema() *jsonschema.Schema {
	s := &jsonschema.Schema{
		Type: "object", Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema,
	}
	for _, f := range o.Fields {
		v := f.Schema()
		v.Description = f.Doc
		if f.Example != "" {
			v.Examples = []any{valueOf(f.Example)}
		}
		s.Properties.Set(f.Key, v)
		if f.Required {
			s.Required = append(s.Required, f.Key)
		}
	}
	if o.Rules != nil {
		o.Rules(s)
	}
	return s
}

// valueOf is an example as JSON has it. An example that isn't YAML stays text; the test of examples
// finds it.
func valueOf(example string) any {
	var v any
	if err := yaml.Unmarshal([]byte(example), &v); err != nil {
		return example
	}
	return v
}

// ObjectOf is a mapping that is read into a T. of gives its object, and sets the T's defaults.
func ObjectOf[T any](of func(*T) Object) Shape[T] {
	return Shape[T]{
		func(d *Decoder, n Node, _ string) (v T, ok bool) {
			at := d.Object(n, of(&v))
			return v, at != nil
		},
		func() *jsonschema.Schema { return of(new(T)).Schema() },
	}
}

// ListOf is a list of mappings, at least one. each looks at a mapping that has been read, with its
// node and the nodes of its keys; it may be nil.
func ListOf[T any](of func(*T) Object, each func(d *Decoder, n Node, at map[string]Node, v *T)) Shape[[]T] {
	return Shape[[]T]{
		func(d *Decoder, n Node, key string) ([]T, bool) {
			var all []T
			for _, element := range d.Elements(n, key) {
				var v T
				at := d.Object(element, of(&v))
				if each != nil {
					each(d, element, at, &v)
				}
				all = append(all, v)
			}
			return all, len(all) > 0
		},
		func() *jsonschema.Schema { return ArrayOf(of(new(T)).Schema()) },
	}
}

// MapOf is a mapping whose keys the file chooses. one reads an entry, and notes what is wrong with
// it.
func MapOf[T any](one func(d *Decoder, e Entry, key string) (T, bool),
	schema func() *jsonschema.Schema) Shape[map[string]T] {
	return Shape[map[string]T]{
		func(d *Decoder, n Node, key string) (map[string]T, bool) {
			entries, ok := d.Entries(n, key)
			into := map[string]T{}
			for _, e := range entries {
				if v, good := one(d, e, key); good {
					into[e.Key] = v
				} else {
					ok = false
				}
			}
			return into, ok
		},
		schema,
	}
}
