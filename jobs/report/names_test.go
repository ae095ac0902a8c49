package report

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/sinks"
)

var signs = account{
	event("Purchase", "Purchase", "Revenue", "money", "a"), event("add,cart", "Add, cart", "Events", "integer", "a"),
	event("dt", "Date", "Dates", "integer", "a"),
	event("first purchase", "First purchase", "Events", "integer", "a"),
	event("level-up!", "Level up", "Levels", "integer", "a"),
	event("level_up", "Level up too", "Levels", "integer", "a"), event("login", "Login", "Events", "integer", "a"),
	event("purchase", "purchase", "Revenue", "money", "a"), event("покупка", "Покупка", "Events", "integer", "a"),
}

// Columns of events have names that readers and warehouses take, and no two of them are one to a
// reader. What a person must name is refused, or left out and said where the selector means any
// number of events.
func TestNamesOfEvents(t *testing.T) {
	events := []string{"events"}
	for _, c := range []struct {
		name string
		s    []Selector
		want string
		said string
	}{
		{"case, by glob", []Selector{{Glob: "*urchase", Metrics: events}},
			"error: two columns are named Purchase_events and purchase_events, which readers take for one: " +
				"from glob *urchase (Purchase_events) and from glob *urchase (purchase_events); choose one of the " +
				"two " +
				"events by slug besides, with as:", ""},
		{"case, by section", []Selector{{Section: "revenue", Metrics: []string{"self"}}},
			"error: two columns are named Purchase and purchase", ""},
		{"case, by slugs", []Selector{{Slug: "purchase", Metrics: events}, {Slug: "Purchase", Metrics: events}},
			"error: set as: on one of them", ""},
		{"case, and a name of its own", []Selector{{Glob: "*urchase", Metrics: events},
			{Slug: "Purchase", Metrics: events, As: "capital"}},
			"first_purchase_events=first purchase_events:int64 purchase_events=purchase_events:int64 " +
				"capital_events=Purchase_events:int64", ""},
		{"an event twice, as ever", []Selector{{Glob: "log*", Metrics: events},
			{Slug: "login", Metrics: events, As: "in"}},
			"login_events=login_events:int64 in_events=login_events:int64", ""},
		{"signs", []Selector{{Glob: "first*", Metrics: []string{"events", "self"}}},
			"first_purchase_events=first purchase_events:int64 first_purchase=first purchase:int64",
			`the column of "first purchase_events" is named first_purchase_events; "first purchase" is named first_purchase`},
		{"signs, by slug", []Selector{{Slug: "first purchase", Metrics: events}},
			"first_purchase_events=first purchase_events:int64", ""},
		{"signs that make two one", []Selector{{Section: "levels", Metrics: events}},
			"error: two columns are named level_up_events: from section levels (level-up!_events)", ""},
		{"signs, and a name of its own", []Selector{{Section: "levels", Metrics: events},
			{Slug: "level-up!", As: "up", Metrics: events}},
			"level_up_events=level_up_events:int64 up_events=level-up!_events:int64", ""},
		{"what can't be asked for, or named", []Selector{{Section: "events", Metrics: events}},
			"first_purchase_events=first purchase_events:int64 login_events=login_events:int64 " +
				"u43fu43eu43au443u43fu43au430_events=покупка_events:int64",
			`"add,cart" has a comma; the column of "покупка_events" is named u43fu43eu43au443u43fu43au430_events`},
		{"a comma, by name", []Selector{{Name: "Add, cart", Metrics: events}, {Slug: "login", Metrics: events}},
			"login_events=login_events:int64", `"add,cart" has a comma`},
		{"another alphabet, by name", []Selector{{Name: "Покупка", Metrics: events}},
			"u43fu43eu43au443u43fu43au430_events=покупка_events:int64", ""},
		{"another alphabet, and a name of its own", []Selector{{Slug: "покупка", As: "pokupka", Metrics: events}},
			"pokupka_events=покупка_events:int64", ""},
		{"an ending that is new", []Selector{{Slug: "first purchase", Metrics: []string{"d0_revenue_cohort_cal"}}},
			"first_purchase_d0_revenue_cohort_cal=first purchase_d0_revenue_cohort_cal:double", ""},
		{"the partition's key", []Selector{{Section: "dates", Metrics: []string{"self"}}},
			"error: a column can't be named dt, which is the partition's own key: from section dates (dt)", ""},
		{"a metric's name", []Selector{{Slug: "login", As: "Installs", Metrics: []string{"self"}}},
			"error: two columns are named installs and Installs", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log bytes.Buffer
			o := Options{Events: c.s, Query: adjust.ReportQuery{Metrics: []string{"installs"}},
				Log: slog.New(slog.NewJSONHandler(&log, nil))}
			cols, err := eventColumns(t.Context(), o, append(account{}, signs...), ledger.Shape{})
			compare(t, cols, err, c.want)
			if strings.HasPrefix(c.want, "error: two") && !errors.Is(err, ledger.ErrRefused) {
				t.Errorf("not a refusal: %v", err)
			}
			said := strings.ReplaceAll(log.String(), `\"`, `"`)
			left := 0
			for _, want := range strings.Split(c.said, "; ") {
				if !strings.Contains(said, want) {
					t.Errorf("said %s, want %s", said, want)
				}
				if want != "" && !strings.Contains(want, " named ") {
					left++
				}
			}
			if strings.Count(said, "left out") != left {
				t.Errorf("left out %d, said %s", left, said)
			}
		})
	}
}

// A table of events alone isn't asked for without any of them.
func TestNoEventThatCanBeAskedFor(t *testing.T) {
	o := Options{Events: []Selector{{Name: "Add, cart", Metrics: []string{"events"}}},
		Query: adjust.ReportQuery{Dimensions: []string{"day"}}}
	if _, err := eventColumns(t.Context(), o, append(account{}, signs...), ledger.Shape{}); !errors.Is(err,
		ledger.ErrRefused) || !strings.Contains(err.Error(), "no metric is left") {
		t.Error(err)
	}
}

// A table that earlier versions made with signs in its names keeps them, and none of its events has
// vanished.
func TestNamesThatTheTableHas(t *testing.T) {
	s := Selector{Section: "events", Metrics: []string{"events"}}
	recorded := shapeOf(Options{}, []column{
		{Column: table.Column{Name: "first purchase_events", Source: "first purchase_events", Type: catalog.Int64},
			event: s.String()},
		{Column: table.Column{Name: "login_events", Source: "login_events", Type: catalog.Int64}, event: s.String()},
		{Column: table.Column{Name: "покупка_events", Type: catalog.Int64}, event: s.String()},
	})
	cols, err := eventColumns(t.Context(), Options{Events: []Selector{s}}, append(account{}, signs...), recorded)
	compare(t, cols, err, "first purchase_events=first purchase_events:int64 login_events=login_events:int64 "+
		"покупка_events=покупка_events:int64")

	// A column that a person has named anew, or again as its slug, isn't an event that vanished.
	for was, as := range map[string]string{"Purchase": "capital", "capital": ""} {
		s := Selector{Slug: "Purchase", Metrics: []string{"self"}, As: as}
		recorded = shapeOf(Options{}, []column{{Column: table.Column{Name: was, Source: "Purchase",
			Type: catalog.Decimal}, event: s.String()}})
		cols, err = eventColumns(t.Context(), Options{Events: []Selector{s}}, append(account{}, signs...), recorded)
		compare(t, cols, err, cmp.Or(as, "Purchase")+"=Purchase:decimal")
	}
}

// Old partitions with two columns that are one to readers lose the one whose numbers have a name of
// their own by now, and no other.
func TestOldColumnsOfOneName(t *testing.T) {
	of := func(name, source string) column {
		return column{Column: table.Column{Name: name, Source: source, Type: catalog.Int64}}
	}
	k := &Kind{o: Options{}}
	now := k.define([]column{of("purchase_events", "purchase_events"), of("capital_events", "Purchase_events")})
	old := shapeOf(k.o, []column{of("Purchase_events", "Purchase_events"), of("purchase_events", "purchase_events"),
		of("clicks", "clicks")})
	names := func(c *columns) (list []string) {
		for _, col := range c.Columns {
			list = append(list, col.Name)
		}
		return list
	}
	if got := strings.Join(names(k.withKept(now, old)), " "); got != "purchase_events capital_events clicks" {
		t.Error(got)
	}
	now = k.define([]column{of("purchase_events", "purchase_events")})
	if got := strings.Join(names(k.withKept(now, old)), " "); got != "purchase_events Purchase_events clicks" {
		t.Error(got)
	}
}

// A narrow sink takes columns of at most twelve bytes, and no table named bad.
type narrow struct{ sinks.Sink }

func (narrow) Fits(name string, s *sinks.Schema) error {
	if name == "bad" {
		return errors.New("a bad table")
	}
	for _, c := range s.Columns {
		if len(c.Name) > 12 {
			return errors.New(c.Name + " is too long")
		}
	}
	for _, name := range s.ClusterBy {
		if !slices.ContainsFunc(s.Columns, func(c sinks.Column) bool { return c.Name == name }) {
			return errors.New("clustered by " + name + ", which it lacks")
		}
	}
	return nil
}

// A sink's verdict comes before the service is asked, as far as the names are in the config, and
// before a report is asked for otherwise.
func TestSinksRefuseNames(t *testing.T) {
	events := []string{"events"}
	query := adjust.ReportQuery{Dimensions: []string{"day", "app"}, Metrics: []string{"installs"}}
	for name, c := range map[string]struct {
		table   string
		cluster string
		events  []Selector
		early   string // a part of New's error
		refused string // a part of the error of the event's columns
	}{
		"fits": {cluster: "login_events", events: []Selector{{Glob: "log*", Metrics: events}}},
		"lacks": {cluster: "nothing", events: []Selector{{Slug: "login", Metrics: events}},
			early: "clustered by nothing, which it lacks"},
		"lacks by glob": {cluster: "nothing", events: []Selector{{Glob: "log*", Metrics: events}},
			refused: "clustered by nothing, which it lacks"},
		"a table": {table: "bad", early: "table bad in out: a bad table"},
		"as": {events: []Selector{{Name: "Login", As: "entering", Metrics: events}},
			early: "entering_events is too long"},
		"a slug": {events: []Selector{{Slug: "first purchase", Metrics: events}},
			early: "first_purchase_events is too long"},
		"found by glob": {events: []Selector{{Glob: "first*", Metrics: events}},
			refused: "first_purchase_events is too long"},
		"found by token": {events: []Selector{{Token: "tafirst purchase", Metrics: events}},
			refused: "first_purchase_events is too long"},
	} {
		o := Options{Job: "j", Table: c.table, Query: query, Events: c.events,
			Targets: []ledger.Target{{Name: "out", Sink: narrow{}}}}
		if c.cluster != "" {
			o.Warehouse.ClusterBy = []string{c.cluster}
		}
		_, err := New(o)
		wants(t, name, err, c.early)
		if c.early == "" {
			_, err = eventColumns(context.Background(), o, append(account{}, signs...), ledger.Shape{})
			wants(t, name, err, c.refused)
		}
	}
}

func wants(t *testing.T, name string, err error, part string) {
	t.Helper()
	if part == "" && err != nil || part != "" && (!errors.Is(err, ledger.ErrRefused) ||
		!strings.Contains(err.Error(), part)) {
		t.Errorf("%s: got %v, want %q", name, err, part)
	}
}
