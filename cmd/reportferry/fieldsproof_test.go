package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/config/draft"
	"github.com/reportferry/reportferry/config/preset"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/adjust/transport"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/slow"
)

// The service's lists, by what they are: of names that a report can have, of parts of such names,
// or of values of filters.
var (
	nameLists = []string{"dimensions", "index", "overview_metrics", "cost_metrics", "skad_metrics", "cohort_metrics",
		"event_metrics"}
	partLists  = []string{"cohort_metric_names", "full_cohort_periods"}
	valueLists = strings.Fields(
		`ad_revenue_sources ad_spend_mode apps attribution_source attribution_status attribution_type attribution_types channels
		cohort_maturity countries currencies iap_revenue_mode networks os_names partners period_over_period store_type utc_offset`)
)

// What the service has and the catalogue doesn't, and what it takes and doesn't list: names of the
// glossary that pickers hide, older spellings, and moving averages, which are made of any metric.
var (
	onlyService   = []string{"creative_id"}
	onlyCatalogue = append(strings.Fields(
		`ad_spend_network adgroup_assisted_installs base_assisted_installs campaign_assisted_installs creative_assisted_installs
		ecpi_network kpi_daus kpi_maus kpi_waus mavg_lower_{window}_{confidence}_{m}
		mavg_margin_of_error_{window}_{confidence}_{m} mavg_upper_{window}_{confidence}_{m} mavg_{window}_{m}
		network_ad_spend_non_skan network_ad_spend_unknown network_assisted_installs network_clicks_non_skan
		network_clicks_skan network_clicks_unknown network_impressions_non_skan network_impressions_skan
		network_impressions_unknown network_installs_non_skan network_installs_skan network_installs_unknown
		rejected_install_malformed_advertising_id rejected_installs_malformed_advertising_id_rate
		rejected_reattributions_click_injection_rate revenue_est revenue_max revenue_min skad_conversion_bits
		skad_conversion_value_total skad_conversion_value_{value} skad_conversion_values skad_conversion_{bit}
		skad_general_events_est skad_general_events_max skad_general_events_min skad_general_revenue skad_general_revenue_max
		skad_general_revenue_min skad_invalid_payloads skad_valid_conversions`),
		"general revenue_events_est", "general revenue_events_max", "general revenue_events_min",
		"general revenue_revenue_est", "general revenue_revenue_max", "general revenue_revenue_min")
)

type listedField struct {
	Name, Kind, Type, Unit, Pattern string
	KnownTo                         []string `json:"known_to"`
}

func fieldsOf(t *testing.T, args ...string) map[string]listedField {
	t.Helper()
	var out, stderr bytes.Buffer
	if code := execute(t.Context(), append([]string{"fields", "--embedded", "--json"}, args...), &out,
		&stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	var list []listedField
	check(t, json.Unmarshal(out.Bytes(), &list))
	all := map[string]listedField{}
	for _, s := range list {
		all[s.Name] = s
	}
	return all
}

// listsOf asks the made-up account for each list that it has.
func listsOf(t *testing.T) map[string][]adjust.Filter {
	t.Helper()
	server, err := emulator.New(emulator.Options{})
	check(t, err)
	defer func() { check(t, server.Close()) }()
	token, err := transport.ParseToken("${TOKEN}", func(string) string { return "fields" })
	check(t, err)
	client, err := adjust.New(adjust.Options{BaseURL: "http://embedded", Token: token,
		Options: transport.Options{HTTP: server.Client(), Rate: 10, Attempts: 1}})
	check(t, err)
	refused, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		"http://embedded/reports-service/filters_data?required_filters=nothing", nil)
	check(t, err)
	refused.Header.Set("Authorization", "Bearer fields")
	answer, err := server.Client().Do(refused) // it names the lists that there are
	check(t, err)
	text, err := io.ReadAll(answer.Body)
	check(t, errors.Join(err, answer.Body.Close()))
	var refusal struct {
		ErrorDesc string `json:"error_desc"`
	}
	check(t, json.Unmarshal(text, &refusal))
	_, names, _ := strings.Cut(refusal.ErrorDesc, "known are ")
	known := strings.Split(names, ", ")
	if all := slices.Concat(nameLists, partLists, valueLists); !slices.Equal(slices.Sorted(slices.Values(all)), known) {
		t.Errorf("the service's lists are %q", known)
	}
	lists, err := client.FiltersData(t.Context(), known)
	check(t, err)
	return lists
}

// What fields shows is what the service lists, both ways, but for what is named above.
func TestFieldsAreTheServices(t *testing.T) {
	slow.Test(t)
	lists, all := listsOf(t), fieldsOf(t)
	listed := map[string]bool{}
	for _, list := range nameLists {
		for _, item := range lists[list] {
			name := item.ID
			f, ok := catalog.Metric(name)
			if !ok && list == "event_metrics" {
				f, ok = catalog.Guess(name)
			}
			if ok && f.Pattern != "" {
				name = f.Pattern
			}
			listed[name] = true
			s, there := all[name]
			if !there || !slices.Contains(s.KnownTo, "service") || (s.Kind == "dimension") != (list == "dimensions" ||
				list == "index") {
				t.Errorf("%s lists %s, and fields has %+v", list, item.ID, s)
			}
			if unit := unitOfFormatting[item.Formatting]; unit != s.Unit && s.Kind != "dimension" &&
				item.Formatting != "decimal" && name != otherUnit {
				t.Errorf("%s is formatted as %s, and its unit is %s", item.ID, item.Formatting, s.Unit)
			}
		}
	}
	var ours, theirs []string
	for name, s := range all {
		service, catalogue := slices.Contains(s.KnownTo, "service"), slices.Contains(s.KnownTo, "catalogue")
		switch {
		case s.Kind == "event":
		case !service:
			ours = append(ours, name)
		case !catalogue:
			theirs = append(theirs, name)
		}
		if service != listed[name] && s.Kind != "event" {
			t.Errorf("the service lists %s: %v; fields says %v", name, listed[name], s.KnownTo)
		}
	}
	slices.Sort(ours)
	slices.Sort(onlyCatalogue)
	if !slices.Equal(ours, onlyCatalogue) || !slices.Equal(theirs, onlyService) {
		t.Errorf("only the catalogue has\n%s\nand only the service %q", strings.Join(ours, "\n"), theirs)
	}
	var periods []string
	for _, p := range lists["full_cohort_periods"] {
		periods = append(periods, p.ID)
	}
	if !slices.Equal(periods, catalog.Periods()) {
		t.Errorf("the service's periods are %q", periods)
	}
	for _, item := range lists["cohort_metric_names"] {
		if f, ok := catalog.Metric(item.ID + "_d7"); !ok || all[f.Pattern].Name == "" {
			t.Errorf("the cohort metric %s isn't among the fields", item.ID)
		}
	}
}

// unitOfFormatting is what the service's formatting says of a number: of a decimal nothing, which
// the catalogue tells apart. The installs per 1000 impressions are formatted as an integer.
var (
	unitOfFormatting = map[string]string{"integer": "count", "money": "money", "money_precise": "money",
		"percent": "ratio", "timeperiod": "seconds"}
	otherUnit = "installs_per_mile"
)

// Whatever a preset or the example asks for is listedField by fields, and the service lists it.
func TestFieldsOfPresets(t *testing.T) {
	slow.Test(t)
	texts := map[string][]byte{}
	for _, p := range preset.All() {
		c := draft.Config{Service: draft.Service{Embedded: true}, Jobs: p.Jobs}
		for i := range c.Jobs {
			c.Jobs[i].Sinks = []string{"file://./out"}
			if c.Jobs[i].Kind == "" {
				c.Jobs[i].Currency = "USD"
			}
		}
		texts[p.Name] = c.YAML()
	}
	example, err := os.ReadFile(filepath.Join("..", "..", "config", "example.yml"))
	check(t, err)
	texts["example"] = example
	for name, text := range texts {
		c, err := config.Parse(name+".yml", text, os.LookupEnv)
		check(t, err)
		var names []string
		for _, j := range c.Jobs {
			if j.Report == nil {
				continue
			}
			names = slices.Concat(names, j.Report.Dimensions, j.Report.Metrics)
			for _, e := range j.Report.Events {
				for _, suffix := range e.Metrics {
					if e.Slug != "" {
						names = append(names, e.Slug+"_"+suffix)
					} else if _, ok := catalog.EventMetric(suffix); !ok {
						t.Errorf("%s: %s has a metric %s of events, which fields doesn't", name, j.Name, suffix)
					}
				}
			}
		}
		slices.Sort(names)
		names = slices.Compact(names)
		if len(names) == 0 {
			t.Errorf("%s asks for nothing", name)
			continue
		}
		all := fieldsOf(t, names...)
		for _, n := range names {
			if s := all[n]; !slices.Equal(s.KnownTo, []string{"catalogue", "service"}) {
				t.Errorf("%s: %s is known to %q", name, n, s.KnownTo)
			}
		}
	}
}
