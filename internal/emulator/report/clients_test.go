package report_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
)

// These tests send what public clients of the service send, in their own words, to an emulator at
// its default settings, and look for what each of them reads in the answer. The package emulator's
// README lists the clients.

// asClients is an emulator as it is started without a choice: unknown parameters are ignored.
func asClients(t *testing.T) *emulator.Server {
	return emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Readings: []string{"unknown-parameters=ignore"}})
}

// sent is the answer to a request under a host's path, with the header Authorization.
func sent(s *emulator.Server, path, authorization string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Authorization", authorization)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// jsonReport is what clients read of GET /report.
type jsonReport struct {
	Rows []map[string]any `json:"rows"`
}

func readJSON[T any](t *testing.T, body string) (out T) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &out); err != nil {
		t.Fatalf("%v in %.300q", err, body)
	}
	return out
}

// jsonRows are the rows of GET /report.
func jsonRows(t *testing.T, s *emulator.Server, query string) []map[string]any {
	t.Helper()
	return readJSON[jsonReport](t, emutest.Get(t, s, "report?"+query, 200)).Rows
}

// sumOf adds up a metric of JSON rows, whose metrics are strings.
func sumOf(t *testing.T, rows []map[string]any, metric string) (sum int64) {
	t.Helper()
	for _, row := range rows {
		sum += emutest.Exact(t, row[metric].(string))
	}
	return sum
}

// A dashboard's address, which people paste into scripts, has parameters that no document knows.
func TestDashboardParametersAreIgnored(t *testing.T) {
	t.Parallel()
	s := asClients(t)
	const query = "dimensions=channel&metrics=installs,all_revenue_total_d0&date_period=2026-03-01:2026-03-02" +
		"&sort=-installs"
	const more = "&full_data=true&ironsource_mode=ironsource&digital_turbine_mode=digital_turbine" +
		"&applovin_mode=probabilistic&coloring_mode=column" +
		"&fingerprint_status=all&sdk_signature_enforcement_status=all&is_report_setup_open=true&format=json" +
		"&table_view=pivot&parent_report_id=290817&app_token="
	for _, path := range []string{"report?", "csv_report?"} {
		if plain, got := emutest.Get(t, s, path+query, 200), emutest.Get(t, s, path+query+more+s.Apps()[0].Token,
			200); plain != got {
			t.Errorf("%s: %.300q\nwant %.300q", path, got, plain)
		}
	}
	emutest.Get(t, s, "report?"+query+"&moon__in=full", 400) // a filter would change the answer
}

// The old name of ad_spend_mode still chooses, as the authors of four clients mean it to.
func TestScriptsSendCostMode(t *testing.T) {
	t.Parallel()
	s := asClients(t)
	const query = "report?dimensions=day&metrics=cost&date_period=2026-03-01:2026-03-07"
	network := emutest.Get(t, s, query+"&ad_spend_mode=network", 200)
	if got := emutest.Get(t, s, query+"&cost_mode=network", 200); got != network ||
		got == emutest.Get(t, s, query, 200) {
		t.Errorf("%s\nwant %s", got, network)
	}
	if got := emutest.Get(t, s, query+"&cost_mode=adjust&ad_spend_mode=network", 200); got != network {
		t.Error("the old name goes before the new one")
	}
}

// ingestr, PostHog and others parse a body whatever the status says.
func TestIngestrAndPostHogParseAnEmptyReport(t *testing.T) {
	t.Parallel()
	s := asClients(t)
	body := emutest.Get(t, s, "report?dimensions=day,app&metrics=installs&date_period=2020-01-01:2020-01-02", 200)
	if got := readJSON[jsonReport](t, body); got.Rows == nil || len(got.Rows) != 0 ||
		!strings.HasPrefix(body, `{"rows":[]`) {
		t.Errorf("%q", body)
	}
	// An app that sells nothing has no revenue on a day without data; limit and totals don't make
	// rows of it.
	for _, more := range []string{"&limit=1", "&installs__gt=0", "&include_attr_dependency=false"} {
		if rows := jsonRows(t, s, "dimensions=day&metrics=installs&date_period=2020-01-01:2020-01-01"+more); len(
			rows) != 0 {
			t.Errorf("%s: %v", more, rows)
		}
	}
	emutest.Get(t, s, "csv_report?dimensions=day&metrics=installs&date_period=2020-01-01:2020-01-02", 204)
	emutest.Get(t, s, "events?events__contains=nothing", 204)
}

// The forks of Airbyte's first source check their credentials by filters_data without a parameter,
// at the older host.
func TestAirbyteChecksItsConnection(t *testing.T) {
	t.Parallel()
	s := asClients(t)
	w := sent(s, "/control-center/reports-service/filters_data", "Bearer x")
	lists := readJSON[map[string][]map[string]any](t, w.Body.String())
	if w.Code != 200 || len(lists["apps"]) != 12 || len(lists["dimensions"]) != 36 || len(lists["event_metrics"]) == 0 {
		t.Errorf("%d: %d lists, %d apps", w.Code, len(lists), len(lists["apps"]))
	}
	if w := sent(s, "/control-center/reports-service/filters_data", "Bearer "); w.Code != 401 {
		t.Errorf("without a token: %d", w.Code)
	}
}

// A client of several teams asks for the filters of its own apps.
func TestFiltersDataOfSomeApps(t *testing.T) {
	t.Parallel()
	s := asClients(t)
	one := s.Apps()[2]
	lists := readJSON[map[string][]map[string]any](t, emutest.Get(t, s,
		"filters_data?required_filters=apps,store_type&app_token__in="+one.Token, 200))
	all := readJSON[map[string][]map[string]any](t, emutest.Get(t, s, "filters_data?required_filters=apps,store_type",
		200))
	if len(lists["apps"]) != 1 || lists["apps"][0]["id"] != one.Token ||
		len(lists["store_type"]) >= len(all["store_type"]) || len(lists["store_type"]) < 3 {
		t.Errorf("%v of %d kinds of stores", lists, len(all["store_type"]))
	}
}

// Clients find a channel's ID by its name in filters_data, and filter reports by it.
func TestChannelsOfFiltersData(t *testing.T) {
	t.Parallel()
	s := asClients(t)
	body := emutest.Get(t, s, "filters_data?required_filters=channels", 200)
	found := map[string][2]string{}
	for _, c := range readJSON[map[string][]map[string]any](t, body)["channels"] {
		found[c["name"].(string)] = [2]string{c["id"].(string), c["section"].(string)}
	}
	for name, want := range map[string][2]string{"Google Ads": {"partner_254", "Partners"},
		"Facebook": {"partner_34", "Partners"}, "TikTok for Business": {"partner_1678", "Partners"},
		"Organic": {"partner_-300", "Partners"}, "Untrusted Devices": {"network_Untrusted Devices",
			"Custom channels"}} {
		if found[name] != want {
			t.Errorf("%s: %q, want %q", name, found[name], want)
		}
	}
	for name, c := range found {
		rows := jsonRows(t, s, "dimensions=channel&metrics=sessions&date_period=2026-02-01:2026-03-07"+
			"&channel_id__in="+url.QueryEscape(`"`+c[0]+`"`))
		if len(rows) == 0 || slices.ContainsFunc(rows,
			func(r map[string]any) bool { return !strings.EqualFold(r["channel"].(string), name) }) {
			t.Errorf("%s: %v", c[0], rows)
		}
	}
}

// A dashboard names channels in these forms, and an ID that isn't there has no rows and is no
// error.
func TestDashboardChannelIDs(t *testing.T) {
	t.Parallel()
	s := asClients(t)
	channels := func(ids string) (names []string) {
		rows := jsonRows(t, s, "dimensions=channel&metrics=installs&date_period=2026-02-01:2026-03-07"+
			"&channel_id__in="+url.QueryEscape(ids))
		for _, r := range rows {
			names = append(names, r["channel"].(string))
		}
		return names
	}
	for ids, want := range map[string]string{
		"partner_34": "Facebook", "34": "Facebook", "1678": "TikTok for Business",
		"partner_34,1678":              "Facebook|TikTok for Business",
		`"partner_-300","partner_254"`: "Google Ads|Organic", "partner_369|network_Mintegral": "", "partner_7": "",
		"34,partner_7":                                         "Facebook",
		"partner_34|network_Unknown Devices":                   "Facebook|Unknown Devices",
		`"network_Unknown Devices (restored hov7dx5a)"`:        "Unknown Devices (restored hov7dx5a)",
		"network_Disabled Third Party Sharing Before Install":  "Disabled Third Party Sharing Before Install",
		`"network_Measurement Consent Updated Before Install"`: "Measurement Consent Updated Before Install",
		`"network_Expired Attributions"`:                       "Expired Attributions",
		`"network_Newsletter, May "best of"","partner_34"`:     `Facebook|Newsletter, May "best of"`,
	} {
		if got := strings.Join(channels(ids), "|"); got != want {
			t.Errorf("%s: %s, want %s", ids, got, want)
		}
	}
}

// All rows of the service's own networks are without campaigns and costs; one stands for its own
// ID.
func TestSpecialChannelsHaveNoCampaigns(t *testing.T) {
	t.Parallel()
	s := asClients(t)
	names := map[string]bool{}
	for _, r := range jsonRows(t, s, "dimensions=network,campaign,campaign_id_network,partner_name"+
		"&metrics=installs,cost,clicks&date_period=2026-02-01:2026-03-07"+
		"&channel_id__starts_with=network_U,&network__in="+url.QueryEscape(
		`"Untrusted Devices","Unknown Devices","Unknown","Expired Attributions"`)) {
		names[r["network"].(string)] = true
		if r["cost"] != "0.0" && r["network"] != "unknown" || r["partner_name"] != "unknown" {
			t.Errorf("%v", r)
		}
	}
	expired := jsonRows(t, s, "dimensions=network,campaign_id_network,creative_id&metrics=installs"+
		"&date_period=2026-02-01:2026-03-07&network__in=expired%20attributions")
	if len(expired) != 1 || expired[0]["campaign_id_network"] != "Expired Attributions" ||
		expired[0]["creative_id"] != "Expired Attributions" {
		t.Errorf("%v", expired)
	}
}

// A script reads the rows of each channel's ID, then asks for the channel's own by drilldown.
func TestScriptDrillsDownByChannel(t *testing.T) {
	t.Parallel()
	s := asClients(t)
	const query = "dimensions=channel&metrics=installs&date_period=-7d:-1d&full_data=true&coloring_mode=column" +
		"&limit=5000&sort=-installs"
	seen := 0
	for _, row := range jsonRows(t, s, query) {
		behind := row["attr_dependency"].(map[string]any)
		sub := jsonRows(t, s, query+"&drilldown=channel:"+url.QueryEscape(behind["channel_id"].(string)))
		if name := row["channel"].(string); !strings.EqualFold(name, "unknown") { // of which there are two
			if len(sub) != 1 || sub[0]["channel"] != name || sub[0]["installs"] != row["installs"] {
				t.Errorf("%v: %v", row, sub)
			}
			seen++
		}
	}
	if seen < 10 {
		t.Errorf("%d channels", seen)
	}
	emutest.Get(t, s, "report?"+query+"&drilldown=moon:1", 400)
}

// The IDs behind the names that networks give: clients join their own tables by them.
func TestAttrDependencyOfNetworkNames(t *testing.T) {
	t.Parallel()
	s := asClients(t)
	rows := jsonRows(t, s, "dimensions=app_token,campaign_network,adgroup_network,creative_network&metrics=cost"+
		"&date_period=-3d:-1d&network__in=AppLovin")
	for _, row := range rows {
		behind := row["attr_dependency"].(map[string]any)
		for _, level := range []string{"campaign", "adgroup", "creative"} {
			id, _ := behind[level+"_id_network"].(string)
			if name := row[level+"_network"]; (name == "unknown") != (id == "unknown") || id != "unknown" &&
				!regexp.MustCompile("^[0-9]+$").MatchString(id) {
				t.Errorf("%s %v has the ID %q", level, name, id)
			}
		}
	}
	if len(rows) < 5 {
		t.Errorf("%d rows", len(rows))
	}
}

// A dashboard and two clients quote the values of lists; within quotes a comma is part of the
// value.
func TestDashboardQuotesValues(t *testing.T) {
	t.Parallel()
	s := asClients(t)
	a, b := s.Apps()[0], s.Apps()[1]
	const query = "dimensions=app_token&metrics=installs&date_period=2026-03-01:2026-03-07&"
	for filter, want := range map[string]int{
		`app_token__in="` + a.Token + `","` + b.Token + `"`: 2, `app_token__in="` + a.Token + `"`: 1,
		`network__in="Newsletter, May "best of""`:  -1,
		`app__in="Word, Word & Word","Sky Garden"`: 2, `app__in=Word, Word & Word`: 0, `app__not_in="Sky Garden"`: 11,
		`store_type__in="google_play"`: -1, `campaign_network__in="Always on"`: -1,
	} {
		name, value, _ := strings.Cut(filter, "=")
		w := emutest.Ask(s, "report?"+query+name+"="+url.QueryEscape(value))
		if rows := readJSON[jsonReport](t, w.Body.String()).Rows; w.Code != 200 || want >= 0 && len(rows) != want ||
			want < 0 && len(rows) == 0 {
			t.Errorf("%s: %d, %d rows, want %d", filter, w.Code, len(rows), want)
		}
	}
}

// A dashboard of links asks for the numbers of some trackers, at the older host.
func TestLinkPageFiltersByTracker(t *testing.T) {
	t.Parallel()
	s := asClients(t)
	const query = "dimensions=network&metrics=installs,clicks,sessions&date_period=2026-02-12:2026-03-13"
	all := jsonRows(t, s, "dimensions=tracker_token,network&metrics=installs,clicks,sessions"+
		"&date_period=2026-02-12:2026-03-13")
	var tokens []string
	for _, r := range all[:3] {
		tokens = append(tokens, r["tracker_token"].(string))
	}
	w := sent(s, "/control-center/reports-service/report?"+query+"&tracker_token__in="+strings.Join(tokens, ","),
		"Bearer x")
	rows := readJSON[jsonReport](t, w.Body.String()).Rows
	if got, want := sumOf(t, rows, "sessions"), sumOf(t, all[:3], "sessions"); w.Code != 200 || got != want ||
		len(all) < 50 {
		t.Errorf("%d: %d sessions of %v, want %d; %d trackers", w.Code, got, tokens, want, len(all))
	}
	if rows := jsonRows(t, s, query+"&tracker_token__in=nosuch"); len(rows) != 0 {
		t.Errorf("%v", rows)
	}
}

// A report of creatives is read from pivot_report: rows under their day, which is the index and no
// dimension. The client takes the keys of an element of rows that look like dates for days.
func TestCreativeReportReadsThePivot(t *testing.T) {
	t.Parallel()
	s := asClients(t)
	app := s.Apps()[0].Token
	query := url.Values{"app_token__in": {`"` + app + `"`}, "channel_id__in": {`"partner_254"`}, "index": {"day"},
		"dimensions": {"creative_network,campaign"},
		"metrics":    {"cost,installs"}, "date_period": {"2026-03-01:2026-03-03"}, "ad_spend_mode": {"network"},
		"attribution_source": {"first"}, "reattributed": {"all"},
		"sandbox": {"false"}, "cohort_maturity": {"mature"}, "format_dates": {"true"}, "full_data": {"true"},
		"readable_names": {"true"}}
	pivot := readJSON[struct {
		Rows   []map[string]struct{ Rows []map[string]any }
		Totals map[string]float64
		By     map[string]map[string]map[string]float64 `json:"totals_per_dimension"`
	}](t, emutest.Get(t, s, "pivot_report?"+query.Encode(), 200))
	query.Set("dimensions", "day,creative_network,campaign")
	query.Del("index")
	want := jsonRows(t, s, query.Encode())
	sums := map[string]float64{}
	var got []string
	for _, group := range pivot.Rows {
		for day, list := range group {
			for _, row := range list.Rows {
				if _, twice := row["day"]; twice {
					t.Errorf("the index is in the row too: %v", row)
				}
				got = append(got, fmt.Sprintf("%s|%v|%v|%.6f", day, row["creative_network"], row["campaign"],
					row["cost"]))
				sums[day] += row["cost"].(float64)
			}
		}
	}
	for i, row := range want {
		if line := fmt.Sprintf("%v|%v|%v|%.6f", row["day"], row["creative_network"], row["campaign"],
			emutest.Double(t, row["cost"].(string))); i >= len(got) || got[i] != line {
			t.Fatalf("row %d is not %s in %q", i, line, got)
		}
	}
	if len(got) != len(want) || len(want) < 3 || len(pivot.Rows) != len(pivot.By["day"]) {
		t.Errorf("%d rows, want %d; days %v", len(got), len(want), pivot.By["day"])
	}
	total := 0.0
	for day, sum := range sums {
		if total += sum; fmt.Sprintf("%.5f", sum) != fmt.Sprintf("%.5f", pivot.By["day"][day]["cost"]) {
			t.Errorf("%s: %v, want %v", day, pivot.By["day"][day]["cost"], sum)
		}
	}
	sorted := readJSON[struct{ Rows []map[string]any }](t, emutest.Get(t, s,
		"pivot_report?index=day&dimensions=app,day&metrics=cost&date_period=2026-03-01:2026-03-03&sort=-cost", 200))
	if len(sorted.Rows) != 3 || sorted.Rows[0]["2026-03-01"] == nil || sorted.Rows[2]["2026-03-03"] == nil {
		t.Errorf("sorted by cost: %d groups", len(sorted.Rows))
	}
	if fmt.Sprintf("%.5f", total) != fmt.Sprintf("%.5f", pivot.Totals["cost"]) || len(pivot.By) != 3 {
		t.Errorf("totals %v by %d dimensions, want cost %v", pivot.Totals, len(pivot.By), total)
	}
}

// Without an index the pivot's error says where it is missing, which the same client looks for.
func TestCreativeReportIsToldOfItsIndex(t *testing.T) {
	t.Parallel()
	s := asClients(t)
	body := emutest.Get(t, s, "pivot_report?dimensions=day&metrics=cost&date_period=2026-03-01:2026-03-03", 422)
	if !strings.Contains(body, `"error_code":"validation_error"`) || !strings.Contains(body, `"loc":["index"]`) {
		t.Error(body)
	}
	emutest.Get(t, s, "pivot_report?index=day,app&dimensions=day,app&metrics=cost&date_period=2026-03-01:2026-03-03",
		400)
	emutest.Get(t, s, "pivot_report?index=moon&dimensions=day&metrics=cost&date_period=2026-03-01:2026-03-03", 400)
	if body := emutest.Get(t, s, "pivot_report?index=day&dimensions=app&metrics=cost&date_period=2020-03-01:2020-03-03",
		200); !strings.HasPrefix(body, `{"rows":[],"totals":{}`) {
		t.Error(body)
	}
}

// Two scripts of one author write the period with a capital letter, and read it with a small one.
func TestScriptWritesPeriodsInCapitals(t *testing.T) {
	t.Parallel()
	s := asClients(t)
	const query = "csv_report?dimensions=day&date_period=2026-03-01:2026-03-07&sort=-retained_users_D1&metrics="
	got := emutest.Get(t, s, query+"time_spent_per_active_user_D0,retained_users_D1,purchase_D7_revenue_cohort", 200)
	if want := emutest.Get(t, s, strings.Replace(query, "_D1", "_d1",
		1)+"time_spent_per_active_user_d0,retained_users_d1,purchase_d7_revenue_cohort", 200); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	emutest.Get(t, s, query+"retained_users_D999", 400)
}

// The same scripts look for events by a name that the documents of 2023 have.
func TestScriptSearchesEventsByTheOlderName(t *testing.T) {
	t.Parallel()
	s := asClients(t)
	got := sent(s, "/control-center/reports-service/events?event__contains=purchase", "Bearer x").Body.String()
	if want := emutest.Get(t, s, "events?events__contains=purchase", 200); got != want ||
		len(want) == len(emutest.Get(t, s, "events", 200)) {
		t.Errorf("%.300s\nwant %.300s", got, want)
	}
}

// A pull of every hour authorizes itself as the service's older interfaces have it.
func TestPullSendsTokenScheme(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 1, Token: "right",
		Readings: []string{"unknown-parameters=ignore"}})
	const path = "/reports-service/report?dimensions=day,network&metrics=installs&date_period=-3d:-1d" +
		"&ad_revenue_sources=AppLovin+Max,S2S+Ad+Revenue"
	for header, status := range map[string]int{"Token token=right": 200, `Token token="right"`: 200,
		"Bearer right": 200, "Token token=wrong": 401, "Token token=": 401, "Token right": 401, "": 401} {
		if w := sent(s, path, header); w.Code != status {
			t.Errorf("%q: %d, want %d: %s", header, w.Code, status, w.Body)
		}
	}
}

// Whoever writes to the service's support is asked for the correlation_id of an error.
func TestSupportAsksForTheCorrelationID(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 1, Token: "right",
		Readings: []string{"unknown-parameters=ignore"}})
	s.SetFaults([]emulator.Fault{{Kind: emulator.FaultStatus, Status: 500, Path: "events", Every: 1}})
	form := regexp.MustCompile(`,"correlation_id":"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"}$`)
	for path, status := range map[string]int{"report?dimensions=day&metrics=nope&date_period=today": 400, "events": 500,
		"nothing": 404} {
		w := sent(s, "/reports-service/"+path, "Bearer right")
		if w.Code != status || !form.MatchString(w.Body.String()) || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if w := sent(s, "/reports-service/events", "Bearer wrong"); !form.MatchString(w.Body.String()) {
		t.Errorf("401: %s", w.Body)
	}
}

// A client of 39 apps had 936 rows by day and hour: each app has all hours, and fractions of daily
// users in each.
func TestHourlyPullHasEveryHour(t *testing.T) {
	t.Parallel()
	s := asClients(t)
	a := emutest.Report(t, s, "app,day,hour", "installs,daus", "date_period=2026-03-10:2026-03-10")
	if len(a.Rows) != 12*24 {
		t.Errorf("%d rows, want %d", len(a.Rows), 12*24)
	}
	fractions := 0
	for _, row := range a.Rows {
		users := row[4]
		if !regexp.MustCompile(`^[0-9]+\.[0-9]{1,2}$`).MatchString(users) || emutest.Double(t, users) <= 0 {
			t.Errorf("%q", row)
		}
		if !strings.HasSuffix(users, ".0") {
			fractions++
		}
	}
	if fractions < len(a.Rows)/2 {
		t.Errorf("%d of %d hours have a fraction", fractions, len(a.Rows))
	}
	for _, row := range emutest.Report(t, s, "app,day", "daus", "date_period=2026-03-10:2026-03-10").Rows {
		if !strings.HasSuffix(row[2], ".0") {
			t.Errorf("a day has %s users", row[2])
		}
	}
}

// Where an app is sold, as a filter and a dimension of its own.
func TestReportByAppNetwork(t *testing.T) {
	t.Parallel()
	s := asClients(t)
	rows := jsonRows(t, s, "dimensions=app,app_network&metrics=installs&date_period=2026-03-01:2026-03-07")
	for _, row := range rows {
		store := row["app_network"].(string)
		list := row["attr_dependency"].(map[string]any)["app_network"].([]any)
		if len(list) != 1 || list[0] != store || !strings.Contains(store, ":") {
			t.Errorf("%v", row)
		}
	}
	if got := jsonRows(t, s, "dimensions=app,app_network&metrics=installs&date_period=2026-03-01:2026-03-07"+
		"&app_network__in="+url.QueryEscape(rows[0]["app_network"].(string))); len(got) != 1 {
		t.Errorf("%v", got)
	}
}
