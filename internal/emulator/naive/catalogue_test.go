package naive

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/metrics"
)

// samples are what the catalogue's placeholders are filled with: the edges of ranges, and each word
// once.
var samples = map[string][]string{
	"{p}":          {"d0", "d120", "w0", "w52", "m0", "m36"},
	"{e}":          {"purchase", "skan_purchase", "trial_d7"},
	"{m}":          {"installs", "cost", "roas_d7", "purchase_revenue", "purchase_d7_events_cohort"},
	"{value}":      {"0", "9", "63"},
	"{bit}":        {"1", "6"},
	"{coarse}":     {"null", "none", "low", "medium", "high"},
	"{postback}":   {"0", "2"},
	"{window}":     {"7", "28"},
	"{confidence}": {"95"},
	"{src}":        sourceSlugs(),
	"{sub}":        {"activation", "renewal", "renewal_from_billing_retry", "refund"},
	"{kind}":       {"activation", "refund", "unknown"},
	"{from}":       {"install", "trial_started", "billing_retry"},
	"{to}":         {"renewal", "trial_started", "refund"},
}

func sourceSlugs() (slugs []string) {
	for _, src := range facts.AdSources {
		slugs = append(slugs, src.Slug)
	}
	return slugs
}

var placeholder = regexp.MustCompile(`\{[^}]*\}`)

// fillings are slugs of a pattern: a slug for every sample of each placeholder, the others being
// the first of theirs.
func fillings(t *testing.T, pattern string) (slugs []string) {
	t.Helper()
	names := placeholder.FindAllString(pattern, -1)
	if len(names) == 0 {
		return []string{pattern}
	}
	for _, varied := range names {
		for _, word := range samples[varied] {
			slug := strings.ReplaceAll(pattern, varied, word)
			for _, n := range names {
				if len(samples[n]) == 0 {
					t.Fatalf("%s: no sample of %s", pattern, n)
				}
				slug = strings.ReplaceAll(slug, n, samples[n][0])
			}
			if !slices.Contains(slugs, slug) {
				slugs = append(slugs, slug)
			}
		}
	}
	return slugs
}

// TestEveryMetricOfTheCatalogueIsServed: the catalogue says what reportferry knows, the emulator
// what the service has.
func TestEveryMetricOfTheCatalogueIsServed(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 3, Days: 10})
	glossary := emutest.GlossaryOf(s)
	var slugs []string
	types := map[string]catalog.Type{}
	for _, pattern := range catalog.Metrics() {
		for _, slug := range fillings(t, pattern) {
			f, known := catalog.Metric(slug)
			if event, ok := strings.CutPrefix(pattern, "{e}_"); ok {
				f, known = catalog.EventMetric(strings.ReplaceAll(event, "{p}", "d0"))
			} else if strings.Contains(pattern, "{m}") && !known {
				f, known = catalog.Guess(slug)
			}
			if !known {
				t.Errorf("the catalogue lists %s and doesn't know %s", pattern, slug)
			}
			slugs, types[slug] = append(slugs, slug), f.Type
		}
	}
	whole, fraction := regexp.MustCompile(`^-?\d+$`), regexp.MustCompile(`^-?\d+\.\d+$`)
	for chunk := range slices.Chunk(slugs, 80) {
		for _, slug := range chunk {
			if _, bad := glossary.Find(slug); bad != nil {
				t.Errorf("%s: %s", slug, bad.Desc)
			}
		}
		if t.Failed() {
			continue
		}
		a := emutest.Report(t, s, "os_name", url.QueryEscape(strings.Join(chunk, ",")), "date_period=-3d:-1d")
		if got := strings.Join(a.Header[1:], ","); got != strings.Join(chunk, ",") || len(a.Rows) < 2 {
			t.Fatalf("%d rows with the header %s", len(a.Rows), got)
		}
		for i, slug := range chunk {
			for _, row := range a.Rows {
				cell := row[i+1]
				fits := fraction.MatchString(cell)
				if typ := types[slug]; typ == catalog.Int64 {
					fits = whole.MatchString(cell)
				} else if typ == catalog.Double {
					fits = fits || whole.MatchString(cell)
				}
				if !fits {
					t.Errorf("%s is %s, which is no %v", slug, cell, types[slug])
				}
			}
		}
	}
	if len(slugs) < 800 {
		t.Errorf("only %d slugs were asked for", len(slugs))
	}
}

// unlisted are spellings that the emulator tolerates and the catalogue leaves out.
var unlisted = []string{"rejected_install_malformed_advertising_id", "rejected_installs_malformed_advertising_id_rate",
	"rejected_reattributions_click_injection_rate"}

func TestTheCatalogueKnowsEveryMetricServed(t *testing.T) {
	t.Parallel()
	for _, d := range metrics.NewGlossary(nil).All() {
		slug := strings.ReplaceAll(d.Slug, "{p}", "w3")
		known := d.Label == "" || slices.Contains(unlisted, slug)
		if family, ofEvent := strings.CutPrefix(slug, "{e}_"); ofEvent {
			_, known = catalog.EventMetric(family)
		} else if !known {
			_, known = catalog.Metric(slug)
		}
		if !known {
			t.Errorf("the emulator serves %s, the catalogue doesn't know it", slug)
		}
	}
}

func TestBothSpellingsAreServed(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 10})
	for one, other := range map[string]string{
		"general revenue_events_est":                      "general_revenue_events_est",
		"general revenue_revenue_max":                     "general_revenue_revenue_max",
		"rejected_install_malformed_advertising_id":       "rejected_installs_malformed_advertising_id",
		"rejected_installs_malformed_advertising_id_rate": "rejected_install_malformed_advertising_id_rate",
		"rejected_reattributions_click_injection_rate":    "rejected_reattribution_click_injection_rate",
		"ecpi_network":                       "network_ecpi",
		"ad_spend_network":                   "network_cost",
		"skad_conversion_value_1":            "conversion_value_1",
		"skad_conversion_1":                  "conversion_1",
		"mavg_3_general revenue_revenue_min": "general_revenue_revenue_min",
	} {
		a := emutest.Report(t, s, "day,network", url.QueryEscape(one+","+other), "date_period=-8d:-1d")
		zeros := 0
		for _, row := range a.Rows {
			if emutest.Double(t, row[2]) != emutest.Double(t, row[3]) {
				t.Errorf("%s is %s, %s is %s", one, row[2], other, row[3])
			}
			if emutest.Double(t, row[2]) == 0 {
				zeros++
			}
		}
		if a.Header[2] != one || zeros == len(a.Rows) {
			t.Errorf("%s: header %q, %d of %d rows are 0", one, a.Header, zeros, len(a.Rows))
		}
	}
}
