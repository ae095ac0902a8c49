package catalog

import "testing"

// Each event has a column's name that needs no quotes, or none at all.
func TestColumnName(t *testing.T) {
	for slug, want := range map[string]string{
		"purchase": "purchase", "Purchase": "Purchase", "a__b": "a__b", "_x_": "_x_", "first purchase": "first_purchase", "level-up!": "level_up",
		"a - b": "a_b", "a_-_b": "a_b", "add,cart": "add_cart", "1st buy": "_1st_buy", "2x": "_2x", "(new) sale": "new_sale", "sale 🎉": "sale", "a\xffb": "a_b",
		"покупка": "", "über": "", "cafe\u0301": "", "!!!": "", "_": "", "": "", "buy²": "",
	} {
		name, ok := ColumnName(slug)
		if ok != (want != "") || ok && name != want {
			t.Errorf("%q: %q, %v; want %q", slug, name, ok, want)
		}
	}
}
