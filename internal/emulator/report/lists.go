package report

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/metrics"
	"github.com/reportferry/reportferry/internal/emulator/reading"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// filterItem is an element of a list in the answer of GET /filters_data: a value that a filter, a
// mode, dimensions or metrics may have. Its fields are the service's, which leaves those without a
// meaning "".
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

// platformItem is one of an app's stores.
type platformItem struct {
	StoreType  string `json:"store_type"`
	StoreID    string `json:"store_id"`
	BundleID   string `json:"bundle_id"`
	Configured bool   `json:"configured"`
	Platform   string `json:"platform"`
	AppState   string `json:"app_state"`
}

// filterLists maps each filter to what lists its items. Source of the names: the service's
// documents.
var filterLists = map[string]func(*Service, filterSearch) []filterItem{
	"overview_metrics": metricList(overviewPicker),
	"cost_metrics":     metricList(costPicker),
	"skad_metrics":     metricList(skadPicker),
	"cohort_metrics":   metricList(cohortPicker),
	"event_metrics":    metricList(eventPicker),

	"cohort_metric_names": func(s *Service, _ filterSearch) []filterItem { return s.cohortNameItems() },
	"full_cohort_periods": func(*Service, filterSearch) []filterItem {
		var out []filterItem
		for _, p := range allCohortPeriods() {
			out = append(out, filterItem{ID: p.Token, Name: p.Label()})
		}
		return out
	},

	"dimensions": func(*Service, filterSearch) []filterItem { return dimensionItems() },
	"index":      func(*Service, filterSearch) []filterItem { return dimensionItems() },
	"apps":       (*Service).appItems,
	"countries":  textList("country_code", "country"),
	"networks":   textList("network", "network"),
	"partners":   textList("partner_id", "partner_name"),
	"store_type": textList("store_type", "store_type"),
	"channels": func(s *Service, f filterSearch) []filterItem {
		out := textList("channel_id", "channel")(s, f)
		for i := range out {
			out[i].Section = "Custom channels"
			if strings.HasPrefix(out[i].ID, "partner_") {
				out[i].Section = "Partners"
			}
		}
		return out
	},
	"currencies": func(*Service, filterSearch) []filterItem {
		var out []filterItem
		for _, r := range facts.Rates {
			section := "Other Currencies"
			if r.Code == "USD" { // the currency of every app
				section = "Apps Currencies"
			}
			out = append(out, filterItem{ID: r.Code, Name: r.Name, Section: section})
		}
		return out
	},
	"ad_revenue_sources": func(*Service, filterSearch) []filterItem {
		var names []string
		for _, s := range facts.AdSources {
			names = append(names, s.Name)
		}
		return plainItems(names)
	},
	"os_names":           func(*Service, filterSearch) []filterItem { return plainItems(osNames) },
	"attribution_type":   func(*Service, filterSearch) []filterItem { return modeItems("attribution_type") },
	"attribution_types":  func(*Service, filterSearch) []filterItem { return plainItems(attributionTypes) },
	"attribution_source": func(*Service, filterSearch) []filterItem { return modeItems("attribution_source") },
	"attribution_status": func(*Service, filterSearch) []filterItem { return modeItems("reattributed") },
	"cohort_maturity":    func(*Service, filterSearch) []filterItem { return modeItems("cohort_maturity") },
	"iap_revenue_mode":   func(*Service, filterSearch) []filterItem { return modeItems("iap_revenue_mode") },
	"ad_spend_mode":      func(*Service, filterSearch) []filterItem { return modeItems("ad_spend_mode") },
	"period_over_period": func(*Service, filterSearch) []filterItem { return plainItems(comparisons) },
	"utc_offset":         func(*Service, filterSearch) []filterItem { return plainItems(utcOffsets()) },
}

// comparisons are the words that period_over_period takes.
var comparisons = []string{"previous_day", "previous_week", "previous_month", "previous_year", "previous_period"}

// filterSearch says which items of a list are wanted.
type filterSearch struct {
	part    string   // of the id or the name, in lower case; "" is any
	section string   // of a metric, as the parameter has it; "" is any
	apps    []string // tokens of the apps whose items are wanted; none: all
}

// excludes reports whether an app is left out by the list of those that are asked for.
func (f filterSearch) excludes(a *facts.App) bool {
	return len(f.apps) > 0 && !slices.Contains(f.apps, a.Token)
}

// takes reports whether an item is among those searched for.
func (f filterSearch) takes(i filterItem) bool {
	return f.part == "" || strings.Contains(strings.ToLower(i.ID), f.part) ||
		strings.Contains(strings.ToLower(i.Name), f.part)
}

// serveFiltersData answers GET /filters_data with an object of lists: one for each of
// required_filters, or all of them when none is named, because a connector checks its credentials
// that way. When no list has an item, the answer is 204.
func (s *Service) serveFiltersData(x *wire.Exchange, r *http.Request) {
	v := r.URL.Query()
	wanted := splitList(v.Get("required_filters"))
	if len(wanted) == 0 {
		wanted = slices.Sorted(maps.Keys(filterLists))
	}
	known := func(name string) bool {
		_, ok := filterLists[strings.TrimSuffix(name, "__contains")]
		return name == "required_filters" || name == "section" || name == "app_token__in" || ok &&
			strings.HasSuffix(name, "__contains")
	}
	if bad := s.refuseUnknown(v, known); bad != nil {
		x.Fail(bad)
		return
	}
	section := strings.ToLower(v.Get("section"))
	if section != "" && !slices.Contains(sections, section) {
		x.Fail(wire.BadRequest("section: %q is not one of %s", section, strings.Join(sections, ", ")))
		return
	}
	answer := map[string][]filterItem{}
	items := 0 // of all lists
	for _, name := range wanted {
		list, ok := filterLists[name]
		if !ok {
			x.Fail(wire.BadRequest("Unsupported filter: %s; known are %s", name,
				strings.Join(slices.Sorted(maps.Keys(filterLists)), ", ")))
			return
		}
		search := filterSearch{strings.ToLower(v.Get(name + "__contains")), section, filterList(v.Get("app_token__in"))}
		answer[name] = slices.DeleteFunc(list(s, search), func(i filterItem) bool {
			return !search.takes(i) || name == "apps" && i.ID == x.Fault.Hidden()
		})
		items += len(answer[name])
	}
	if items == 0 {
		x.WriteHeader(http.StatusNoContent)
		return
	}
	body := x.Body(r, "application/json")
	if err := json.NewEncoder(body).Encode(answer); err == nil { // otherwise the client is gone
		_ = body.Close()
	}
}

// plainItems returns items whose ID is their name.
func plainItems(names []string) []filterItem {
	var out []filterItem
	for _, n := range names {
		out = append(out, filterItem{ID: n, Name: n})
	}
	return out
}

// modeItems lists the values of an enumerated parameter of csv_report.
func modeItems(name string) []filterItem {
	i := slices.IndexFunc(modes, func(m mode) bool { return m.name == name })
	return plainItems(strings.Split(modes[i].values, ","))
}

// utcOffsets lists the offsets from UTC that are in use.
func utcOffsets() []string {
	return strings.Fields(
		`-12:00 -11:00 -10:00 -09:30 -09:00 -08:00 -07:00 -06:00 -05:00 -04:00 -03:30 -03:00 -02:00 -01:00 +00:00
		+01:00 +02:00 +03:00 +03:30 +04:00 +04:30 +05:00 +05:30 +05:45 +06:00 +06:30 +07:00 +08:00 +08:45 +09:00 +09:30 +10:00 +10:30
		+11:00 +12:00 +12:45 +13:00 +14:00`)
}

// dimensionItems lists all dimensions.
func dimensionItems() []filterItem {
	var out []filterItem
	for _, d := range metrics.Dimensions {
		out = append(out, filterItem{ID: d.Slug, Name: d.Label})
	}
	return out
}

// textList lists the values that two dimensions have together in the account's data, sorted.
func textList(idSlug, nameSlug string) func(*Service, filterSearch) []filterItem {
	return func(s *Service, f filterSearch) []filterItem {
		names := map[string]string{}
		for _, a := range s.account.Apps {
			if f.excludes(&a) {
				continue
			}
			for _, sl := range a.Labels() {
				names[sl.TextOf(idSlug)] = sl.TextOf(nameSlug)
			}
		}
		var out []filterItem
		for _, id := range slices.Sorted(maps.Keys(names)) {
			out = append(out, filterItem{ID: id, Name: names[id]})
		}
		return out
	}
}

// appItems lists the account's apps with their stores, one for each store type of their data.
func (s *Service) appItems(f filterSearch) []filterItem {
	var out []filterItem
	for _, a := range s.account.Apps {
		if f.excludes(&a) {
			continue
		}
		item := &appItem{Currency: map[string]string{"name": "US Dollar", "code": "USD"},
			Platforms: map[string]platformItem{}}
		for i := range a.Slices {
			sl := &a.Slices[i]
			store := platformItem{StoreType: sl.TextOf("store_type"), StoreID: sl.TextOf("store_id"),
				BundleID:   sl.TextOf("store_id"),
				Configured: true, Platform: sl.OSName, AppState: "unknown"}
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
	if more := (facts.App{Token: withoutData}); !s.opts.Readings.Is(reading.AppWithoutData, "none") &&
		!f.excludes(&more) {
		out = append(out, filterItem{ID: withoutData, Name: "Without data",
			appItem: &appItem{Platforms: map[string]platformItem{}}})
	}
	return out
}
