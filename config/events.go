package config

import (
	"path"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/internal/catalog"
)

// events is a list of selectors; the places of its elements go to *nodes.
func events(nodes *[]ast.Node) shape[[]EventSelector] {
	return shape[[]EventSelector]{
		func(d *decoder, n ast.Node, key string) ([]EventSelector, bool) {
			var out []EventSelector
			*nodes = d.elements(n, key)
			for _, element := range *nodes {
				var e EventSelector
				d.object(element, eventObject(&e))
				out = append(out, e)
			}
			return out, len(out) > 0
		},
		func() *jsonschema.Schema { return arrayOf(eventObject(new(EventSelector)).schema()) },
	}
}

var selectorKeys = []string{"slug", "name", "token", "section", "glob"}

func eventObject(e *EventSelector) object {
	return object{
		what: "an event",
		fields: []field{
			optional("slug", word, &e.Slug, "The event of this slug."),
			optional("name", word, &e.Name, "The event of this name."),
			optional("token", word, &e.Token, "The event of this token."),
			optional("section", word, &e.Section, "Every event of this section, such as conversion_values."),
			optional("glob", word, &e.Glob, "Every event whose slug has this form, such as level_*."),
			optional("app", word, &e.App, "App token: only among this app's events."),
			required("metrics", textsOf(eventMetric), &e.Metrics, "What follows the slug in a metric's name, such as events, revenue or d7_revenue_cohort; self is the slug alone."),
			optional("as", name, &e.As, "Stands for the slug in the names of columns."),
		},
		check: func(d *decoder, n ast.Node, at map[string]ast.Node) { d.checkEvent(e, n, at) },
		rules: func(s *jsonschema.Schema) {
			for _, key := range selectorKeys {
				s.OneOf = append(s.OneOf, &jsonschema.Schema{Required: []string{key}})
			}
		},
	}
}

func (d *decoder) checkEvent(e *EventSelector, n ast.Node, at map[string]ast.Node) {
	var chosen []string
	for _, key := range selectorKeys {
		if at[key] != nil {
			chosen = append(chosen, key)
		}
	}
	if len(chosen) != 1 {
		got := "none"
		if len(chosen) > 1 {
			got = strings.Join(chosen, " and ")
		}
		d.fail(n, "an event: want exactly one of %s; got %s", joined(selectorKeys), got)
	}
	if at["as"] != nil && (e.Section != "" || e.Glob != "") {
		d.fail(at["as"], "as: section and glob may find several events, which can't share one name")
	}
	if _, err := path.Match(e.Glob, ""); err != nil {
		d.fail(at["glob"], "glob: %q is no pattern: a bracket or a backslash is left open", e.Glob)
	}
}

var eventMetric = checked(text, func(d *decoder, n ast.Node, key, s string) bool {
	_, known := catalog.EventMetric(s)
	if !known && s != "self" {
		d.fail(n, "%s: an event has no metric %q%s; want what follows the event's slug, such as events, revenue or "+
			"d7_revenue_cohort, or self for the slug alone", key, s, didYouMeanEventMetric(s))
	}
	return known || s == "self"
})
