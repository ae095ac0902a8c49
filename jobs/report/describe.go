package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/sinks"
)

// usual are the dimensions that dashboards filter by most.
var usual = []string{"app_token", "app", "network", "partner_name", "campaign", "country_code", "os_name"}

// warehouse is what the config says of tables, and what the table is.
func (o Options) warehouse() sinks.Schema {
	s := o.Warehouse
	s.About = &sinks.About{
		Job: o.Job, Currency: o.Query.Currency, Zone: o.Rules.Location.String(),
		Text: fmt.Sprintf("A report by %s, in %s; periods begin and end in %s. Written by job %s of reportferry, "+
			"each period whole.",
			strings.Join(o.Query.Dimensions, ", "), o.Query.Currency, o.Rules.Location, o.Job),
	}
	return s
}

// describe says what a column means, for people who read the table.
func (o Options) describe(c table.Column) sinks.Column {
	switch {
	case c.Stamp == table.LoadedAt:
		return sinks.Column{Description: "When the fetch began that brought this content"}
	case c.Stamp == table.LoadedBy:
		return sinks.Column{Description: "ID of the run that brought this content"}
	case c.Dimension:
		f, _ := catalog.Dimension(c.Source)
		return sinks.Column{Description: f.Description, Source: o.renamed(c)}
	}
	f := metric(cmp.Or(c.Source, c.Name)) // a column of NULLs has a name only
	if f.Unknown {
		f.Type = c.Type
	}
	s := sinks.Column{Description: f.Description, Source: o.renamed(c), Unit: f.Unit(), Additive: f.Summable(),
		Final: f.Final(o.adSpendMode())}
	if o.FinalAfter > 0 && s.Final != "" {
		s.Final = fmt.Sprintf("%d days after the period", o.FinalAfter)
	}
	return s
}

// renamed is what the service calls a column that the config renames; empty: it doesn't.
func (o Options) renamed(c table.Column) string {
	if o.Rename[c.Source] != c.Name {
		return ""
	}
	return c.Source
}

func (o Options) adSpendMode() string { return strings.Join(o.Query.Parameters["ad_spend_mode"], "") }

// metric is what the catalogue knows of a metric, also of an event's; of one that it lacks, what
// the slug tells.
func metric(slug string) catalog.Field {
	if f, known := catalog.Metric(slug); known {
		return f
	}
	if f, guessed := catalog.Guess(slug); guessed {
		return f
	}
	return catalog.Described(slug, "", "")
}
