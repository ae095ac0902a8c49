package ask

import (
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/lazy"
)

// A fieldEntry is one field as the command shows it: a line of the catalogue, a metric that a
// pattern of the catalogue stands for, an event, or a field that only the service has.
type fieldEntry struct {
	catalog.Field
	kind        fieldKind
	inCatalogue bool // the catalogue has the field
	listed      bool // the service lists the field
	unlisted    bool // the service was asked, and doesn't list the field
}

// A fieldKind is what an entry is, in the words of the output.
type fieldKind string

const (
	dimensionKind   fieldKind = "dimension"
	metricKind      fieldKind = "metric"
	eventMetricKind fieldKind = "event metric"
	eventKind       fieldKind = "event"
)

// mark returns + for a field that only the service has, - for one that the service was asked for
// and doesn't list, and nothing for others. Events that the account has aren't marked.
func (e fieldEntry) mark() string {
	switch {
	case !e.inCatalogue && e.kind != eventKind:
		return "+"
	case e.unlisted:
		return "-"
	}
	return ""
}

// fieldKindOf returns the kind of a field of the catalogue, which has no events.
func fieldKindOf(f catalog.Field) fieldKind {
	switch {
	case !f.IsMetric():
		return dimensionKind
	case strings.Contains(f.Slug+f.Pattern, "{e}"):
		return eventMetricKind
	}
	return metricKind
}

// entry returns the entry of a field of the catalogue.
func (l *fieldList) entry(f catalog.Field) fieldEntry {
	listed := l.asked && l.isListed(f)
	return fieldEntry{Field: f, kind: fieldKindOf(f), inCatalogue: true, listed: listed, unlisted: l.asked && !listed}
}

// find looks up one name among the events, the lines of the catalogue, the metrics that its
// patterns stand for, and the fields that only the service has. It returns false for other names.
func (l *fieldList) find(name string) (fieldEntry, bool) {
	if at := slices.IndexFunc(l.events, func(e fieldEntry) bool { return e.Slug == name }); at >= 0 {
		return l.events[at], true
	}
	f, ok := catalog.Line(name)
	for _, lookUp := range []func(string) (catalog.Field, bool){catalog.Metric, l.extraField, catalog.Guess} {
		if !ok {
			f, ok = lookUp(name)
		}
	}
	if _, extra := l.extraField(name); extra {
		return fieldEntry{Field: f, kind: fieldKindOf(f), listed: true}, true
	}
	return l.entry(f), ok
}

// periodsInName finds a cohort's period in what is searched for.
var periodsInName = lazy.Regexp(`(?:^|[_ ])([dwm][0-9]{1,3})(?:[_ ]|$)`)

// search returns the entries of the wanted kinds that have all words of the search in their name or
// description.
//   - A cohort's period among the words, such as d7, is put in the place of {p} in patterns.
//   - The account's events are put in the place of {e} in patterns that don't match by themselves,
//     but not an event that has all of the words itself: the event is listed then.
func (l *fieldList) search(o *fieldOptions) []fieldEntry {
	words := strings.Fields(strings.ToLower(o.search))
	period := "" // of a cohort, such as d7
	if match := periodsInName().FindStringSubmatch(strings.ToLower(o.search)); match != nil {
		period = match[1]
	}
	var out []fieldEntry
	hasWords := func(e fieldEntry) bool {
		text := strings.ToLower(e.Slug + " " + e.Description)
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
	}
	take := func(e fieldEntry) bool {
		wanted := map[fieldKind]bool{dimensionKind: o.dimensions, metricKind: o.metrics, eventMetricKind: o.events,
			eventKind: o.events}[e.kind]
		if wanted && hasWords(e) {
			out = append(out, e)
			return true
		}
		return false
	}
	for _, name := range slices.Concat(catalog.Dimensions(), catalog.Metrics()) {
		f, _ := catalog.Line(name)
		if filled, ok := catalog.WithPeriod(name, period); ok && period != "" {
			f = filled
		}
		if took := take(l.entry(f)); !took && len(words) > 0 && fieldKindOf(f) == eventMetricKind {
			for _, e := range l.events {
				if !hasWords(e) {
					take(l.entry(metricsOfEvent(f, e)))
				}
			}
		}
	}
	for _, name := range l.extra {
		e, _ := l.find(name)
		take(e)
	}
	for _, e := range l.events {
		take(e)
	}
	if e, ok := l.find(o.search); ok && !slices.ContainsFunc(out, func(o fieldEntry) bool { return o.Slug == e.Slug }) {
		take(e)
	}
	slices.SortStableFunc(out, func(a, b fieldEntry) int { return strings.Compare(a.Slug, b.Slug) })
	return out
}

// metricsOfEvent returns the metric that a pattern with {e} stands for with the event e.
func metricsOfEvent(f catalog.Field, e fieldEntry) catalog.Field {
	if f.Pattern == "" {
		f.Pattern = f.Slug
	}
	f.Slug = strings.ReplaceAll(f.Slug, "{e}", e.Slug)
	f.Description = strings.NewReplacer("{e}", e.Slug, "{E}", e.Description).Replace(f.Description)
	return f
}
