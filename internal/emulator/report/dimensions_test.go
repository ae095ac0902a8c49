package report_test

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/metrics"
	"github.com/reportferry/reportferry/internal/emulator/report"
	"github.com/reportferry/reportferry/internal/slow"
)

// dimensionForms are the interface document's 35 dimensions with the forms of their values.
var dimensionForms = []struct {
	slug, form string
	rows       int // in the week; 0: at least two
}{
	{"hour", `^2026-03-0[1-7]T([01]\d|2[0-3]):00:00$`, 0},
	{"day", `^2026-03-0[1-7]$`, 7},
	{"week", `^2026-03-01 - 2026-03-07$`, 1},
	{"month", `^2026-03$`, 1},
	{"year", `^2026$`, 1},
	{"quarter", `^Q1 2026$`, 1},
	{"os_name", `^(android|ios|unknown|fire-tv|windows)$`, 5},
	{"device_type", `^(phone|tablet|ipod|tv|pc|unknown)$`, 6},
	{"app", `.`, 12},
	{"app_token", `^[a-z][a-z0-9]{11}$`, 12},
	{"ad_account_id", `^(\d{9}|unknown)$`, 0},
	{"store_id", `^(com\.example\.[a-z0-9]+|\d{10}|B0[A-Z0-9]{8}|missing)$`, 0},
	{"store_type", `^(google_play|huawei|samsung_app_store|app_store|amazon|microsoft_store|web|unknown)$`, 0},
	{"currency", `^US Dollar$`, 1},
	{"currency_code", `^USD$`, 1},
	{"network", `.`, 0},
	{"campaign", ` \(\d+\)$|^unknown$|^Expired Attributions$`, 0},
	{"campaign_network", `.`, 0},
	{"campaign_id_network", `^(\d+|unknown|Expired Attributions)$`, 0},
	{"adgroup", ` \(\d+\)$|^unknown$`, 0},
	{"adgroup_network", `.`, 0},
	{"adgroup_id_network", `^(\d+|unknown)$`, 0},
	{"source_network", `^(Feed|Stories|Audience Network|unknown)$`, 4},
	{"source_id_network", `^(\d+|unknown)$`, 4},
	{"creative", ` \(\d+\)$|^unknown$`, 0},
	{"creative_network", `.`, 0},
	{"creative_id_network", `^(\d+|unknown|Expired Attributions)$`, 0},
	{"country", `^([A-ZT][a-zü]+( [A-Za-z]+)*|unknown)$`, 10},
	{"country_code", `^([A-Z]{2}|unknown)$`, 10},
	{"region", `^(AMER|EMEA|APAC|LATAM|unknown)$`, 5},
	{"partner_name", `.`, 8},
	{"partner_id", `^(-300|\d+|unknown)$`, 8},
	{"partner", `^([a-z_]+)$`, 8},
	{"channel", `.`, 16},
	{"platform", `^(mobile_app|web|undefined)$`, 3},
	{"creative_id", `^(\d+|unknown|Expired Attributions)$`, 0},
}

func TestDimensionForms(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon})
	if len(metrics.Dimensions) != 36 || len(dimensionForms) != 36 {
		t.Fatalf("%d dimensions, %d forms, want 36", len(metrics.Dimensions), len(dimensionForms))
	}
	all := emutest.Report(t, s, "year", "installs", week).Sum(t, "installs")
	readable := map[string]bool{}
	for _, c := range dimensionForms {
		a := emutest.Report(t, s, c.slug, "installs", week)
		if len(a.Rows) != c.rows && c.rows > 0 || len(a.Rows) < 2 && c.rows == 0 {
			t.Errorf("%s: %d rows, want %d", c.slug, len(a.Rows), c.rows)
		}
		form := regexp.MustCompile(c.form)
		for i, r := range a.Rows {
			if !form.MatchString(r[0]) {
				t.Errorf("%s: %q doesn't match %s", c.slug, r[0], c.form)
			}
			if i > 0 && a.Rows[i-1][0] >= r[0] {
				t.Errorf("%s: %q comes after %q", c.slug, r[0], a.Rows[i-1][0])
			}
		}
		if got := a.Sum(t, "installs"); got != all {
			t.Errorf("%s: %d installs, want %d", c.slug, got, all)
		}
		head, _, _ := strings.Cut(emutest.Get(t, s,
			"csv_report?dimensions="+c.slug+"&metrics=installs&readable_names=true&"+week, 200), ",")
		if head == c.slug || readable[head] || strings.ToUpper(head[:1]) != head[:1] {
			t.Errorf("%s reads %q", c.slug, head)
		}
		readable[head] = true
	}
	for dims, want := range map[string]string{"week": "2026-03-01 - 2026-03-07", "quarter": "Q1 2026", "year": "2026"} {
		if got := emutest.Report(t, s, dims, "installs", "date_period=2026-03-04:2026-03-05").Rows; len(got) != 1 ||
			got[0][0] != want {
			t.Errorf("%s that the period cuts reads %q", dims, got)
		}
	}
	quarters := emutest.Report(t, s, "month,quarter", "installs", "date_period=2025-12-01:2026-03-01").Rows
	for _, r := range quarters {
		if want := map[string]string{"2025-12": "Q4 2025"}[r[0]]; r[1] != want && (want != "" || r[1] != "Q1 2026") {
			t.Errorf("month %s is in %s", r[0], r[1])
		}
	}
	if len(quarters) != 4 {
		t.Errorf("months and quarters: %q", quarters)
	}
}

// TestDimensionsAgree checks that dimensions which name the same thing do so row by row.
func TestDimensionsAgree(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon})
	for _, c := range [][]string{{"country", "country_code"}, {"partner_name", "partner_id"}, {"partner_id", "partner"},
		{"partner", "partner_name"},
		{"country_code", "region"}, {"app", "app_token"}, {"network", "channel"},
		{"source_network", "source_id_network"},
		{"campaign", "campaign_network"}, {"adgroup", "adgroup_network"}, {"creative", "creative_network"},
		{"os_name", "platform"}} {
		seen := map[string]string{}
		for _, r := range emutest.Report(t, s, strings.Join(c, ","), "installs", week).Rows {
			if other, ok := seen[r[0]]; ok && other != r[1] {
				t.Errorf("%s %q has %s %q and %q", c[0], r[0], c[1], other, r[1])
			}
			seen[r[0]] = r[1]
		}
	}
	for _, level := range []string{"campaign", "adgroup", "creative"} {
		for _, r := range emutest.Report(t, s, level+","+level+"_network,"+level+"_id_network", "installs", week).Rows {
			if r[0] != r[1]+" ("+r[2]+")" && (r[0] != "unknown" || r[2] != "unknown") &&
				r[2] != "Expired Attributions" {
				t.Errorf("%s %q, its network's %q, ID %q", level, r[0], r[1], r[2])
			}
		}
	}
	organic := emutest.Report(t, s, "network,partner_name,partner_id,partner,channel,campaign,adgroup,creative,"+
		"ad_account_id,campaign_id_network",
		"installs", week+"&partner_id__in=-300").Rows
	if want := "Organic|Organic|-300|organic|Organic|unknown|unknown|unknown|unknown|unknown"; len(organic) != 1 ||
		strings.Join(organic[0][:10], "|") != want {
		t.Errorf("organic: %q", organic)
	}
	eur := emutest.Report(t, s, "currency,currency_code", "installs", week+"&currency=eur&currency__starts_with=e").Rows
	if len(eur) != 1 || eur[0][0] != "Euro" || eur[0][1] != "EUR" {
		t.Errorf("currency of a report in EUR: %q", eur)
	}
}

// TestEveryFilterOfEveryDimension compares filtered reports with the rows that a person would pick
// from the whole one, and with their sum where the report doesn't show the dimension.
func TestEveryFilterOfEveryDimension(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 4, Days: 20})
	for _, d := range metrics.Dimensions {
		whole := emutest.Report(t, s, d.Slug, "installs,cost", "date_period=2026-03-01:2026-03-04")
		labels := make([]string, len(whole.Rows))
		for i, r := range whole.Rows {
			labels[i] = r[0]
		}
		for _, op := range report.DimensionOps {
			label := labels[len(labels)/2]
			value := label
			runes := []rune(label)
			switch strings.TrimPrefix(op, "not_") {
			case "in":
				value = strings.ToUpper(label) + ", no such value"
				if strings.Contains(label, ",") {
					continue // can't be said
				}
			case "contains", "exclude":
				value = string(runes[len(runes)/3 : len(runes)/3+(len(runes)+1)/2])
			case "starts_with":
				value = string(runes[:(len(runes)+1)/2])
			case "ends_with":
				value = string(runes[len(runes)/2:])
			}
			var rows []string
			var installs, cost int64
			for _, r := range whole.Rows {
				a, b := strings.ToLower(r[0]), strings.ToLower(value)
				keep := false
				switch op {
				case "in", "not_in":
					keep = (r[0] == label) == (op == "in")
				case "contains":
					keep = strings.Contains(a, b)
				case "exclude":
					keep = !strings.Contains(a, b)
				case "starts_with":
					keep = strings.HasPrefix(a, b)
				case "not_starts_with":
					keep = !strings.HasPrefix(a, b)
				case "ends_with":
					keep = strings.HasSuffix(a, b)
				case "not_ends_with":
					keep = !strings.HasSuffix(a, b)
				}
				if keep {
					rows = append(rows, strings.Join(r, "|"))
					installs += emutest.Exact(t, r[1])
					cost += emutest.Exact(t, r[2])
				}
			}
			filter := "&" + d.Slug + "__" + op + "=" + url.QueryEscape(value)
			var got []string
			for _, r := range emutest.Report(t, s, d.Slug, "installs,cost",
				"date_period=2026-03-01:2026-03-04"+filter).Rows {
				got = append(got, strings.Join(r, "|"))
			}
			if !slices.Equal(got, rows) {
				t.Errorf("%s: %q, want %q", filter, got, rows)
			}
			sums := map[string]int64{"installs": 0, "cost": 0}
			hidden := emutest.Report(t, s, "os_name", "installs,cost", "date_period=2026-03-01:2026-03-04"+filter)
			for slug := range sums {
				if len(hidden.Rows) > 0 {
					sums[slug] = hidden.Sum(t, slug)
				}
			}
			if sums["installs"] != installs || sums["cost"] != cost {
				t.Errorf("%s of a dimension that isn't shown: %v, want %d installs and %d", filter, sums, installs,
					cost)
			}
		}
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon})
	tokens := []string{s.Apps()[3].Token, s.Apps()[5].Token}
	a := emutest.Report(t, s, "app_token", "installs", week+"&app_token__in="+strings.ToUpper(strings.Join(tokens,
		",")))
	got := []string{}
	for _, r := range a.Rows {
		got = append(got, r[0])
	}
	slices.Sort(tokens)
	if !slices.Equal(got, tokens) {
		t.Errorf("app_token__in gave %q, want %q", got, tokens)
	}
	for _, f := range []string{"app__in=КОШКИ и кофе", "app__contains=КОФЕ", "app__starts_with=кОШ",
		"app__ends_with= и КОФЕ"} {
		name, value, _ := strings.Cut(f, "=")
		if a = emutest.Report(t, s, "app", "installs", week+"&"+name+"="+url.QueryEscape(value)); len(a.Rows) != 1 ||
			a.Rows[0][0] != "Кошки и кофе" {
			t.Errorf("%s gave %q", f, a.Rows)
		}
	}
	padded := emutest.Report(t, s, "campaign", "installs", week+"&campaign_network__in=%20padded%20")
	if trimmed := emutest.Report(t, s, "campaign", "installs", week+"&campaign_network__in=padded"); len(padded.Rows) ==
		0 || len(trimmed.Rows) != 0 {
		t.Errorf("blanks at a value's ends: with them %q, without %q", padded.Rows, trimmed.Rows)
	}
	if a = emutest.Report(t, s, "os_name", "installs", week+"&os_name__in=windows,,%20ios"); len(a.Rows) != 2 {
		t.Errorf("a list with blanks gave %q", a.Rows)
	}
	all := emutest.Report(t, s, "os_name", "installs", week).Column(t, "installs")
	a = emutest.Report(t, s, "month", "installs", week+"&os_names=ios,WINDOWS")
	if want := emutest.Exact(t, all["ios"]) + emutest.Exact(t, all["windows"]); a.Sum(t, "installs") != want {
		t.Errorf("os_names gave %d installs, want %d", a.Sum(t, "installs"), want)
	}
	if a = emutest.Report(t, s, "os_name", "installs", week+"&os_names=ios&os_name__in=android"); len(a.Rows) != 0 {
		t.Errorf("os_names and os_name__in together gave %q", a.Rows)
	}
	both := emutest.Report(t, s, "day,network", "installs",
		week+"&day__not_in=2026-03-02&network__exclude=installs&partner__contains=O&installs__gt=100")
	want := 0
	for _, r := range emutest.Report(t, s, "day,network,partner", "installs", week).Rows {
		if r[0] != "2026-03-02" && !strings.Contains(r[1], "Installs") && strings.Contains(r[2], "o") &&
			emutest.Exact(t, r[3]) > 100*facts.Million {
			want++
		}
	}
	if len(both.Rows) != want || want == 0 {
		t.Errorf("four filters together leave %d rows, want %d", len(both.Rows), want)
	}
	if a = emutest.Report(t, s, "day", "installs",
		week+"&network__in=,&day__contains=&network__exclude=&app__not_ends_with=&installs__gt="); len(a.Rows) != 7 {
		t.Errorf("empty filters leave %d days, want 7", len(a.Rows))
	}
}

func TestEveryFilterOfMetrics(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 4, Days: 20})
	const period = "date_period=2026-03-01:2026-03-10"
	for _, slug := range []string{"installs", "revenue", "cost", "ecpi", "retention_rate_d1", "daus",
		"time_spent_per_user_d1", "purchase_events",
		"network_installs_diff_signed", "revenue_total_d3"} {
		whole := emutest.Report(t, s, "day,network", slug, period)
		var cells []string
		for _, r := range whole.Rows {
			cells = append(cells, r[2])
		}
		slices.SortFunc(cells, func(a, b string) int {
			return int((emutest.Double(t, a) - emutest.Double(t, b)) *
				1e6)
		})
		bound := cells[len(cells)*2/3]
		for op := range metrics.MetricOps {
			var want []string
			for _, r := range whole.Rows {
				x, y := emutest.Double(t, r[2]), emutest.Double(t, bound)
				if map[string]bool{"lt": x < y, "lte": x <= y, "gt": x > y, "gte": x >= y, "eq": x == y,
					"ne": x != y}[op] {
					want = append(want, r[0]+"|"+r[1])
				}
			}
			if len(want) == 0 || len(want) == len(whole.Rows) && op != "lte" && op != "gte" {
				t.Errorf("%s__%s=%s keeps %d of %d rows: the test shows little", slug, op, bound, len(want),
					len(whole.Rows))
			}
			for _, metrics := range []string{slug, "clicks"} { // shown or not
				var got []string
				for _, r := range emutest.Report(t, s, "day,network", metrics, period+"&"+slug+"__"+op+"="+bound).Rows {
					got = append(got, r[0]+"|"+r[1])
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s__%s=%s of a report of %s: %d rows, want %d", slug, op, bound, metrics, len(got),
						len(want))
				}
			}
		}
	}
}
