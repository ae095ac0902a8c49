package adjust

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"cloud.google.com/go/civil"
)

// A ReportQuery is everything that can change a report's numbers, said in full: the service's defaults have changed
// before (attribution_types did in July 2026), so nothing that has a default is left to them.
type ReportQuery struct {
	Dimensions, Metrics []string            // slugs, in column order; at least one of each
	From, Until         civil.Date          // half open: [From, Until)
	UTCOffset           string              // ±HH:MM
	CohortMaturity      string              // immature, mature or fully_mature
	AttributionTypes    []string            // of click, impression, engaged_ad
	AttributionSource   string              // dynamic or first
	Reattributed        string              // all, true or false
	IAPRevenueMode      string              // GROSS_100 down to GROSS_50
	AdSpendMode         string              // adjust, network or mixed
	Sandbox             bool                // the sandbox's data instead of production's
	Currency            string              // ISO 4217
	OSNames             []string            // sent when not empty
	AdRevenueSources    []string            // sent when not empty
	Filters             map[string][]string // such as "app_token__in" to its values
	Splittable          bool                // the caller can ask for less at once: see ErrTooSlow
}

// CSVReport asks for one report and hands each attempt's body, CSV in UTF-8 under a header of slugs, to read. When the
// answer breaks half way the whole attempt is repeated: read must start anew each time it is called, and what it made
// of an earlier call is void. Nothing is accepted before read has returned nil and the end of the answer was seen.
// An error of read that isn't the answer's fault ends the call at once. A 204 answers with Empty and never calls read.
func (c *Client) CSVReport(ctx context.Context, q ReportQuery, read func(io.Reader) error) (Answer, error) {
	op := "csv_report " + q.period()
	v, err := q.values()
	if err != nil {
		return Answer{}, &Error{Op: op, Err: err}
	}
	return c.do(ctx, request{
		op:    op,
		url:   c.base.String() + "/reports-service/csv_report?" + v.Encode(),
		types: []string{"text/csv", "application/csv", "text/comma-separated-values", "text/plain", "application/octet-stream"},
		never: "<{", csv: true, splittable: q.Splittable, read: read,
	})
}

// period is the service's date_period, whose both ends are included. It is made here and nowhere else.
func (q ReportQuery) period() string { return q.From.String() + ":" + q.Until.AddDays(-1).String() }

func (q ReportQuery) values() (url.Values, error) {
	v := url.Values{}
	for _, p := range []struct {
		name   string
		values []string
	}{
		{"dimensions", q.Dimensions}, {"metrics", q.Metrics}, {"utc_offset", []string{q.UTCOffset}},
		{"cohort_maturity", []string{q.CohortMaturity}}, {"attribution_types", q.AttributionTypes},
		{"attribution_source", []string{q.AttributionSource}}, {"reattributed", []string{q.Reattributed}},
		{"iap_revenue_mode", []string{q.IAPRevenueMode}}, {"ad_spend_mode", []string{q.AdSpendMode}},
		{"currency", []string{q.Currency}},
	} {
		if len(p.values) == 0 || slices.Contains(p.values, "") {
			return nil, fmt.Errorf("the query has no %s", p.name)
		}
		if err := set(v, p.name, p.values); err != nil {
			return nil, err
		}
	}
	if !q.From.IsValid() || !q.Until.IsValid() || !q.From.Before(q.Until) {
		return nil, fmt.Errorf("the period from %s until %s (not included) holds no day", q.From, q.Until)
	}
	v.Set("date_period", q.period())
	v.Set("sandbox", strconv.FormatBool(q.Sandbox))
	v.Set("readable_names", "false")
	v.Set("format_dates", "false")
	v.Set("sort", strings.Join(sortOrder(q.Dimensions), ","))
	return v, errors.Join(set(v, "os_names", q.OSNames), set(v, "ad_revenue_sources", q.AdRevenueSources), q.filters(v))
}

func (q ReportQuery) filters(v url.Values) error {
	for name, values := range q.Filters {
		if !strings.Contains(name, "__") {
			return fmt.Errorf("filter %q names no comparison, such as app_token__in", name)
		}
		if err := set(v, name, values); err != nil {
			return err
		}
	}
	return nil
}

// set joins a list the only way the service knows: by commas that nothing can escape.
func set(v url.Values, name string, values []string) error {
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

// sortOrder puts the date dimensions first, so that partitions come one after the other.
func sortOrder(dimensions []string) []string {
	dates := []string{"hour", "day", "week", "month", "quarter", "year"}
	order := slices.Clone(dimensions)
	slices.SortStableFunc(order, func(a, b string) int {
		return rank(!slices.Contains(dates, a)) - rank(!slices.Contains(dates, b))
	})
	return order
}

func rank(last bool) int {
	if last {
		return 1
	}
	return 0
}
