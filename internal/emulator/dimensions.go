package emulator

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// dimension is a column to group by: a text of the fact's slice, a label made from the fact's hour, or the currency.
type dimension struct {
	slug, label string
	attributed  bool      // the engagement that brought the user decides it: see facts.first_slice
	time        *timeForm // of a date
	text        int       // index in slice.texts; -1 for dates and currencies
}

// timeForm is a date's label, for SQLite and for Go.
type timeForm struct {
	sql   string // with %[1]s for the local time in seconds since 1970
	print func(local time.Time) string
}

// dimensions are all of the interface document's, with the readable names that are this emulator's own.
var dimensions = makeDimensions([]dimension{
	{slug: "hour", label: "Hour", time: &timeForm{"strftime('%%Y-%%m-%%dT%%H:00:00',%[1]s,'unixepoch')", layout("2006-01-02T15:00:00")}},
	{slug: "day", label: "Day", time: &timeForm{"date(%[1]s,'unixepoch')", layout("2006-01-02")}},
	{slug: "week", label: "Week", time: &timeForm{"date(%[1]s,'unixepoch','weekday 6','-6 days')||' - '||date(%[1]s,'unixepoch','weekday 6')", weekLabel}},
	{slug: "month", label: "Month", time: &timeForm{"strftime('%%Y-%%m',%[1]s,'unixepoch')", layout("2006-01")}},
	{slug: "year", label: "Year", time: &timeForm{"strftime('%%Y',%[1]s,'unixepoch')", layout("2006")}},
	{slug: "quarter", label: "Quarter", time: &timeForm{"'Q'||((strftime('%%m',%[1]s,'unixepoch')+2)/3)||strftime(' %%Y',%[1]s,'unixepoch')", quarterLabel}},
	{slug: "os_name", label: "OS name"},
	{slug: "device_type", label: "Device type"},
	{slug: "app", label: "App"},
	{slug: "app_token", label: "App token"},
	{slug: "ad_account_id", label: "Ad account ID", attributed: true},
	{slug: "store_id", label: "Store ID"},
	{slug: "store_type", label: "Store type"},
	{slug: "currency", label: "Currency"},
	{slug: "currency_code", label: "Currency code"},
	{slug: "network", label: "Network", attributed: true},
	{slug: "campaign", label: "Campaign", attributed: true},
	{slug: "campaign_network", label: "Campaign (Network)", attributed: true},
	{slug: "campaign_id_network", label: "Campaign ID (Network)", attributed: true},
	{slug: "adgroup", label: "Adgroup", attributed: true},
	{slug: "adgroup_network", label: "Adgroup (Network)", attributed: true},
	{slug: "adgroup_id_network", label: "Adgroup ID (Network)", attributed: true},
	{slug: "source_network", label: "Source (Network)", attributed: true},
	{slug: "source_id_network", label: "Source ID (Network)", attributed: true},
	{slug: "creative", label: "Creative", attributed: true},
	{slug: "creative_network", label: "Creative (Network)", attributed: true},
	{slug: "creative_id_network", label: "Creative ID (Network)", attributed: true},
	{slug: "country", label: "Country"},
	{slug: "country_code", label: "Country code"},
	{slug: "region", label: "Region"},
	{slug: "partner_name", label: "Partner name", attributed: true},
	{slug: "partner_id", label: "Partner ID", attributed: true},
	{slug: "partner", label: "Partner", attributed: true},
	{slug: "channel", label: "Channel", attributed: true},
	{slug: "platform", label: "Platform"},
})

// makeDimensions finds each dimension's text among those of slices.
func makeDimensions(table []dimension) []dimension {
	for i := range table {
		d := &table[i]
		d.text = slices.Index(sliceTexts, d.column())
	}
	return table
}

func findDimension(slug string) (dimension, *serviceError) {
	for _, d := range dimensions {
		if d.slug == slug {
			return d, nil
		}
	}
	return dimension{}, badRequest("Unsupported dimension: %s", slug)
}

func (d dimension) isCurrency() bool { return d.slug == "currency" || d.slug == "currency_code" }

// column is the dimension's column in slices.
func (d dimension) column() string {
	if d.slug == "app" {
		return "app_name" // app is the app's index
	}
	return d.slug
}

// label is SQL for the dimension's label of fact f of slice d; local is SQL for the fact's local time in seconds.
func (q *query) label(d dimension, local string) string {
	switch {
	case d.time != nil:
		return fmt.Sprintf(d.time.sql, local)
	case d.isCurrency():
		return "'" + strings.ReplaceAll(q.currency.label(d.slug), "'", "''") + "'"
	case d.attributed && q.firstSource:
		return "a." + d.column()
	}
	return "d." + d.column()
}

func layout(form string) func(time.Time) string {
	return func(local time.Time) string { return local.Format(form) }
}

// weekLabel is Sunday to Saturday, the whole week even where the report's period cuts it.
func weekLabel(local time.Time) string {
	sunday := local.AddDate(0, 0, -int(local.Weekday()))
	return sunday.Format("2006-01-02 - ") + sunday.AddDate(0, 0, 6).Format("2006-01-02")
}

func quarterLabel(local time.Time) string {
	return fmt.Sprintf("Q%d %d", (local.Month()+2)/3, local.Year())
}
