package emulator

import (
	"fmt"
	"maps"
	"slices"
	"strings"
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
var sections = []string{"conversion", "fraud", "cost", "revenue", "retention", "events", "conversion_events", "installs", "conversion_values"}

// sectionSlug is the section, as the service's answers name it, in the words of the parameter.
func sectionSlug(name string) string {
	slug := strings.ReplaceAll(strings.ToLower(name), " ", "_")
	for _, part := range []string{"conversion_events", "conversion_values", "installs"} {
		if strings.Contains(slug, part) { // "6 Conversion Events (6 Bit)", "Coarse Conversion Values", "Direct Installs"
			return part
		}
	}
	return slug
}

// pickerOf is the list that a metric is in.
func pickerOf(d *metricDef) picker {
	switch section := sectionSlug(d.section); {
	case strings.Contains(d.slug, "{e}"):
		return eventPicker
	case strings.Contains(d.slug, "{p}"):
		return cohortPicker
	case strings.HasPrefix(d.slug, "network_"), d.slug == "ecpi_network":
		return costPicker
	case section == "installs", strings.HasPrefix(section, "conversion_"), strings.HasPrefix(d.slug, "skad_"), strings.HasPrefix(d.slug, "skan_"):
		return skadPicker
	}
	return overviewPicker
}

// formatting is a kind in the service's words.
func formatting(k kind) string {
	return map[kind]string{count: "integer", money: "money", ratio: "percent", decimal: "decimal", seconds: "timeperiod", precise: "money_precise"}[k]
}

// metricList lists a picker's metrics, sorted by slug: those of an event for every event, those of a cohort for the
// usual periods. Who searches finds every period.
func metricList(p picker) func(*reportService, filterSearch) []filterItem {
	return func(s *reportService, search filterSearch) []filterItem {
		cohorts := usualCohortPeriods()
		if search.part != "" {
			cohorts = allCohortPeriods()
		}
		var out []filterItem
		for _, def := range s.pickerDefs(p) {
			if search.section != "" && sectionSlug(def.section) != search.section {
				continue
			}
			events, periods := []eventRecord{{}}, []cohortPeriod{{}}
			if strings.Contains(def.slug, "{e}") {
				events = s.world.catalog.records
			}
			if strings.Contains(def.slug, "{p}") {
				periods = cohorts
			}
			for _, e := range events {
				slug, label := strings.ReplaceAll(def.slug, "{e}", e.ID), strings.ReplaceAll(def.label, "{E}", e.Name)
				for _, p := range periods {
					item := metricItem(slug, label, def)
					if p.token != "" {
						item.ID, item.Name = strings.ReplaceAll(slug, "{p}", p.token), strings.ReplaceAll(label, "{P}", p.label())
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

func (s *reportService) pickerDefs(p picker) []*metricDef {
	var out []*metricDef
	for _, slug := range slices.Sorted(maps.Keys(s.glossary.formulas)) {
		if def := s.glossary.formulas[slug]; def.label != "" && !def.hidden && pickerOf(def) == p {
			out = append(out, def)
		}
	}
	return out
}

func metricItem(slug, label string, def *metricDef) filterItem {
	format := formatting(def.kind)
	return filterItem{ID: slug, Name: label, Section: def.section, Formatting: &format,
		Description: def.formula, IncreaseIsNegative: worsens(def)}
}

// worsens says whether more of the metric is bad news; the service's documents name the field and no metric of it.
func worsens(d *metricDef) bool {
	for _, part := range []string{"cost", "ecp", "uninstall", "deattribution", "gdpr_forget", "cancel"} {
		if strings.Contains(d.slug, part) {
			return true
		}
	}
	return d.section == "Fraud"
}

// cohortNameItems are the cohort metrics without their period.
func (s *reportService) cohortNameItems() []filterItem {
	var out []filterItem
	for _, def := range s.pickerDefs(cohortPicker) {
		out = append(out, metricItem(strings.ReplaceAll(def.slug, "_{p}", ""), strings.TrimPrefix(def.label, "{P} "), def))
	}
	return out
}

// usualCohortPeriods are a dashboard's; the filter full_cohort_periods has all.
func usualCohortPeriods() []cohortPeriod {
	const usual = "d0 d1 d2 d3 d4 d5 d6 d7 d14 d21 d28 d30 d60 d90 d120 w0 w1 w2 w3 w4 m0 m1 m2 m3"
	return slices.DeleteFunc(allCohortPeriods(), func(p cohortPeriod) bool { return !slices.Contains(strings.Fields(usual), p.token) })
}

// allCohortPeriods are d0..d120, w0..w52 and m0..m36.
func allCohortPeriods() []cohortPeriod {
	var out []cohortPeriod
	for _, unit := range []string{"d", "w", "m"} {
		for n := 0; ; n++ {
			p, ok := parseCohortPeriod(fmt.Sprint(unit, n))
			if !ok {
				break
			}
			out = append(out, p)
		}
	}
	return out
}
