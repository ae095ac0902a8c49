package ask

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/catalog"
)

// A fieldList holds the fields that the command can show: those of the program's catalogue and,
// when the service was asked, those that it lists for the account.
type fieldList struct {
	source string // where the list is from, for people

	asked  bool                   // the service gave its lists of fields: a name that isn't in listed isn't in them
	listed map[string]bool        // names that the service lists, and the catalogue's patterns for them
	fields map[string]listedField // what the service says of each name that it lists
	extra  []string               // names that the service lists and the catalogue lacks, sorted
	events []fieldEntry           // of the account
}

// A listedField is what the service says of a name that it lists.
type listedField struct {
	adjust.Filter
	dimension bool
}

// dimensionsList is the service's name for its list of dimensions.
const dimensionsList = "dimensions"

// serviceLists are the service's lists of what a report can have.
var serviceLists = []string{dimensionsList, "overview_metrics", "cohort_metrics", "skad_metrics", "event_metrics",
	"cost_metrics"}

// ask fetches the service's lists of fields and the account's events. It is no error when the
// service has no such lists (400 or 404), because its API doesn't promise them. The request for the
// events then shows whether the token is valid.
func (l *fieldList) ask(ctx context.Context, client *adjust.Client) error {
	theirs, err := client.FiltersData(ctx, serviceLists)
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
		l.events = append(l.events, fieldEntry{Field: catalog.Field{Slug: e.ID, Description: e.Name}, kind: eventKind,
			listed: true})
	}
	l.source = "the program's list and the service's: " + text.Plural(len(events), "event")
	if len(theirs) == 0 {
		l.source += "; the service doesn't give its lists of fields"
		return nil
	}
	l.keepLists(theirs)
	l.source += ", " + text.Count(int64(len(l.fields))) + " names"
	return nil
}

// keepLists stores the names that the service lists. For each it looks up the catalogue's entry;
// names without one go into extra.
func (l *fieldList) keepLists(theirs map[string][]adjust.Filter) {
	l.asked, l.listed, l.fields = true, map[string]bool{}, map[string]listedField{}
	for name, items := range theirs {
		for _, item := range items {
			l.fields[item.ID] = listedField{item, name == dimensionsList}
			f, ok := catalog.Dimension(item.ID)
			if name != dimensionsList {
				if f, ok = catalog.Metric(item.ID); !ok && name == "event_metrics" {
					f, ok = catalog.Guess(item.ID)
				}
			}
			l.listed[item.ID] = true
			switch {
			case !ok:
				l.extra = append(l.extra, item.ID)
			case f.Pattern != "":
				l.listed[f.Pattern] = true
			}
		}
	}
	slices.Sort(l.extra)
	l.extra = slices.Compact(l.extra)
}

// isListed tells whether the service lists a field. A field with a pattern counts as listed when
// any field of that pattern is, because the service lists cohort metrics for the usual periods
// only. The metric of a particular event counts only when the account has that event.
func (l *fieldList) isListed(f catalog.Field) bool {
	like := f.Pattern != "" && l.listed[f.Pattern]
	if like && strings.HasPrefix(f.Pattern, "{e}") && !strings.HasPrefix(f.Slug, "{e}") {
		like = slices.ContainsFunc(l.events, func(e fieldEntry) bool {
			suffix, found := strings.CutPrefix(f.Slug, e.Slug+"_")
			_, ok := catalog.EventMetric(strings.ReplaceAll(suffix, "{p}", "d0"))
			return found && ok
		})
	}
	return like || l.listed[f.Slug]
}

// extraField returns a field that the service lists and the catalogue lacks, as the service
// describes it. It returns false for any other name.
func (l *fieldList) extraField(name string) (catalog.Field, bool) {
	if _, found := slices.BinarySearch(l.extra, name); !found {
		return catalog.Field{}, false
	}
	said := l.fields[name]
	if said.dimension {
		return catalog.Field{Slug: name, Description: said.Name}, true
	}
	return catalog.Described(name, said.Formatting, said.Name), true
}
