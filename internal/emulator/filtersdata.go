package emulator

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// filterItem is an element of a list in the answer of GET /filters_data: a value that a filter, a mode, dimensions or
// metrics may have. Its fields are the service's, which leaves those without a meaning "".
type filterItem struct {
	ID                 string  `json:"id"`
	Name               string  `json:"name"`
	ShortName          string  `json:"short_name"`
	Section            string  `json:"section"`
	Formatting         *string `json:"formatting"`
	Description        string  `json:"description"`
	IncreaseIsNegative bool    `json:"increase_is_negative"`
	*appItem
}

// appItem is what the items of the filter apps have besides.
type appItem struct {
	DefaultStoreAppID string                  `json:"default_store_app_id"`
	Currency          map[string]string       `json:"currency"`
	Platforms         map[string]platformItem `json:"platforms"`
}

type platformItem struct {
	StoreType  string `json:"store_type"`
	StoreID    string `json:"store_id"`
	BundleID   string `json:"bundle_id"`
	Configured bool   `json:"configured"`
	Platform   string `json:"platform"`
	AppState   string `json:"app_state"`
}

// filterLists gives the items of each filter. Names: the service's documents.
var filterLists = map[string]func(*reportService, filterSearch) []filterItem{
	"overview_metrics": metricList(overviewPicker),
	"cost_metrics":     metricList(costPicker),
	"skad_metrics":     metricList(skadPicker),
	"cohort_metrics":   metricList(cohortPicker),
	"event_metrics":    metricList(eventPicker),

	"cohort_metric_names": func(s *reportService, _ filterSearch) []filterItem { return s.cohortNameItems() },
	"full_cohort_periods": func(*reportService, filterSearch) []filterItem {
		var out []filterItem
		for _, p := range allCohortPeriods() {
			out = append(out, filterItem{ID: p.token, Name: p.label()})
		}
		return out
	},

	"dimensions": func(*reportService, filterSearch) []filterItem { return dimensionItems() },
	"index":      func(*reportService, filterSearch) []filterItem { return dimensionItems() },
	"apps":       func(s *reportService, _ filterSearch) []filterItem { return s.appItems() },
	"countries":  func(s *reportService, _ filterSearch) []filterItem { return s.textItems("country_code", "country") },
	"networks":   func(s *reportService, _ filterSearch) []filterItem { return s.textItems("network", "network") },
	"partners":   func(s *reportService, _ filterSearch) []filterItem { return s.textItems("partner_id", "partner_name") },
	"store_type": func(s *reportService, _ filterSearch) []filterItem { return s.textItems("store_type", "store_type") },
	"currencies": func(*reportService, filterSearch) []filterItem {
		var out []filterItem
		for _, r := range rates {
			section := "Other Currencies"
			if r.code == "USD" { // of every app
				section = "Apps Currencies"
			}
			out = append(out, filterItem{ID: r.code, Name: r.name, Section: section})
		}
		return out
	},
	"ad_revenue_sources": func(*reportService, filterSearch) []filterItem {
		var names []string
		for _, s := range adSources {
			names = append(names, s.name)
		}
		return plainItems(names)
	},
	"os_names":           func(*reportService, filterSearch) []filterItem { return plainItems(osNames) },
	"attribution_type":   func(*reportService, filterSearch) []filterItem { return modeItems("attribution_type") },
	"attribution_types":  func(*reportService, filterSearch) []filterItem { return plainItems(attributionTypes) },
	"attribution_source": func(*reportService, filterSearch) []filterItem { return modeItems("attribution_source") },
	"attribution_status": func(*reportService, filterSearch) []filterItem { return modeItems("reattributed") },
	"cohort_maturity":    func(*reportService, filterSearch) []filterItem { return modeItems("cohort_maturity") },
	"iap_revenue_mode":   func(*reportService, filterSearch) []filterItem { return modeItems("iap_revenue_mode") },
	"ad_spend_mode":      func(*reportService, filterSearch) []filterItem { return modeItems("ad_spend_mode") },
	"period_over_period": func(*reportService, filterSearch) []filterItem { return plainItems(comparisons) },
	"utc_offset":         func(*reportService, filterSearch) []filterItem { return plainItems(utcOffsets()) },
}

var comparisons = []string{"previous_day", "previous_week", "previous_month", "previous_year", "previous_period"}

// filterSearch says which items of a list are wanted.
type filterSearch struct {
	part    string // of the id or the name, in lower case; "" is any
	section string // of a metric, as the parameter has it; "" is any
}

func (f filterSearch) takes(i filterItem) bool {
	return f.part == "" || strings.Contains(strings.ToLower(i.ID), f.part) || strings.Contains(strings.ToLower(i.Name), f.part)
}

// serveFiltersData answers GET /filters_data with an object of lists, one for each of required_filters.
func (s *reportService) serveFiltersData(x *exchange, r *http.Request) {
	v := r.URL.Query()
	wanted := splitList(v.Get("required_filters"))
	if len(wanted) == 0 {
		x.fail(badRequest("required_filters: at least one is required"))
		return
	}
	section := strings.ToLower(v.Get("section"))
	if section != "" && !slices.Contains(sections, section) {
		x.fail(badRequest("section: %q is not one of %s", section, strings.Join(sections, ", ")))
		return
	}
	answer := map[string][]filterItem{}
	found := 0
	for _, name := range wanted {
		list, ok := filterLists[name]
		if !ok {
			x.fail(badRequest("Unsupported filter: %s; known are %s", name, strings.Join(slices.Sorted(maps.Keys(filterLists)), ", ")))
			return
		}
		search := filterSearch{strings.ToLower(v.Get(name + "__contains")), section}
		answer[name] = slices.DeleteFunc(list(s, search), func(i filterItem) bool { return !search.takes(i) })
		found += len(answer[name])
	}
	if found == 0 {
		x.WriteHeader(http.StatusNoContent)
		return
	}
	body := x.body(r, "application/json")
	if err := json.NewEncoder(body).Encode(answer); err == nil {
		_ = body.Close() // the client is gone: nothing to tell it
	}
}

func plainItems(names []string) []filterItem {
	var out []filterItem
	for _, n := range names {
		out = append(out, filterItem{ID: n, Name: n})
	}
	return out
}

// modeItems are the values of an enumerated parameter of csv_report.
func modeItems(name string) []filterItem {
	i := slices.IndexFunc(modes, func(m mode) bool { return m.name == name })
	return plainItems(strings.Split(modes[i].values, ","))
}

// utcOffsets are the offsets that clocks on Earth show.
func utcOffsets() []string {
	return strings.Fields(`-12:00 -11:00 -10:00 -09:30 -09:00 -08:00 -07:00 -06:00 -05:00 -04:00 -03:30 -03:00 -02:00 -01:00 +00:00
		+01:00 +02:00 +03:00 +03:30 +04:00 +04:30 +05:00 +05:30 +05:45 +06:00 +06:30 +07:00 +08:00 +08:45 +09:00 +09:30 +10:00 +10:30
		+11:00 +12:00 +12:45 +13:00 +14:00`)
}

func dimensionItems() []filterItem {
	var out []filterItem
	for _, d := range dimensions {
		out = append(out, filterItem{ID: d.slug, Name: d.label})
	}
	return out
}

// textItems are the values that two dimensions have together in the account's data, sorted.
func (s *reportService) textItems(idSlug, nameSlug string) []filterItem {
	names := map[string]string{}
	for _, a := range s.world.apps {
		for i := range a.slices {
			names[a.slices[i].textOf(idSlug)] = a.slices[i].textOf(nameSlug)
		}
	}
	var out []filterItem
	for _, id := range slices.Sorted(maps.Keys(names)) {
		out = append(out, filterItem{ID: id, Name: names[id]})
	}
	return out
}

// appItems are the account's apps with their stores, one for each store type of their data.
func (s *reportService) appItems() []filterItem {
	var out []filterItem
	for _, a := range s.world.apps {
		item := &appItem{Currency: map[string]string{"name": "US Dollar", "code": "USD"}, Platforms: map[string]platformItem{}}
		for i := range a.slices {
			sl := &a.slices[i]
			store := platformItem{StoreType: sl.textOf("store_type"), StoreID: sl.textOf("store_id"), BundleID: sl.textOf("store_id"),
				Configured: true, Platform: sl.osName, AppState: "unknown"}
			if store.StoreType == "unknown" || item.Platforms[store.StoreType].Configured {
				continue
			}
			item.Platforms[store.StoreType] = store
			if item.DefaultStoreAppID == "" {
				item.DefaultStoreAppID = store.StoreID
			}
		}
		out = append(out, filterItem{ID: a.Token, Name: a.Name, appItem: item})
	}
	return out
}
