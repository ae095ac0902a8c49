package config

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// entry is one key of a mapping in the file.
type entry struct {
	key     string
	keyNode ast.Node
	value   ast.Node
}

// collect lists the keys of a mapping, each once, with those that a merge key (<<) brings in.
func (d *decoder) collect(n ast.Node, what string, depth int) ([]entry, bool) {
	if depth > 8 {
		d.fail(n, "%s: the merge key goes in a circle", what)
		return nil, false
	}
	m, ok := d.resolve(n).(ast.MapNode)
	if !ok {
		d.fail(n, "%s: want a mapping of keys to values, got %s", what, d.describe(n))
		return nil, false
	}
	var own, merged []entry
	seen := map[string]int{}
	for it := m.MapRange(); it.Next(); {
		if it.Key().IsMergeKey() {
			for _, source := range d.sources(it.Value()) {
				more, _ := d.collect(source, what, depth+1)
				merged = append(merged, more...)
			}
			continue
		}
		key := keyText(it.Key())
		if line, twice := seen[key]; twice {
			d.fail(it.Key(), "key %q is already set on line %d", key, line)
			continue
		}
		seen[key] = position(it.Key()).Line
		own = append(own, entry{key, it.Key(), it.Value()})
	}
	// A mapping's own keys win over merged ones, and earlier sources win over later ones (yaml.org/type/merge).
	for _, e := range merged {
		if _, taken := seen[e.key]; !taken {
			seen[e.key] = position(e.keyNode).Line
			own = append(own, e)
		}
	}
	return own, true
}

// sources are the mappings that a merge key names: one, or a list.
func (d *decoder) sources(n ast.Node) []ast.Node {
	if s, ok := d.resolve(n).(*ast.SequenceNode); ok {
		return s.Values
	}
	return []ast.Node{n}
}

func keyText(n ast.MapKeyNode) string {
	switch k := n.(type) {
	case *ast.StringNode:
		return k.Value
	case *ast.MappingKeyNode:
		if k.Value != nil && k.Value.GetToken() != nil {
			return k.Value.GetToken().Value
		}
	}
	return n.GetToken().Value
}

// mapping reads every key of n by its field. refused gives the reason against a key that is known and not allowed; it
// may be nil. The nodes of the keys that have a value are given back, for checks across keys.
func (d *decoder) mapping(n ast.Node, what string, fields []field, refused map[string]string) map[string]ast.Node {
	entries, ok := d.collect(n, what, 0)
	if !ok {
		return nil
	}
	known := make([]string, len(fields))
	byKey := map[string]field{}
	for i, f := range fields {
		known[i], byKey[f.key] = f.key, f
	}
	present, nodes := map[string]bool{}, map[string]ast.Node{}
	for _, e := range entries {
		present[e.key] = true
		f, ok := byKey[e.key]
		switch {
		case !ok:
			d.fail(e.keyNode, "%s", unknownKey(e.key, what, known, refused))
		case missing(d.resolve(e.value)):
			d.fail(e.keyNode, "%s has no value", e.key)
		default:
			nodes[e.key] = e.value
			f.read(d, e.value)
		}
	}
	for _, f := range fields {
		if f.required && !present[f.key] {
			d.fail(n, "%s: required key %q is missing", what, f.key)
		}
	}
	return nodes
}

func unknownKey(key, what string, known []string, refused map[string]string) string {
	if reason, ok := refused[key]; ok {
		return fmt.Sprintf("%s: %s", key, reason)
	}
	hint := didYouMean(key, known)
	if hint == "" {
		hint = "; known: " + strings.Join(known, ", ")
	}
	return fmt.Sprintf("unknown key %q in %s%s", key, what, hint)
}
