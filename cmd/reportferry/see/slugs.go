package see

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/jobs/slugs"
)

// A slugChange is a change of an event slug, as a job of kind events has seen it.
type slugChange struct {
	Job   string `json:"job"`
	Table string `json:"table"`
	Kind  string `json:"kind"` // appeared, vanished, renamed or named
	slugs.Change
}

// slugsOf returns the changes of slugs that a job has seen since a time, oldest first.
func slugsOf(ctx context.Context, s *wire.Session, job config.Job, since time.Time) ([]slugChange, error) {
	r, err := slugs.Open(s.Ledger, job.Name, job.Table).Last(ctx)
	list := []slugChange{}
	for _, c := range r.Changes {
		if !c.Seen.Before(since) {
			list = append(list, slugChange{job.Name, job.Table, c.Kind(), c})
		}
	}
	return list, err
}

// writeSlugs writes the newest changes of one job's slugs for people, at most limit of them; a
// limit of 0 is none.
func writeSlugs(w io.Writer, job string, list []slugChange, since time.Time, limit int) {
	if len(list) == 0 {
		fmt.Fprintf(w, "%s: no event slug changed since %s UTC\n", job, toTheMinute(since))
		return
	}
	fmt.Fprintf(w, "%s: %s since %s UTC\n", job, text.Plural(len(list), "change")+" of event slugs", toTheMinute(since))
	shown := list
	if limit > 0 {
		shown = list[max(0, len(list)-limit):]
	}
	g := text.Grid{
		Heads: []string{"  slug", "change", "now", "apps", "seen", "last before"},
		Right: []bool{false, false, false, true}, Most: []int{24, 0, 22},
	}
	for _, c := range slices.Backward(shown) {
		was, now := c.Was.Slug, c.Now.Slug
		switch c.Kind {
		case "appeared":
			was, now = c.Now.Slug, ""
		case "named":
			now = c.Now.Name
		}
		g.Rows = append(g.Rows, []string{"  " + was, c.Kind, now, fmt.Sprint(c.apps()), c.Day.String(),
			c.After.String()})
	}
	g.Write(w)
	if n := len(list) - len(shown); n > 0 {
		fmt.Fprintf(w, "  and %s; --limit 0 shows all\n", text.Plural(n, "older one"))
	}
}

// apps counts the apps in which the slug changed.
func (s slugChange) apps() int {
	apps := map[string]bool{}
	for _, o := range s.Owners {
		apps[o.App] = true
	}
	return len(apps)
}

// line returns the change as a line of changes --output csv, whose columns are made for numbers.
func (s slugChange) line() []string {
	was, is := s.Was.Slug, s.Now.Slug
	if s.Kind == "named" {
		was, is = s.Was.Name, s.Now.Name
	}
	return []string{
		s.Job, s.Day.String(), "", s.After.String(), s.Seen.UTC().Format(time.RFC3339), s.Run, "event slug", was, is,
		"", "", "", s.Kind,
	}
}
