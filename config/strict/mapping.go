package strict

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/reportferry/reportferry/internal/catalog"
)

// An Entry is one key of a mapping in the file, with its value.
type Entry struct {
	Key     string
	KeyNode Node
	Value   Node
}

// Entries returns the keys of a mapping, each once, including those that a merge key (<<) brings
// in. Messages call the mapping what. A key that occurs twice is noted as a mistake. When the node
// isn't a mapping, that is noted, and false returned.
func (d *Decoder) Entries(n Node, what string) ([]Entry, bool) { return d.entries(n, what, "", 0) }

// mostMerged bounds how deep merged mappings may have merge keys themselves.
const mostMerged = 8

// entries does what Entries does. like is an example of the mapping for messages, and depth counts
// the merge keys around it.
func (d *Decoder) entries(n Node, what, like string, depth int) ([]Entry, bool) {
	if depth > mostMerged {
		d.Fail(n, "%s: the merge key goes in a circle", what)
		return nil, false
	}
	m, ok := d.resolve(n).(ast.MapNode)
	if !ok {
		d.Fail(n, "%s: want a mapping of keys to values, such as %s, got %s", what, cmp.Or(like, "{key: value}"),
			d.Describe(n))
		return nil, false
	}
	var own, merged []Entry
	lines := map[string]int{} // key -> its line
	for it := m.MapRange(); it.Next(); {
		if it.Key().IsMergeKey() {
			sources, many := d.List(it.Value())
			if !many {
				sources = []Node{it.Value()}
			}
			for _, source := range sources {
				more, _ := d.entries(source, what, like, depth+1)
				merged = append(merged, more...)
			}
			continue
		}
		key := keyText(it.Key())
		if line, twice := lines[key]; twice {
			d.Fail(it.Key(), "key %q is already set on line %d", key, line)
			continue
		}
		lines[key] = Line(it.Key())
		own = append(own, Entry{key, it.Key(), it.Value()})
	}
	// A mapping's own keys win over merged ones, and earlier sources win over later ones
	// (yaml.org/type/merge).
	for _, e := range merged {
		if _, taken := lines[e.Key]; !taken {
			lines[e.Key] = Line(e.KeyNode)
			own = append(own, e)
		}
	}
	return own, true
}

// keyText returns a key as text.
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

// mapping reads every key of n by its field, and returns the nodes of the values by key. It returns
// nil when n isn't a mapping.
func (d *Decoder) mapping(n Node, o Object) map[string]Node {
	entries, ok := d.entries(n, o.What, o.Like, 0)
	if !ok {
		return nil
	}
	d.objects[d.resolve(n)] = o
	byKey := map[string]Field{}
	for _, f := range o.Fields {
		byKey[f.Key] = f
	}
	present, nodes := map[string]bool{}, map[string]Node{}
	for _, e := range entries {
		present[e.Key] = true
		f, ok := byKey[e.Key]
		switch {
		case !ok:
			reason := o.unknown(e.Key)
			d.Fail(e.KeyNode, "%s", reason)
			_, meant, _ := strings.Cut(reason, "write it as ")
			meant, _, _ = strings.Cut(meant, ",")
			if _, known := byKey[meant]; known && nodes[meant] == nil { // don't also report it as missing
				present[meant], nodes[meant] = true, e.Value
			}
		case missing(d.resolve(e.Value)):
			d.Fail(e.KeyNode, "%s has no value", e.Key)
		default:
			nodes[e.Key] = e.Value
			f.Read(d, e.Value)
		}
	}
	for _, f := range o.Fields {
		if f.Required && !present[f.Key] {
			why := ""
			if f.Example != "" && !strings.Contains(f.Example, ": ") {
				why = ", as in " + f.Key + ": " + f.Example
			}
			if f.Why != "" {
				why = "; " + f.Why
			}
			d.Fail(n, "%s: required key %q is missing%s", o.What, f.Key, why)
		}
	}
	return nodes
}

// mostNamed is how many known keys a message lists at most.
const mostNamed = 16

// unknown returns the message about a key that no field has.
func (o Object) unknown(key string) string {
	if reason, ok := o.Refused[key]; ok {
		return fmt.Sprintf("%s: %s", key, reason)
	}
	if o.Unknown != nil {
		if what := o.Unknown(key); what != "" {
			return key + ": " + what
		}
	}
	known := make([]string, len(o.Fields))
	for i, f := range o.Fields {
		known[i] = f.Key
	}
	hint := DidYouMean(key, known)
	if hint == "" {
		hint = "; known: " + strings.Join(known, ", ")
		if len(known) > mostNamed {
			hint = "; config/README.md explains all keys"
		}
	}
	return fmt.Sprintf("unknown key %q in %s%s", key, o.What, hint)
}

// DidYouMean returns the tail of a message about an unknown name, such as "; did you mean until?".
// It returns "" when no name is similar.
func DidYouMean(name string, names []string) string {
	near := catalog.Nearest(name, names)
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, " or ") + "?"
}
