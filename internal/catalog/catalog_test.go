package catalog

import (
	"slices"
	"testing"
)

func TestMetric(t *testing.T) {
	for _, c := range []struct {
		slug     string
		typ      Type
		additive bool
		found    bool
	}{
		{"installs", Int64, true, true},
		{"cost", Decimal, true, true},
		{"ecpi_all", Decimal, false, true},
		{"daus", Double, false, true},
		{"retention_rate_d7", Double, false, true},
		{"retained_users_d120", Int64, true, true},
		{"retained_users_d121", String, false, false},
		{"retained_users_7d", String, false, false},
		{"all_revenue_total_m36", Decimal, true, true},
		{"all_revenue_total_m37", String, false, false},
		{"ad_revenue_admob", Decimal, true, true},
		{"conversion_value_63", Int64, true, true},
		{"installs_per_mile", Double, false, true},
		{"iap_revenue", String, false, false},
		{"retained_users_{p}", String, false, false},
		{"purchase_events", String, false, false},
	} {
		f, ok := Metric(c.slug)
		if ok != c.found || f.Type != c.typ || f.Additive != c.additive {
			t.Errorf("Metric(%q) = %v %v additive %v, want %v %v %v", c.slug, ok, f.Type, f.Additive, c.found, c.typ, c.additive)
		}
	}
}

func TestEventMetric(t *testing.T) {
	for suffix, want := range map[string]Type{
		"events": Int64, "revenue": Decimal, "d7_revenue_cohort": Decimal, "w3_events_rate_cohort": Double,
		"events_verified_passed": Int64, "skan_ecpa": Double,
	} {
		if f, ok := EventMetric(suffix); !ok || f.Type != want {
			t.Errorf("EventMetric(%q) = %v %v, want %v", suffix, f.Type, ok, want)
		}
	}
	if f, ok := EventMetric("some_events"); ok {
		t.Errorf("half a slug is found as %q", f.Slug)
	}
	if f, ok := EventMetric("d999_revenue_cohort"); ok {
		t.Errorf("a period that the service doesn't have is found as %q", f.Slug)
	}
}

func TestDimension(t *testing.T) {
	if n := len(Dimensions()); n != 35 {
		t.Errorf("%d dimensions, the interface has 35", n)
	}
	if f, ok := Dimension("week"); !ok || f.Type != Week || !f.Type.IsDate() {
		t.Errorf("week = %v %v", f, ok)
	}
}

func TestNearest(t *testing.T) {
	if got := Nearest("instals", Metrics()); !slices.Contains(got, "installs") {
		t.Errorf("Nearest(instals) = %v", got)
	}
	if got := Nearest("zzzzzzzz", Metrics()); len(got) != 0 {
		t.Errorf("Nearest(zzzzzzzz) = %v, want none", got)
	}
}

func TestTypeText(t *testing.T) {
	for typ := String; typ <= Double; typ++ {
		b, _ := typ.MarshalText()
		var back Type
		if err := back.UnmarshalText(b); err != nil || back != typ {
			t.Errorf("%v: %v %v", typ, back, err)
		}
	}
	var none Type
	if none.UnmarshalText([]byte("varchar")) == nil {
		t.Error("varchar is taken for a type")
	}
}
