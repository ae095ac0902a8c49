package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/sinks"
)

// usualDimensions are the dimensions that dashboards filter by most.
var usualDimensions = []string{"app_token", "app", "network", "partner_name", "campaign", "country_code", "os_name"}

// warehouse returns what the config says about tables, with a description of this one.
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

// describe returns a description of a column, for people who read the table.
func (o Options) describe(c table.Column) sinks.Column {
	switch {
	case c.Stamp == table.LoadedAt:
		return sinks.Column{Description: "When the fetch began that brought this content"}
	case c.Stamp == table.LoadedBy:
		return sinks.Column{Description: "ID of the run that brought this content"}
	case c.Dimension:
		f, _ := catalog.Dimension(c.Source)
		return sinks.Column{Description: f.Description, Source: o.sourceName(c)}
	}
	f := metric(cmp.Or(c.Source, c.Name)) // a column of NULLs has a name only
	if f.Unknown {
		f.Type = c.Type
	}
	s := sinks.Column{Description: f.Description, Source: o.sourceName(c), Unit: f.Unit(), Additive: f.Summable(),
		Final: f.Final(o.adSpendMode())}
	if o.FinalAfter > 0 && s.Final != "" {
		s.Final = fmt.Sprintf("%d days after the period", o.FinalAfter)
	}
	return s
}

// sourceName returns the service's name of a column that the config renames, and an empty text for
// any other column.
func (o Options) sourceName(c table.Column) string {
	if o.Rename[c.Source] != c.Name {
		return ""
	}
	return c.Source
}

// adSpendMode returns the query's parameter ad_spend_mode, or an empty text.
func (o Options) adSpendMode() string { return strings.Join(o.Query.Parameters["ad_spend_mode"], "") }

// metric returns what the catalogue says about a metric, which may be an event's. For one that it
// lacks, metric returns what the slug tells.
func metric(slug string) catalog.Field {
	if f, known := catalog.Metric(slug); known {
		return f
	}
	if f, guessed := catalog.Guess(slug); guessed {
		return f
	}
	return catalog.Described(slug, "", "")
}
