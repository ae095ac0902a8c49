package catalog

import (
	"slices"
	"testing"
)

// Each dimension of the interface document has a column of its type; a quarter, which the document
// calls a string, is stored as the date of its first day like the other periods.
func TestDocumentDimensions(t *testing.T) {
	types := map[string]Type{"hour": Hour, "day": Day, "week": Week, "month": Month, "year": Year, "quarter": Quarter}
	slugs := []string{"hour", "day", "week", "month", "year", "quarter", "os_name", "device_type", "app", "app_token",
		"ad_account_id", "store_id",
		"store_type", "currency", "currency_code", "network", "campaign", "campaign_network", "campaign_id_network",
		"adgroup", "adgroup_network",
		"adgroup_id_network", "source_network", "source_id_network", "creative", "creative_network",
		"creative_id_network", "country", "country_code",
		"region", "partner_name", "partner_id", "partner", "channel", "platform"}
	for _, slug := range slugs {
		t.Run(slug, func(t *testing.T) {
			want := types[slug] // String, unless it is there
			if f, ok := Dimension(slug); !ok || f.Type != want || f.Description == "" {
				t.Errorf("%+v, %t, want the type %v", f, ok, want)
			}
		})
	}
	for _, slug := range Dimensions() {
		if !slices.Contains(slugs, slug) {
			t.Errorf("%s isn't the document's", slug)
		}
	}
}
