package config

import (
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/invopop/jsonschema"
)

// field is one key that a mapping may have: whether it must, how its value is read, and what an editor says about it.
type field struct {
	key      string
	required bool
	doc      string
	read     func(d *decoder, n ast.Node)
	schema   func() *jsonschema.Schema
}

// optional is a key whose value goes to *to. What is there before is the default, and the schema says so.
func optional[T any](key string, s shape[T], to *T, doc string) field {
	byDefault := defaultOf(*to)
	return field{
		key: key, doc: doc,
		read: func(d *decoder, n ast.Node) { *to, _ = s.read(d, n, key) },
		schema: func() *jsonschema.Schema {
			v := s.schema()
			v.Default = byDefault
			return v
		},
	}
}

// required is a key that must be there.
func required[T any](key string, s shape[T], to *T, doc string) field {
	f := optional(key, s, to, doc)
	f.required = true
	return f
}

// defaultOf is a default as the file would spell it, and nil for what has none.
func defaultOf(v any) any {
	switch v := v.(type) {
	case string:
		if v != "" {
			return v
		}
	case []string:
		if len(v) > 0 {
			return v
		}
	case int, float64, bool:
		return v
	case time.Duration:
		return v.String()
	}
	return nil
}

// object is a mapping of the file: its keys, and what holds across them.
type object struct {
	what    string // in messages
	fields  []field
	refused map[string]string                                    // key that is known and not allowed -> the reason
	check   func(d *decoder, n ast.Node, at map[string]ast.Node) // may be nil
	rules   func(s *jsonschema.Schema)                           // what of check a schema can say; may be nil
}

// object reads a mapping. The nodes of the keys that have a value are given back; nil when n is no mapping.
func (d *decoder) object(n ast.Node, o object) map[string]ast.Node {
	at := d.mapping(n, o.what, o.fields, o.refused)
	if at != nil && o.check != nil {
		o.check(d, n, at)
	}
	return at
}

// schema describes the mapping. No key beyond those of the table is allowed.
func (o object) schema() *jsonschema.Schema {
	s := &jsonschema.Schema{
		Type: "object", Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema,
	}
	for _, f := range o.fields {
		v := f.schema()
		v.Description = f.doc
		s.Properties.Set(f.key, v)
		if f.required {
			s.Required = append(s.Required, f.key)
		}
	}
	if o.rules != nil {
		o.rules(s)
	}
	return s
}
