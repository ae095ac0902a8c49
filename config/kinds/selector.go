package kinds

import (
	"cmp"
	"path"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/config/shape"
	"github.com/reportferry/reportferry/config/strict"
	"github.com/reportferry/reportferry/internal/catalog"
)

// EventSelector chooses events of the account by exactly one of Slug, Name, Token, Section and
// Glob, and the metrics of each for a report.
type EventSelector struct {
	Slug    string
	Name    string
	Token   string
	Section string
	Glob    string // pattern of slugs, as in path.Match
	App     string // app token: look only among this app's events
	// What follows the slug in a metric's name, such as revenue or d7_revenue_cohort; self is the
	// slug alone.
	Metrics []string
	As      string // stands for the slug in the names of columns; empty: the slug
}

// column returns the name of the column that holds one metric of the selected event.
func (s EventSelector) column(metric string) string {
	slug := cmp.Or(s.As, catalog.ColumnName(s.Slug))
	if metric == "self" {
		return slug
	}
	return slug + "_" + metric
}

// selectors reads a list of selectors. It appends the places of the elements to p.events.
func selectors(p *parts) strict.Shape[[]EventSelector] {
	return strict.ListOf(selectorObject, func(_ *strict.Decoder, n strict.Node, _ map[string]strict.Node,
		_ *EventSelector) {
		p.events = append(p.events, n)
	})
}

var selectorKeys = []string{"slug", "name", "token", "section", "glob"}

func selectorObject(e *EventSelector) strict.Object {
	return strict.Object{
		What: "an event", Like: "{slug: purchase, metrics: [events]}",
		Fields: []strict.Field{
			strict.Optional("slug", shape.Value, &e.Slug, "purchase",
				"Selects the event of this slug. In the names of columns, an underscore stands for blanks and other "+
					"signs in it."),
			strict.Optional("name", strict.Word, &e.Name, "Purchase", "Selects the event of this name."),
			strict.Optional("token", strict.Word, &e.Token, "abc123", "Selects the event of this token."),
			strict.Optional("section", strict.Word, &e.Section, "conversion_values",
				"Selects every event of this section."),
			strict.Optional("glob", strict.Word, &e.Glob, "level_*", "Selects every event whose slug has this form."),
			strict.Optional("app", strict.Word, &e.App, "abc123def456",
				"App token. Only this app's events are searched."),
			strict.Required("metrics", strict.TextsOf(eventMetric), &e.Metrics, "[events, d7_revenue_cohort]",
				"What follows the slug in a metric's name. self is the slug alone."),
			strict.Optional("as", shape.Name, &e.As, "buy",
				"Stands for the slug in the names of columns. Only one event may be selected then; a section or a "+
					"glob leaves it out where its own names would be another event's but for upper case."),
		},
		Check: func(d *strict.Decoder, n strict.Node, at map[string]strict.Node) { checkSelector(d, e, n, at) },
		Rules: func(s *jsonschema.Schema) {
			for _, key := range selectorKeys {
				s.OneOf = append(s.OneOf, &jsonschema.Schema{Required: []string{key}})
			}
		},
	}
}

// checkSelector requires exactly one way of choosing events, and refuses one that may choose
// several where the columns get a name of their own.
func checkSelector(d *strict.Decoder, e *EventSelector, n strict.Node, at map[string]strict.Node) {
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
		d.Fail(n, "an event: want exactly one of %s; got %s", strings.Join(selectorKeys, ", "), got)
	}
	if at["as"] != nil && (e.Section != "" || e.Glob != "") {
		d.Fail(at["as"], "as: section and glob may find several events, which can't share one name")
	}
	if _, err := path.Match(e.Glob, ""); err != nil {
		d.Fail(at["glob"], "glob: the pattern %q leaves a bracket or a backslash open", e.Glob)
	}
}

// eventMetric reads what follows an event's slug in a metric's name. One that the catalogue doesn't
// know is asked for, as an unknown metric is, because the service has new ones before any list.
var eventMetric = strict.Checked(strict.Text, func(d *strict.Decoder, n strict.Node, key, s string) bool {
	_, known := catalog.EventMetric(s)
	switch {
	case known || s == "self":
	case !shape.ColumnForm.MatchString("_" + s):
		d.Fail(n, "%s: want what follows the event's slug, such as events, revenue or d7_revenue_cohort, or self "+
			"for the slug alone, got %q", key, s)
		return false
	default:
		d.Warn(n, "%s: the catalogue doesn't know a metric %s of events%s the service is asked for it, and its "+
			"column is DOUBLE; "+
			"types: sets another type", key, s, otherwise(didYouMeanEventMetric(s)))
	}
	return true
})
