package fields

import (
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/lazy"
)

// An entry is one field as the command shows it: a line of the catalogue, a metric that a pattern
// of the catalogue stands for, an event, or a field that only the service has.
type entry struct {
	catalog.Field
	kind   kind
	ours   bool // the catalogue has it
	theirs bool // the service lists it
	absent bool // the service was asked, and doesn't list it
}

// A kind is what an entry is, in the words of the output.
type kind string

const (
	dimension   kind = "dimension"
	metric      kind = "metric"
	eventMetric kind = "event metric"
	event       kind = "event"
)

// mark returns + for a field that only the service has, - for one that the service was asked for
// and doesn't list, and nothing for others. Events that the account has aren't marked.
func (e entry) mark() string {
	switch {
	case !e.ours && e.kind != event:
		return "+"
	case e.absent:
		return "-"
	}
	return ""
}

// kindOf returns the kind of a field of the catalogue, which has no events.
func kindOf(f catalog.Field) kind {
	switch {
	case !f.IsMetric():
		return dimension
	case strings.Contains(f.Slug+f.Pattern, "{e}"):
		return eventMetric
	}
	return metric
}

// entry returns the entry of a field of the catalogue.
func (l *list) entry(f catalog.Field) entry {
	theirs := l.asked && l.has(f)
	return entry{Field: f, kind: kindOf(f), ours: true, theirs: theirs, absent: l.asked && !theirs}
}

// find looks up one name among the events, the lines of the catalogue, the metrics that its
// patterns stand for, and the fields that only the service has.
func (l *list) find(name string) (entry, bool) {
	if at := slices.IndexFunc(l.events, func(e entry) bool { return e.Slug == name }); at >= 0 {
		return l.events[at], true
	}
	f, ok := catalog.Line(name)
	for _, look := range []func(string) (catalog.Field, bool){catalog.Metric, l.lone, catalog.Guess} {
		if !ok {
			f, ok = look(name)
		}
	}
	if _, lone := l.lone(name); lone {
		return entry{Field: f, kind: kindOf(f), theirs: true}, true
	}
	return l.entry(f), ok
}

// periodIn finds a cohort's period in what is searched for.
var periodIn = lazy.Regexp(`(?:^|[_ ])([dwm][0-9]{1,3})(?:[_ ]|$)`)

// search returns the entries of the wanted kinds that have all words of the search in their name or
// description.
//   - A cohort's period among the words, such as d7, is put in the place of {p} in patterns.
//   - The account's events are put in the place of {e} in patterns that don't match by themselves,
//     but not an event that has all of the words itself: the event is listed then.
func (l *list) search(o *options) []entry {
	words := strings.Fields(strings.ToLower(o.search))
	token := ""
	if found := periodIn().FindStringSubmatch(strings.ToLower(o.search)); found != nil {
		token = found[1]
	}
	var out []entry
	has := func(e entry) bool {
		text := strings.ToLower(e.Slug + " " + e.Description)
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
	}
	take := func(e entry) bool {
		wanted := map[kind]bool{dimension: o.dimensions, metric: o.metrics, eventMetric: o.events,
			event: o.events}[e.kind]
		if wanted && has(e) {
			out = append(out, e)
			return true
		}
		return false
	}
	for _, name := range slices.Concat(catalog.Dimensions(), catalog.Metrics()) {
		f, _ := catalog.Line(name)
		if filled, ok := catalog.WithPeriod(name, token); ok && token != "" {
			f = filled
		}
		if took := take(l.entry(f)); !took && len(words) > 0 && kindOf(f) == eventMetric {
			for _, e := range l.events {
				if !has(e) {
					take(l.entry(ofEvent(f, e)))
				}
			}
		}
	}
	for _, name := range l.only {
		e, _ := l.find(name)
		take(e)
	}
	for _, e := range l.events {
		take(e)
	}
	if e, ok := l.find(o.search); ok && !slices.ContainsFunc(out, func(o entry) bool { return o.Slug == e.Slug }) {
		take(e)
	}
	slices.SortStableFunc(out, func(a, b entry) int { return strings.Compare(a.Slug, b.Slug) })
	return out
}

// ofEvent returns the metric that a pattern with {e} stands for with the event e.
func ofEvent(f catalog.Field, e entry) catalog.Field {
	if f.Pattern == "" {
		f.Pattern = f.Slug
	}
	f.Slug = strings.ReplaceAll(f.Slug, "{e}", e.Slug)
	f.Description = strings.NewReplacer("{e}", e.Slug, "{E}", e.Description).Replace(f.Description)
	return f
}
