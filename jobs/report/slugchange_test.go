package report

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/slugs"
)

// seenBy is the history of an events job that took these lists on the days of March, from the first
// on.
func seenBy(t *testing.T, l *ledger.Ledger, lists ...account) *slugs.History {
	t.Helper()
	history := slugs.Open(l, "account_events", "account_events")
	for i, list := range lists {
		day := civil.Date{Year: 2026, Month: 3, Day: i + 1}
		s := slugs.Snapshot{Day: day, Seen: day.In(time.UTC), Run: "run"}
		for _, e := range list {
			event := slugs.Event{Label: slugs.Label{Slug: e.ID, Name: e.Name}}
			for _, app := range e.AppTokens {
				event.Owners = append(event.Owners, slugs.Owner{App: app, Token: e.TokensByApp[app][0]})
			}
			s.Events = append(s.Events, event)
		}
		if _, err := history.Note(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	return history
}

// renamed is the listing after somebody renamed an event, in all of its apps or in one.
func (a account) renamed(slug, now, name string, apps ...string) (out account) {
	for _, e := range a {
		if e.ID != slug {
			out = append(out, e)
			continue
		}
		to := adjust.Event{ID: now, Name: name, Section: e.Section, Formatting: e.Formatting, Tokens: e.Tokens,
			TokensByApp: map[string][]string{}}
		from := e
		from.AppTokens = nil
		for _, app := range e.AppTokens {
			side := &from
			if apps == nil || slices.Contains(apps, app) {
				side, to.TokensByApp[app] = &to, e.TokensByApp[app]
			}
			side.AppTokens = append(side.AppTokens, app)
		}
		for _, side := range []adjust.Event{from, to} {
			if side.AppTokens != nil && side.ID != "" {
				out = append(out, side)
			}
		}
	}
	return out
}

// A selector that finds nothing any more says since when, and what the event is called now: in the
// error of the run, and in a warning of the plan before it. Without an events job that saw it,
// neither says more than before.
func TestWitness(t *testing.T) {
	const became = "; the job account_events has seen that purchase became order between 2026-03-01 and 2026-03-02"
	order := shop.renamed("purchase", "order", "Order")
	events := []string{"events"}
	for _, c := range []struct {
		name  string
		s     Selector
		lists []account // as the events job saw them
		now   account   // as the service lists them when the report is asked for
		want  string    // end of the error; "": the last list, for which there is nothing to say
	}{
		{"a slug", Selector{Slug: "purchase", Metrics: events}, []account{shop, order}, order, became},
		{"with an alias", Selector{Slug: "purchase", As: "buy", Metrics: events}, []account{shop, order}, order,
			became},
		{"a name", Selector{Name: "Purchase", Metrics: events}, []account{shop, order}, order, became},
		{"a token, whose columns change their names", Selector{Token: "tapurchase", Metrics: events},
			[]account{shop, order}, order, became},
		{"a glob", Selector{Glob: "purch*", Metrics: []string{"events", "revenue"}}, []account{shop, order}, order,
			became},
		{"a section", Selector{Section: "revenue", Metrics: []string{self}}, []account{shop, order}, order, became},
		{"renamed twice", Selector{Slug: "purchase", Metrics: events},
			[]account{shop, order, order.renamed("order", "sale", "Sale")}, order.renamed("order", "sale", "Sale"),
			became + "; the job account_events has seen that order became sale between 2026-03-02 and 2026-03-03"},
		{"vanished", Selector{Slug: "purchase", Metrics: events}, []account{shop, shop.renamed("purchase", "", "")},
			shop.renamed("purchase", "", ""),
			"; the job account_events has seen that purchase vanished between 2026-03-01 and 2026-03-02"},
		{"renamed in the selector's app", Selector{Slug: "purchase", App: "a", Metrics: events},
			[]account{shop, shop.renamed("purchase", "order", "Order", "a")},
			shop.renamed("purchase", "order", "Order", "a"), became},
		{"another name under the same slug", Selector{Name: "Purchase", Metrics: events},
			[]account{shop, shop.renamed("purchase", "purchase", "Bought")},
			shop.renamed("purchase", "purchase", "Bought"),
			`; the job account_events has seen that purchase is named "Bought" instead of "Purchase" between 2026-03-01 and 2026-03-02`},
		{"a token with an alias finds it", Selector{Token: "tapurchase", As: "buy", Metrics: events},
			[]account{shop, order}, order, ""},
		{"a name that stayed finds it", Selector{Name: "Purchase", As: "buy", Metrics: events},
			[]account{shop, shop.renamed("purchase", "order", "Purchase")},
			shop.renamed("purchase", "order", "Purchase"), ""},
		{"renamed in another app", Selector{Slug: "purchase", App: "b", Metrics: events},
			[]account{shop, shop.renamed("purchase", "order", "Order", "a")}, order, ""},
		{"renamed, and back", Selector{Slug: "purchase", Metrics: events}, []account{shop, order, shop}, order, ""},
		{"another event", Selector{Slug: "level_up", Metrics: events}, []account{shop, order},
			shop.renamed("level_up", "", ""), ""},
		{"nobody has looked since", Selector{Slug: "purchase", Metrics: events}, []account{shop}, order, ""},
		{"no snapshot yet", Selector{Slug: "purchase", Metrics: events}, nil, order, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := ledger.Open(ledger.Options{Store: bucket.NewMemory(), URL: "mem://ledger"})
			defer func() { _ = l.Close() }()
			var log bytes.Buffer
			o := Options{Job: "sales", Events: []Selector{c.s}, Log: slog.New(slog.NewTextHandler(&log, nil))}
			cols, err := eventColumns(t.Context(), o, append(account{}, shop...), ledger.Shape{})
			if err != nil {
				t.Fatal(err)
			}
			recorded := shapeOf(Options{}, cols)
			_, without := eventColumns(t.Context(), o, c.now, recorded)
			o.SlugHistories = []*slugs.History{seenBy(t, l, c.lists...)}
			_, with := eventColumns(t.Context(), o, c.now, recorded)
			if finds := strings.HasSuffix(c.name, "finds it"); finds != (without == nil) || finds != (with == nil) ||
				!finds && with.Error() != without.Error()+c.want {
				t.Errorf("got  %v\nwant %v%s", with, without, c.want)
			}

			p := &plan{Kind: &Kind{o: o}}
			p.warnOfLostSlugs(t.Context(), recorded)
			if warned := log.String(); (c.want != "") != strings.Contains(warned, "the next run will fail") {
				t.Errorf("the plan warns: %s", warned)
			}
			log.Reset()
			p.o.NullMissing = true
			if p.warnOfLostSlugs(t.Context(), recorded); (c.want != "") != strings.Contains(log.String(),
				"its columns will be NULL") {
				t.Errorf("with on_missing_event: null the plan warns: %s", log.String())
			}
		})
	}
}

// A damaged record of slugs is named, beside what is wrong with the selector.
func TestDamagedWitness(t *testing.T) {
	l := ledger.Open(ledger.Options{Store: bucket.NewMemory(), URL: "mem://ledger"})
	defer func() { _ = l.Close() }()
	foreign := ledger.NewDocument[[]int](l, "tables/account_events/notes.json", "")
	if err := foreign.Change(t.Context(),
		ledger.Change[[]int]{Apply: func(list *[]int) error { *list = []int{1}; return nil }}); err != nil {
		t.Fatal(err)
	}
	o := Options{Events: []Selector{{Slug: "gone", Metrics: []string{"events"}}},
		SlugHistories: []*slugs.History{slugs.Open(l, "account_events", "account_events")}}
	_, err := eventColumns(t.Context(), o, append(account{}, shop...), ledger.Shape{})
	compare(t, nil, err, "error: slug gone matches no event")
	compare(t, nil, err, "error: ; what the job account_events has seen of it can't be read: ledger: "+
		"mem://ledger/tables/account_events/notes.json is damaged")
}
