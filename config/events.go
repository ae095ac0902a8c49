package config

import (
	"path"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/reportferry/reportferry/internal/catalog"
)

func (d *decoder) events(n ast.Node) ([]EventSelector, []ast.Node) {
	var out []EventSelector
	elements := d.elements(n, "events")
	for _, element := range elements {
		out = append(out, d.event(element))
	}
	return out, elements
}

var selectorKeys = []string{"slug", "name", "token", "section", "glob"}

func (d *decoder) event(n ast.Node) EventSelector {
	var e EventSelector
	word := func(to *string, key string) field {
		return field{key, false, func(n ast.Node) { *to, _ = d.word(n, key) }}
	}
	at := d.mapping(n, "an event", []field{
		word(&e.Slug, "slug"), word(&e.Name, "name"), word(&e.Token, "token"), word(&e.Section, "section"), word(&e.Glob, "glob"),
		word(&e.App, "app"),
		{"metrics", true, func(n ast.Node) { e.Metrics = texts(d.list(n, "metrics", d.eventMetric)) }},
		word(&e.As, "as"),
	}, nil)
	if at == nil {
		return e
	}
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
		d.fail(n, "an event: want exactly one of %s; got %s", strings.Join(selectorKeys, ", "), got)
	}
	if at["as"] != nil {
		switch {
		case e.Section != "" || e.Glob != "":
			d.fail(at["as"], "as: section and glob may find several events, which can't share one name")
		case e.As != "" && !namePattern.MatchString(e.As):
			d.fail(at["as"], "as: %q is no name: want a small letter, then up to 127 small letters, digits and underscores", e.As)
			e.As = "" // no second error about the columns
		}
	}
	if _, err := path.Match(e.Glob, ""); err != nil {
		d.fail(at["glob"], "glob: %q is no pattern: a bracket or a backslash is left open", e.Glob)
	}
	return e
}

func (d *decoder) eventMetric(n ast.Node, key string) (string, bool) {
	s, ok := d.text(n, key)
	if !ok || s == "self" {
		return s, ok
	}
	if _, known := catalog.EventMetric(s); !known {
		d.fail(n, "%s: an event has no metric %q%s; want what follows the event's slug, such as events, revenue or "+
			"d7_revenue_cohort, or self for the slug alone", key, s, didYouMeanEventMetric(s))
		return "", false
	}
	return s, true
}
