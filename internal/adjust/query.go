package adjust

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"cloud.google.com/go/civil"
)

// A ReportQuery has everything that can change a report's numbers. It leaves nothing to a default
// of the service, because those have changed before: that of attribution_types did in July 2026.
type ReportQuery struct {
	Dimensions, Metrics []string   // slugs, in column order; at least one of each
	From, Until         civil.Date // the days from From until before Until; both zero with a DatePeriod
	DatePeriod          string     // the days in the service's own form, both ends included: -7d:-1d, last_week
	UTCOffset           string     // ±HH:MM; exactly one of UTCOffset, TimezoneID and Zone is set
	TimezoneID          string     // the service's number of a zone
	HourBetween         string     // hours back from now, such as -10h:-0h; sent when not empty

	// Zone is a zone by name, with From and Until. The service isn't known to take names, and may
	// ignore what it doesn't take. So the zone's offset is worked out and sent as utc_offset. The
	// days may take several requests: see Offset.
	Zone *time.Location
	// Summable is true when all metrics add up over hours and over apps, and no filter compares a
	// metric, so that the answers of several requests may be added.
	Summable bool

	// ZeroWhenAbsent are the metrics that are 0 in a row without them. Where metrics are asked for
	// in groups, because an address has no room for all, a row may be in the answer for one group
	// and not in another's. Other metrics are empty in such a row.
	ZeroWhenAbsent []string

	Currency         string // ISO 4217; with a DatePeriod it may be empty, which means the account's own currency
	PeriodOverPeriod string // previous_week and such; sent when not empty

	// Parameters has further parameters with their values, by name, such as attribution_types.
	// Those listed in requiredParameters must be there. One without values isn't sent.
	Parameters map[string][]string

	// Filters has values by parameter, which is a dimension or metric, two underscores and one of
	// Operators. The two that compare with a list, in and not_in, take many values; the others one.
	Filters map[string][]string

	Sort          []string // columns, a leading - for falling order; default: the dimensions, dates first
	Index         []string // dimensions; sent when not empty
	ReadableNames bool     // a header of names for people instead of slugs
	FormatDates   bool     // dates as the service likes them instead of ISO 8601
	Splittable    bool     // the caller can ask for less at once: see ErrTooSlow
}

// Operators are what filters compare with: the eight for dimensions, where case doesn't matter, and
// the six for metrics.
var Operators = []string{
	"in", "not_in", "contains", "exclude", "starts_with", "not_starts_with", "ends_with", "not_ends_with",
	"lt", "lte", "gt", "gte", "eq", "ne",
}

// requiredParameters are the parameters that every query has, because the service has a default of
// its own for each.
var requiredParameters = []string{
	"cohort_maturity", "attribution_types", "attribution_source", "reattributed", "iap_revenue_mode", "ad_spend_mode",
	"sandbox",
}

// period returns the service's date_period, which includes both its ends. Only this function makes
// one.
func (q ReportQuery) period() string {
	if q.DatePeriod != "" {
		return q.DatePeriod
	}
	return q.From.String() + ":" + q.Until.AddDays(-1).String()
}

// Encode returns q as the query of a URL. No credential is in it. Commas aren't escaped, which RFC
// 3986, section 3.4, allows: lists of hundreds of metrics are shorter then, and the length of an
// address is limited.
func (q ReportQuery) Encode() (string, error) {
	v, err := q.values()
	return strings.ReplaceAll(v.Encode(), "%2C", ","), err
}

// values returns the parameters of the query, or an error if one is missing or contradicts another.
func (q ReportQuery) values() (url.Values, error) {
	v := url.Values{}
	if err := q.checkPeriod(); err != nil {
		return nil, err
	}
	if err := q.setZone(v); err != nil {
		return nil, err
	}
	v.Set("date_period", q.period())
	v.Set("readable_names", strconv.FormatBool(q.ReadableNames))
	v.Set("format_dates", strconv.FormatBool(q.FormatDates))
	for _, p := range []struct {
		name     string
		values   []string
		required bool
	}{
		{"dimensions", q.Dimensions, true},
		{"metrics", q.Metrics, true},
		{"currency", listOf(q.Currency), q.DatePeriod == ""},
		{"sort", q.order(), true},
		{"hour__between", listOf(q.HourBetween), false},
		{"period_over_period", listOf(q.PeriodOverPeriod), false},
		{"index", q.Index, false},
	} {
		if p.required && len(p.values) == 0 || slices.Contains(p.values, "") {
			return nil, fmt.Errorf("the query has no %s", p.name)
		}
		if err := setList(v, p.name, p.values); err != nil {
			return nil, err
		}
	}
	return v, errors.Join(q.setParameters(v), q.setFilters(v))
}

// checkPeriod returns an error unless the query has either days or a DatePeriod.
func (q ReportQuery) checkPeriod() error {
	switch {
	case q.DatePeriod == "" && (!q.From.IsValid() || !q.Until.IsValid() || !q.From.Before(q.Until)):
		return fmt.Errorf("the period from %s until %s (not included) holds no day", q.From, q.Until)
	case q.DatePeriod != "" && q.Zone != nil:
		return fmt.Errorf("the query has the date_period %s in the zone %s, whose offset depends on the days",
			q.DatePeriod, q.Zone)
	case q.DatePeriod != "" && (q.From != civil.Date{} || q.Until != civil.Date{}):
		return fmt.Errorf("the query has both the date_period %s and days, from %s until %s", q.DatePeriod, q.From,
			q.Until)
	}
	return nil
}

// setZone adds the query's zone to v. More than one zone is an error, because it isn't documented
// which of two the service would prefer. A query that is asked for in pieces is never sent as a
// whole. Its encoding only names the whole report, and has the zone by name.
func (q ReportQuery) setZone(v url.Values) error {
	if q.Zone != nil {
		if q.UTCOffset+q.TimezoneID != "" {
			return fmt.Errorf("the query has both an offset or the number of a zone, %s%s, and the zone %s by name",
				q.UTCOffset, q.TimezoneID, q.Zone)
		}
		if q.UTCOffset = q.Offset(); q.UTCOffset == "" {
			v.Set("timezone_id", q.Zone.String())
			return nil
		}
	}
	_, err := strconv.Atoi(q.TimezoneID)
	switch {
	case q.UTCOffset != "" && q.TimezoneID != "":
		return fmt.Errorf("the query has both the utc_offset %s and the timezone_id %s", q.UTCOffset, q.TimezoneID)
	case q.TimezoneID != "" && err != nil:
		return fmt.Errorf("the timezone_id %s is no number, and the service may ignore it", q.TimezoneID)
	case q.UTCOffset != "":
		v.Set("utc_offset", q.UTCOffset)
	case q.TimezoneID != "":
		v.Set("timezone_id", q.TimezoneID)
	default:
		return errors.New("the query has no utc_offset and no timezone_id")
	}
	return nil
}

// setParameters adds Parameters to v.
func (q ReportQuery) setParameters(v url.Values) error {
	for _, name := range requiredParameters {
		if len(q.Parameters[name]) == 0 {
			return fmt.Errorf("the query has no %s", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(q.Parameters)) {
		if slices.Contains(q.Parameters[name], "") {
			return fmt.Errorf("the query has an empty %s", name)
		}
		if err := setList(v, name, q.Parameters[name]); err != nil {
			return err
		}
	}
	return nil
}

// setFilters adds Filters to v.
func (q ReportQuery) setFilters(v url.Values) error {
	for name, values := range q.Filters {
		if len(values) == 0 {
			continue
		}
		at := strings.LastIndex(name, "__") // an event's slug may hold another
		if at < 1 {
			return fmt.Errorf("filter %q names no comparison, such as app_token__in", name)
		}
		operator := name[at+2:]
		switch {
		case !slices.Contains(Operators, operator):
			return fmt.Errorf("filter %q: the service has no comparison %q, only %s", name, operator,
				strings.Join(Operators, ", "))
		case operator == "in" || operator == "not_in":
			if err := setList(v, name, values); err != nil {
				return err
			}
		case len(values) > 1:
			return fmt.Errorf("filter %q compares with one value, and %d are given", name, len(values))
		default:
			v.Set(name, values[0])
		}
	}
	return nil
}

// setList adds a parameter with a list of values to v, joined by commas. The service knows no other
// form, and no escape for a comma in a value. An empty list isn't added.
func setList(v url.Values, name string, values []string) error {
	for _, s := range values {
		if strings.Contains(s, ",") {
			return fmt.Errorf("%s: the value %q holds a comma, which the service would take for two values", name, s)
		}
	}
	if len(values) > 0 {
		v.Set(name, strings.Join(values, ","))
	}
	return nil
}

// listOf returns a list of the value, or nil if it is empty.
func listOf(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

// order returns the columns that the report is sorted by. Its default has the dates first, so that
// partitions come one after the other.
func (q ReportQuery) order() []string {
	if len(q.Sort) > 0 {
		return q.Sort
	}
	return slices.Concat(
		slices.DeleteFunc(slices.Clone(q.Dimensions), func(name string) bool { return !isDate(name) }),
		slices.DeleteFunc(slices.Clone(q.Dimensions), isDate))
}

// appsIn returns the apps of the query's filter whose tokens are words of the text.
func (q ReportQuery) appsIn(text string) (named []string) {
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, app := range q.Filters[appTokenIn] {
		if slices.ContainsFunc(words, func(word string) bool { return strings.EqualFold(word, app) }) {
			named = append(named, app)
		}
	}
	return named
}
