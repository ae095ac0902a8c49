package metrics_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/metrics"
)

// The sections are those that the service's pickers have; a word that stands alone as a label is a word of the slug.
func TestEveryMetricHasASectionAndALabelOfItsSlug(t *testing.T) {
	t.Parallel()
	sections := strings.Split("Conversion|Cost|Revenue|Retention|Events|Fraud|Installs|Conversion Values|Coarse Conversion Values|Direct Installs|"+
		"Direct Conversion Values|Subscriptions|6 Conversion Events (6 Bit)|6 Direct Conversion Events (6 Bit)", "|")
	short := map[string]string{"Average": "est"}
	shown := 0
	for _, m := range metrics.NewGlossary(&facts.Catalog{}).All() {
		if m.Label == "" {
			continue
		}
		shown++
		if m.Section != "" && !slices.Contains(sections, m.Section) {
			t.Errorf("%s is in the section %q", m.Slug, m.Section)
		}
		word := strings.ToLower(m.Label)
		if in := short[m.Label]; in != "" {
			word = in
		}
		if !strings.Contains(m.Label, " ") && !strings.Contains(m.Slug, word) {
			t.Errorf("%s reads %q", m.Slug, m.Label)
		}
	}
	if shown < 300 {
		t.Errorf("%d metrics", shown)
	}
}
