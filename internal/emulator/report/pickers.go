package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/metrics"
)

// picker is a list of metrics in filters_data.
type picker int

const (
	overviewPicker picker = iota
	costPicker            // what ad networks report
	skadPicker
	cohortPicker
	eventPicker
)

// sections are the values of the parameter section. Source: the interface document.
var sections = []string{"conversion", "fraud", "cost", "revenue", "retention", "events", "conversion_events",
	"installs", "conversion_values"}

// sectionSlug returns the value of the parameter section for a section that the service's answers
// name.
func sectionSlug(name string) string {
	slug := strings.ReplaceAll(strings.ToLower(name), " ", "_")
	for _, part := range []string{"conversion_events", "conversion_values", "installs"} {
		// Such as "6 Conversion Events (6 Bit)", "Coarse Conversion Values", "Direct Installs".
		if strings.Contains(slug, part) {
			return part
		}
	}
	return slug
}

// pickerOf returns the list that a metric is in.
func pickerOf(d *metrics.Metric) picker {
	switch section := sectionSlug(d.Section); {
	case strings.Contains(d.Slug, "{e}"):
		return eventPicker
	case strings.Contains(d.Slug, "{p}"):
		return cohortPicker
	case strings.HasPrefix(d.Slug, "network_"), d.Slug == "ecpi_network":
		return costPicker
	case section == "installs", strings.HasPrefix(section, "conversion_"), strings.HasPrefix(d.Slug, "skad_"),
		strings.HasPrefix(d.Slug, "skan_"):
		return skadPicker
	}
	return overviewPicker
}

// formatting returns the service's word for a kind of metric.
func formatting(k metrics.Kind) string {
	return map[metrics.Kind]string{metrics.Count: "integer", metrics.Money: "money", metrics.Ratio: "percent",
		metrics.Decimal: "decimal", metrics.Seconds: "timeperiod", metrics.Precise: "money_precise"}[k]
}

// metricList lists a picker's metrics, sorted by slug: those of an event for every event, those of
// a cohort for the usual periods, or for every period in a search.
func metricList(p picker) func(*Service, filterSearch) []filterItem {
	return func(s *Service, search filterSearch) []filterItem {
		cohorts := usualCohortPeriods()
		if search.part != "" {
			cohorts = allCohortPeriods()
		}
		var out []filterItem
		for _, def := range s.pickerDefs(p) {
			if search.section != "" && sectionSlug(def.Section) != search.section {
				continue
			}
			events, periods := []facts.Event{{}}, []metrics.CohortPeriod{{}}
			if strings.Contains(def.Slug, "{e}") {
				events = s.account.Catalog.Records
			}
			if strings.Contains(def.Slug, "{p}") {
				periods = cohorts
			}
			for _, e := range events {
				slug, label := strings.ReplaceAll(def.Slug, "{e}", e.ID), strings.ReplaceAll(def.Label, "{E}", e.Name)
				for _, p := range periods {
					item := metricItem(slug, label, def)
					if p.Token != "" {
						item.ID, item.Name = strings.ReplaceAll(slug, "{p}", p.Token),
							strings.ReplaceAll(label, "{P}", p.Label())
					}
					if search.takes(item) {
						out = append(out, item)
					}
				}
			}
		}
		slices.SortFunc(out, func(a, b filterItem) int { return strings.Compare(a.ID, b.ID) })
		return out
	}
}

// pickerDefs lists the metrics of a picker, sorted by slug.
func (s *Service) pickerDefs(p picker) []*metrics.Metric {
	var out []*metrics.Metric
	for _, def := range s.glossary.All() {
		if def.Label != "" && !def.Hidden && pickerOf(def) == p {
			out = append(out, def)
		}
	}
	return out
}

// metricItem returns a metric as an item of a list.
func metricItem(slug, label string, def *metrics.Metric) filterItem {
	format := formatting(def.Kind)
	return filterItem{ID: slug, Name: label, Section: def.Section, Formatting: &format,
		Description: def.Formula, IncreaseIsNegative: worsens(def)}
}

// worsens tells whether an increase of the metric is bad. The service's documents name the field,
// but no metric that has it.
func worsens(d *metrics.Metric) bool {
	for _, part := range []string{"cost", "ecp", "uninstall", "deattribution", "gdpr_forget", "cancel"} {
		if strings.Contains(d.Slug, part) {
			return true
		}
	}
	return d.Section == "Fraud"
}

// cohortNameItems lists the cohort metrics without their period.
func (s *Service) cohortNameItems() []filterItem {
	var out []filterItem
	for _, def := range s.pickerDefs(cohortPicker) {
		out = append(out, metricItem(strings.ReplaceAll(def.Slug, "_{p}", ""), strings.TrimPrefix(def.Label, "{P} "),
			def))
	}
	return out
}

// usualCohortPeriods lists the periods that a dashboard offers; the filter full_cohort_periods has
// all.
func usualCohortPeriods() []metrics.CohortPeriod {
	const usual = "d0 d1 d2 d3 d4 d5 d6 d7 d14 d21 d28 d30 d60 d90 d120 w0 w1 w2 w3 w4 m0 m1 m2 m3"
	return slices.DeleteFunc(allCohortPeriods(),
		func(p metrics.CohortPeriod) bool { return !slices.Contains(strings.Fields(usual), p.Token) })
}

// allCohortPeriods lists d0..d120, w0..w52 and m0..m36.
func allCohortPeriods() []metrics.CohortPeriod {
	var out []metrics.CohortPeriod
	for _, unit := range []string{"d", "w", "m"} {
		for n := 0; ; n++ {
			p, ok := metrics.ParseCohortPeriod(fmt.Sprint(unit, n))
			if !ok {
				break
			}
			out = append(out, p)
		}
	}
	return out
}
