package conformance_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator"
)

// automation sends a call of app automation; a body that isn't nil goes as JSON.
func automation(t *testing.T, s *emulator.Server, method, path, token string, body any) called {
	t.Helper()
	text, kind := "", ""
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		text, kind = string(data), "application/json"
	}
	return call(s, method, "/app-automation"+path, token, kind, text)
}

type fields = map[string]any

// androidApp is what POST /app asks for, and more, a field's name and its value by turns; nil takes
// a field away.
func androidApp(more ...any) fields {
	app := fields{"name": "New game", "bundle_id": "com.new.game", "store_id": "com.new.game", "platform": "android"}
	for i := 0; i < len(more); i += 2 {
		app[more[i].(string)] = more[i+1]
		if more[i+1] == nil {
			delete(app, more[i].(string))
		}
	}
	return app
}

func iosApp(more ...any) fields {
	return androidApp(append([]any{"platform", "ios", "store_id", "123456789"}, more...)...)
}

// made posts an app and gives the answer, which must be 200.
func made(t *testing.T, s *emulator.Server, app fields) fields {
	t.Helper()
	c := automation(t, s, "POST", "/app", "x", app)
	if c.status != 200 || !strings.HasPrefix(c.kind, "application/json") {
		t.Fatalf("POST /app %v: %d %s %s", app, c.status, c.kind, c.body)
	}
	return object[fields](t, c)
}

// read gets an object of app automation.
func read(t *testing.T, s *emulator.Server, path string) fields {
	t.Helper()
	c := automation(t, s, "GET", path, "x", nil)
	if c.status != 200 {
		t.Fatalf("GET %s: %d %s", path, c.status, c.body)
	}
	return object[fields](t, c)
}

func detailsOf(t *testing.T, s *emulator.Server, app fields) fields {
	t.Helper()
	return read(t, s, "/app/"+app["adjust_app_token"].(string))
}

func TestDocumentAppFields(t *testing.T) {
	t.Parallel()
	s := serviceOf(t, emulator.Options{Apps: 2, Days: 2})
	sent := androidApp()
	app := made(t, s, sent)
	for field, holds := range map[string]func(v any) bool{
		"adjust_app_token": func(v any) bool { return regexp.MustCompile(`^[a-z0-9]{12}$`).MatchString(v.(string)) },
		"name":             func(v any) bool { return v == sent["name"] },
		"bundle_id":        func(v any) bool { return v == sent["bundle_id"] },
		"store_id":         func(v any) bool { return v == sent["store_id"] },
		"ticket_token": func(v any) bool {
			return regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString(v.(string))
		},
		"sk_app_id": func(v any) bool { return v == nil },
	} {
		t.Run(field, func(t *testing.T) {
			if v, ok := app[field]; !ok || !holds(v) {
				t.Errorf("%s is %v in %v", field, v, app)
			}
		})
	}
	if len(app) != 6 {
		t.Errorf("fields %v, want the six", slices.Sorted(maps.Keys(app)))
	}
}

func TestDocumentAppDetails(t *testing.T) {
	t.Parallel()
	s := serviceOf(t, emulator.Options{Apps: 2, Days: 2})
	overrides := fields{"signature": fields{"enforce_install_signing": true}}
	channels := fields{"google": fields{"link_id": "L1"}, "tiktok": fields{"app_id": "T1"}}
	sent := androidApp("override_settings", overrides, "channel_setup", channels)
	app := made(t, s, sent)
	details := detailsOf(t, s, app)
	for field, want := range map[string]any{"name": sent["name"], "store_id": sent["store_id"], "platform": "android",
		"adjust_app_token": app["adjust_app_token"], "additional_info": fields{"overrides": overrides},
		"channel_setup": channels} {
		t.Run(field, func(t *testing.T) {
			if got := details[field]; same(t, got) != same(t, want) {
				t.Errorf("%s is %v, want %v", field, got, want)
			}
		})
	}
	if got := detailsOf(t, s, made(t, s, iosApp()))["platform"]; got != "ios" {
		t.Errorf("platform of an iOS app: %v", got)
	}
}

// same writes a value as JSON, its keys in order.
func same(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// migrated makes an app with the sections and gives those that its ticket tells of, which must all
// have succeeded.
func migrated(t *testing.T, s *emulator.Server, app fields) []string {
	t.Helper()
	ticket := read(t, s, "/status/"+made(t, s, app)["ticket_token"].(string))
	if ticket["status"] != "completed" || ticket["kind"] != "migration" {
		t.Fatalf("ticket %v", ticket)
	}
	result := ticket["result"].(fields)
	for section, r := range result {
		if r := r.(fields); len(r["failures"].([]any)) > 0 || r["successes"] == nil {
			t.Errorf("%s: %v", section, r)
		}
	}
	return slices.Sorted(maps.Keys(result))
}

var documentSections = []string{"app_info", "attribution_privacy_model", "attribution_settings", "callbacks",
	"csv_upload_settings", "events",
	"external_data_forwarding", "fraud_prevention_settings", "partners", "purchase_verification", "signature",
	"sdk_secrets", "skad_network_v4",
	"preview_link_settings", "s2s", "trackers"}

// Each section can be chosen alone, is read back with the settings, and is migrated when none is
// chosen.
func TestDocumentSections(t *testing.T) {
	t.Parallel()
	s := serviceOf(t, emulator.Options{Apps: 2, Days: 2})
	all := map[string][]string{"ios": migrated(t, s, iosApp()), "android": migrated(t, s, androidApp())}
	for _, section := range documentSections {
		t.Run(section, func(t *testing.T) {
			ios := section == "attribution_privacy_model" || section == "skad_network_v4"
			app := androidApp("store_id", "com.only."+section, "sections", []string{section})
			platform := "android"
			if ios {
				app, platform = iosApp("store_id", "99"+strings.Repeat("1", len(section)), "sections",
					[]string{section}), "ios"
			}
			if section == "app_info" {
				c := automation(t, s, "POST", "/app", "x", app)
				if c.status != 422 || !strings.Contains(c.body, `"sections"`) {
					t.Errorf("migrating what is read-only: %d %s", c.status, c.body)
				}
				if slices.Contains(all["android"], section) || slices.Contains(all["ios"], section) {
					t.Errorf("migrated when no section is chosen: %v", all)
				}
				made(t, s, androidApp("store_id", "com.only.app_info"))
				app["store_id"] = "com.only.app_info"
			} else {
				if got := migrated(t, s, app); !slices.Equal(got, []string{section}) {
					t.Errorf("chosen alone, migrated are %v", got)
				}
				if !slices.Contains(all[platform], section) {
					t.Errorf("not migrated when none is chosen: %v", all[platform])
				}
			}
			if ios && slices.Contains(all["android"], section) || section == "signature" &&
				slices.Contains(all["ios"], section) {
				t.Error("an app of the other platform has it")
			}
			details := read(t, s, "/app?store_id="+app["store_id"].(string)+"&platform="+platform)
			token := details["adjust_app_token"].(string)
			settings := read(t, s, "/app/"+token+"/settings?sections="+section)
			if _, ok := settings[section]; !ok || len(settings) != 1 {
				t.Errorf("its settings: %v", settings)
			}
			if _, ok := read(t, s, "/app/"+token+"/settings")[section]; !ok {
				t.Error("not among the settings of all sections")
			}
		})
	}
	t.Run("several", func(t *testing.T) {
		got := migrated(t, s, androidApp("store_id", "com.several", "sections", []string{"trackers", "callbacks"}))
		if !slices.Equal(got, []string{"callbacks", "trackers"}) {
			t.Errorf("migrated are %v", got)
		}
	})
	t.Run("unknown", func(t *testing.T) {
		if c := automation(t, s, "POST", "/app", "x", androidApp("store_id", "com.unknown", "sections",
			[]string{"moon"})); c.status != 422 {
			t.Errorf("%d %s", c.status, c.body)
		}
	})
}

func TestDocumentMigrationStatus(t *testing.T) {
	t.Parallel()
	s := serviceOf(t, emulator.Options{Apps: 2, Days: 2, TicketStep: -1,
		JobFaults: []emulator.JobFault{{App: "com.fails", Section: "events", Detail: "no luck"}}})
	seen := map[string][]string{}
	watch := func(store string) (last fields) {
		ticket := made(t, s, androidApp("store_id", store))["ticket_token"].(string)
		for range 40 {
			last = read(t, s, "/status/"+ticket)
			if last["kind"] != "migration" {
				t.Errorf("kind %v", last["kind"])
			}
			status := last["status"].(string)
			if n := len(seen[store]); n == 0 || seen[store][n-1] != status {
				seen[store] = append(seen[store], status)
			}
			if status == "completed" || status == "failed" {
				return last
			}
			if _, err := s.AdvanceTickets(1, ticket); err != nil {
				t.Fatal(err)
			}
		}
		t.Fatalf("a job without end: %v", last)
		return nil
	}
	good, bad := watch("com.works"), watch("com.fails")
	t.Run("status", func(t *testing.T) {
		if got := strings.Join(seen["com.works"], " "); got != "new opened completed" {
			t.Errorf("a job that works: %s", got)
		}
		if got := strings.Join(seen["com.fails"], " "); got != "new opened failed" {
			t.Errorf("a job that fails: %s", got)
		}
	})
	t.Run("result", func(t *testing.T) {
		for section, v := range good["result"].(fields) {
			r := v.(fields)
			if len(texts(t, r["successes"])) == 0 && (section == "events" || section == "partners") ||
				len(r["failures"].([]any)) > 0 || len(r) != 2 {
				t.Errorf("%s: %v", section, r)
			}
		}
		result := bad["result"].(fields)
		events := result["events"].(fields)
		if len(events["failures"].([]any)) == 0 || !strings.Contains(same(t, events["failures"]), "no luck") {
			t.Errorf("events that failed: %v", events)
		}
		if partners := same(t, result["partners"]); !strings.Contains(partners, "events section has failed") {
			t.Errorf("partners after events that failed: %s", partners)
		}
	})
}

// documentChannels are the rows of the document's table: parameters with a good value, whether they
// are required, and one of another type.
var documentChannels = []struct {
	partner, slug, param string
	good                 any
	required             bool
	wrong                any
}{
	{"partner_1", "applovin", "sdk_keys", []any{"k1", "k2"}, true, "k1"},
	{"partner_2", "chartboost", "app_id", "a", true, 5},
	{"partner_2", "chartboost", "token", "signature", true, true},
	{"partner_3", "facebook", "app_id", "a", true, 5},
	{"partner_3", "facebook", "adimpression_forwarding", true, false, "yes"},
	{"partner_4", "gameanalytics", "key", "k", true, 5},
	{"partner_5", "google", "link_id", "l", true, 5},
	{"partner_6", "inmobi", "property_id", "p", true, 5},
	{"partner_6", "inmobi", "advertiser_id", "a", true, 5},
	{"partner_7", "ironsource", "advertiser_id", "a", true, 5},
	{"partner_7", "ironsource", "password", "pass", true, 5},
	{"partner_8", "mintegral", "enabled", true, true, "yes"},
	{"partner_9", "snapchat", "snap_app_id", "a", true, 5},
	{"partner_10", "tapjoy", "app_id", "a", true, 5},
	{"partner_11", "tiktok", "app_id", "a", true, 5},
	{"partner_11", "tiktok", "enabled", false, false, "yes"},
	{"partner_12", "unityads", "game_id", "g", true, 5},
	{"partner_13", "vungle", "app_id", "a", true, 5},
}

// channelOf is a partner's complete setup.
func channelOf(partner string) fields {
	setup := fields{}
	for _, c := range documentChannels {
		if c.partner == partner {
			setup[c.param] = c.good
		}
	}
	return setup
}

// channelInForce is what the settings of a migrated app say of a partner, defaults included.
func channelInForce(t *testing.T, s *emulator.Server, made called, slug string) fields {
	t.Helper()
	if made.status != 200 {
		t.Fatalf("%d %s", made.status, made.body)
	}
	app := object[fields](t, made)
	read(t, s, "/status/"+app["ticket_token"].(string))
	settings := read(t, s, "/app/"+app["adjust_app_token"].(string)+"/settings?sections=partners")
	for _, v := range settings["partners"].([]any) {
		if p := v.(fields); p["name"] == slug {
			return p["channel_setup"].(fields)
		}
	}
	t.Fatalf("the app has no partner %s", slug)
	return nil
}

func TestDocumentChannelSetup(t *testing.T) {
	t.Parallel()
	s := serviceOf(t, emulator.Options{Apps: 2, Days: 2})
	for _, c := range documentChannels {
		t.Run(c.partner+"/"+c.param, func(t *testing.T) {
			for _, key := range []string{c.partner, c.slug} {
				store := "com." + key + "." + c.param
				whole := channelOf(c.partner)
				details := detailsOf(t, s, made(t, s, androidApp("store_id", store, "channel_setup",
					fields{key: whole})))
				if got := same(t, details["channel_setup"]); got != same(t, fields{key: whole}) &&
					got != same(t, fields{c.slug: whole}) {
					t.Errorf("%s: read back as %s, want %s", key, got, same(t, fields{key: whole}))
				}
				without := channelOf(c.partner)
				delete(without, c.param)
				other := channelOf(c.partner)
				other[c.param] = c.wrong
				for name, setup := range map[string]fields{"without it": without, "of another type": other} {
					answer := automation(t, s, "POST", "/app", "x", androidApp("store_id", store, "channel_setup",
						fields{key: setup}))
					if name == "without it" && !c.required {
						// Good is not the default.
						if got, want := channelInForce(t, s, answer, c.slug)[c.param], !c.good.(bool); got != want {
							t.Errorf("%s without what is optional: %v, want %t", key, got, want)
						}
						continue
					}
					if details := detail(t, answer); answer.status != 422 ||
						!strings.Contains(details, `["body","channel_setup","`+key+`","`+c.param+`"]`) {
						t.Errorf("%s, %s: %d %s", key, name, answer.status, answer.body)
					}
				}
			}
		})
	}
	t.Run("rule 1", func(t *testing.T) { // complete each time, never merged
		first := made(t, s, androidApp("store_id", "com.rule1", "channel_setup",
			fields{"google": channelOf("partner_5"), "vungle": channelOf("partner_13")}))
		made(t, s, androidApp("store_id", "com.rule1", "channel_setup", fields{"vungle": fields{"app_id": "other"}}))
		if got := same(t, detailsOf(t, s, first)["channel_setup"]); got != `{"vungle":{"app_id":"other"}}` {
			t.Errorf("after a second request: %s", got)
		}
		made(t, s, androidApp("store_id", "com.rule1"))
		if got := same(t, detailsOf(t, s, first)["channel_setup"]); got != `{}` {
			t.Errorf("after a request without any: %s", got)
		}
	})
	t.Run("rule 2", func(t *testing.T) {
		answer := automation(t, s, "POST", "/app", "x", androidApp("store_id", "com.rule2", "channel_setup",
			fields{"partner_14": fields{"app_id": "a"}}))
		if answer.status != 422 || !strings.Contains(detail(t, answer), "partner_14") {
			t.Errorf("an unknown partner: %d %s", answer.status, answer.body)
		}
	})
	t.Run("rule 3", func(t *testing.T) {
		app := androidApp("store_id", "com.rule3", "channel_setup", fields{"google": fields{"link_id": "old"}})
		first := made(t, s, app)
		app["force_update"], app["channel_setup"] = true, fields{"google": fields{"link_id": "new"}}
		second := made(t, s, app)
		if first["adjust_app_token"] != second["adjust_app_token"] || first["ticket_token"] == second["ticket_token"] {
			t.Errorf("%v, then %v", first, second)
		}
		if got := same(t, detailsOf(t, s, second)["channel_setup"]); got != `{"google":{"link_id":"new"}}` {
			t.Errorf("changed to %s", got)
		}
	})
}

// detail is what the details of a validation error say, as JSON.
func detail(t *testing.T, c called) string {
	t.Helper()
	return same(t, object[fields](t, c)["error_desc_details"])
}
