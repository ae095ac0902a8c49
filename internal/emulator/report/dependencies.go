package report

import (
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/emulator/metrics"
)

// dependencyRules say which IDs, by their slugs, attr_dependency gives for a dimension that is a
// name.
var dependencyRules = []struct{ name, id string }{
	{"campaign", "campaign_id_network"}, {"adgroup", "adgroup_id_network"}, {"creative", "creative_id_network"},
	{"campaign_network", "campaign_id_network"}, {"adgroup_network", "adgroup_id_network"},
	{"creative_network", "creative_id_network"},
	{"source_network", "source_id_network"}, {"partner_name", "partner_id"}, {"partner_name", "partner"},
	{"app", "app_network"},
	{"channel", "channel_id"},
}

// dependencies finds the ids behind the names of a report's rows. A name that has several, as a
// network's campaign may in several apps, shows the first.
type dependencies struct{ list []dependency }

// dependency is one ID with its values, by the row's cells that it depends on.
type dependency struct {
	slug  string
	cells []int               // indexes of the row's cells that the ID depends on
	known map[string][]string // values of the ID, by these cells, joined
}

// dependencies collects the IDs behind the names that the report shows.
func (s *Service) dependencies(q *request) *dependencies {
	out := &dependencies{}
	for _, rule := range dependencyRules {
		n := slices.IndexFunc(q.Dimensions, func(d metrics.Dimension) bool { return d.Slug == rule.name })
		if n < 0 || slices.ContainsFunc(out.list, func(d dependency) bool { return d.slug == rule.id }) {
			continue
		}
		out.list = append(out.list, s.dependency(q, rule.id, q.Dimensions[n].Attributed))
	}
	return out
}

// dependency collects an ID's values. Under attribution_source=first, a row's attributed dimensions
// are from another slice than its other ones, so only those of the same sort determine the ID.
func (s *Service) dependency(q *request, id string, attributed bool) dependency {
	d := dependency{slug: id, known: map[string][]string{}}
	var texts []int
	for i, dim := range q.Dimensions {
		if dim.Text >= 0 && dim.Attributed == attributed {
			d.cells, texts = append(d.cells, i), append(texts, dim.Text)
		}
	}
	for _, a := range q.Apps {
		for _, sl := range s.account.Apps[a].Labels() {
			var key strings.Builder
			for _, t := range texts {
				key.WriteString(sl.Texts[t] + "\x00")
			}
			value := sl.TextOf(id)
			if known := d.known[key.String()]; !slices.Contains(known, value) {
				d.known[key.String()] = append(known, value)
			}
		}
	}
	return d
}

// forRow returns a row's attr_dependency. Its values are texts, except app_network, which is a
// list, because an app has several stores.
func (d *dependencies) forRow(row []any) map[string]any {
	out := map[string]any{}
	for _, id := range d.list {
		var key strings.Builder
		for _, c := range id.cells {
			text, _ := row[c].(string) // dimensions are texts
			key.WriteString(text + "\x00")
		}
		switch values := id.known[key.String()]; {
		case id.slug == "app_network":
			out[id.slug] = values
		case len(values) > 0:
			out[id.slug] = values[0]
		}
	}
	return out
}
