package config

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cloud.google.com/go/civil"
	"github.com/goccy/go-yaml/ast"

	"github.com/reportferry/reportferry/internal/catalog"
)

func newReport() *Report {
	return &Report{
		Until: "yesterday", Lookback: 7, OnEmpty: "guard", OnMissingEvent: "fail", Codec: "zstd",
		Filters: map[string][]string{}, Types: map[string]catalog.Type{},
		UTCOffset: "+00:00", CohortMaturity: "immature", AttributionTypes: slices.Clone(attributionTypes),
		AttributionSource: "dynamic", Reattributed: "all", IAPRevenueMode: "GROSS_100", AdSpendMode: "adjust",
	}
}

// Allowed values: the service's OpenAPI file of June 2024 and its pages since.
var (
	attributionTypes = []string{"click", "impression", "engaged_ad"}
	iapModes         = []string{"GROSS_100", "GROSS_95", "GROSS_85", "GROSS_80", "GROSS_70", "GROSS_65", "GROSS_60", "GROSS_50"}
)

// refusedParameters are parameters of the service that a job can't have, because its rows would not be partitions.
var refusedParameters = map[string]string{
	"hour__between":      "jobs refuse it, because a partition is a whole period; it is for the report command",
	"period_over_period": "jobs refuse it, because it puts two periods into one row; it is for the report command",
	"index":              "jobs refuse it; it is for the report command",
	"readable_names":     "jobs refuse it, because columns are named by slug; it is for the report command",
	"format_dates":       "jobs refuse it, because dates are stored as dates; it is for the report command",
	"sort":               "jobs sort by date; it is for the report command",
	"date_period":        "jobs make it from start, until and page",
	"timezone_id":        "not part of this version; use utc_offset",
}

// reportFields are the keys of kind report; they stand beside the keys that all kinds have.
func (d *decoder) reportFields(r *Report, cols *columns) []field {
	word := func(to *string, key string, allowed ...string) field {
		return field{key, false, func(n ast.Node) { *to, _ = d.oneOf(n, key, allowed...) }}
	}
	return []field{
		{"start", true, func(n ast.Node) { r.Start = d.start(n) }},
		word(&r.Until, "until", "yesterday", "today"),
		{"lookback", false, func(n ast.Node) { r.Lookback = d.lookback(n) }},
		{"page", false, func(n ast.Node) { r.Page = d.page(n) }},
		word(&r.OnEmpty, "on_empty", "guard", "clear", "keep"),
		word(&r.OnMissingEvent, "on_missing_event", "fail", "null"),
		{"dimensions", true, func(n ast.Node) { cols.dimensions = d.list(n, "dimensions", d.dimension) }},
		{"metrics", false, func(n ast.Node) { cols.metrics = d.list(n, "metrics", d.text) }},
		{"events", false, func(n ast.Node) { r.Events, cols.events = d.events(n) }},
		{"filters", false, func(n ast.Node) { d.filters(n, r.Filters) }},
		{"types", false, func(n ast.Node) { cols.types = d.types(n, r.Types) }},
		word(&r.Codec, "codec", "zstd", "snappy", "none"),
		{"utc_offset", false, func(n ast.Node) { r.UTCOffset = d.utcOffset(n) }},
		word(&r.CohortMaturity, "cohort_maturity", "immature", "mature", "fully_mature"),
		{"attribution_types", false, func(n ast.Node) {
			r.AttributionTypes = texts(d.list(n, "attribution_types", func(n ast.Node, key string) (string, bool) {
				return d.oneOf(n, key, attributionTypes...)
			}))
		}},
		word(&r.AttributionSource, "attribution_source", "dynamic", "first"),
		word(&r.Reattributed, "reattributed", "all", "true", "false"),
		word(&r.IAPRevenueMode, "iap_revenue_mode", iapModes...),
		word(&r.AdSpendMode, "ad_spend_mode", "adjust", "network", "mixed"),
		{"sandbox", false, func(n ast.Node) { r.Sandbox = d.boolean(n, "sandbox") }},
		{"currency", true, func(n ast.Node) { r.Currency = d.currency(n) }},
		{"os_names", false, func(n ast.Node) { r.OSNames = texts(d.list(n, "os_names", d.value)) }},
		{"ad_revenue_sources", false, func(n ast.Node) { r.AdRevenueSources = texts(d.list(n, "ad_revenue_sources", d.value)) }},
	}
}

// value reads one value of a list that goes to the service joined by commas, for which it has no escape.
func (d *decoder) value(n ast.Node, key string) (string, bool) {
	s, ok := d.word(n, key)
	if ok && strings.Contains(s, ",") {
		d.fail(n, "%s: %q holds a comma, which the service takes for the end of a value", key, s)
		return "", false
	}
	return s, ok
}

var daysAgo = regexp.MustCompile(`^-([0-9]{1,4})d$`)

// The service began in 2012; an earlier start is a slip that would make the plan thousands of empty windows long.
var earliestStart = civil.Date{Year: 2010, Month: 1, Day: 1}

func (d *decoder) start(n ast.Node) Start {
	s, ok := d.word(n, "start")
	if !ok {
		return Start{}
	}
	if m := daysAgo.FindStringSubmatch(s); m != nil {
		days, _ := strconv.Atoi(m[1]) // four digits at most
		return Start{DaysAgo: days}
	}
	date, err := civil.ParseDate(s)
	switch {
	case err != nil:
		d.fail(n, "start: %q is no day; want a date such as 2026-01-31, or days before today such as -30d", s)
		return Start{}
	case date.Before(earliestStart):
		d.fail(n, "start: %s is before %s", s, earliestStart)
	}
	return Start{Date: date}
}

func (d *decoder) lookback(n ast.Node) int {
	if v, ok := d.resolve(n).(*ast.StringNode); ok && v.Value == "auto" {
		d.fail(n, "lookback: auto is not part of this version; want a number of days")
		return 0
	}
	days, _ := d.whole(n, "lookback", 0, 3660)
	return days
}

var pagePattern = regexp.MustCompile(`^([1-9][0-9]{0,2})([dwm])$`)

func (d *decoder) page(n ast.Node) Page {
	s, ok := d.word(n, "page")
	if !ok {
		return Page{}
	}
	m := pagePattern.FindStringSubmatch(s)
	if m == nil {
		d.fail(n, "page: %q is no length of a window; want 1 to 999 and d, w or m, such as 7d, 2w or 1m", s)
		return Page{}
	}
	count, _ := strconv.Atoi(m[1]) // three digits at most
	return Page{Count: count, Unit: m[2][0]}
}

var (
	offsetPattern   = regexp.MustCompile(`^(-(0[0-9]|1[0-2])|\+(0[0-9]|1[0-4])):(00|15|30|45)$`)
	currencyPattern = regexp.MustCompile(`^[A-Z]{3}$`)
)

func (d *decoder) utcOffset(n ast.Node) string {
	s, ok := d.text(n, "utc_offset")
	if ok && !offsetPattern.MatchString(s) {
		d.fail(n, "utc_offset: %q is no offset; want one from -12:00 to +14:00, such as +02:00", s)
	}
	return s
}

func (d *decoder) currency(n ast.Node) string {
	s, ok := d.word(n, "currency")
	if ok && !currencyPattern.MatchString(s) {
		d.fail(n, "currency: %q is no currency code; want three capital letters, such as USD", s)
	}
	return s
}
