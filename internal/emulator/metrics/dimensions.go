package metrics

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// Dimension is a column to group by: a text of the fact's slice, a label made from the fact's hour,
// or the currency.
type Dimension struct {
	Slug, Label string
	Attributed  bool      // the engagement that brought the user decides it: see facts.first_slice
	Time        *TimeForm // only of a date
	Text        int       // index in facts.Slice.Texts; -1 for dates and currencies
}

// TimeForm says how a date's label is made, in SQLite and in Go.
type TimeForm struct {
	SQL   string // with %[1]s for the local time in seconds since 1970
	Print func(local time.Time) string
}

// Dimensions are all dimensions of the interface document and, at the end, one more that the real
// service has: the creative's ID, which here is the network's own. The readable names are this
// emulator's own.
var Dimensions = makeDimensions([]Dimension{
	{Slug: "hour", Label: "Hour", Time: &TimeForm{"strftime('%%Y-%%m-%%dT%%H:00:00',%[1]s,'unixepoch')",
		layout("2006-01-02T15:00:00")}},
	{Slug: "day", Label: "Day", Time: &TimeForm{"date(%[1]s,'unixepoch')", layout("2006-01-02")}},
	{Slug: "week", Label: "Week", Time: &TimeForm{"date(%[1]s,'unixepoch','weekday 6','-6 days')||' - " +
		"'||date(%[1]s,'unixepoch','weekday 6')", weekLabel}},
	{Slug: "month", Label: "Month", Time: &TimeForm{"strftime('%%Y-%%m',%[1]s,'unixepoch')", layout("2006-01")}},
	{Slug: "year", Label: "Year", Time: &TimeForm{"strftime('%%Y',%[1]s,'unixepoch')", layout("2006")}},
	{Slug: "quarter", Label: "Quarter",
		Time: &TimeForm{"'Q'||((strftime('%%m',%[1]s,'unixepoch')+2)/3)||strftime(' %%Y',%[1]s,'unixepoch')",
			quarterLabel}},
	{Slug: "os_name", Label: "OS name"},
	{Slug: "device_type", Label: "Device type"},
	{Slug: "app", Label: "App"},
	{Slug: "app_token", Label: "App token"},
	{Slug: "ad_account_id", Label: "Ad account ID", Attributed: true},
	{Slug: "store_id", Label: "Store ID"},
	{Slug: "store_type", Label: "Store type"},
	{Slug: "currency", Label: "Currency"},
	{Slug: "currency_code", Label: "Currency code"},
	{Slug: "network", Label: "Network", Attributed: true},
	{Slug: "campaign", Label: "Campaign", Attributed: true},
	{Slug: "campaign_network", Label: "Campaign (Network)", Attributed: true},
	{Slug: "campaign_id_network", Label: "Campaign ID (Network)", Attributed: true},
	{Slug: "adgroup", Label: "Adgroup", Attributed: true},
	{Slug: "adgroup_network", Label: "Adgroup (Network)", Attributed: true},
	{Slug: "adgroup_id_network", Label: "Adgroup ID (Network)", Attributed: true},
	{Slug: "source_network", Label: "Source (Network)", Attributed: true},
	{Slug: "source_id_network", Label: "Source ID (Network)", Attributed: true},
	{Slug: "creative", Label: "Creative", Attributed: true},
	{Slug: "creative_network", Label: "Creative (Network)", Attributed: true},
	{Slug: "creative_id_network", Label: "Creative ID (Network)", Attributed: true},
	{Slug: "country", Label: "Country"},
	{Slug: "country_code", Label: "Country code"},
	{Slug: "region", Label: "Region"},
	{Slug: "partner_name", Label: "Partner name", Attributed: true},
	{Slug: "partner_id", Label: "Partner ID", Attributed: true},
	{Slug: "partner", Label: "Partner", Attributed: true},
	{Slug: "channel", Label: "Channel", Attributed: true},
	{Slug: "platform", Label: "Platform"},
	{Slug: "creative_id", Label: "Creative ID", Attributed: true},
})

// further are dimensions that no list has and that clients of the service use all the same, above
// all as filters.
var further = makeDimensions([]Dimension{
	{Slug: "channel_id", Label: "Channel ID", Attributed: true},
	{Slug: "app_network", Label: "App (Network)"},
	{Slug: "tracker_token", Label: "Tracker token", Attributed: true},
})

// makeDimensions finds each dimension's text among those of slices.
func makeDimensions(table []Dimension) []Dimension {
	for i := range table {
		d := &table[i]
		d.Text = slices.Index(facts.TextColumns, d.column())
	}
	return table
}

// FindDimension finds a dimension by its slug; the error is the service's answer for an unknown
// one.
func FindDimension(slug string) (Dimension, *wire.Error) {
	for _, list := range [][]Dimension{Dimensions, further} {
		if i := slices.IndexFunc(list, func(d Dimension) bool { return d.Slug == slug }); i >= 0 {
			return list[i], nil
		}
	}
	return Dimension{}, wire.BadRequest("Unsupported dimension: %s", slug)
}

// IsCurrency tells whether the dimension is one of the two that give the report's currency,
// whatever the fact.
func (d Dimension) IsCurrency() bool { return d.Slug == "currency" || d.Slug == "currency_code" }

// column returns the name of the dimension's column in slices.
func (d Dimension) column() string {
	switch d.Slug {
	case "app":
		return "app_name" // app is the app's index
	case "creative_id":
		return "creative_id_network"
	}
	return d.Slug
}

// label returns SQL for the dimension's label of fact f of slice d; local is SQL for the fact's
// local time in seconds.
func (q *Query) label(d Dimension, local string) string {
	switch {
	case d.Time != nil:
		return fmt.Sprintf(d.Time.SQL, local)
	case d.IsCurrency():
		return "'" + strings.ReplaceAll(q.Currency.Label(d.Slug), "'", "''") + "'"
	case d.Attributed && q.FirstSource:
		return "a." + d.column()
	}
	return "d." + d.column()
}

// layout returns a function that prints a local time in a form of package time.
func layout(form string) func(time.Time) string {
	return func(local time.Time) string { return local.Format(form) }
}

// weekLabel returns the days from Sunday to Saturday: the whole week even where the report's period
// cuts it.
func weekLabel(local time.Time) string {
	sunday := local.AddDate(0, 0, -int(local.Weekday()))
	return sunday.Format("2006-01-02 - ") + sunday.AddDate(0, 0, 6).Format("2006-01-02")
}

// MondayWeeks are the weeks from Monday to Sunday, of a service that has them so.
var MondayWeeks = &TimeForm{"date(%[1]s,'unixepoch','weekday 0','-6 days')||' - '||date(%[1]s,'unixepoch','weekday 0')",
	func(local time.Time) string {
		monday := local.AddDate(0, 0, -(int(local.Weekday())+6)%7)
		return monday.Format("2006-01-02 - ") + monday.AddDate(0, 0, 6).Format("2006-01-02")
	}}

// quarterLabel returns a label such as "Q1 2026".
func quarterLabel(local time.Time) string {
	return fmt.Sprintf("Q%d %d", (local.Month()+2)/3, local.Year())
}
