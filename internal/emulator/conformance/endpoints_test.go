package conformance_test

import (
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator"
)

// Each endpoint of app automation answers 200 and does what the document says of it.
func TestDocumentAppEndpoints(t *testing.T) {
	t.Parallel()
	s := serviceOf(t, emulator.Options{Apps: 3, Days: 2})
	app := made(t, s, androidApp())
	token, ticket := app["adjust_app_token"].(string), app["ticket_token"].(string)
	other := s.Apps()[1].Token // of the account, not made through this API
	ok := func(t *testing.T, method, path string, body any) fields {
		t.Helper()
		c := automation(t, s, method, path, "x", body)
		if c.status != 200 {
			t.Fatalf("%s %s: %d %s", method, path, c.status, c.body)
		}
		return object[fields](t, c)
	}
	secrets := func(t *testing.T) (list []any) {
		t.Helper()
		return ok(t, "GET", "/app/"+token+"/settings?sections=sdk_secrets",
			nil)["sdk_secrets"].(fields)["secrets"].([]any)
	}
	t.Run("POST /app", func(t *testing.T) {
		again := made(t, s, androidApp("name", "Renamed", "force_update", true))
		if again["adjust_app_token"] != token || again["name"] != "Renamed" || again["ticket_token"] == ticket {
			t.Errorf("the same store ID and platform again: %v after %v", again, app)
		}
		c := automation(t, s, "POST", "/app", "x", androidApp("platform", nil))
		if c.status != 422 || detail(t, c) != `[{"loc":["body","platform"],"msg":"Field required"}]` {
			t.Errorf("without platform: %d %s", c.status, c.body)
		}
		both := made(t, s, iosApp("store_id", "4711"))
		if both["adjust_app_token"] == token {
			t.Error("another platform is the same app")
		}
	})
	t.Run("POST /app/{app_token}", func(t *testing.T) {
		overrides := fields{"signature": fields{"enforce_install_signing": true}}
		got := ok(t, "POST", "/app/"+token, fields{"name": "By token", "override_settings": overrides,
			"additional_stores": fields{"amazon": fields{"store_id": "B00AMAZON1"}}})
		details := detailsOf(t, s, app)
		if got["adjust_app_token"] != token || details["name"] != "By token" ||
			same(t, details["additional_info"].(fields)["overrides"]) != same(t, overrides) {
			t.Errorf("%v, then %v", got, details)
		}
	})
	t.Run("PATCH /app/{app_token}/signature", func(t *testing.T) {
		print := strings.TrimSuffix(strings.Repeat("C4:BD:07:91:", 5), ":")
		got := ok(t, "PATCH", "/app/"+token+"/signature", fields{"enforce_install_signing": true,
			"android_fingerprints": []string{print}})
		kept := ok(t, "GET", "/app/"+token+"/settings?sections=signature", nil)["signature"]
		if same(t, got) != same(t, kept) || !strings.Contains(same(t, kept), print) {
			t.Errorf("%v, then %v", got, kept)
		}
	})
	t.Run("GET /app", func(t *testing.T) {
		for query, want := range map[string]bool{"store_id=com.new.game&platform=android": true,
			"store_id=com.new.game&platform=android&store=google_play": true,
			"store_id=B00AMAZON1&platform=android&store=amazon":        false,
			"store_id=com.new.game&platform=android&store=amazon":      true,
			"store_id=com.new.game&platform=android&store=huawei":      false,
			"store_id=com.new.game&platform=ios":                       false} {
			c := automation(t, s, "GET", "/app?"+query, "x", nil)
			if want != (c.status == 200 && object[fields](t, c)["adjust_app_token"] == token) || !want &&
				c.status != 400 {
				t.Errorf("%s: %d %s", query, c.status, c.body)
			}
		}
	})
	t.Run("GET /app/{app_token}", func(t *testing.T) {
		if got := ok(t, "GET", "/app/"+token, nil); got["adjust_app_token"] != token ||
			got["store_id"] != "com.new.game" {
			t.Errorf("%v", got)
		}
	})
	t.Run("GET /app/{app_token}/settings", func(t *testing.T) {
		if got := ok(t, "GET", "/app/"+other+"/settings", nil); len(got) < 10 ||
			got["app_info"].(fields)["app_token"] != other {
			t.Errorf("an app that wasn't made through this API: %v", got)
		}
		if got := ok(t, "GET", "/app/"+token+"/settings?sections=events&sections=partners", nil); len(got) != 2 ||
			got["events"] == nil || got["partners"] == nil {
			t.Errorf("two sections: %v", got)
		}
	})
	t.Run("GET /apps/list", func(t *testing.T) {
		c := automation(t, s, "GET", "/apps/list", "x", nil)
		var tokens []string
		for _, a := range object[[]fields](t, c) {
			tokens = append(tokens, a["adjust_app_token"].(string))
		}
		if len(tokens) != 2 || !slices.Contains(tokens, token) || slices.Contains(tokens, other) {
			t.Errorf("listed %v, made %s, not made %s", tokens, token, other)
		}
	})
	t.Run("GET /status/{ticket_token}", func(t *testing.T) {
		got := ok(t, "GET", "/status/"+ticket, nil)
		if got["status"] != "completed" || got["kind"] != "migration" ||
			got["result"].(fields)["events"].(fields)["successes"] == nil {
			t.Errorf("%v", got)
		}
	})
	t.Run("POST /events", func(t *testing.T) {
		send := fields{"app_tokens": []string{token, other}, "events": []fields{{"name": "level done", "unique": true},
			{"name": "bought"}}}
		first, second := ok(t, "POST", "/events", send), ok(t, "POST", "/events", send)
		if len(first["successes"].([]any)) != 4 || same(t, first["successes"]) != same(t, second["successes"]) {
			t.Errorf("created %v, then updated %v", first, second)
		}
		events := same(t, ok(t, "GET", "/app/"+token+"/settings?sections=events", nil))
		if strings.Count(events, `"level done"`) != 1 || !strings.Contains(events, `"bought"`) {
			t.Errorf("events %s", events)
		}
	})
	t.Run("GET /settings/csv", func(t *testing.T) {
		c := automation(t, s, "GET", "/settings/csv", "x", nil)
		rows, err := csv.NewReader(strings.NewReader(c.body)).ReadAll()
		if err != nil || c.status != 200 || !strings.HasPrefix(c.kind, "text/csv") || len(rows) < 50 {
			t.Fatalf("%d %s, %d rows, %v", c.status, c.kind, len(rows), err)
		}
		of := map[string]bool{}
		for _, r := range rows[1:] {
			of[r[0]] = true
		}
		if !of[token] || !of[other] {
			t.Errorf("settings of the apps %v, want any of the account", of)
		}
	})
	t.Run("POST /app/{app_token}/secrets/revoke_outdated", func(t *testing.T) {
		path := "/app/" + token + "/secrets/revoke_outdated"
		if c := automation(t, s, "POST", path, "x", fields{"min_active_version": 99}); c.status != 400 {
			t.Errorf("leaving no secret active: %d %s", c.status, c.body)
		}
		got := ok(t, "POST", path, fields{"min_active_version": 99, "force": true})
		if got["revoked"] != 1.0 || strings.Contains(same(t, got["combined_secrets"]), `"active":true`) {
			t.Errorf("by force: %v", got)
		}
	})
	t.Run("POST /app/{app_token}/secrets/{secret_id}/reactivate", func(t *testing.T) {
		id := same(t, secrets(t)[0].(fields)["id"])
		got := ok(t, "POST", "/app/"+token+"/secrets/"+id+"/reactivate", fields{"scope": "all-traffic"})
		if !strings.Contains(same(t, got["combined_secrets"]), `"active":true`) ||
			!strings.Contains(same(t, secrets(t)), `"active":true`) {
			t.Errorf("%v", got)
		}
	})
	t.Run("POST /app/{app_token}/secrets/{secret_id}/revoke", func(t *testing.T) {
		id := same(t, secrets(t)[0].(fields)["id"])
		got := ok(t, "POST", "/app/"+token+"/secrets/"+id+"/revoke", nil)
		if strings.Contains(same(t, got["combined_secrets"]), `"active":true`) ||
			strings.Contains(same(t, secrets(t)), `"active":true`) {
			t.Errorf("%v", got)
		}
		if c := automation(t, s, "POST", "/app/"+token+"/secrets/999999/revoke", "x", nil); c.status != 400 {
			t.Errorf("an unknown secret: %d %s", c.status, c.body)
		}
	})
	const plain = "s3cr3t-of-a-cloud"
	t.Run("POST /vault", func(t *testing.T) {
		data := same(t, fields{"type": "S3", "bucket": "b", "key": "k", "secret": plain})
		got := ok(t, "POST", "/vault", fields{"section": "csv_upload_settings", "data": data})
		if got["section"] != "csv_upload_settings" || got["data"] == "" || strings.Contains(same(t, got), plain) {
			t.Errorf("%v", got)
		}
		ok(t, "POST", "/vault", fields{"section": "purchase_verification", "store": "google", "data": plain})
		for _, section := range []string{"app_info", "signature", "moon"} {
			if c := automation(t, s, "POST", "/vault", "x", fields{"section": section, "data": plain}); c.status !=
				422 {
				t.Errorf("%s: %d %s", section, c.status, c.body)
			}
		}
	})
	t.Run("GET /vault", func(t *testing.T) {
		c := automation(t, s, "GET", "/vault", "x", nil)
		list := object[[]fields](t, c)
		if len(list) != 2 || list[1]["store"] != "google" || strings.Contains(c.body, plain) {
			t.Errorf("%d %s", c.status, c.body)
		}
	})
}

// Only apps that this API has made or updated are given back by token, by store ID and in the list.
func TestDocumentWhichAppsAreReturned(t *testing.T) {
	t.Parallel()
	s := serviceOf(t, emulator.Options{Apps: 3, Days: 2})
	token := s.Apps()[2].Token
	info := read(t, s, "/app/"+token+"/settings?sections=app_info")["app_info"].(fields)
	platform := info["default_platform"].(string)
	store := ""
	for _, v := range info["stores"].(fields) {
		store = v.(fields)["store_id"].(string)
	}
	if store == "" {
		t.Fatalf("an app without a store: %v", info)
	}
	if c := automation(t, s, "POST", "/events", "x", fields{"app_tokens": []string{token},
		"events": []fields{{"name": "bought"}}}); c.status != 200 {
		t.Fatalf("%d %s", c.status, c.body) // events don't make it one of this API's apps
	}
	for _, path := range []string{"/app/" + token, "/app?store_id=" + store + "&platform=" + platform} {
		if c := automation(t, s, "GET", path, "x", nil); c.status != 400 {
			t.Errorf("%s, not yet made or updated: %d %s", path, c.status, c.body)
		}
	}
	if c := automation(t, s, "GET", "/apps/list", "x", nil); c.status != 200 || len(object[[]fields](t, c)) != 0 {
		t.Errorf("the list: %d %s", c.status, c.body)
	}
	if c := automation(t, s, "POST", "/app/"+token, "x", fields{"name": "Known now"}); c.status != 200 {
		t.Fatalf("%d %s", c.status, c.body)
	}
	for _, path := range []string{"/app/" + token, "/app?store_id=" + store + "&platform=" + platform} {
		if got := read(t, s, path); got["adjust_app_token"] != token || got["name"] != "Known now" {
			t.Errorf("%s, updated: %v", path, got)
		}
	}
	if c := automation(t, s, "GET", "/apps/list", "x", nil); len(object[[]fields](t, c)) != 1 {
		t.Errorf("the list: %s", c.body)
	}
}

// Additional Android stores leave the default store ID and the bundle ID alone.
func TestDocumentAdditionalStores(t *testing.T) {
	t.Parallel()
	s := serviceOf(t, emulator.Options{Apps: 2, Days: 2})
	for _, stores := range []fields{{"amazon": fields{"store_id": "B00AMAZON1"}},
		{"amazon": fields{"store_id": "B00AMAZON2"}, "huawei": fields{"store_id": "C100"}}} {
		app := made(t, s, androidApp("additional_stores", stores))
		if app["store_id"] != "com.new.game" || app["bundle_id"] != "com.new.game" ||
			detailsOf(t, s, app)["store_id"] != "com.new.game" {
			t.Errorf("with %v: %v", stores, app)
		}
		info := read(t, s, "/app/"+app["adjust_app_token"].(string)+"/settings?sections=app_info")["app_info"].(fields)
		for store, want := range stores {
			if got := info["stores"].(fields)[store]; same(t, got) != same(t, want) {
				t.Errorf("%s: %v, want %v", store, got, want)
			}
		}
	}
	if c := automation(t, s, "POST", "/app", "x", iosApp("additional_stores",
		fields{"amazon": fields{"store_id": "B00AMAZON1"}})); c.status != 422 {
		t.Errorf("of an iOS app: %d %s", c.status, c.body)
	}
}

// An override replaces the template's value for its app, is saved, and is applied again by later
// migrations.
func TestDocumentOverrides(t *testing.T) {
	t.Parallel()
	s := serviceOf(t, emulator.Options{Apps: 2, Days: 2})
	window := func(app fields) string {
		settings := read(t, s, "/app/"+app["adjust_app_token"].(string)+"/settings?sections=attribution_settings")
		return same(t, settings["attribution_settings"].(fields)["click_device_matching"])
	}
	plain := made(t, s, androidApp("store_id", "com.plain"))
	read(t, s, "/status/"+plain["ticket_token"].(string))
	ours := androidApp("store_id", "com.ours", "override_settings",
		fields{"attribution_settings": fields{"click_device_matching": fields{"window": 86400, "enabled": true}}})
	app := made(t, s, ours)
	read(t, s, "/status/"+app["ticket_token"].(string))
	if got := window(app); !strings.Contains(got, `"window":86400`) || got == window(plain) {
		t.Errorf("overridden %s, the template's %s", got, window(plain))
	}
	delete(ours, "override_settings")
	ours["force_update"] = true
	again := made(t, s, ours)
	if read(t, s, "/status/"+again["ticket_token"].(string)); again["ticket_token"] == app["ticket_token"] ||
		!strings.Contains(window(again), `"window":86400`) {
		t.Errorf("after a later migration: %s", window(again))
	}
	if got := same(t, detailsOf(t, s, app)["additional_info"]); !strings.Contains(got, "86400") {
		t.Errorf("saved: %s", got)
	}
}
