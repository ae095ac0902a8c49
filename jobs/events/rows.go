package events

import (
	"slices"
	"strconv"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/partition"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// columns are the columns of a snapshot, which has one row for each token of a slug in an app. All
// of them belong to the key, so a blank stays an empty text.
var columns = []table.Column{
	dimension("snapshot_date", catalog.Day),
	dimension("slug", catalog.String),
	dimension("name", catalog.String),
	dimension("short_name", catalog.String),
	dimension("section", catalog.String),
	dimension("formatting", catalog.String),
	dimension("description", catalog.String),
	dimension("app_token", catalog.String),
	dimension("event_token", catalog.String),
	dimension("is_skad_event", catalog.String), // true or false
}

// dimension returns a column that belongs to the key.
func dimension(name string, t catalog.Type) table.Column {
	return table.Column{Name: name, Source: name, Type: t, Dimension: true}
}

// descriptions are those of the columns, in their order.
var descriptions = []string{
	"Day of the snapshot", "Event slug, which names metrics", "Event name", "Short name",
	"Section of the service's pickers",
	"How the service shows the event's data", "Description", "Token of an app that has the event",
	"Token of the event in that app",
	"Whether it is an event of SKAdNetwork: true or false",
}

// definition returns the definition of the table of snapshots.
func (k *Kind) definition() partition.Definition {
	d := partition.Definition{Columns: columns, Shape: k.shape()} // the first column is the partition
	warehouse := k.o.Warehouse
	warehouse.About = &sinks.About{
		Job: k.o.Job, Zone: k.o.Rules.Location.String(),
		Text: "The account's events and their slugs, a snapshot a day. Written by job " + k.o.Job + " of reportferry.",
	}
	if warehouse.ClusterBy == nil {
		warehouse.ClusterBy = []string{"slug", "app_token"}
	}
	d.Complete(warehouse, refresh.Day.String(), nil, func(c table.Column) sinks.Column {
		return sinks.Column{Description: descriptions[slices.IndexFunc(columns,
			func(other table.Column) bool { return other.Name == c.Name })]}
	})
	return d
}

// rows returns the cells of a snapshot in the order of columns. The rows are sorted, so that the
// same events give the same file.
func rows(day civil.Date, list []adjust.Event) [][]any {
	var texts [][]string // without the day, which is the same in all
	for _, e := range list {
		for _, at := range owners(e) {
			texts = append(texts, []string{
				e.ID, e.Name, e.ShortName, e.Section, e.Formatting, e.Description, at.app, at.token,
				strconv.FormatBool(e.IsSKAdEvent),
			})
		}
	}
	slices.SortFunc(texts, slices.Compare[[]string])
	out := make([][]any, len(texts))
	for i, row := range texts {
		out[i] = append(out[i], day)
		for _, text := range row {
			out[i] = append(out[i], text)
		}
	}
	return out
}

// An owner is an app that has an event, and the event's token in that app; either may be unknown.
type owner struct{ app, token string }

// owners returns the apps and tokens of an event. It pairs them where the service maps tokens to
// apps; otherwise it isn't known which app a token belongs to, and each stands alone.
func owners(e adjust.Event) []owner {
	var out []owner
	for app, tokens := range e.TokensByApp {
		for _, token := range tokens {
			out = append(out, owner{app, token})
		}
		if len(tokens) == 0 {
			out = append(out, owner{app: app})
		}
	}
	if e.TokensByApp != nil && len(out) > 0 {
		return out
	}
	for _, app := range e.AppTokens {
		out = append(out, owner{app: app})
	}
	for _, token := range e.Tokens {
		out = append(out, owner{token: token})
	}
	if out == nil {
		return []owner{{}}
	}
	return out
}

// sorted returns a sorted copy of a list.
func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}
