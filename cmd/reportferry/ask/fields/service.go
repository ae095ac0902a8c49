package fields

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/cmd/reportferry/text/human"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/catalog"
)

// A list is all that there is: the catalogue, and what the service says of the account when it was
// asked.
type list struct {
	source string // where the list is from, for people

	asked  bool            // the service gave its lists of fields, so what isn't in had isn't in them
	had    map[string]bool // lines of the catalogue, and names, that the service lists
	said   map[string]listed
	only   []string // names that the service lists and the catalogue lacks, sorted
	events []entry
}

// listed is what the service says of a name.
type listed struct {
	adjust.Filter
	dimension bool
}

const dimensions = "dimensions"

// lists are the service's lists of what a report can have.
var lists = []string{dimensions, "overview_metrics", "cohort_metrics", "skad_metrics", "event_metrics", "cost_metrics"}

// ask asks the service for its lists of fields and the account's events. An account without the
// lists is no fault, because the interface doesn't promise them; then the events show whether the
// token is good.
func (l *list) ask(ctx context.Context, client *adjust.Client) error {
	theirs, err := client.FiltersData(ctx, lists)
	var answer *adjust.Error
	missing := errors.As(err, &answer) && (answer.Status == http.StatusBadRequest ||
		answer.Status == http.StatusNotFound)
	if err != nil && !missing {
		return err
	}
	events, err := client.Events(ctx, adjust.EventsQuery{})
	if err != nil {
		return err
	}
	for _, e := range events {
		l.events = append(l.events, entry{Field: catalog.Field{Slug: e.ID, Description: e.Name}, kind: event,
			theirs: true})
	}
	l.source = "the program's list and the service's: " + human.Plural(len(events), "event")
	if len(theirs) == 0 {
		l.source += "; the service doesn't give its lists of fields"
		return nil
	}
	l.take(theirs)
	l.source += ", " + human.Count(int64(len(l.said))) + " names"
	return nil
}

// take sorts the service's names by the line of the catalogue that stands for each.
func (l *list) take(theirs map[string][]adjust.Filter) {
	l.asked, l.had, l.said = true, map[string]bool{}, map[string]listed{}
	for name, items := range theirs {
		for _, item := range items {
			l.said[item.ID] = listed{item, name == dimensions}
			f, ok := catalog.Dimension(item.ID)
			if name != dimensions {
				if f, ok = catalog.Metric(item.ID); !ok && name == "event_metrics" {
					f, ok = catalog.Guess(item.ID)
				}
			}
			l.had[item.ID] = true
			switch {
			case !ok:
				l.only = append(l.only, item.ID)
			case f.Pattern != "":
				l.had[f.Pattern] = true
			}
		}
	}
	slices.Sort(l.only)
	l.only = slices.Compact(l.only)
}

// has tells whether the service lists a field, or one like it, because it lists cohorts by the
// usual periods only. An event's metric is one of the account when the event is.
func (l *list) has(f catalog.Field) bool {
	like := f.Pattern != "" && l.had[f.Pattern]
	if like && strings.HasPrefix(f.Pattern, "{e}") && !strings.HasPrefix(f.Slug, "{e}") {
		like = slices.ContainsFunc(l.events, func(e entry) bool {
			suffix, found := strings.CutPrefix(f.Slug, e.Slug+"_")
			_, ok := catalog.EventMetric(strings.ReplaceAll(suffix, "{p}", "d0"))
			return found && ok
		})
	}
	return like || l.had[f.Slug]
}

// lone is a field that only the service has, made of what it says of it.
func (l *list) lone(name string) (catalog.Field, bool) {
	if _, found := slices.BinarySearch(l.only, name); !found {
		return catalog.Field{}, false
	}
	said := l.said[name]
	if said.dimension {
		return catalog.Field{Slug: name, Description: said.Name}, true
	}
	return catalog.Described(name, said.Formatting, said.Name), true
}
