package emulator_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
)

// ordinary is the account that somebody meets who tries the program: not emutest's, whose names are
// hostile.
func ordinary(t *testing.T) *emulator.Server {
	t.Helper()
	s, err := emulator.New(emulator.Options{Now: emutest.AtNoon, Rate: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

const named = "app,network,campaign,adgroup,creative,country_code"

// awkward says what makes a name hard to read, or to keep in a file.
func awkward(name string) bool {
	other := func(r rune) bool { return r < ' ' || r == '"' || r == ',' || r == ';' || r > 'ÿ' && r != '–' }
	return strings.ContainsFunc(name, other) || strings.TrimSpace(name) != name ||
		strings.IndexAny(name, "=-+@") == 0 || name == "null" || name == ""
}

// Names are those of a real account: line breaks, quotes, formulas and other scripts come with
// Options.Hostile alone.
func TestHostileNamesAreAskedFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s       *emulator.Server
		hostile bool
	}{{ordinary(t), false}, {emutest.Open(t, emulator.Options{Now: emutest.AtNoon}), true}} {
		a := emutest.Report(t, c.s, named, "installs", "date_period=-9d:-1d")
		found := make([]map[string]bool, a.Dims)
		for _, row := range a.Rows {
			for i, name := range row[:a.Dims] {
				if found[i] == nil {
					found[i] = map[string]bool{}
				}
				found[i][name] = true
			}
		}
		if len(found[0]) != 12 || len(found[2]) < 150 {
			t.Errorf("%d apps, %d campaigns", len(found[0]), len(found[2]))
		}
		for i, names := range found {
			bad := 0
			for name := range names {
				if awkward(name) {
					bad++
				}
				if awkward(name) && !c.hostile {
					t.Errorf("%s %q", a.Header[i], name)
				}
			}
			if bad == 0 && c.hostile && i < a.Dims-1 {
				t.Errorf("none of %s is hostile: %v", a.Header[i], names)
			}
		}
		bad := 0
		for _, app := range c.s.Apps() {
			for _, event := range app.Events {
				if awkward(event.Name) {
					bad++
				}
			}
		}
		if bad > 0 != c.hostile {
			t.Errorf("%d events of apps have hostile names, asked for: %t", bad, c.hostile)
		}
	}
}

// A campaign's name tells its countries and its system, and the rows bear it out.
func TestCampaignsAreWhatTheyAreCalled(t *testing.T) {
	t.Parallel()
	marks := map[string]string{"android": "AND", "ios": "iOS", "fire-tv": "FireTV", "windows": "Win", "unknown": "ALL"}
	checked := 0
	for _, row := range emutest.Report(t, ordinary(t), "campaign,os_name,country_code", "installs",
		"date_period=-29d:-1d").Rows {
		if strings.HasSuffix(row[0], ")") {
			checked++
			if !strings.Contains(row[0], row[2]) || !strings.Contains(row[0], marks[row[1]]) {
				t.Errorf("%q has %s in %s", row[0], row[1], row[2])
			}
		}
	}
	if checked < 200 {
		t.Errorf("%d rows of campaigns", checked)
	}
}

// The numbers are in the ranges that people who buy ads know.
func TestOrdinaryNumbers(t *testing.T) {
	t.Parallel()
	s := ordinary(t)
	ask := func(metric, filter string) float64 {
		// Four weeks, of which all but a few cohorts' days are past.
		a := emutest.Report(t, s, "currency_code", metric, "date_period=2026-01-05:2026-02-01&"+filter)
		value, err := strconv.ParseFloat(a.Rows[0][1], 64)
		if err != nil {
			t.Error(err)
		}
		return value
	}
	paid := "network__in=" + url.QueryEscape("Facebook Installs,AppLovin,Google Ads ACI,TikTok for Business,Unity Ads")
	for _, c := range []struct {
		what    string
		value   float64
		low, up float64
	}{
		{"cost of an install, paid networks", ask("cost", paid) / ask("installs", paid), 1.5, 8},
		{"installs of a click, paid networks", ask("installs", paid) / ask("clicks", paid), 0.01, 0.1},
		{"clicks of an impression", ask("clicks", paid) / ask("impressions", paid), 0.01, 0.05},
		{"an install in the US by one in India", ask("ecpi_all", "country_code__in=US") / ask("ecpi_all",
			"country_code__in=IN"), 3, 12},
		{"retention on day 1", ask("retention_rate_d1", ""), 0.25, 0.45},
		{"retention on day 7", ask("retention_rate_d7", ""), 0.08, 0.2},
		{"retention on day 30", ask("retention_rate_d30", ""), 0.02, 0.07},
		{"return on ad spend after 30 days", ask("roas_d30", ""), 0.4, 1.5},
		{"ad revenue by revenue", ask("ad_revenue", "") / ask("revenue", ""), 0.1, 1},
		{"organic installs", ask("installs", "network__in=Organic") / ask("installs", ""), 0.3, 0.75},
	} {
		if c.value < c.low || c.value > c.up {
			t.Errorf("%s: %.4f, want %.2f to %.2f", c.what, c.value, c.low, c.up)
		}
	}
	days := emutest.Report(t, s, "day", "installs", "date_period=2026-01-05:2026-02-01").Column(t, "installs")
	if sunday, tuesday := emutest.Exact(t, days["2026-01-18"]),
		emutest.Exact(t, days["2026-01-20"]); sunday < tuesday*11/10 {
		t.Errorf("%d installs on a Sunday, %d on a Tuesday", sunday, tuesday)
	}
}
