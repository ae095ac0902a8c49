package report

import (
	"context"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// account is a listing of events, as the service gives one.
type account []adjust.Event

func (a account) Events(context.Context, adjust.EventsQuery) ([]adjust.Event, error) { return a, nil }

func event(slug, name, section, formatting string, apps ...string) adjust.Event {
	e := adjust.Event{ID: slug, Name: name, Section: section, Formatting: formatting, AppTokens: apps,
		TokensByApp: map[string][]string{}}
	for _, app := range apps {
		token := "t" + app + slug
		e.Tokens, e.TokensByApp[app] = append(e.Tokens, token), []string{token}
	}
	return e
}

var shop = account{
	event("purchase", "Purchase", "Revenue", "money", "a", "b"),
	event("purchase_completed", "purchase completed", "Revenue", "money", "a"),
	event("level_up", "Level up", "Events", "integer", "a", "b"),
	event("level_up_2", "Level up", "Events", "integer", "b"),
	event("cv_3", "Value 3", "Conversion Values", "integer", "a"),
	event("odd", "Odd", "Events", "select", "a"),
}

func TestSelectors(t *testing.T) {
	for _, c := range []struct {
		name string
		s    Selector
		want string // column=source:type ..., or "error: " and a part of the message
	}{
		{"by slug", Selector{Slug: "purchase", Metrics: []string{"events", "revenue"}},
			"purchase_events=purchase_events:int64 purchase_revenue=purchase_revenue:decimal"},
		{"by name", Selector{Name: "purchase completed", Metrics: []string{"revenue"}, As: "buy"},
			"buy_revenue=purchase_completed_revenue:decimal"},
		{"by token", Selector{Token: "tapurchase", Metrics: []string{"d7_revenue_cohort"}},
			"purchase_d7_revenue_cohort=purchase_d7_revenue_cohort:decimal"},
		{"by token of an app", Selector{Token: "tblevel_up_2", App: "b", Metrics: []string{"events"}},
			"level_up_2_events=level_up_2_events:int64"},
		{"by section, as documented", Selector{Section: "revenue", Metrics: []string{"events"}},
			"purchase_events=purchase_events:int64 purchase_completed_events=purchase_completed_events:int64"},
		{"by section with a blank", Selector{Section: "conversion_values", Metrics: []string{"self"}},
			"cv_3=cv_3:int64"},
		{"by glob", Selector{Glob: "level_*", Metrics: []string{"events"}},
			"level_up_events=level_up_events:int64 level_up_2_events=level_up_2_events:int64"},
		{"by glob, one app", Selector{Glob: "*", App: "b", Metrics: []string{"events_verified_passed"}},
			"level_up_events_verified_passed=level_up_events_verified_passed:int64 " +
				"level_up_2_events_verified_passed=level_up_2_events_verified_passed:int64 " +
				"purchase_events_verified_passed=purchase_events_verified_passed:int64"},
		{"a name in one of two apps", Selector{Name: "Level up", App: "a", Metrics: []string{"events"}},
			"level_up_events=level_up_events:int64"},
		{"a type by formatting", Selector{Slug: "purchase", Metrics: []string{"self"}}, "purchase=purchase:decimal"},
		{"two events of one name", Selector{Name: "Level up", Metrics: []string{"events"}},
			`error: name Level up means one event, and 2 match: level_up ("Level up"), level_up_2 ("Level up"); choose one by slug, or by app`},
		{"nothing, near ones", Selector{Name: "purchas", Metrics: []string{"events"}},
			`error: name purchas matches no event; near ones: purchase ("Purchase"), purchase_completed ("purchase completed")`},
		{"a slug for a name", Selector{Name: "level_up", Metrics: []string{"events"}},
			"error: level_up is a slug: choose it by slug"},
		{"a name for a slug", Selector{Slug: "Level up", Metrics: []string{"events"}},
			`error: "Level up" is a name: choose it by name`},
		{"nothing, a slip", Selector{Slug: "levl_up", Metrics: []string{"events"}},
			`error: near ones: level_up ("Level up")`},
		{"nothing near", Selector{Slug: "zzzzzz", Metrics: []string{"events"}},
			`error: the service lists 6 others, such as cv_3 ("Value 3")`},
		{"a glob of nothing", Selector{Glob: "shop_*", Metrics: []string{"events"}},
			"error: glob shop_* matches no event"},
		{"a formatting without a type", Selector{Slug: "odd", Metrics: []string{"self"}},
			"error: the type of odd isn't known, and the event's formatting is \"select\"; declare it under `types`"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cols, err := eventColumns(t.Context(), Options{Events: []Selector{c.s}}, append(account{}, shop...),
				ledger.Shape{})
			compare(t, cols, err, c.want)
		})
	}
}

func compare(t *testing.T, cols []column, err error, want string) {
	t.Helper()
	if part, isErr := strings.CutPrefix(want, "error: "); isErr {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("got %v, want an error with %q", err, part)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range cols {
		got = append(got, c.Name+"="+c.Source+":"+c.Type.String())
	}
	if strings.Join(got, " ") != want {
		t.Errorf("columns %v, want %s", got, want)
	}
}

// What a selector gave before, and gives no more, is an error with both lists, or a column of
// NULLs.
func TestVanishedEvents(t *testing.T) {
	recorded := func(s Selector, all account) ledger.Shape {
		cols, err := eventColumns(t.Context(), Options{Events: []Selector{s}}, all, ledger.Shape{})
		if err != nil {
			t.Fatal(err)
		}
		return shapeOf(Options{}, cols)
	}
	for _, c := range []struct {
		name       string
		s          Selector
		gone       string // slug that the service no longer lists
		null, fail string
	}{
		{"a slug", Selector{Slug: "purchase", Metrics: []string{"events", "revenue"}}, "purchase",
			"purchase_events=:int64 purchase_revenue=:decimal",
			"error: its columns were purchase_events, purchase_revenue and are now none; set on_missing_event: null"},
		{"a name with an alias", Selector{Name: "Purchase", As: "buy", Metrics: []string{"revenue"}}, "purchase",
			"buy_revenue=:decimal", "error: its columns were buy_revenue and are now none"},
		{"one of a glob", Selector{Glob: "level_*", Metrics: []string{"events"}}, "level_up_2",
			"level_up_events=level_up_events:int64 level_up_2_events=:int64",
			"error: its columns were level_up_events, level_up_2_events and are now level_up_events"},
		{"the slug alone", Selector{Section: "conversion_values", Metrics: []string{"self"}}, "cv_3", "cv_3=:int64",
			"error: its columns were cv_3 and are now none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := recorded(c.s, append(account{}, shop...))
			var left account
			for _, e := range shop {
				if e.ID != c.gone {
					left = append(left, e)
				}
			}
			o := Options{Events: []Selector{c.s}}
			_, err := eventColumns(t.Context(), o, left, before)
			compare(t, nil, err, c.fail)
			o.NullMissing = true
			cols, err := eventColumns(t.Context(), o, left, before)
			compare(t, cols, err, c.null)

			// Still gone the next night, when the recorded column has no source any more; and back
			// the night after.
			cols, err = eventColumns(t.Context(), o, left, shapeOf(Options{}, cols))
			compare(t, cols, err, c.null)
			cols, err = eventColumns(t.Context(), o, append(account{}, shop...), shapeOf(Options{}, cols))
			if err != nil || len(cols) != len(before.Columns) || cols[len(cols)-1].Source == "" {
				t.Errorf("back again: %+v %v", cols, err)
			}
		})
	}
	// A metric that the config no longer asks for is no vanished event.
	before := recorded(Selector{Slug: "purchase", Metrics: []string{"events", "revenue"}}, append(account{}, shop...))
	cols, err := eventColumns(t.Context(), Options{Events: []Selector{{Slug: "purchase", Metrics: []string{"events"}}}},
		append(account{}, shop...), before)
	compare(t, cols, err, "purchase_events=purchase_events:int64")
}

func TestColumnsOfOneName(t *testing.T) {
	fixed, err := fixedColumns(Options{Types: map[string]catalog.Type{"buy_events": catalog.Int64},
		Query: adjust.ReportQuery{Metrics: []string{"buy_events"}}})
	if err != nil {
		t.Fatal(err)
	}
	events, err := eventColumns(t.Context(),
		Options{Events: []Selector{{Slug: "purchase", As: "buy", Metrics: []string{"events"}}}}, shop, ledger.Shape{})
	if err != nil {
		t.Fatal(err)
	}
	err = unique(append(fixed, events...))
	if err == nil || !strings.Contains(err.Error(),
		"two columns are named buy_events: from metric or dimension buy_events and from slug purchase") {
		t.Errorf("got %v", err)
	}
}
