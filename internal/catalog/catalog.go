// Package catalog lists the dimensions and metrics of the service: the type of each column, over
// which dimensions it may be summed, and when its values are final. Without it, types would be
// guessed from values, a column would change its type on the first day without a decimal point, and
// rates would be added up.
//
//	metrics.tsv     slug, type, unit, additive, horizon, spend, description   Metric, EventMetric, Guess
//	dimensions.tsv  slug  type  description                              Dimension
//	automation.go   sections of an app, parameters of partners           Sections, Partners
//
// A Field is a dimension or a metric, as business intelligence tools call both. To add one is to
// add a line to a table:
//
//	type         of the column: day, string, int64, decimal, double... (Type)
//	unit         of a double, which may be a count, money, ratio, seconds or number; blank for the others (Unit); {m}
//	additive     all, not time, none: over which dimensions rows may be summed (Additive)
//	horizon      {p}: final when the period in the slug has passed since the install; now: dated by install and never
//	             final; {m}: that of the metric inside the slug; blank: dated by the day on which it happened
//	spend        network: based on what ad networks report; mode: so too, unless ad_spend_mode is
//	             adjust; {m}: that of the metric inside the slug; blank: not based on it
//	description  the service's label, and its formula behind " = "
//
// A slug with placeholders is a pattern, which stands for many metrics: {p} is a cohort's period,
// {e} an event's slug, {m} another metric; pattern.go has all of them.
//
// The tables were written from the service's metrics glossary (a dump of 2023, and what is known to
// be added since). Whether a metric is additive was decided for each by hand. Two decisions are
// interpretations of the glossary: bounds and estimates of SKAN are sums over postbacks, hence
// additive; an install that several networks assisted is counted by each of them, hence neither
// assisted installs are additive, nor what is left without them.
//
// Where the service's glossary of 2026 (help.adjust.com, datascape-metrics-glossary) has another
// formula than the dump of 2023, the tables have the newer one:
//
//	{e}_{p}_events_rate_cohort, {e}_{p}_conversions_rate_cohort       by the cohort's size; in the dump by installs
//	skad_conversion_value_null_rate                                   by total conversions; in the dump by skad_installs
//	skad_ecpi                                                         by installs (SKAN); in the dump by network_installs_skan
//	skad_revenue_{min,est,max}_roas and _roi                          of total revenue (SKAN); in the dump of general_revenue_revenue
//	{e}_skan_event_ecr and _rpu, skan_total_rpu                       by valid conversions; the dump has no formula
//	revenue_total, revenue_events_total_per_paying_user_{p}, ...      by first_paying_users_total_{p}; the dump has no formula
//	cumulative_paying_users_conversion_rate_{p}                       by the cohort's size; the dump lacks it
//	subscription_{from}_to_{to}_rate_{p}                              a total by a total; the dump lacks it. From is install, trial, a
//	                                                                  discounted offer, an activation or a renewal, and whether the slug
//	                                                                  says trial or trial_started isn't written anywhere: both are taken
//	rejected_install_rate, ecpi                                       the two contradict each other: the dump's stays, with a remark
//	network_installs, network_clicks, network_impressions, ...        whole in the dump; networks model conversions, so that a fraction
//	                                                                  is rounded and said (Modelled)
package catalog

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

//go:embed dimensions.tsv
var dimensionsTSV string

//go:embed metrics.tsv
var metricsTSV string

// The tables are read when the first field is looked for: commands that make no table need none.
var (
	dimensions = sync.OnceValue(readDimensions)
	metrics    = sync.OnceValue(readMetrics)
	patterns   = sync.OnceValue(func() patternList { return readPatterns(metrics()) })
)

// Dimension finds a dimension by its name.
func Dimension(name string) (Field, bool) {
	f, ok := dimensions()[name]
	return f, ok
}

// Metric finds a metric by its slug: a line of the table, or one that a pattern stands for, such as
// retained_users_d7. It doesn't find event metrics, which EventMetric does, because an event's slug
// is the account's own.
func Metric(slug string) (Field, bool) {
	if f, ok := metrics()[slug]; ok && !strings.Contains(slug, "{") {
		return f, true
	}
	f, _, ok := patterns().match(slug, false, Metric)
	return f, ok
}

// EventMetric finds an event's metric by what follows the event's slug: "events", "revenue",
// "d7_revenue_cohort". The Field's Slug is that suffix.
func EventMetric(suffix string) (Field, bool) {
	f, event, ok := patterns().match(anyEvent+"_"+suffix, true, nil)
	if !ok || event != anyEvent { // the suffix holds a part of the event's slug
		return Field{}, false
	}
	f.Slug = suffix
	return f, true
}

// Guess finds a slug that Metric doesn't know by its ending, as an event's metric: purchase_events,
// or level_up_d7_revenue_cohort. Only the service knows whether there is such an event.
func Guess(slug string) (Field, bool) {
	if _, known := Metric(slug); known {
		return Field{}, false
	}
	if f, _, ok := patterns().match(slug, false, Guess); ok { // a moving average of an event's metric
		return f, true
	}
	f, _, ok := patterns().match(slug, true, nil)
	return f, ok
}

// Dimensions lists the names of all dimensions, sorted.
func Dimensions() []string { return sortedKeys(dimensions()) }

// Metrics lists the slugs and patterns of all metrics, sorted.
func Metrics() []string { return sortedKeys(metrics()) }

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

// readDimensions reads the table of dimensions, by name.
func readDimensions() map[string]Field {
	m := map[string]Field{}
	for _, cells := range rows(dimensionsTSV, 3) {
		m[cells[0]] = Field{Slug: cells[0], Type: mustType(cells[1]), Description: cells[2]}
	}
	return m
}

// readMetrics reads the table of metrics, by slug or pattern.
func readMetrics() map[string]Field {
	m := map[string]Field{}
	for _, cells := range rows(metricsTSV, 7) {
		m[cells[0]] = Field{
			Slug: cells[0], Type: mustType(cells[1]), unit: cells[2], Additive: wordOf(additives, cells[3]),
			Accumulates: cells[4] == "now", spend: cells[5], Description: cells[6],
		}
	}
	return m
}

// rows splits an embedded table into its rows of width cells, without its header. It panics on a
// malformed table, which is a mistake in this package.
func rows(tsv string, width int) [][]string {
	lines := strings.Split(strings.TrimSuffix(tsv, "\n"), "\n")
	out := make([][]string, 0, len(lines)-1)
	for i, line := range lines[1:] {
		cells := strings.Split(line, "\t")
		if len(cells) != width {
			panic(fmt.Sprintf("catalog: line %d has %d cells, want %d", i+2, len(cells), width))
		}
		out = append(out, cells)
	}
	return out
}

// mustType returns the type of a name. It panics on any other word.
func mustType(name string) Type {
	var t Type
	if err := t.UnmarshalText([]byte(name)); err != nil {
		panic("catalog: " + err.Error())
	}
	return t
}

// wordOf returns the value of a word that a table may have. It panics on any other word.
func wordOf[V any](named map[string]V, name string) V {
	v, ok := named[name]
	if !ok {
		panic("catalog: unknown word " + name)
	}
	return v
}
