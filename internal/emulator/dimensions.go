package emulator

import "fmt"

// dimension is a column to group by: a column of slices, or a label made from the fact's hour.
type dimension struct {
	slug, label string
	column      string // of slices; its folded twin is column + "_l"
	time        string // SQL with %[1]s for the local time in seconds since 1970
}

var dimensions = []dimension{
	{slug: "day", label: "Day", time: "date(%[1]s,'unixepoch')"},
	{slug: "hour", label: "Hour", time: "strftime('%%Y-%%m-%%dT%%H:00:00',%[1]s,'unixepoch')"},
	{slug: "week", label: "Week", time: "date(%[1]s,'unixepoch','weekday 6','-6 days')||' - '||date(%[1]s,'unixepoch','weekday 6')"}, // Sunday to Saturday
	{slug: "month", label: "Month", time: "strftime('%%Y-%%m',%[1]s,'unixepoch')"},
	{slug: "app", label: "App", column: "app_name"},
	{slug: "app_token", label: "App token", column: "app_token"},
	{slug: "os_name", label: "OS name", column: "os_name"},
	{slug: "country_code", label: "Country code", column: "country_code"},
	{slug: "network", label: "Network", column: "network"},
	{slug: "campaign", label: "Campaign", column: "campaign"},
	{slug: "campaign_network", label: "Campaign (Network)", column: "campaign_network"},
	{slug: "partner_name", label: "Partner name", column: "partner_name"},
}

// unbuiltDimensions are the interface document's other dimensions.
var unbuiltDimensions = []string{"year", "quarter", "device_type", "ad_account_id", "store_id", "store_type", "currency", "currency_code",
	"campaign_id_network", "adgroup", "adgroup_network", "adgroup_id_network", "source_network", "source_id_network", "creative",
	"creative_network", "creative_id_network", "country", "region", "partner_id", "partner", "channel", "platform"}

func findDimension(slug string) (dimension, *serviceError) {
	for _, d := range dimensions {
		if d.slug == slug {
			return d, nil
		}
	}
	for _, known := range unbuiltDimensions {
		if known == slug {
			return dimension{}, notYet("dimension %s", slug)
		}
	}
	return dimension{}, badRequest("Unsupported dimension: %s", slug)
}

// sql is the dimension's label in the report's zone.
func (d dimension) sql(offsetMinutes int) string {
	if d.time == "" {
		return "d." + d.column
	}
	return fmt.Sprintf(d.time, fmt.Sprintf("(f.ts*60%+d)*60", offsetMinutes))
}
