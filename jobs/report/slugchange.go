package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/slugs"
)

// slugChanges says since when slugs that a selector wants are gone, and what they are now. It
// returns a text to end a message with, which is empty when no events job has seen them go.
func (o Options) slugChanges(ctx context.Context, s Selector, lost []string) string {
	var text strings.Builder
	for _, history := range o.SlugHistories {
		r, err := history.Last(ctx)
		if err != nil {
			fmt.Fprintf(&text, "; what the job %s has seen of it can't be read: %v", history.Job, err)
		}
		for _, c := range s.lostIn(r, lost) {
			fmt.Fprintf(&text, "; the job %s has seen that %s", history.Job, c)
		}
	}
	return text.String()
}

// lostIn returns the changes by which slugs that the selector wants have gone, as far as the last
// snapshot still lacks them. When a slug was renamed and the new one has gone, too, it also returns
// that change.
func (s Selector) lostIn(r slugs.Record, lost []string) (changes []slugs.Change) {
	// in tells whether an owner of an event is an app that the selector takes. means tells whether
	// the selector chooses an event by its name or token.
	in := func(o slugs.Owner) bool { return s.App == "" || o.App == s.App }
	means := func(l slugs.Label, owners []slugs.Owner) bool {
		return s.Name != "" && l.Name == s.Name && slices.ContainsFunc(owners, in) ||
			s.Token != "" && slices.ContainsFunc(owners, func(o slugs.Owner) bool {
				return o.Token == s.Token &&
					in(o)
			})
	}
	there := slices.ContainsFunc(r.Events, func(e slugs.Event) bool { return means(e.Label, e.Owners) })
	if there && s.As != "" {
		return nil // the columns have the selector's names, whatever the slug is
	}
	wanted := slices.Clone(lost)
	for _, c := range r.Changes {
		bySlug := c.Lost() && slices.Contains(wanted, c.Was.Slug) && !r.Has(c.Was.Slug, s.App) &&
			slices.ContainsFunc(c.Owners, in)
		if bySlug || !there && c.Was.Slug != "" && means(c.Was, c.Owners) {
			changes = append(changes, c)
			wanted = append(wanted, c.Now.Slug)
		}
	}
	return changes
}

// slugs returns the slugs of the events that the selector's recorded columns came from, and the one
// that the selector names.
func (s Selector) slugs(recorded ledger.Shape) (out []string) {
	if s.Slug != "" {
		out = append(out, s.Slug)
	}
	for _, was := range recorded.Columns {
		for _, metric := range s.Metrics {
			if was.Event != s.String() || !s.belongs(was, metric) || s.As != "" && was.Source == "" {
				continue // a column of NULLs under another name doesn't say which slug it was
			}
			slug := cmp.Or(was.Source, was.Name)
			if metric != self {
				slug = strings.TrimSuffix(slug, "_"+metric)
			}
			if !slices.Contains(out, slug) {
				out = append(out, slug)
			}
		}
	}
	return out
}

// warnOfLostSlugs warns of selectors that want slugs which an events job has seen go, before a run
// asks for them.
func (p *plan) warnOfLostSlugs(ctx context.Context, recorded ledger.Shape) {
	if p.o.Rebaseline || p.o.NewColumns {
		return // the events have been looked up by now
	}
	for _, s := range p.o.Events {
		null := func(was ledger.Column) bool { return was.Event == s.String() && was.Source == "" }
		if p.o.NullMissing && slices.ContainsFunc(recorded.Columns, null) {
			continue // they are NULL already
		}
		if text := p.o.slugChanges(ctx, s, s.slugs(recorded)); text != "" {
			what := "the next run will fail; change the selector, or set on_missing_event: null"
			if p.o.NullMissing {
				what = "its columns will be NULL"
			}
			p.o.Log.Warn(fmt.Sprintf("%s: %s: %s", s, strings.TrimPrefix(text, "; "), what), "job", p.o.Job)
		}
	}
}
