package report

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// A Selector chooses events by exactly one of Slug, Name, Token, Section and Glob, and says which
// metrics of each are wanted.
type Selector struct {
	Slug    string
	Name    string
	Token   string
	Section string
	Glob    string   // pattern of slugs, as in path.Match
	App     string   // app token: only among this app's events
	Metrics []string // the parts of metrics' names after the slug; self means the slug alone
	As      string   // replaces the slug in the names of columns
}

// self stands for the metric whose name is the event's slug itself, such as a conversion value.
const self = "self"

func (s Selector) String() string {
	text := s.kind() + " " + s.pattern()
	if s.App != "" {
		text += " of app " + s.App
	}
	return text
}

// kind returns the name of the field that chooses events.
func (s Selector) kind() string {
	switch {
	case s.Slug != "":
		return "slug"
	case s.Name != "":
		return "name"
	case s.Token != "":
		return "token"
	case s.Section != "":
		return "section"
	}
	return "glob"
}

// pattern returns the text that the selector chooses events by.
func (s Selector) pattern() string { return s.Slug + s.Name + s.Token + s.Section + s.Glob }

// many tells whether the selector may choose more than one event.
func (s Selector) many() bool { return s.Section != "" || s.Glob != "" }

// match tells whether the selector chooses an event.
func (s Selector) match(e adjust.Event) bool {
	if s.App != "" && !slices.Contains(e.AppTokens, s.App) {
		return false
	}
	switch s.kind() {
	case "slug":
		return e.ID == s.Slug
	case "name":
		return e.Name == s.Name
	case "token":
		if s.App != "" && e.TokensByApp != nil {
			return slices.Contains(e.TokensByApp[s.App], s.Token)
		}
		return slices.Contains(e.Tokens, s.Token)
	case "section":
		// The service writes sections capitalised, its documentation in lower case.
		return catalog.SameWord(strings.ReplaceAll(e.Section, " ", "_"), s.Section) ||
			catalog.SameWord(e.Section, s.Section)
	}
	ok, err := path.Match(s.Glob, e.ID)
	return ok && err == nil
}

// eventColumns returns the columns of all selectors, which it resolves by one list of the service's
// events.
func eventColumns(ctx context.Context, o Options, slugs Slugs, recorded ledger.Shape) ([]column, error) {
	all, err := slugs.Events(ctx, adjust.EventsQuery{AppTokens: o.Query.Filters[appTokenIn], TokensMapping: true})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b adjust.Event) int { return strings.Compare(a.ID, b.ID) })
	cols, err := configColumns(o)
	fixed := len(cols)
	for _, s := range o.Events {
		if err != nil {
			return nil, err
		}
		var matching []column
		matching, err = s.columns(ctx, o, all, recorded)
		cols = append(cols, matching...)
	}
	if err != nil {
		return nil, err
	}
	cols = withoutCeded(cols)
	if !slices.ContainsFunc(cols, func(c column) bool { return !c.Dimension }) {
		return nil, fmt.Errorf("%w: no metric is left to ask for", ledger.ErrRefused)
	}
	if err := o.fits(cols); err != nil {
		return nil, fmt.Errorf("%w: %w", ledger.ErrRefused, err)
	}
	return cols[fixed:], nil
}

// withoutCeded leaves out a column of a glob or a section when another column has the same name,
// and another selector gives the same metric a name of its own.
func withoutCeded(cols []column) []column {
	names := map[string]int{}
	for _, c := range cols {
		names[catalog.Fold(c.Name)]++
	}
	return slices.DeleteFunc(slices.Clone(cols), func(c column) bool {
		return c.manyEvents && names[catalog.Fold(c.Name)] > 1 && slices.ContainsFunc(cols, func(other column) bool {
			return !other.manyEvents && other.Source == c.Source && !catalog.SameWord(other.Name, c.Name)
		})
	})
}

// columns returns the columns of one selector: those of the events that match now, and those of
// events that matched before and are gone.
func (s Selector) columns(ctx context.Context, o Options, all []adjust.Event, recorded ledger.Shape) ([]column, error) {
	var matching []adjust.Event
	for _, e := range all {
		if s.match(e) {
			matching = append(matching, e)
		}
	}
	if !s.many() && len(matching) > 1 {
		return nil, fmt.Errorf("%s means one event, and %d match: %s; choose one by slug, or by app", s, len(matching),
			list(matching))
	}
	cols, err := s.columnsOf(o, matching, recorded)
	if err != nil {
		return nil, err
	}
	gone := s.vanished(cols, recorded)
	switch {
	case len(gone) > 0 && !o.NullMissing && !o.Frozen: // if frozen, checkContract reports all columns together
		return nil, fmt.Errorf("%s: events have vanished from the service: its columns were %s and are now %s; set "+
			"on_missing_event: null to keep the lost ones as NULLs%s", s, s.recordedNames(recorded), names(cols),
			o.slugChanges(ctx, s, s.slugs(recorded)))
	case len(matching) == 0 && len(gone) == 0:
		return nil, fmt.Errorf("%s matches no event; %s%s", s, s.candidates(all),
			o.slugChanges(ctx, s, s.slugs(recorded)))
	}
	return append(cols, gone...), nil
}

// columnsOf returns the columns of these events. An event whose slug has a comma can't be asked
// for, because the service takes that for the end of a name: columnsOf leaves it out and warns.
func (s Selector) columnsOf(o Options, events []adjust.Event, recorded ledger.Shape) ([]column, error) {
	var cols []column
	for _, e := range events {
		if strings.Contains(e.ID, ",") {
			o.warn("%s: an event is left out, because its slug %q has a comma, which the service takes for the end "+
				"of a name, so that it can't be asked for", s, e.ID)
			continue
		}
		for _, metric := range s.Metrics {
			c := column{Column: table.Column{Name: s.column(e.ID, metric), Source: slugOf(e.ID, metric)},
				event: s.String(), manyEvents: s.many()}
			if s.hasOldName(c.Source, recorded) {
				c.Name = c.Source
			} else if s.As == "" {
				o.logNewName(s.String(), c, recorded)
			}
			f, known := catalog.EventMetric(metric)
			if !known && metric != self {
				f, known = catalog.Described(metric, "", ""), true
			}
			typ, declared := o.Types[c.Name]
			if !known && !declared {
				if f.Type, known = catalog.ForFormatting(e.Formatting); !known {
					return nil,
						fmt.Errorf("%s: the type of %s isn't known, and the event's formatting is %q; declare it "+
							"under `types`",
							s, c.Source, e.Formatting)
				}
				if f.Type == catalog.Int64 {
					f.Additive = catalog.Everywhere
				}
			}
			if c.Type = f.Type; declared {
				c.Type = typ
			}
			c.Additive, c.addsUp, c.cohort = o.summable(f, c.Type), f.Additive == catalog.Everywhere, f.OfCohort()
			cols = append(cols, c)
		}
	}
	return cols, nil
}

// logNewName logs the name of a column that is new in the table and isn't named as the service
// names it, because of signs in the slug.
func (o Options) logNewName(by string, c column, recorded ledger.Shape) {
	if c.Name != c.Source && o.Rename[c.Source] == "" && !slices.ContainsFunc(recorded.Columns,
		func(was ledger.Column) bool { return was.Name == c.Name }) {
		o.warn("%s: the column of %q is named %s", by, c.Source, c.Name)
	}
}

// warn logs a warning, if there is a log.
func (o Options) warn(format string, args ...any) {
	if o.Log != nil {
		o.Log.Warn(fmt.Sprintf(format, args...), "job", o.Job)
	}
}

// vanished returns the columns that this selector gave when the table was last written but doesn't
// give now. They become columns of NULLs.
func (s Selector) vanished(now []column, recorded ledger.Shape) []column {
	var gone []column
	for _, was := range recorded.Columns {
		if was.Event != s.String() || slices.ContainsFunc(now, func(c column) bool {
			return c.Name == was.Name ||
				was.Source != "" && c.Source == was.Source
		}) {
			continue
		}
		if !slices.ContainsFunc(s.Metrics, func(m string) bool { return s.belongs(was, m) }) {
			continue // the event isn't gone: the config no longer asks for this metric
		}
		var typ catalog.Type
		if typ.UnmarshalText([]byte(was.Type)) == nil {
			gone = append(gone, column{Column: table.Column{Name: was.Name, Type: typ}, event: was.Event})
		}
	}
	return gone
}

// expected returns the columns of this selector, as far as they are known without the service: the
// recorded ones, and one without a type for each metric that has no recorded column. If even the
// name of that column isn't known, it gets one that no real column can have.
func (s Selector) expected(recorded ledger.Shape) (cols []ledger.Column) {
	for _, metric := range s.Metrics {
		next := ledger.Column{Name: s.String() + " " + metric, Source: s.String(), Event: s.String()}
		gave := func(was ledger.Column) bool { return was.Event == s.String() && s.belongs(was, metric) }
		if s.As != "" || s.Slug != "" {
			next.Name = s.column(s.Slug, metric)
			gave = func(was ledger.Column) bool { return was.Name == next.Name }
		}
		if !slices.ContainsFunc(recorded.Columns, gave) {
			cols = append(cols, next)
		}
		for _, was := range recorded.Columns {
			if gave(was) && !slices.Contains(cols, was) {
				cols = append(cols, was)
			}
		}
	}
	return cols
}

// belongs tells whether a recorded column belongs to a metric. It goes by the column's name,
// because a column of NULLs has no source any more.
func (s Selector) belongs(was ledger.Column, metric string) bool {
	switch {
	case s.As != "":
		return was.Name == s.column("", metric)
	case metric == self:
		return true
	}
	return strings.HasSuffix(was.Name, "_"+metric)
}

// column returns the name of a metric's column, which begins with As or, without one, with the slug
// as a column's name has it, without signs.
func (s Selector) column(slug, metric string) string {
	name := s.As
	if name == "" {
		name = catalog.ColumnName(slug)
	}
	return slugOf(name, metric)
}

// hasOldName tells whether the table has a column under the service's own name, signs and all, as
// earlier versions made them.
func (s Selector) hasOldName(source string, recorded ledger.Shape) bool {
	return s.As == "" && slices.ContainsFunc(recorded.Columns,
		func(was ledger.Column) bool { return was.Event == s.String() && was.Name == source })
}

// slugOf joins the slug of an event and a metric to the metric's own slug.
func slugOf(slug, metric string) string {
	if metric == self {
		return slug
	}
	return slug + "_" + metric
}

// recordedNames names the columns that the selector gave when the table was last written.
func (s Selector) recordedNames(recorded ledger.Shape) string {
	var was []string
	for _, c := range recorded.Columns {
		if c.Event == s.String() {
			was = append(was, c.Name)
		}
	}
	return strings.Join(was, ", ")
}

// candidates names the events that a person may have meant.
func (s Selector) candidates(all []adjust.Event) string {
	if len(all) == 0 {
		return "the service lists no events at all"
	}
	want := strings.ToLower(strings.Trim(s.pattern(), "*?"))
	var slugs []string
	var near []adjust.Event
	for _, e := range all {
		slugs = append(slugs, e.ID)
		if strings.Contains(strings.ToLower(e.Name), want) || strings.Contains(e.ID, want) {
			near = append(near, e)
		}
	}
	for _, slug := range catalog.Nearest(want, slugs) {
		i := slices.IndexFunc(all, func(e adjust.Event) bool { return e.ID == slug })
		if !slices.ContainsFunc(near, func(e adjust.Event) bool { return e.ID == slug }) {
			near = append(near, all[i])
		}
	}
	for _, e := range all {
		switch {
		case s.Slug == "" && e.ID == s.pattern():
			return fmt.Sprintf("%s is a slug: choose it by slug", e.ID)
		case s.Name == "" && e.Name == s.pattern():
			return fmt.Sprintf("%q is a name: choose it by name", e.Name)
		}
	}
	if len(near) == 0 {
		return fmt.Sprintf("the service lists %d others, such as %s", len(all), list(all[:min(5, len(all))]))
	}
	return "near ones: " + list(near[:min(8, len(near))])
}

// list names events with their slugs, for a message.
func list(events []adjust.Event) string {
	var out []string
	for _, e := range events {
		out = append(out, fmt.Sprintf("%s (%q)", e.ID, e.Name))
	}
	return strings.Join(out, ", ")
}

// names names columns, for a message.
func names(cols []column) string {
	if len(cols) == 0 {
		return "none"
	}
	var out []string
	for _, c := range cols {
		out = append(out, c.Name)
	}
	return strings.Join(out, ", ")
}
