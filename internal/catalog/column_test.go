package catalog

import "testing"

// Each event, and each metric of one, has a column's name that needs no quotes, whatever its slug.
func TestColumnName(t *testing.T) {
	for slug, want := range map[string]string{
		"purchase": "purchase", "Purchase": "Purchase", "a__b": "a__b", "_x_": "_x_",
		"first purchase": "first_purchase", "level-up!": "level_up",
		"a - b": "a_b", "a_-_b": "a_b", "add,cart": "add_cart", "1st buy": "_1st_buy", "2x": "_2x",
		"(new) sale": "new_sale", "sale 🎉": "sale", "a\xffb": "a_b",
		"revenue_3ea7d4b1": "revenue_3ea7d4b1", "v1.2.buy": "v1_2_buy", "_": "_", "": "",
		"покупка": "u43fu43eu43au443u43fu43au430", "über": "uber", "cafe\u0301": "cafe",
		"Jährlich – 7 Tage": "Jahrlich_7_Tage", "buy²": "buy2", "購入": "u8cfcu5165",
		"!!!": "u21u21u21", "🎉": "u1f389", "\u0301": "u301",
		"usd deposit_m0_conversions_cohort": "usd_deposit_m0_conversions_cohort", "level-up!_events": "level_up_events",
		"2x_d7_revenue_cohort": "_2x_d7_revenue_cohort",
		"🎉_events":             "u1f389_events", "!!!_events": "u21u21u21_events",
		"general revenue_events_max": "general_revenue_events_max",
		"a b_d0_revenue_cohort_cal":  "a_b_d0_revenue_cohort_cal",
	} {
		if name := ColumnName(slug); name != want {
			t.Errorf("%q: %q; want %q", slug, name, want)
		}
	}
	// A selector and a list of metrics give one name.
	for _, slug := range []string{"first purchase", "level-up!", "-x-", "_!_", "3 d", "über", "🎉", "a_!"} {
		if name := ColumnName(slug + "_events"); name != ColumnName(slug)+"_events" {
			t.Errorf("%q: its events are %q", slug, name)
		}
	}
}
