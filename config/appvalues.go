package config

import (
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/internal/catalog"
)

// What stands for a secret: not a runtimevar URL, which the service's own token may be, because an app has dozens.
var (
	referencePattern = expr(`^\$\{([A-Za-z_][A-Za-z0-9_]*|file:[^}\p{Cc}]+)\}$`)
	secretKey        = expr(`(?i)secret|password|passwd|private_?key|credential`)
)

const wantReference = "want a reference, never the secret itself: ${NAME} of an environment variable, or ${file:/path}"

var secretReference = shape[Reference]{
	func(d *decoder, n ast.Node, key string) (Reference, bool) {
		s, _ := d.textOf(n)
		if !referencePattern.MatchString(s) {
			d.fail(n, "%s: %s", key, wantReference)
			return "", false
		}
		return Reference(s), true
	},
	func() *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Pattern: `^\$\{([A-Za-z_][A-Za-z0-9_]*|file:[^}]+)\}$`}
	},
}

// setupShape is a parameter of a partner.
func setupShape(s catalog.Setup) shape[any] {
	var one shape[any]
	switch {
	case s.Type == catalog.SetupFlag:
		one = anyOf(boolean)
	case s.Secret:
		one = anyOf(secretReference)
	default:
		one = shape[any]{(*decoder).setting, word.schema}
	}
	if s.Type != catalog.SetupTexts {
		return one
	}
	return shape[any]{
		func(d *decoder, n ast.Node, key string) (any, bool) {
			var list []any
			for _, element := range d.elements(n, key) {
				if v, ok := one.read(d, element, key); ok {
					list = append(list, v)
				}
			}
			return list, len(list) > 0
		},
		func() *jsonschema.Schema {
			return &jsonschema.Schema{Type: "array", Items: one.schema(), MinItems: &oneItem}
		},
	}
}

var oneItem = uint64(1)

// anyOf is a shape whose value is kept among others.
func anyOf[T any](s shape[T]) shape[any] {
	return shape[any]{
		func(d *decoder, n ast.Node, key string) (any, bool) {
			v, ok := s.read(d, n, key)
			return v, ok
		}, s.schema,
	}
}

// setting reads a text, a number as it is spelled, or a reference.
func (d *decoder) setting(n ast.Node, key string) (any, bool) {
	if _, isFlag := d.resolve(n).(*ast.BoolNode); isFlag {
		d.fail(n, "%s: want text, got %s", key, d.describe(n))
		return nil, false
	}
	s, _ := d.textOf(n)
	if referencePattern.MatchString(s) {
		return Reference(s), true
	}
	v, ok := clean(word, 4096).read(d, n, key)
	return v, ok
}

func partnerObject(p catalog.Partner, into map[string]any) object {
	o := object{what: p.Slug}
	for _, s := range p.Setup {
		read := setupShape(s)
		doc := "Text."
		switch {
		case s.Secret:
			doc = "A secret, by reference."
		case s.Type == catalog.SetupFlag && !s.Required:
			doc = "Flag; " + strconv.FormatBool(s.Default) + " by default."
		}
		o.fields = append(o.fields, field{
			key: s.Name, required: s.Required, doc: doc, schema: read.schema,
			read: func(d *decoder, n ast.Node) {
				if v, ok := read.read(d, n, s.Name); ok {
					into[s.Name] = v
				}
			},
		})
	}
	return o
}

// channelSetup has the partners that the interface document lists.
var channelSetup = shape[map[string]map[string]any]{
	func(d *decoder, n ast.Node, _ string) (map[string]map[string]any, bool) {
		all := map[string]map[string]any{}
		o := object{what: "channel_setup", refused: map[string]string{}}
		for i, p := range catalog.Partners() {
			o.refused["partner_"+strconv.Itoa(i+1)] = "write the partner's slug, " + p.Slug
			o.fields = append(o.fields, field{key: p.Slug, read: func(d *decoder, n ast.Node) {
				all[p.Slug] = map[string]any{}
				d.object(n, partnerObject(p, all[p.Slug]))
			}})
		}
		return all, d.object(n, o) != nil
	},
	func() *jsonschema.Schema {
		o := object{}
		for _, p := range catalog.Partners() {
			o.fields = append(o.fields, field{
				key: p.Slug, doc: "Parameters of this partner.", schema: func() *jsonschema.Schema { return partnerObject(p, nil).schema() },
			})
		}
		return o.schema()
	},
}

var storeType = expr(`^[a-z][a-z0-9_-]{0,63}$`)

// additionalStores maps store types to IDs.
var additionalStores = shape[map[string]string]{
	func(d *decoder, n ast.Node, key string) (map[string]string, bool) {
		entries, ok := d.collect(n, key, 0)
		stores := map[string]string{}
		for _, e := range entries {
			switch {
			case e.key == "google_play":
				d.fail(e.keyNode, "%s: google_play is the default store, whose ID is store_id", key)
			case !storeType.MatchString(e.key):
				d.fail(e.keyNode, "%s: %q is no store type; want a word such as amazon", key, clip(e.key))
			default:
				stores[e.key], _ = identifier.read(d, e.value, e.key)
			}
		}
		return stores, ok
	},
	func() *jsonschema.Schema {
		return &jsonschema.Schema{
			Type: "object", AdditionalProperties: identifier.schema(), PropertyNames: &jsonschema.Schema{Pattern: storeType.String()},
		}
	},
}

// overrides are settings by section. The interface document leaves their structure open, so that only their outline is
// checked: one object, or a list of objects that say which item of the template is meant.
var overrides = shape[map[string]any]{
	func(d *decoder, n ast.Node, key string) (map[string]any, bool) {
		all := map[string]any{}
		o := object{what: key, refused: map[string]string{"app_info": "this section is read-only"}}
		for _, s := range catalog.Sections() {
			o.fields = append(o.fields, field{key: s.Name, read: func(d *decoder, n ast.Node) {
				if v, ok := d.override(s, n); ok {
					all[s.Name] = v
				}
			}})
		}
		return all, d.object(n, o) != nil
	},
	func() *jsonschema.Schema {
		o := object{}
		for _, s := range catalog.Sections() {
			o.fields = append(o.fields, field{key: s.Name, doc: "Settings of this section.", schema: func() *jsonschema.Schema {
				if s.ID == "" {
					return ofType("object")
				}
				return &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "object", Required: []string{s.ID}}, MinItems: &oneItem}
			}})
		}
		return o.schema()
	},
}

func (d *decoder) override(s catalog.Section, n ast.Node) (any, bool) {
	t := &tree{d: d, left: 10_000}
	if s.ID == "" {
		if _, ok := d.resolve(n).(ast.MapNode); !ok {
			d.fail(n, "%s: want a mapping of settings, got %s", s.Name, d.describe(n))
			return nil, false
		}
		return t.read(n, s.Name, 0)
	}
	var list []any
	for _, element := range d.elements(n, s.Name) {
		v, ok := t.read(element, s.Name, 0)
		if !ok {
			continue
		}
		item, isMap := v.(map[string]any)
		if id, _ := item[s.ID].(string); !isMap || strings.TrimSpace(id) == "" {
			d.fail(element, "%s: want a mapping with the key %s, which says what of the template is meant", s.Name, s.ID)
			continue
		}
		list = append(list, item)
	}
	return list, len(list) > 0
}

// A tree reads values of any structure, and only so many of them: aliases can make few lines mean millions.
type tree struct {
	d    *decoder
	left int
}

func (t *tree) read(n ast.Node, key string, depth int) (any, bool) {
	if t.left--; t.left < 0 || depth > 16 {
		if t.left == -1 || depth > 16 {
			t.d.fail(n, "%s: too many values, or too deep", key)
		}
		return nil, false
	}
	switch v := t.d.resolve(n).(type) {
	case ast.MapNode:
		return t.mapping(n, key, depth)
	case *ast.SequenceNode:
		list, good := []any{}, true
		for _, element := range v.Values {
			e, ok := t.read(element, key, depth+1)
			list, good = append(list, e), good && ok
		}
		return list, good
	case *ast.BoolNode:
		return v.Value, true
	case *ast.IntegerNode:
		return v.Value, true
	case *ast.FloatNode:
		return v.Value, true
	case *ast.NullNode:
		return nil, true
	}
	s, ok := t.d.textOf(n)
	switch {
	case !ok:
		t.d.fail(n, "%s: want a value, got %s", key, t.d.describe(n))
	case referencePattern.MatchString(s):
		return Reference(s), true
	case secretKey.MatchString(key):
		t.d.fail(n, "%s: %s", key, wantReference)
		return nil, false
	case s == "":
		return "", true
	default:
		return line.read(t.d, n, key)
	}
	return nil, false
}

func (t *tree) mapping(n ast.Node, key string, depth int) (any, bool) {
	entries, good := t.d.collect(n, key, 0)
	m := map[string]any{}
	for _, e := range entries {
		if e.key == "" || len(e.key) > 255 || controlCharacter.MatchString(e.key) {
			t.d.fail(e.keyNode, "%s: a key that is empty, too long, or holds a control character", key)
			good = false
			continue
		}
		v, ok := t.read(e.value, e.key, depth+1)
		m[e.key], good = v, good && ok
	}
	return m, good
}
