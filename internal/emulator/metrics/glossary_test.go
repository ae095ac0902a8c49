package metrics_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/metrics"
)

// The sections are those that the service's pickers have; a word that stands alone as a label is a
// word of the slug.
func TestEveryMetricHasASectionAndALabelOfItsSlug(t *testing.T) {
	t.Parallel()
	sections := strings.Split("Conversion|Cost|Revenue|Retention|Events|Fraud|Installs|Conversion Values|Coarse "+
		"Conversion Values|Direct Installs|"+
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

// Subscription events are called in a label as they are in the slug.
func TestSubscriptionsAreCalledAsTheirSlugsAre(t *testing.T) {
	t.Parallel()
	found := 0
	for _, m := range metrics.NewGlossary(&facts.Catalog{}).All() {
		event, begins := strings.CutPrefix(m.Slug, "subscription_")
		event, _, counts := strings.Cut(event, "_events")
		if !begins || !counts || m.Label == "" {
			continue
		}
		found++
		if words := strings.ToLower(m.Label); !strings.Contains(words,
			"subscription "+strings.ReplaceAll(event, "_", " ")+" events") {
			t.Errorf("%s reads %q", m.Slug, m.Label)
		}
	}
	if found < 14 {
		t.Errorf("%d metrics of subscriptions", found)
	}
}

// A cohort's period is a day, a week or a month of age, as far as the catalogue goes.
func TestPeriodsOfCohorts(t *testing.T) {
	t.Parallel()
	for token, label := range map[string]string{"d0": "0D", "d120": "120D", "w0": "0W", "w52": "52W", "m0": "0M",
		"m36": "36M"} {
		p, ok := metrics.ParseCohortPeriod(token)
		if !ok || p.Token != token || p.Label() != label {
			t.Errorf("%s: %+v %t %q", token, p, ok, p.Label())
		}
	}
	for token, end := range map[string]int{"d0": 0, "d7": 7, "w0": 6, "w1": 13, "m0": 29, "m36": 37*30 - 1} {
		if p, _ := metrics.ParseCohortPeriod(token); p.End != end {
			t.Errorf("%s ends on day %d of age, want %d", token, p.End, end)
		}
	}
	for _, token := range []string{"", "d", "7", "d121", "w53", "m37", "d-1", "d07", "d+7", "x1", "D7", "d7 ", "dd"} {
		if p, ok := metrics.ParseCohortPeriod(token); ok {
			t.Errorf("%q is %+v", token, p)
		}
	}
}
