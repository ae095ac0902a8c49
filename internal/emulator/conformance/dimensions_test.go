package conformance_test

import (
	"encoding/csv"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator"
)

// reported are the rows of a report of the account of twelve apps, on two days, without the header.
func reported(t *testing.T, s *emulator.Server, dimensions, more string) [][]string {
	t.Helper()
	c := call(s, "GET", "/reports-service/csv_report?dimensions="+dimensions+"&metrics=installs"+
		"&date_period=2026-03-02:2026-03-03"+more, "x", "", "")
	if c.status == 204 {
		return nil
	}
	rows, err := csv.NewReader(strings.NewReader(c.body)).ReadAll()
	if c.status != 200 || err != nil || len(rows) < 2 || strings.Join(rows[0], ",") != dimensions+",installs" {
		t.Fatalf("%s%s: %d %.300s %v", dimensions, more, c.status, c.body, err)
	}
	for i, r := range rows[1:] {
		rows[i] = r[:len(r)-1]
	}
	return rows[:len(rows)-1]
}

// The account as people know it, written down here and not read from the emulator: its apps, where
// users come from, and what each of them is called. A report must say the same in each dimension.
var (
	accountApps = []string{"Bakery Rush", "Chess Club 2", "Fit+Walk: Steps", "Idle Harbor", `Puzzle "Quest", Deluxe`,
		"Sky Garden", "Très Chic – Mode",
		"Word, Word & Word", "unknown signals", "Кошки и кофе", "مدينة الألعاب", "毎日パズル"}
	// network, partner_name, partner, partner_id, channel
	accountNetworks = [][]string{
		{"AppLovin", "AppLovin", "applovin", "20034", "AppLovin"},
		{"Disabled Third Party Sharing Before Install", "unknown", "unknown", "unknown",
			"Disabled Third Party Sharing Before Install"},
		{"Expired Attributions", "unknown", "unknown", "unknown", "Expired Attributions"},
		{"Facebook Installs", "Facebook", "facebook", "34", "Facebook"},
		{"Google Ads ACI", "Google Ads", "google", "254", "Google Ads"},
		{"Instagram Installs", "Facebook", "facebook", "34", "Facebook"},
		{"Kooperation München", "Direkt & Partner", "direkt_partner", "20417", "Direkt & Partner"},
		{"Measurement Consent Updated Before Install", "unknown", "unknown", "unknown",
			"Measurement Consent Updated Before Install"},
		{`Newsletter, May "best of"`, "unknown", "unknown", "unknown", `Newsletter, May "best of"`},
		{"Organic", "Organic", "organic", "-300", "Organic"},
		{"TikTok for Business", "TikTok for Business", "tiktok", "1678", "TikTok for Business"},
		{"Unity Ads", "Unity", "unityads", "20092", "Unity"},
		{"Unknown", "unknown", "unknown", "unknown", "Unknown"},
		{"Unknown Devices", "unknown", "unknown", "unknown", "Unknown Devices"},
		{"Unknown Devices (restored hov7dx5a)", "unknown", "unknown", "unknown", "Unknown Devices (restored hov7dx5a)"},
		{"Untrusted Devices", "unknown", "unknown", "unknown", "Untrusted Devices"},
		{"unknown", "unknown", "unknown", "unknown", "unknown"},
	}
	// country, country_code, region
	accountCountries = [][]string{
		{"Brazil", "BR", "LATAM"}, {"France", "FR", "EMEA"}, {"Germany", "DE", "EMEA"}, {"India", "IN", "APAC"},
		{"Japan", "JP", "APAC"},
		{"Mexico", "MX", "LATAM"}, {"Türkiye", "TR", "EMEA"}, {"United Kingdom", "GB", "EMEA"},
		{"United States of America", "US", "AMER"},
		{"unknown", "unknown", "unknown"},
	}
	// os_name, device_type, store_type, platform
	accountDevices = [][]string{
		{"android", "phone", "google_play", "mobile_app"}, {"android", "phone", "huawei", "mobile_app"},
		{"android", "phone", "samsung_app_store", "mobile_app"},
		{"android", "tablet", "google_play", "mobile_app"}, {"android", "tablet", "huawei", "mobile_app"},
		{"android", "tablet", "samsung_app_store", "mobile_app"},
		{"fire-tv", "tv", "amazon", "mobile_app"},
		{"ios", "ipod", "app_store", "mobile_app"}, {"ios", "phone", "app_store", "mobile_app"},
		{"ios", "tablet", "app_store", "mobile_app"},
		{"unknown", "unknown", "unknown", "undefined"},
		{"windows", "pc", "microsoft_store", "web"}, {"windows", "pc", "web", "web"},
		{"windows", "tablet", "microsoft_store", "web"}, {"windows", "tablet", "web", "web"},
	}
	accountCampaigns = []string{" padded ", `"Always on"`, "-1 day", "100%_x'y", "=cmd()", "Brand, broad",
		"Expired Attributions", "Größe & Maß", "Summer Sale", "US | iOS | LAL 1%",
		"a,\"b\"\n,c", "line one\nline two", "null", "retargeting_30d", "tab\there", "unknown", "Über-Kampagne; Q1/Q2",
		"Лето, скидки", "حملة الصيف", "夏のセール", "🚀 launch"}
	accountAdgroups  = []string{"AG_01", "Broad, 18+", "Lookalike 1%", `interest="puzzle"`, "unknown", "リターゲ"}
	accountCreatives = []string{"Banner 320x50", "Playable: level 3", "Vidéo été, 30 s", "carousel\t4", "unknown",
		"video_15s.mp4"}
	// source_network, source_id_network
	accountSources = [][]string{{"Audience Network", "7003"}, {"Feed", "7001"}, {"Stories", "7002"},
		{"unknown", "unknown"}}
)

// column is what a dimension says of some rows that were written down: each value once, in a
// report's order.
func column(rows [][]string, i int) (values []string) {
	for _, r := range rows {
		values = append(values, r[i])
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// accountValues are all values of the dimensions that have few.
func accountValues() map[string][]string {
	var hours []string
	for h := range 48 {
		hours = append(hours, fmt.Sprintf("2026-03-%02dT%02d:00:00", 2+h/24, h%24))
	}
	return map[string][]string{
		"hour": hours, "day": {"2026-03-02", "2026-03-03"}, "week": {"2026-03-01 - 2026-03-07"}, "month": {"2026-03"},
		"year": {"2026"}, "quarter": {"Q1 2026"},
		"os_name": column(accountDevices, 0), "device_type": column(accountDevices, 1),
		"store_type": column(accountDevices, 2), "platform": column(accountDevices, 3),
		"app": accountApps, "currency": {"US Dollar"}, "currency_code": {"USD"},
		"network": column(accountNetworks, 0), "partner_name": column(accountNetworks, 1),
		"partner":    column(accountNetworks, 2),
		"partner_id": column(accountNetworks, 3), "channel": column(accountNetworks, 4),
		"country": column(accountCountries, 0), "country_code": column(accountCountries, 1),
		"region":           column(accountCountries, 2),
		"campaign_network": accountCampaigns, "adgroup_network": accountAdgroups, "creative_network": accountCreatives,
		"source_network": column(accountSources, 0), "source_id_network": column(accountSources, 1),
	}
}

// Each dimension says what the account is known to have, in the document's form, and nothing else.
func TestDocumentDimensions(t *testing.T) {
	t.Parallel()
	s := serviceOf(t, emulator.Options{})
	for dimension, want := range accountValues() {
		t.Run(dimension, func(t *testing.T) {
			if got := column(reported(t, s, dimension, ""), 0); !slices.Equal(got, want) {
				t.Errorf("%q\nwant %q", got, want)
			}
		})
	}
	// The names of one thing go together.
	for dimensions, want := range map[string][][]string{"network,partner_name,partner,partner_id,channel": accountNetworks,
		"country,country_code,region": accountCountries, "os_name,device_type,store_type,platform": accountDevices,
		"source_network,source_id_network": accountSources} {
		if got := reported(t, s, dimensions, ""); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%s: %q\nwant %q", dimensions, got, want)
		}
	}
	t.Run("app_token", func(t *testing.T) {
		names := map[string]string{}
		for _, a := range s.Apps() {
			names[a.Token] = a.Name
		}
		rows := reported(t, s, "app_token,app", "")
		for _, r := range rows {
			if names[r[0]] != r[1] {
				t.Errorf("%s is %q, and %q in the list of apps", r[0], r[1], names[r[0]])
			}
		}
		if len(rows) != 12 {
			t.Errorf("%d apps, want 12", len(rows))
		}
	})
	t.Run("store_id", func(t *testing.T) {
		forms := map[string]string{"google_play": "com.example.", "huawei": "com.example.",
			"samsung_app_store": "com.example.", "amazon": "B0",
			"microsoft_store": "B0", "app_store": "1", "web": "missing", "unknown": "missing"}
		for _, r := range reported(t, s, "store_type,store_id,app", "") {
			if form, ok := forms[r[0]]; !ok || !strings.HasPrefix(r[1], form) {
				t.Errorf("%s has the ID %s in %s", r[2], r[1], r[0])
			}
		}
	})
	// What a network bought, at each level: its name, its ID, and both as Adjust shows them.
	// Organic users have none.
	for _, level := range []string{"campaign", "adgroup", "creative"} {
		names := map[string][]string{"campaign": accountCampaigns, "adgroup": accountAdgroups,
			"creative": accountCreatives}[level]
		for i, dimension := range []string{level, level + "_id_network"} {
			t.Run(dimension, func(t *testing.T) {
				for _, r := range reported(t, s, level+","+level+"_id_network,"+level+"_network,network", "") {
					if r[3] == "Expired Attributions" { // stands in its ID and for its name alone
						if r[1] != r[3] && level != "adgroup" || r[0] != r[2] {
							t.Errorf("%q", r)
						}
						continue
					}
					want := []string{r[2] + " (" + r[1] + ")", strings.Trim(strings.TrimPrefix(r[0], r[2]), " ()")}[i]
					if r[2] == "unknown" {
						want = "unknown"
					}
					if r[i] != want || !slices.Contains(names, r[2]) || r[3] == "Organic" && want != "unknown" ||
						strings.Trim(r[1], "0123456789") != "" && want != "unknown" {
						t.Errorf("%s of %q, want %q", dimension, r, want)
					}
				}
			})
		}
	}
	t.Run("ad_account_id", func(t *testing.T) { // one of each app and network that reports its own numbers
		accounts := map[string]string{}
		for _, r := range reported(t, s, "ad_account_id,app,network", "") {
			reports := func(n []string) bool {
				return n[0] == r[2] && (n[1] != "unknown" || n[0] == "unknown") && n[0] != "Organic" &&
					n[0] != "Unity Ads" && n[0] != "Kooperation München"
			}
			known := slices.ContainsFunc(accountNetworks, reports)
			if known == (r[0] == "unknown") || known && accounts[r[1]+r[2]] != "" {
				t.Errorf("%q, and %q before", r, accounts[r[1]+r[2]])
			}
			accounts[r[1]+r[2]] = r[0]
		}
	})
}

// Each filter leaves the values that a person would pick from the list that was written down.
func TestDocumentFilters(t *testing.T) {
	t.Parallel()
	s := serviceOf(t, emulator.Options{})
	values := accountValues()
	operators := map[string]func(value, sent string) bool{
		"in":              func(v, sent string) bool { return v == sent },
		"not_in":          func(v, sent string) bool { return v != sent },
		"contains":        strings.Contains,
		"exclude":         func(v, sent string) bool { return !strings.Contains(v, sent) },
		"starts_with":     strings.HasPrefix,
		"not_starts_with": func(v, sent string) bool { return !strings.HasPrefix(v, sent) },
		"ends_with":       strings.HasSuffix,
		"not_ends_with":   func(v, sent string) bool { return !strings.HasSuffix(v, sent) },
	}
	for operator, keeps := range operators {
		t.Run(operator, func(t *testing.T) {
			for dimension, all := range values {
				whole := all[len(all)/2]
				runes := []rune(whole)
				sent := map[string]string{"in": whole, "not_in": whole,
					"contains":        string(runes[len(runes)/3 : len(runes)-len(runes)/3]),
					"exclude":         string(runes[len(runes)/3 : len(runes)-len(runes)/3]),
					"starts_with":     string(runes[:len(runes)-len(runes)/2]),
					"not_starts_with": string(runes[:len(runes)-len(runes)/2]),
					"ends_with":       string(runes[len(runes)/2:]),
					"not_ends_with":   string(runes[len(runes)/2:])}[operator]
				if strings.HasSuffix(operator, "in") && strings.Contains(sent, ",") {
					continue // a list can't name it
				}
				for _, sent := range []string{sent, strings.ToUpper(sent)} {
					var want []string
					for _, v := range all {
						if keeps(strings.ToLower(v), strings.ToLower(sent)) {
							want = append(want, v)
						}
					}
					if got := column(reported(t, s, dimension, "&"+dimension+"__"+operator+"="+url.QueryEscape(sent)),
						0); !slices.Equal(got, want) {
						t.Errorf("%s__%s=%s: %q\nwant %q", dimension, operator, sent, got, want)
					}
				}
			}
		})
	}
	// Some of them in full, of a dimension that is shown and of one that isn't.
	for _, c := range []struct{ dimension, filter, value, want string }{
		{"app", "app__in", "sky garden,Idle Harbor,nothing", "Idle Harbor|Sky Garden"},
		{"app", "app__contains", "кофе", "Кошки и кофе"},
		{"partner_name", "partner__in", "facebook,unityads", "Facebook|Unity"},
		{"partner_name", "partner_id__in", "-300,34", "Facebook|Organic"},
		{"network", "partner_name__starts_with", "face", "Facebook Installs|Instagram Installs"},
		{"network", "channel__ends_with", `"best of"`, `Newsletter, May "best of"`},
		{"partner", "network__not_in", "organic,applovin,google ads aci,kooperation münchen",
			"facebook|tiktok|unityads|unknown"},
		// Without India and the United States of America.
		{"country_code", "country__not_ends_with", "A", "BR|DE|FR|GB|JP|MX|TR|unknown"},
		{"region", "country_code__not_starts_with", "u", "APAC|EMEA|LATAM"},
		{"os_name", "store_type__exclude", "o", "android|windows"},
		{"device_type", "os_names", "ios,fire-tv", "ipod|phone|tablet|tv"},
	} {
		want := strings.Split(c.want, "|")
		if got := column(reported(t, s, c.dimension, "&"+c.filter+"="+url.QueryEscape(c.value)), 0); !slices.Equal(got,
			want) {
			t.Errorf("%s of %s=%s: %q, want %q", c.dimension, c.filter, c.value, got, want)
		}
	}
}
