package strict

import (
	"slices"

	"github.com/invopop/jsonschema"
)

// An Item is one element of a list, and its place.
type Item struct {
	Text string
	Node Node
}

// Texts returns the texts of the items, without their places.
func Texts(items []Item) []string {
	out := make([]string, len(items))
	for i, it := range items {
		out[i] = it.Text
	}
	return out
}

// Items returns the shape of a list that has at least one element, and no two the same.
func Items(element Shape[string]) Shape[[]Item] {
	return Shape[[]Item]{
		func(d *Decoder, n Node, key string) ([]Item, bool) {
			var out []Item
			for _, e := range d.Elements(n, key) {
				s, ok := element.Read(d, e, key)
				if !ok {
					continue
				}
				if i := slices.IndexFunc(out, func(o Item) bool { return o.Text == s }); i >= 0 {
					if plainWord.MatchString(s) {
						d.Fail(e, "%s: %s stands twice, first on line %d; leave one of them out", key, s,
							Line(out[i].Node))
					} else { // a URL, which may hold a secret
						d.Fail(e, "%s: the same again as on line %d; leave one of them out", key, Line(out[i].Node))
					}
					continue
				}
				out = append(out, Item{s, e})
			}
			return out, len(out) > 0
		},
		func() *jsonschema.Schema { return ArrayOf(element.Schema()) },
	}
}

// plainWord matches a word that a message may repeat.
var plainWord = Expr(`^[A-Za-z0-9_.]{1,64}$`)

// TextsOf returns the shape of such a list, read without the places of the items.
func TextsOf(element Shape[string]) Shape[[]string] {
	return As(Items(element), func(_ *Decoder, _ Node, _ string, v []Item) ([]string, bool) { return Texts(v), true })
}

// ArrayOf returns the schema of a list that has at least one element.
func ArrayOf(element *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "array", Items: element, MinItems: AtLeastOne,
		UniqueItems: element.Type == "string" || element.Enum != nil}
}

// Elements returns the elements of a list. It notes a mistake when the list is empty or the node
// isn't a list.
func (d *Decoder) Elements(n Node, key string) []Node {
	elements, ok := d.List(n)
	switch {
	case !ok:
		d.Fail(n, "%s: want a list, in brackets as in [one, two], or with a - in front of each element; got %s", key,
			d.Describe(n))
	case len(elements) == 0:
		d.Fail(n, "%s: the list is empty", key)
	}
	return elements
}
