package apps

import (
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/config/strict"
	"github.com/reportferry/reportferry/internal/catalog"
)

// overrides is the shape of override_settings, which has settings by section. The interface
// document leaves their structure open, so only their outline is checked: one object, or a list of
// objects that each name an item of the template.
var overrides = strict.Shape[map[string]any]{
	Read: func(d *strict.Decoder, n strict.Node, key string) (map[string]any, bool) {
		all := map[string]any{}
		_, ok := strict.ObjectOf(func(*struct{}) strict.Object { return overridesObject(all) }).Read(d, n, key)
		return all, ok
	},
	Schema: func() *jsonschema.Schema { return overridesObject(map[string]any{}).Schema() },
}

// overridesObject describes override_settings, with a key for each section that may be overridden.
// It reads the values into all.
func overridesObject(all map[string]any) strict.Object {
	o := strict.Object{What: "override_settings", Refused: map[string]string{"app_info": "this section is read-only"}}
	for _, s := range catalog.Sections() {
		o.Fields = append(o.Fields, strict.Field{
			Key: s.Name, Doc: "Settings of this section.",
			Read: func(d *strict.Decoder, n strict.Node) {
				if v, ok := override(d, s, n); ok {
					all[s.Name] = v
				}
			},
			Schema: func() *jsonschema.Schema {
				if s.ID == "" {
					return &jsonschema.Schema{Type: "object"}
				}
				item := &jsonschema.Schema{Type: "object", Required: []string{s.ID}}
				return &jsonschema.Schema{Type: "array", Items: item, MinItems: strict.AtLeastOne}
			},
		})
	}
	return o
}

// override reads one section, and checks that each item of a list says which item of the template
// it replaces.
func override(d *strict.Decoder, s catalog.Section, n strict.Node) (any, bool) {
	t := &tree{d: d, left: mostNodes}
	if s.ID == "" {
		if !d.IsMapping(n) {
			d.Fail(n, "%s: want a mapping of settings, got %s", s.Name, d.Describe(n))
			return nil, false
		}
		return t.read(n, s.Name, 0)
	}
	var list []any
	for _, element := range d.Elements(n, s.Name) {
		v, ok := t.read(element, s.Name, 0)
		if !ok {
			continue
		}
		item, isMap := v.(map[string]any)
		if id, _ := item[s.ID].(string); !isMap || strings.TrimSpace(id) == "" {
			d.Fail(element, "%s: want a mapping with the key %s, which says what of the template is meant", s.Name,
				s.ID)
			continue
		}
		list = append(list, item)
	}
	return list, len(list) > 0
}

// The bounds of a section's settings. Aliases can make few lines of a file mean millions of values.
const (
	mostNodes = 10_000 // values of one section
	mostDepth = 16     // mappings and lists inside one another
)

// A tree reads the values of one section, of any structure, within the bounds.
type tree struct {
	d    *strict.Decoder
	left int // how many more values may be read
}

// secretKey matches the name of a key whose value must be a reference.
var secretKey = strict.Expr(`(?i)secret|password|passwd|private_?key|credential`)

// read returns a value of any structure, made of maps, lists and scalars as in JSON, with a
// Reference in place of each secret.
func (t *tree) read(n strict.Node, key string, depth int) (any, bool) {
	if t.left--; t.left < 0 || depth > mostDepth {
		if t.left == -1 || depth > mostDepth { // not again for each of the values beyond
			t.d.Fail(n, "%s: too many values, or too deep", key)
		}
		return nil, false
	}
	if t.d.IsMapping(n) {
		return t.mapping(n, key, depth)
	}
	if elements, ok := t.d.List(n); ok {
		list, good := []any{}, true
		for _, element := range elements {
			e, ok := t.read(element, key, depth+1)
			list, good = append(list, e), good && ok
		}
		return list, good
	}
	v, ok := t.d.Scalar(n)
	s, isText := v.(string)
	switch {
	case !ok:
		t.d.Fail(n, "%s: want a value, got %s", key, t.d.Describe(n))
	case !isText:
		return v, true
	case referenceForm.MatchString(s):
		return Reference(s), true
	case secretKey.MatchString(key):
		t.d.Fail(n, "%s: want %s", key, wantReference)
	case s == "":
		return "", true
	default:
		return line.Read(t.d, n, key)
	}
	return nil, false
}

// mapping reads a mapping of any keys that aren't too long.
func (t *tree) mapping(n strict.Node, key string, depth int) (any, bool) {
	entries, good := t.d.Entries(n, key)
	m := map[string]any{}
	for _, e := range entries {
		if e.Key == "" || len(e.Key) > 255 || controlCharacter.MatchString(e.Key) {
			t.d.Fail(e.KeyNode, "%s: a key may not be empty, longer than 255 bytes, or hold a control character", key)
			good = false
			continue
		}
		v, ok := t.read(e.Value, e.Key, depth+1)
		m[e.Key], good = v, good && ok
	}
	return m, good
}
