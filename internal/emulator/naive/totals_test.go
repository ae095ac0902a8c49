package naive

import (
	"encoding/csv"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
)

// additiveSlugs are the metrics that the catalogue says add up over everything, each placeholder
// filled with its samples.
func additiveSlugs(t *testing.T) (slugs []string) {
	t.Helper()
	for _, pattern := range catalog.Metrics() {
		for _, slug := range fillings(t, pattern) {
			f, known := catalog.Metric(slug)
			if !known {
				f, known = catalog.Guess(slug)
			}
			if known && f.Additive == catalog.Everywhere {
				slugs = append(slugs, slug)
			}
		}
	}
	return slugs
}

// sums adds up a report's rows by the dimensions named, exactly. digits is how many decimals its
// cells have at most.
func sums(t *testing.T, s *emulator.Server, v url.Values, by []string) (out map[string]*big.Rat, rows, digits int) {
	t.Helper()
	w := emutest.Ask(s, "csv_report?"+v.Encode())
	if w.Code == http.StatusNoContent {
		return map[string]*big.Rat{}, 0, 0
	}
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", v.Encode(), w.Code, w.Body)
	}
	all, err := csv.NewReader(w.Body).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	out = map[string]*big.Rat{}
	dims := len(strings.Split(v.Get("dimensions"), ","))
	for _, row := range all[1:] {
		var key []string
		for _, name := range by {
			key = append(key, row[slices.Index(all[0], name)])
		}
		for i := dims; i < len(row); i++ {
			_, decimals, _ := strings.Cut(row[i], ".")
			digits = max(digits, len(decimals))
			n, ok := new(big.Rat).SetString(row[i])
			if !ok {
				t.Fatalf("%s is %q", all[0][i], row[i])
			}
			name := strings.Join(append(key, all[0][i]), " ")
			if out[name] == nil {
				out[name] = new(big.Rat)
			}
			out[name].Add(out[name], n)
		}
	}
	return out, len(all) - 1, digits
}

// totalsParams are parameters of reports that change what is counted, each with its values.
var totalsParams = [][]string{
	{"currency", "", "EUR", "JPY", "KWD"}, {"ad_spend_mode", "", "network", "mixed"}, {"cohort_maturity", "", "mature"},
	{"attribution_source", "", "first"}, {"reattributed", "", "", "true", "false"},
	{"iap_revenue_mode", "", "GROSS_85"},
	{"sandbox", "", "", "", "true"}, {"ad_revenue_sources", "", "", "unknown,IronSource,admob"},
	{"attribution_types", "", "", "click"},
	{"os_names", "", "", "", "ios"}, {"timezone_id", "", "Europe/Berlin", "Asia/Kolkata", "America/New_York"},
	{"network__contains", "", "", "", "a"}, {"country_code__not_in", "", "", "US,DE"},
}

// What the catalogue calls additive over everything adds up: the sums over the rows of any
// dimensions are the totals by date, to the last decimal, whatever the modes and filters. Only
// cohort_maturity=fully_mature drops groups, and limit and filters of metrics rows, so that what is
// left doesn't add up.
func TestTotalsAreHonest(t *testing.T) {
	t.Parallel()
	n := 2 * *naiveRuns
	slugs := additiveSlugs(t)
	if len(slugs) < 400 {
		t.Fatalf("only %d metrics", len(slugs))
	}
	r := rand.New(rand.NewPCG(*naiveSeed, 1))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	late := time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)
	worlds := []*emulator.Server{
		emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 4, Days: 40}),
		emutest.Open(t, emulator.Options{Now: func() time.Time { return late }, Apps: 3, Days: 20, Seed: 3}),
	}
	newest := []time.Time{emutest.Noon, late}
	naiveSpend(t, worlds[0], emutest.Noon)
	if err := worlds[0].Restate(t.Context(), emulator.Restatement{Day: "2026-03-01", Until: "2026-03-05",
		Metric: "installs", Factor: 1.3},
		emulator.Restatement{Day: "2026-03-03", Where: map[string]string{"network": "Organic"},
			Rename: map[string]string{"network": "Late"}}); err != nil {
		t.Fatal(err)
	}
	texts := []string{"os_name", "app", "app_token", "network", "campaign", "adgroup", "creative", "country",
		"country_code", "region", "store_type",
		"device_type", "partner_name", "channel", "currency_code", "source_network", "platform"}
	full, most := 0, 0
	for range n {
		i := r.IntN(len(worlds))
		from := newest[i].AddDate(0, 0, -r.IntN(20))
		v := url.Values{"date_period": {from.Format(time.DateOnly) + ":" + from.AddDate(0, 0,
			r.IntN(8)).Format(time.DateOnly)}}
		dates := []string{pick("day", "day", "day", "hour", "week", "month", "quarter", "year")}
		var chosen []string
		for range 1 + r.IntN(10) {
			if slug := pick(slugs...); !slices.Contains(chosen, slug) {
				chosen = append(chosen, slug)
			}
		}
		v.Set("metrics", strings.Join(chosen, ","))
		for _, param := range totalsParams {
			if value := pick(param[1:]...); value != "" {
				v.Set(param[0], value)
			}
		}
		v.Set("dimensions", strings.Join(dates, ","))
		totals, _, _ := sums(t, worlds[i], v, dates)
		var more []string
		for range 1 + r.IntN(5) {
			if d := pick(texts...); !slices.Contains(more, d) {
				more = append(more, d)
			}
		}
		v.Set("dimensions", strings.Join(append(more, dates...), ","))
		rows, found, digits := sums(t, worlds[i], v, dates)
		most = max(most, digits)
		if found > 1 {
			full++
		}
		if len(rows) != len(totals) {
			t.Errorf("%d sums, %d totals: %s", len(rows), len(totals), v.Encode())
		}
		for name, want := range totals {
			if got := rows[name]; got == nil || got.Cmp(want) != 0 {
				t.Errorf("%s is %s in the rows, %s in the totals: %s", name, fmt.Sprint(got), want, v.Encode())
			}
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Logf("seed %d: %d metrics, %d windows, %d with several rows; at most %d decimals", *naiveSeed, len(slugs), n,
		full, most)
	if full*2 < n || most > 6 {
		t.Errorf("%d of %d windows had several rows, cells had up to %d decimals", full, n, most)
	}
}

// What can't be added up doesn't: an install that several networks assisted is counted by each, a
// rate is none of a sum.
func TestWhatDoesNotAddUp(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 3})
	v := url.Values{"date_period": {"2026-03-01:2026-03-07"}, "dimensions": {"day"},
		"metrics": {"assisted_installs,assisted_reattributions,non_assisted_installs,ctr,ecpi_all,qualifiers"}}
	totals, _, _ := sums(t, s, v, []string{"day"})
	for _, dims := range []string{"day,network", "day,app,campaign"} {
		v.Set("dimensions", dims)
		rows, _, _ := sums(t, s, v, []string{"day"})
		for name, total := range totals {
			if adds := strings.HasSuffix(name, " qualifiers"); (rows[name].Cmp(total) == 0) != adds {
				t.Errorf("%s by %s: %s in the rows, %s in the totals", name, dims, rows[name], total)
			}
		}
	}
}
