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
	Why      string                    // what goes wrong without a required key, for the message; may be empty
	Doc      string                    // description for editors, in whole sentences
	Example  string                    // a value as the file would spell it; empty: none
	Read     func(d *Decoder, n Node)  // reads the value into the field's variable
	Now      func() any                // the value that is in use when the file leaves the key out; nil: there is none
	Note     func() string             // explains the effect of the value, for Show; may be nil
	Schema   func() *jsonschema.Schema // describes the value
}

// Optional returns the field of an optional key whose value is stored in *to. The present value of
// *to is the default, and the schema says so.
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

// Required returns the field of a key that must be present.
func Required[T any](key string, s Shape[T], to *T, example, doc string) Field {
	f := Optional(key, s, to, example, doc)
	f.Required = true
	return f
}

// Because sets the reason that the message about a missing required key states.
func (f Field) Because(why string) Field {
	f.Why = why
	return f
}

// Noting sets the explanation of the value's effect, which is asked for once the whole file is
// read.
func (f Field) Noting(what func() string) Field {
	f.Note = what
	return f
}

// Default returns a default in the form that a schema needs, or nil for a value that stands for no
// default.
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
	case fmt.Stringer: // as the file would spell it
		if text := v.String(); text != "" {
			return text
		}
	}
	return nil
}

// An Object describes a mapping of the file: its keys, and the rules across them.
type Object struct {
	What    string // the name of the mapping in messages
	Like    string // an example of one, for messages; may be empty
	Fields  []Field
	Refused map[string]string // keys that are known but not allowed, with the reasons
	// Unknown explains an unknown key for the message; "" if it can't. It may be nil.
	Unknown func(key string) string
	// Check checks rules across keys, given the nodes of the keys that have a value. It may be nil.
	Check func(d *Decoder, n Node, at map[string]Node)
	Rules func(s *jsonschema.Schema) // adds to the schema those rules of Check that a schema can express; may be nil
}

// Object reads a mapping, and returns the nodes of the keys that have a value. It returns nil when
// n isn't a mapping.
func (d *Decoder) Object(n Node, o Object) map[string]Node {
	at := d.mapping(n, o)
	if at != nil && o.Check != nil {
		o.Check(d, n, at)
	}
	return at
}

// Schema returns the schema of the mapping. It allows no keys but those of the fields.
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

// valueOf returns an example as a value for JSON. An example that isn't YAML stays text; the test
// of examples finds it.
func valueOf(example string) any {
	var v any
	if err := yaml.Unmarshal([]byte(example), &v); err != nil {
		return example
	}
	return v
}

// ObjectOf returns the shape of a mapping that is read into a T. of sets the defaults of the T, and
// returns the object that reads into it.
func ObjectOf[T any](of func(*T) Object) Shape[T] {
	return Shape[T]{
		func(d *Decoder, n Node, _ string) (v T, ok bool) {
			at := d.Object(n, of(&v))
			return v, at != nil
		},
		func() *jsonschema.Schema { return of(new(T)).Schema() },
	}
}

// ListOf returns the shape of a list of at least one mapping. each checks a mapping that has been
// read, given its node and the nodes of its keys; it may be nil.
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

// MapOf returns the shape of a mapping whose keys the file chooses. one reads an entry, and notes
// what is wrong with it.
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
