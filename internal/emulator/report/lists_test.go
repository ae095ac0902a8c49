package report_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/emulator/metrics"
	"github.com/reportferry/reportferry/internal/emulator/report"
	"github.com/reportferry/reportferry/internal/slow"
)

func filters(tb testing.TB, s *emulator.Server, query string) map[string][]map[string]any {
	tb.Helper()
	var out map[string][]map[string]any
	if err := json.Unmarshal([]byte(emutest.Get(tb, s, "filters_data?"+query, 200)), &out); err != nil {
		tb.Fatal(err)
	}
	return out
}

var metricLists = []string{"overview_metrics", "cost_metrics", "skad_metrics", "cohort_metrics", "event_metrics"}

func idsOf(items []map[string]any) (out []string) {
	for _, i := range items {
		out = append(out, i["id"].(string))
	}
	return out
}

func TestFiltersDataShapes(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon})
	names := slices.Sorted(maps.Keys(report.FilterLists))
	for _, name := range []string{"overview_metrics", "skad_metrics", "cohort_metrics", "event_metrics", "cost_metrics",
		"dimensions",
		"cohort_maturity", "currencies", "os_names", "countries", "networks", "partners", "apps", "ad_revenue_sources",
		"iap_revenue_mode",
		"attribution_type", "attribution_types", "attribution_source", "ad_spend_mode", "utc_offset", "index",
		"period_over_period",
		"cohort_metric_names", "full_cohort_periods", "store_type"} {
		if !slices.Contains(names, name) {
			t.Errorf("no filter %s", name)
		}
	}
	all := filters(t, s, "required_filters="+strings.Join(names, ","))
	if len(all) != len(names) {
		t.Errorf("%d lists for %d filters", len(all), len(names))
	}
	fields := []string{"id", "name", "short_name", "section", "formatting", "description", "increase_is_negative"}
	for name, items := range all {
		if len(items) == 0 {
			t.Errorf("%s is empty", name)
		}
		seen := map[string]bool{}
		for _, i := range items {
			for _, field := range fields {
				if _, ok := i[field]; !ok {
					t.Fatalf("%s: %v has no %s", name, i, field)
				}
			}
			id := i["id"].(string)
			if seen[id] || id == "" || i["name"] == "" || strings.ContainsAny(id, "{}") ||
				strings.ContainsAny(i["name"].(string), "{}") {
				t.Fatalf("%s: item %v, seen %v", name, i, seen[id])
			}
			seen[id] = true
			if slices.Contains(metricLists, name) != (i["formatting"] != nil) && name != "cohort_metric_names" {
				t.Fatalf("%s: %s has formatting %v", name, id, i["formatting"])
			}
		}
	}
	for _, def := range emutest.GlossaryOf(s).All() {
		slug := def.Slug
		for _, list := range metricLists {
			if def.Hidden && slices.Contains(idsOf(all[list]), slug) {
				t.Errorf("%s lists %s, which is hidden", list, slug)
			}
		}
	}
	for _, d := range metrics.Dimensions {
		if !slices.Contains(idsOf(all["dimensions"]), d.Slug) {
			t.Errorf("dimension %s isn't listed", d.Slug)
		}
	}
	for i, a := range s.Apps() {
		item := all["apps"][i]
		platforms := item["platforms"].(map[string]any)
		if item["id"] != any(a.Token) || item["name"] != any(a.Name) || len(platforms) == 0 ||
			item["default_store_app_id"] == "" ||
			item["currency"].(map[string]any)["code"] != "USD" {
			t.Errorf("app %s: %v", a.Token, item)
		}
	}
}

func TestFiltersDataFiltersAndRefuses(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon})
	for query, status := range map[string]int{
		"": 200, "required_filters=": 200, "required_filters=nope": 400, "required_filters=apps,nope": 400,
		"required_filters=overview_metrics&section=nope":                 400,
		"required_filters=overview_metrics&overview_metrics__contains=§": 204,
	} {
		emutest.Get(t, s, "filters_data?"+query, status)
	}
	byName := filters(t, s, "required_filters=overview_metrics,os_names&overview_metrics__contains=EcPi")
	if got := idsOf(byName["overview_metrics"]); !slices.Equal(got, []string{"ecpi", "ecpi_all"}) ||
		len(byName["os_names"]) != len(report.OSNames) {
		t.Errorf("contains=EcPi gives %q, and %d OS names", got, len(byName["os_names"]))
	}
	if got := idsOf(filters(t, s, "required_filters=os_names&os_names__contains=TV")["os_names"]); !slices.Equal(got,
		[]string{"android-tv", "apple-tv", "fire-tv"}) {
		t.Errorf("OS names with TV: %q", got)
	}
	if got := filters(t, s,
		"required_filters=cohort_metrics&cohort_metrics__contains=7D%20retention"); !slices.Contains(
		idsOf(got["cohort_metrics"]), "retention_rate_d7") {
		t.Errorf("contains=7D retention gives %q", idsOf(got["cohort_metrics"]))
	}
	if got := filters(t, s,
		"required_filters=event_metrics&event_metrics__contains=purchase_d119_rev"); !slices.Contains(
		idsOf(got["event_metrics"]), "purchase_d119_revenue_cohort") {
		t.Errorf("contains=purchase_d119_rev gives %q", idsOf(got["event_metrics"]))
	}
	if got := filters(t, s, "required_filters=full_cohort_periods")["full_cohort_periods"]; len(got) != 121+53+37 {
		t.Errorf("%d periods", len(got))
	}
	if got := filters(t, s,
		"required_filters=cost_metrics&cost_metrics__contains=network_cost")["cost_metrics"]; got[0]["id"] !=
		"network_cost" ||
		got[0]["name"] != "Ad Spend (Network)" || got[0]["section"] != "Cost" || got[0]["formatting"] != "money" ||
		got[0]["increase_is_negative"] != true {
		t.Errorf("network_cost is %v", got[0])
	}
	for _, section := range report.Sections {
		seen := 0
		for _, name := range metricLists {
			w := emutest.Ask(s, "filters_data?required_filters="+name+"&section="+section)
			if w.Code == 204 {
				continue
			}
			var out map[string][]report.FilterItem
			if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != 200 {
				t.Fatalf("%s: %d, %v", section, w.Code, err)
			}
			for _, i := range out[name] {
				if seen++; report.SectionSlug(i.Section) != section {
					t.Fatalf("section %s of %s has %+v", section, name, i)
				}
			}
		}
		if seen == 0 {
			t.Errorf("no metric in section %s", section)
		}
	}
}

// More of what costs, or of what is taken back, is bad news; more of anything else isn't.
func TestWhatIsBadNews(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 1, Days: 2})
	want := map[string]bool{"cost": true, "ecpi_all": true, "uninstalls": true, "deattributions": true,
		"gdpr_forgets": true, "cancels": true,
		"installs": false, "all_revenue": false}
	found := 0
	for _, items := range filters(t, s, "required_filters="+strings.Join(metricLists, ",")) {
		for _, item := range items {
			if bad, known := want[item["id"].(string)]; known {
				found++
				if item["increase_is_negative"] != bad {
					t.Errorf("%s: increase_is_negative is %v", item["id"], item["increase_is_negative"])
				}
			}
		}
	}
	if found < len(want) {
		t.Errorf("%d of %d metrics are listed", found, len(want))
	}
}

// What filters_data lists, csv_report takes, and prints in the form that the formatting promises.
func TestFiltersDataIsTrue(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 3})
	all := filters(t, s, "required_filters="+strings.Join(metricLists,
		",")+",ad_revenue_sources,iap_revenue_mode,attribution_types,"+
		"attribution_type,attribution_source,ad_spend_mode,cohort_maturity,utc_offset,period_over_period,currencies,"+
		"os_names")
	whole := regexp.MustCompile(`^-?\d+$`)
	checked := 0
	for _, list := range metricLists {
		items := all[list]
		for range 12 {
			var slugs []string
			formatting := map[string]string{}
			for range 8 {
				i := items[r.IntN(len(items))]
				slug := i["id"].(string)
				if formatting[slug] == "" {
					formatting[slug] = i["formatting"].(string)
					slugs = append(slugs, slug)
				}
			}
			a := emutest.Report(t, s, "os_name", strings.ReplaceAll(strings.Join(slugs, ","), " ", "%20"),
				"date_period=-2d:-0d")
			for c, slug := range slugs {
				for _, row := range a.Rows {
					integer := (formatting[slug] == "integer" || formatting[slug] == "timeperiod") &&
						slug != "installs_per_mile"
					if checked++; integer != whole.MatchString(row[c+1]) {
						t.Errorf("%s is said to be %s, csv_report says %s", slug, formatting[slug], row[c+1])
					}
				}
			}
		}
	}
	if checked < 500 {
		t.Errorf("only %d cells were looked at", checked)
	}
	names := map[string]string{"currencies": "currency"}
	for list, items := range all {
		if slices.Contains(metricLists, list) {
			continue
		}
		param := names[list]
		if param == "" {
			param = list
		}
		for _, id := range idsOf(items) {
			id = strings.NewReplacer("+", "%2B", " ", "%20").Replace(id)
			if w := emutest.Ask(s,
				"csv_report?dimensions=day&metrics=installs&date_period=-2d:-0d&"+param+"="+id); w.Code != 200 &&
				w.Code != 204 {
				t.Errorf("%s=%s: %d %s", param, id, w.Code, w.Body)
			}
		}
	}
	for _, name := range []string{"countries", "networks", "partners", "store_type"} {
		dim := map[string]string{"countries": "country_code", "networks": "network", "partners": "partner_id",
			"store_type": "store_type"}[name]
		var seen []string
		for _, row := range emutest.Report(t, s, dim, "installs", "date_period=-2d:-0d").Rows {
			seen = append(seen, row[0])
		}
		for _, id := range seen {
			if !slices.Contains(idsOf(filters(t, s, "required_filters="+name)[name]), id) {
				t.Errorf("%s doesn't list %q, which reports have", name, id)
			}
		}
	}
}
