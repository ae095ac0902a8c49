package emulator

import "fmt"

// makeAdSourceMetrics makes the per-source ad revenue families. A fact's ads come from one source, so the sources add up to
// ad_revenue, ad_impressions and their cohort forms.
func makeAdSourceMetrics() []metricDef {
	var out []metricDef
	for n, src := range adSources {
		of := fmt.Sprintf("(f.ad_source=%d)*", n)
		add := func(slug, label string, k kind, formula, row string) {
			out = append(out, metricDef{slug: fmt.Sprintf(slug, src.slug), label: fmt.Sprintf(label, src.name), kind: k, section: "Revenue", formula: formula, row: row})
		}
		add("ad_revenue_%s", "Ad Revenue (%s)", money, "", of+"f.ad_revenue")
		add("ad_impressions_%s", "Ad Impressions (%s)", count, "", of+adImpressions)
		add("cohort_ad_revenue_%s", "Ad Revenue (Cohort) (%s)", money, "", of+"{until_now:ad_revenue}")
		add("ad_rpm_%s", "Ad RPM (%s)", money, fmt.Sprintf("(ad_revenue_%[1]s/ad_impressions_%[1]s)*1000", src.slug), "")
		add("ad_revenue_%s_{p}", "{P} Ad Revenue (%s)", money, "", of+"{inside:ad_revenue}")
		add("ad_impressions_%s_{p}", "{P} Ad Impressions (%s)", count, "", of+"{inside:ad_impressions}")
	}
	return out
}
