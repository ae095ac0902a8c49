package naive

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
)

// TestFiltersEqualANaiveEvaluation has every filter of every dimension, and those of metrics of
// each kind, beside the loops over the facts: which rows are left, and their numbers, whether the
// report shows what is filtered or not.
func TestFiltersEqualANaiveEvaluation(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 30, 18, 45, 0, 0, time.UTC)
	w := openNaive(t, "filters", emulator.Options{Now: func() time.Time { return now }, Apps: 4, Days: 6}, 0, 6)
	ask := func(t *testing.T, v url.Values) (rows int) {
		t.Helper()
		v.Set("date_period", "-5d:-0d")
		q, err := w.parse(v)
		if err != nil {
			t.Fatal(err)
		}
		want, err := w.answer(q)
		if err != nil {
			t.Fatal(err)
		}
		got := emutest.Ask(w.s, "csv_report?"+v.Encode())
		if got.Code != http.StatusOK && (want != "" || got.Code != http.StatusNoContent) {
			t.Fatalf("%v: %d %s", v, got.Code, got.Body)
		}
		if err := sameCSV(got.Body.String(), want); err != nil {
			t.Errorf("%v: %v", v, err)
		}
		return strings.Count(want, "\n")
	}
	// labels are all that a dimension says, by the loops.
	labels := func(dimension string) []string {
		q, err := w.parse(url.Values{"dimensions": {dimension}, "metrics": {"installs"}, "date_period": {"-5d:-0d"}})
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, g := range w.groups(q, 0, false) {
			out = append(out, g.keys[0])
		}
		slices.Sort(out)
		return out
	}
	all := map[string][]string{}
	for _, d := range naiveDims {
		all[d.slug] = labels(d.slug)
	}
	t.Run("first engagement", func(t *testing.T) { // decides some of the dimensions when it is asked for
		for dimension, values := range all {
			ask(t, url.Values{"dimensions": {dimension}, "metrics": {"installs,cost"}, "attribution_source": {"first"}})
			if !strings.Contains(values[0], ",") {
				ask(t, url.Values{"dimensions": {"day"}, "metrics": {"installs"}, "attribution_source": {"first"},
					dimension + "__in": {values[0]}})
			}
		}
	})
	for _, operator := range []string{"in", "not_in", "contains", "exclude", "starts_with", "not_starts_with",
		"ends_with", "not_ends_with"} {
		t.Run(operator, func(t *testing.T) {
			for dimension, values := range all {
				whole := []rune(values[len(values)/3])
				part := map[string]string{"in": strings.ToUpper(string(whole)) + ",none", "not_in": string(whole),
					"contains": string(whole[len(whole)/3 : len(whole)-len(whole)/3]),
					"exclude":  string(whole[len(whole)/2:]), "starts_with": string(whole[:len(whole)-len(whole)/2]),
					"not_starts_with": string(whole[:1]),
					"ends_with":       string(whole[len(whole)/2:]),
					"not_ends_with":   string(whole[len(whole)-1:])}[operator]
				for _, shown := range []string{dimension, "os_name,day"} {
					ask(t, url.Values{"dimensions": {shown}, "metrics": {"installs,cost,revenue_total_d3"},
						dimension + "__" + operator: {part}})
				}
			}
		})
	}
	for _, operator := range []string{"lt", "lte", "gt", "gte", "eq", "ne"} {
		t.Run(operator, func(t *testing.T) {
			for _, metric := range []string{"installs", "revenue", "cost", "ecpi_all", "retention_rate_d1", "daus",
				"purchase_events", "revenue_total_d3", "ctr"} {
				q, err := w.parse(url.Values{"dimensions": {"day,network"}, "metrics": {metric},
					"date_period": {"-5d:-0d"}})
				if err != nil {
					t.Fatal(err)
				}
				var cells []naiveNumber
				for _, g := range w.groups(q, 0, false) {
					n, err := g.value(q.metrics[0])
					if err != nil {
						t.Fatal(err)
					}
					if n.float() != 0 {
						cells = append(cells, n)
					}
				}
				slices.SortFunc(cells, func(a, b naiveNumber) int { return cmp.Compare(a.float(), b.float()) })
				if len(cells) == 0 {
					t.Fatalf("%s is zero everywhere", metric)
				}
				middle := cells[len(cells)/2].text()
				for _, shown := range []string{metric, "clicks"} {
					query := url.Values{"dimensions": {"day,network"}, "metrics": {shown}}
					whole := ask(t, query)
					query.Set(metric+"__"+operator, middle)
					if left := ask(t, query); left == whole || left == 0 && strings.HasSuffix(operator, "e") {
						t.Errorf("%s__%s=%s leaves %d of %d lines: the test shows little", metric, operator, middle,
							left, whole)
					}
				}
			}
		})
	}
	if len(all) != 36 {
		t.Errorf("%d dimensions, want 36", len(all))
	}
}

// TestReadableNamesOfDimensions holds the headers of every dimension against the names that were
// written down.
func TestReadableNamesOfDimensions(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 1, Days: 3})
	var slugs, names []string
	for _, d := range naiveDims {
		slugs, names = append(slugs, d.slug), append(names, d.label)
	}
	query := "csv_report?metrics=installs&date_period=-1d:-1d&dimensions=" + strings.Join(slugs, ",")
	for more, want := range map[string][]string{"&readable_names=true": append(names, "Installs"),
		"&readable_names=false": append(slugs, "installs"), "": append(slugs, "installs")} {
		if head, _, _ := strings.Cut(emutest.Get(t, s, query+more, http.StatusOK), "\n"); head != strings.Join(want,
			",") {
			t.Errorf("%s: %s\nwant %s", more, head, strings.Join(want, ","))
		}
	}
}
