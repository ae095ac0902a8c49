package report

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/emulator/metrics"
	"github.com/reportferry/reportferry/internal/emulator/reading"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// parameters are the parameters of reports that aren't filters. Source: the interface document;
// those of the last line are from the service's OpenAPI description, and cost_mode is the older
// name of ad_spend_mode.
var parameters = []string{"dimensions", "metrics", "date_period", "cohort_maturity", "readable_names", "utc_offset",
	"timezone_id", "hour__between",
	"attribution_types", "attribution_source", "reattributed", "iap_revenue_mode", "ad_revenue_sources", "os_names",
	"ad_spend_mode", "sandbox",
	"sort", "index", "format_dates", "period_over_period", "currency",
	"attribution_type", "assisting_attribution_type", "limit", "include_attr_dependency", "drilldown", "cost_mode"}

// refuseUnknown refuses parameters that aren't known, unless the readings choose to ignore them.
func (s *Service) refuseUnknown(v url.Values, known func(name string) bool) *wire.Error {
	if s.opts.Readings.Is(reading.UnknownParameters, "ignore") {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if !known(name) {
			return wire.BadRequest("Unsupported parameter: %s", name)
		}
	}
	return nil
}

// filterOf splits a filter's name into the dimension or metric and the operator. A name is that of
// a filter when its operator is known, or else its dimension or metric.
func (s *Service) filterOf(name string) (target, op string, known bool) {
	i := strings.LastIndex(name, "__")
	if i < 0 {
		return "", "", false
	}
	target, op = name[:i], name[i+2:]
	if _, ofMetric := metrics.MetricOps[op]; ofMetric || slices.Contains(dimensionOps, op) {
		return target, op, true
	}
	for i := range name { // the slug of an event's metric may hold two underscores itself
		if !strings.HasPrefix(name[i:], "__") {
			continue
		}
		_, noDimension := s.dimension(name[:i])
		_, noMetric := s.glossary.Find(name[:i])
		if noDimension == nil || noMetric == nil {
			return name[:i], name[i+2:], true
		}
	}
	return "", "", false
}
