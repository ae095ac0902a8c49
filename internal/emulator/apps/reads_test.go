package apps_test

import (
	"encoding/csv"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator/apps"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

func TestAdditionalStores(t *testing.T) {
	t.Parallel()
	s := atOnce(t)
	app := create(t, s, garden("additional_stores", object{"amazon": object{"store_id": "B01"},
		"huawei": object{"store_id": "C1"}}))
	post := func(body object) {
		t.Helper()
		if got := callOK[createdApp](t, s, "POST", "app/"+app.Token, body); got.StoreID != "com.example.garden2" ||
			got.BundleID != "com.example.garden2" || got.Ticket != app.Ticket {
			t.Errorf("%+v", got)
		}
	}
	post(object{"additional_stores": object{"amazon": object{"store_id": "B02", "note": "x"},
		"samsung_app_store": object{"store_id": "S1"}}})
	post(object{})
	post(object{"store_id": "com.example.garden2", "platform": "android"})
	details := callOK[object](t, s, "GET", "app/"+app.Token, nil)
	stores := object{"amazon": object{"store_id": "B02"}, "huawei": object{"store_id": "C1"},
		"samsung_app_store": object{"store_id": "S1"}}
	if details["store_id"] != "com.example.garden2" || asJSON(t, details["additional_info"]) != asJSON(t,
		object{"overrides": object{}, "additional_stores": stores}) {
		t.Errorf("%v", details)
	}
	info := settingsOf(t, s, app.Token)["app_info"].(object)
	if asJSON(t, info["stores"]) != asJSON(t, apps.Merged(stores,
		object{"google_play": object{"store_id": "com.example.garden2"}})) ||
		info["bundle_id"] != "com.example.garden2" {
		t.Errorf("%v", info)
	}
	for query, want := range map[string]string{
		"store_id=com.example.garden2&platform=android":                   "200",
		"store_id=com.example.garden2&platform=android&store=google_play": "200",
		"store_id=B02&platform=android&store=amazon":                      "400 request_error App not found",
		"store_id=B01&platform=android&store=amazon":                      "400 request_error App not found",
		"store_id=B02&platform=android":                                   "400 request_error App not found",
		"store_id=B02&platform=android&store=huawei":                      "400 request_error App not found",
		"store_id=com.example.garden2&platform=android&store=amazon":      "200",
		"store_id=com.example.garden2&platform=android&store=xiaomi":      "400 request_error App not found",
		"store_id=com.example.garden2&platform=ios":                       "400 request_error App not found",
		"store_id=com.example.garden2&platform=windows": "422 validation_error query.platform: " +
			"Input should be 'android' or 'ios'",
		"store_id=com.example.garden2": "422 validation_error query.platform: " +
			"Field required",
		"platform=android": "422 validation_error query.store_id: " +
			"Field required",
		"": "422 validation_error query.platform: " +
			"Field required; query.store_id: Field required",
	} {
		w := send(t, s, "GET", "app?"+query, nil)
		if got := refusal(t, w); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
		if w.Code == 200 && !strings.Contains(w.Body.String(), app.Token) {
			t.Errorf("%s: %s", query, w.Body)
		}
	}
	// The additional ID is nobody's default one: an app of it is another app.
	if second := create(t, s, garden("store_id", "B02")); second.Token == app.Token {
		t.Error("an additional store ID was taken for the default one")
	}
}

func TestUpdateByToken(t *testing.T) {
	t.Parallel()
	s := atOnce(t)
	setup := object{"tapjoy": object{"app_id": "1"}}
	app := create(t, s, garden("channel_setup", setup))
	for _, c := range []struct {
		body object
		want string
	}{
		{object{"store_id": "com.other"}, "body.store_id: An app's default store ID can't be changed"},
		{object{"platform": "ios"}, "body.platform: An app's platform can't be changed"},
		{object{"platform": "x"}, "body.platform: An app's platform can't be changed; body.platform: Input should " +
			"be 'android' or 'ios'"},
		{object{"name": ""}, "body.name: String should have at least 1 character"},
		{object{"sections": []any{"app_info"}}, "body.sections.0: app_info is read-only and can't be migrated"},
		{object{"channel_setup": object{"tapjoy": object{}}}, "body.channel_setup.tapjoy.app_id: Field required"},
		{object{"template_app_token": "nosuchtoken1"}, "body.template_app_token: The template app was not found"},
	} {
		if got := refusal(t, send(t, s, "POST", "app/"+app.Token, c.body)); got != "422 validation_error "+c.want {
			t.Errorf("%v: %s", c.body, got)
		}
	}
	if got := refusal(t, send(t, s, "POST", "app/nosuchtoken1", object{})); got != "400 request_error App not found" {
		t.Error(got)
	}
	got := callOK[createdApp](t, s, "POST", "app/"+app.Token, object{"name": "New", "bundle_id": "com.new"})
	if got != (createdApp{app.Token, "New", "com.new", app.StoreID, app.Ticket, nil}) {
		t.Errorf("%+v", got)
	}
	if got := callOK[apps.AppDetails](t, s, "GET", "app/"+app.Token, nil); got.Name != "New" ||
		asJSON(t, got.Channels) != asJSON(t, setup) {
		t.Errorf("%+v: what a part of an update leaves out stays", got)
	}
	got = callOK[createdApp](t, s, "POST", "app/"+app.Token, object{"channel_setup": object{}})
	if d := callOK[apps.AppDetails](t, s, "GET", "app/"+app.Token, nil); got.Ticket == app.Ticket ||
		len(d.Channels) != 0 {
		t.Errorf("%+v %+v", got, d)
	}
	if again := callOK[createdApp](t, s, "POST", "app/"+app.Token, object{"force_update": true}); again.Ticket ==
		got.Ticket {
		t.Error("force_update queued no job")
	}
	// A made-up app comes under management by it.
	made := s.Apps()[1]
	if got := callOK[createdApp](t, s, "POST", "app/"+made.Token, object{}); got.Name != made.Name || got.Ticket == "" {
		t.Errorf("%+v", got)
	}
	callOK[apps.AppDetails](t, s, "GET", "app/"+made.Token, nil)
	ios := create(t, s, iosGarden())
	if got := refusal(t, send(t, s, "POST", "app/"+ios.Token,
		object{"additional_stores": object{"amazon": object{"store_id": "x"}}})); got !=
		"422 validation_error body.additional_stores: Only Android apps have additional stores" {
		t.Error(got)
	}
}

func TestListApps(t *testing.T) {
	t.Parallel()
	s := atOnce(t)
	if got := send(t, s, "GET", "apps/list", nil).Body.String(); got != "[]" {
		t.Errorf("at first %s", got)
	}
	var tokens []string
	for n := range 7 {
		tokens = append(tokens, create(t, s, garden("store_id", fmt.Sprint("com.a", n))).Token)
	}
	create(t, s, garden("store_id", "com.a2", "force_update", true)) // an update changes no place
	callOK[object](t, s, "POST", "events", object{"app_tokens": []any{s.Apps()[0].Token},
		"events": []any{object{"name": "x"}}})
	for query, want := range map[string][]string{"": tokens, "?limit=3": tokens[:3], "?limit=3&offset=5": tokens[5:],
		"?offset=2": tokens[2:],
		"?offset=9": {}, "?limit=0": {}} {
		got := []string{}
		for _, a := range callOK[[]apps.AppDetails](t, s, "GET", "apps/list"+query, nil) {
			got = append(got, a.Token)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	for query, want := range map[string]string{"?limit=x": "query.limit", "?offset=-1": "query.offset"} {
		if got := refusal(t, send(t, s, "GET", "apps/list"+query, nil)); got !=
			"422 validation_error "+want+": Input should be a whole number that isn't negative" {
			t.Errorf("%s: %s", query, got)
		}
	}
	// The fields of the document, and no other.
	one := callOK[object](t, s, "GET", "app/"+tokens[0], nil)
	if got, want := asJSON(t, one),
		`{"additional_info":{"overrides":{}},"adjust_app_token":"`+tokens[0]+`","channel_setup":{},"name":"Sky Garden 2","platform":"android","store_id":"com.a0"}`; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if list := callOK[[]object](t, s, "GET", "apps/list?limit=1", nil); asJSON(t, list[0]) != asJSON(t, one) {
		t.Errorf("%v", list)
	}
}

func TestSettingsBySection(t *testing.T) {
	t.Parallel()
	s := atOnce(t)
	androidApp, iosApp := create(t, s, garden()).Token, create(t, s, iosGarden()).Token
	all := append(slices.Clone(sectionOrder), "app_info")
	for _, token := range []string{androidApp, iosApp, s.Apps()[0].Token, s.Apps()[1].Token} {
		whole := settingsOf(t, s, token)
		platform := whole["app_info"].(object)["default_platform"]
		for _, name := range all {
			only := map[string]any{"attribution_privacy_model": "ios", "skad_network_v4": "ios",
				"signature": "android"}[name]
			has := only == nil || only == platform
			got := callOK[object](t, s, "GET", "app/"+token+"/settings?sections="+name, nil)
			want := object{}
			if has {
				want[name] = whole[name]
			}
			if asJSON(t, got) != asJSON(t, want) || has == (whole[name] == nil) {
				t.Errorf("%s %s: %v", platform, name, got)
			}
		}
		if len(whole) != len(all)-1-map[any]int{"android": 1, "ios": 0}[platform] {
			t.Errorf("%s: %d sections", platform, len(whole))
		}
		if got := callOK[object](t, s, "GET", "app/"+token+"/settings?sections=events&sections=partners",
			nil); len(got) != 2 {
			t.Errorf("two sections: %v", got)
		}
	}
	got := refusal(t, send(t, s, "GET", "app/"+androidApp+"/settings?sections=events&sections=x&sections=y", nil))
	if got != "422 validation_error query.sections.1: Unknown section; query.sections.2: Unknown section" {
		t.Error(got)
	}
	event := settingsOf(t, s, s.Apps()[0].Token)["events"].([]any)[0].(object)
	if e := s.Apps()[0].Events[0]; event["name"] != e.Name || event["token"] != e.Token ||
		event["app_token"] != s.Apps()[0].Token {
		t.Errorf("%v is not %+v", event, e)
	}
}

func TestSettingsCSV(t *testing.T) {
	t.Parallel()
	s := atOnce(t)
	app := create(t, s, garden("name", `A "quoted", name`, "additional_stores",
		object{"amazon": object{"store_id": "B01"}}, "channel_setup",
		object{"applovin": object{"sdk_keys": []any{"a", "b"}}})).Token
	export := func(query string) [][]string {
		t.Helper()
		w := send(t, s, "GET", "settings/csv?"+query, nil)
		rows, err := csv.NewReader(w.Body).ReadAll()
		if err != nil || w.Code != 200 || w.Header().Get("Content-Type") != wire.CSV ||
			strings.Join(rows[0], ",") != "app_token,app_name,section,setting,value" {
			t.Fatalf("%s: %d %v %v", query, w.Code, w.Header(), err)
		}
		return rows[1:]
	}
	values := map[string]string{}
	for _, row := range export("app_tokens=" + app) {
		if row[0] != app || row[1] != `A "quoted", name` || values[row[2]+" "+row[3]] != "" {
			t.Errorf("row %q", row)
		}
		values[row[2]+" "+row[3]] = row[4]
	}
	for at, want := range map[string]string{
		"app_info name": `A "quoted", name`, "app_info stores.amazon.store_id": "B01",
		"app_info stores.google_play.store_id":               "com.example.garden2",
		"attribution_settings click_device_matching.window":  "604800",
		"attribution_settings click_device_matching.enabled": "true",
		"callbacks global.url":                               "https://callbacks.example.com/all",
		"signature android_fingerprints":                     "[]",
		"partners applovin.channel_setup.sdk_keys":           `["a","b"]`, "events Purchase.archived": "false",
		"trackers tapjoy_installs.partner": "tapjoy",
	} {
		if values[at] != want {
			t.Errorf("%s: %q, want %q", at, values[at], want)
		}
	}
	sections, tokens := map[string]bool{}, map[string]bool{}
	for _, row := range export("") {
		sections[row[2]], tokens[row[0]] = true, true
	}
	if len(sections) != 16 || len(tokens) != 4 {
		t.Errorf("%d sections of %d apps", len(sections), len(tokens))
	}
	other := s.Apps()[1].Token
	for _, row := range export("sections=s2s&sections=events&app_tokens=" + other + "&app_tokens=" + app) {
		if row[2] != "s2s" && row[2] != "events" || row[0] != other && row[0] != app {
			t.Errorf("row %q", row)
		}
	}
	if rows := export("sections=skad_network_v4&app_tokens=" + app); len(rows) != 0 {
		t.Errorf("of another platform: %q", rows)
	}
	for query, want := range map[string]string{"app_tokens=nosuchtoken1": "400 request_error App not found",
		"sections=x": "422 validation_error query.sections.0: Unknown section"} {
		if got := refusal(t, send(t, s, "GET", "settings/csv?"+query, nil)); got != want {
			t.Errorf("%s: %s", query, got)
		}
	}
	// Secrets' values aren't in settings.
	for _, secret := range callOK[struct {
		C struct{ Secrets []apps.SDKSecret } `json:"combined_secrets"`
	}](t, s, "POST", "app/"+other+"/secrets/revoke_outdated", object{"min_active_version": 1}).C.Secrets {
		for _, value := range secret.Value {
			if text := send(t, s, "GET", "settings/csv?app_tokens="+url.QueryEscape(other),
				nil).Body.String() + asJSON(t, settingsOf(t, s, other)); strings.Contains(text, value) {
				t.Errorf("secret %d is in the settings", secret.ID)
			}
		}
	}
}
