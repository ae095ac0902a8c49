package report_test

import (
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/emulator/report"
	"github.com/reportferry/reportferry/internal/slow"
)

// TestEveryParameter has a row for each parameter of csv_report, the interface document's 21 first
// and then those of the service's other descriptions: does the value change the answer, or is it
// the default, or without effect by design?
func TestEveryParameter(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 3})
	const plain = "dimensions=day,network,currency_code&metrics=installs,cost,revenue,ad_revenue,revenue_total_d7" +
		"&date_period=-9d:-0d"
	answer := func(query string) string { return emutest.Get(t, s, "csv_report?"+query, 200) }
	want := answer(plain)
	for _, c := range []struct {
		param   string
		changes bool
	}{
		{"dimensions=day", true},
		{"dimensions=day,network,currency_code,day", false},
		{"metrics=clicks", true},
		{"metrics=installs,cost,installs,revenue,ad_revenue,revenue_total_d7", false},
		{"date_period=-8d:-0d", true},
		{"date_period=2026-03-05:2026-03-14", false},
		{"cohort_maturity=immature", false},
		{"cohort_maturity=mature", true},
		{"cohort_maturity=fully_mature", true},
		{"readable_names=true", true},
		{"readable_names=false", false},
		{"utc_offset=%2B09:00", true},
		{"utc_offset=%2B00:00", false},
		{"timezone_id=Asia/Tokyo", true},
		{"timezone_id=1", false},
		{"hour__between=-50h:-3h", true},
		{"hour__between=-9999h:-0h", true}, // the rest of today is cut off
		{"attribution_types=click,engaged_ad", true},
		{"attribution_types=engaged_ad,impression,click", false},
		{"attribution_source=first", true},
		{"attribution_source=dynamic", false},
		{"reattributed=true", true},
		{"reattributed=false", true},
		{"reattributed=all", false},
		{"iap_revenue_mode=GROSS_95", true},
		{"iap_revenue_mode=GROSS_85", true},
		{"iap_revenue_mode=GROSS_80", true},
		{"iap_revenue_mode=GROSS_70", true},
		{"iap_revenue_mode=GROSS_65", true},
		{"iap_revenue_mode=GROSS_60", true},
		{"iap_revenue_mode=GROSS_50", true},
		{"iap_revenue_mode=GROSS_100", false},
		{"ad_revenue_sources=AdMob,Fyber", true},
		{"ad_revenue_sources=", false},
		{"os_names=ios,windows", true},
		{"os_names=" + strings.Join(report.OSNames, ","), false},
		{"ad_spend_mode=network", true},
		{"ad_spend_mode=mixed", true},
		{"ad_spend_mode=adjust", false},
		{"sandbox=true", true},
		{"sandbox=false", false},
		{"sort=-installs", true},
		{"sort=day,network", false},
		{"index=network", true},
		{"index=day", false},
		{"format_dates=true", false},
		{"format_dates=false", false},
		{"period_over_period=previous_day", true},
		{"period_over_period=previous_week", true},
		{"period_over_period=previous_month", true},
		{"period_over_period=previous_year", true},
		{"period_over_period=previous_period", true},
		{"period_over_period=-20d", true},
		{"period_over_period=2026-01-01", true},
		{"currency=EUR", true},
		{"currency=USD", false},
		{"network__in=organic", true},
		{"network__not_in=organic", true},
		{"network__contains=a", true},
		{"network__exclude=a", true},
		{"network__starts_with=a", true},
		{"network__not_starts_with=a", true},
		{"network__ends_with=s", true},
		{"network__not_ends_with=s", true},
		{"campaign__contains=SALE", true},
		{"day__in=2026-03-06", true},
		{"installs__lt=10", true},
		{"installs__lte=10", true},
		{"installs__gt=10", true},
		{"installs__gte=10", true},
		{"installs__eq=10", true},
		{"installs__ne=10", true},
		{"clicks__gt=0", true},
		{"limit=5", true},
		{"limit=100000", false},
		{"attribution_type=click", true},
		{"attribution_type=impression", true},
		{"attribution_type=all", false},
		{"assisting_attribution_type=click", false},
	} {
		// What comes first counts, so the row's value goes before the plain query's own.
		got := answer(c.param + "&" + plain)
		if (got != want) != c.changes {
			t.Errorf("%s: changes the answer: %t, want %t", c.param, got != want, c.changes)
		}
	}
}
