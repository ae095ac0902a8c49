package apps_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/apps"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/slow"
)

func postOver(t *testing.T, url, body string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer x")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	var e struct {
		Desc string `json:"error_desc"`
	}
	text, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(text, &e)
	}
	return fmt.Sprintf("%d %s%s", resp.StatusCode, e.Desc, map[bool]string{true: "",
		false: fmt.Sprint(err)}[err == nil])
}

// Each field of POST /app, absent and wrong: what is said, and that nothing is kept.
func TestCreateAppFields(t *testing.T) {
	t.Parallel()
	s := atOnce(t)
	const text, empty, control = "Input should be a valid string", "String should have at least 1 character",
		"String should not contain control characters"
	for _, c := range []struct {
		name string
		body object
		want string // after "422 validation_error "
	}{
		{"nothing", object{}, "body.bundle_id: Field required; body.name: Field required; body.platform: Field " +
			"required; body.store_id: Field required"},
		{"no name", garden("name", nil), "body.name: Field required"},
		{"no bundle_id", garden("bundle_id", nil), "body.bundle_id: Field required"},
		{"no store_id", garden("store_id", nil), "body.store_id: Field required"},
		{"no platform", garden("platform", nil), "body.platform: Field required"},
		{"name 1", garden("name", 1), "body.name: " + text},
		{"bundle_id list", garden("bundle_id", []string{"x"}), "body.bundle_id: " + text},
		{"store_id number", garden("store_id", 12), "body.store_id: " + text},
		{"platform true", garden("platform", true), "body.platform: " + text},
		{"name empty", garden("name", ""), "body.name: " + empty},
		{"bundle_id empty", garden("bundle_id", ""), "body.bundle_id: " + empty},
		{"store_id empty", garden("store_id", ""), "body.store_id: " + empty},
		{"platform empty", garden("platform", ""), "body.platform: " + empty},
		{"platform windows", garden("platform", "windows"), "body.platform: Input should be 'android' or 'ios'"},
		{"platform in capitals", garden("platform", "Android"), "body.platform: Input should be 'android' or 'ios'"},
		{"store_id of letters on ios", iosGarden("store_id", "com.example.x"),
			"body.store_id: Input should be the number that the app has in the App Store"},
		{"store_id of digits and a letter on ios", iosGarden("store_id", "12x"),
			"body.store_id: Input should be the number that the app has in the App Store"},
		{"a header in name", garden("name", "x\r\nX-Evil: 1"), "body.name: " + control},
		{"a header in bundle_id", garden("bundle_id", "x\nEvil: 1"), "body.bundle_id: " + control},
		{"a header in store_id", garden("store_id", "x\rEvil: 1"), "body.store_id: " + control},
		{"NUL in store_id", garden("store_id", "x\x00y"), "body.store_id: " + control},
		{"template_app_token 1", garden("template_app_token", 1), "body.template_app_token: " + text},
		{"template_app_token unknown", garden("template_app_token", "nosuchtoken1"),
			"body.template_app_token: The template app was not found"},
		{"sections text", garden("sections", "events"), "body.sections: Input should be a valid list"},
		{"sections of numbers", garden("sections", []any{"events", 1}), "body.sections.1: " + text},
		{"sections unknown", garden("sections", []any{"partners", "event", "s2s"}), "body.sections.1: Unknown section"},
		{"sections app_info", garden("sections", []any{"app_info"}),
			"body.sections.0: app_info is read-only and can't be migrated"},
		{"force_update text", garden("force_update", "true"), "body.force_update: Input should be a valid boolean"},
		{"channel_setup list", garden("channel_setup", []any{}),
			"body.channel_setup: Input should be a valid dictionary"},
		{"override_settings text", garden("override_settings", "{}"),
			"body.override_settings: Input should be a valid dictionary"},
		{"overrides of app_info", garden("override_settings", object{"app_info": object{}}),
			"body.override_settings.app_info: app_info is read-only and can't be overridden"},
		{"overrides unknown", garden("override_settings", object{"ios_14": object{}}),
			"body.override_settings.ios_14: Unknown section"},
		{"overrides: object for a list", garden("override_settings", object{"events": object{}}),
			"body.override_settings.events: Input should be a valid list"},
		{"overrides: list for an object", garden("override_settings", object{"s2s": []any{}}),
			"body.override_settings.s2s: Input should be a valid dictionary"},
		{"overrides: texts in a list", garden("override_settings", object{"partners": []any{"x"}}),
			"body.override_settings.partners.0: Input should be a valid dictionary"},
		{"overrides: no name", garden("override_settings",
			object{"trackers": []any{object{"name": "a"}, object{"token": "b"}}}),
			"body.override_settings.trackers.1.name: Field required"},
		{"overrides: no id", garden("override_settings", object{"callbacks": []any{object{"name": "global"}}}),
			"body.override_settings.callbacks.0.id: Field required"},
		{"editors text", garden("editors", "a@example.com"), "body.editors: Input should be a valid list"},
		{"editors of numbers", garden("editors", []any{1}), "body.editors.0: " + text},
		{"editors without @", garden("editors", []any{"a@example.com", "b"}),
			"body.editors.1: Input should be a valid email address"},
		{"a header in editors", garden("editors", []any{"a@example.com\r\nBcc: b@example.com"}),
			"body.editors.0: " + control},
		{"secret number", garden("ios_pv_shared_secret", 5), "body.ios_pv_shared_secret: " + text},
		{"verification text", garden("verification", "yes"), "body.verification: Input should be a valid boolean"},
		{"stores list", garden("additional_stores", []any{}),
			"body.additional_stores: Input should be a valid dictionary"},
		{"stores text", garden("additional_stores", object{"amazon": "B00"}),
			"body.additional_stores.amazon: Input should be a valid dictionary"},
		{"stores null", garden("additional_stores", object{"amazon": nil}),
			"body.additional_stores.amazon: Input should be a valid dictionary"},
		{"stores without ID", garden("additional_stores", object{"amazon": object{}}),
			"body.additional_stores.amazon.store_id: Field required"},
		{"a header in a store", garden("additional_stores", object{"amazon": object{"store_id": "a\r\nb"}}),
			"body.additional_stores.amazon.store_id: " + control},
		{"a store's type", garden("additional_stores", object{"Amazon Store": object{"store_id": "B0"}}),
			"body.additional_stores.Amazon Store: A store type is of a-z, 0-9 and _"},
		{"a store's long type", garden("additional_stores", object{strings.Repeat("a", 65): object{"store_id": "B0"}}),
			"body.additional_stores." + strings.Repeat("a", 65) + ": A store type is of a-z, 0-9 and _"},
		{"the default store", garden("additional_stores", object{"google_play": object{"store_id": "x"}}),
			"body.additional_stores.google_play: This is the default store: its ID is store_id"},
		{"stores on ios", iosGarden("additional_stores", object{"amazon": object{"store_id": "x"}}),
			"body.additional_stores: Only Android apps have additional stores"},
		{"all at once", garden("name", nil, "platform", "x", "sections", []any{"x"}, "channel_setup",
			object{"tapjoy": object{}}),
			"body.channel_setup.tapjoy.app_id: Field required; body.name: Field required; body.platform: Input " +
				"should be 'android' or 'ios'; body.sections.0: Unknown section"},
	} {
		if got := refusal(t, send(t, s, "POST", "app", c.body)); got != "422 validation_error "+c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
	}
	if kept, err := s.ManagedApps(); err != nil || len(kept) != 0 {
		t.Errorf("kept %v, %v", kept, err)
	}
	// Nulls are absent, unknown fields nothing.
	app := create(t, s, garden("sections", nil, "note", "x", "platform", "ios", "store_id", "77"))
	want := createdApp{app.Token, "Sky Garden 2", "com.example.garden2", "77", app.Ticket, nil}
	if app != want {
		t.Errorf("%+v", app)
	}
	body := asJSON(t, garden())
	body = body[:len(body)-1] +
		`,"sections":null,"channel_setup":null,"editors":null,"force_update":null,"additional_stores":null,"template_app_token":null}`
	if got := refusal(t, send(t, s, "POST", "app", body)); got != "200" {
		t.Errorf("nulls: %s", got)
	}
}

// The answer has the documented fields and no other.
func TestCreatedApp(t *testing.T) {
	t.Parallel()
	s := atOnce(t)
	got := callOK[object](t, s, "POST", "app", garden())
	token, ticket := got["adjust_app_token"], got["ticket_token"]
	want := fmt.Sprintf(
		`{"adjust_app_token":%q,"bundle_id":"com.example.garden2","name":"Sky Garden 2","sk_app_id":null,"store_id":"com.example.garden2","ticket_token":%q}`, token, ticket)
	if asJSON(t, got) != want {
		t.Errorf("%s\nwant %s", asJSON(t, got), want)
	}
}

// An app is known by store_id and platform: the same makes no second one, even from many at once.
func TestAppsAreMadeOnce(t *testing.T) {
	t.Parallel()
	s := atOnce(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	tokens, tickets := map[string]string{}, map[string]bool{}
	for n := range 60 {
		wg.Go(func() {
			id := fmt.Sprint("com.example.", n%5)
			app := create(t, s, garden("store_id", id))
			mu.Lock()
			defer mu.Unlock()
			if tokens[id] != "" && tokens[id] != app.Token {
				t.Errorf("%s: %s and %s", id, tokens[id], app.Token)
			}
			tokens[id] = app.Token
			tickets[app.Ticket] = true
		})
	}
	wg.Wait()
	if kept, err := s.ManagedApps(); err != nil || len(kept) != 5 || len(tokens) != 5 || len(tickets) != 5 {
		t.Errorf("%d kept, %d tokens, %d tickets, %v", len(kept), len(tokens), len(tickets), err)
	}
	android, ios := create(t, s, garden("store_id", "4711")), create(t, s, iosGarden("store_id", "4711"))
	if android.Token == ios.Token {
		t.Error("one app on two platforms")
	}
	// 65 are refused.
	create(t, s, garden("store_id", "longest", "additional_stores",
		object{strings.Repeat("a", 64): object{"store_id": "B0"}}))
	renamed := create(t, s, garden("store_id", "4711", "name", "Other", "bundle_id", "com.other"))
	if renamed.Token != android.Token || renamed.Name != "Other" || renamed.BundleID != "com.other" ||
		renamed.Ticket != android.Ticket {
		t.Errorf("%+v after %+v", renamed, android)
	}
}

// Made-up apps are found by their store IDs, and returned once they came through the API.
func TestMadeUpAppsBecomeManaged(t *testing.T) {
	t.Parallel()
	s := atOnce(t)
	for i, a := range s.Apps() {
		stores := settingsOf(t, s, a.Token)["app_info"].(object)
		platform := stores["default_platform"].(string)
		store := stores["stores"].(object)[map[string]string{"android": "google_play",
			"ios": "app_store"}[platform]].(object)["store_id"].(string)
		query := "app?platform=" + platform + "&store_id=" + store
		if got := refusal(t, send(t, s, "GET", query, nil)); got != "400 request_error App not found" {
			t.Errorf("%s before: %s", a.Token, got)
		}
		events := settingsOf(t, s, a.Token)["events"]
		app := create(t, s, garden("platform", platform, "store_id", store, "name", a.Name, "sections", []any{"s2s"}))
		if app.Token != a.Token || app.Ticket == "" {
			t.Errorf("%+v is not %s", app, a.Token)
		}
		if got := callOK[apps.AppDetails](t, s, "GET", query, nil); got.Token != a.Token {
			t.Errorf("%+v", got)
		}
		if got := callOK[[]apps.AppDetails](t, s, "GET", "apps/list", nil); len(got) != i+1 || got[i].Token != a.Token {
			t.Errorf("list %+v", got)
		}
		if got := settingsOf(t, s, a.Token)["events"]; asJSON(t, got) != asJSON(t, events) {
			t.Errorf("events %v were %v", got, events)
		}
	}
}

func TestWithoutTemplate(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 3, Days: 2, NoTemplate: true})
	const want = "422 validation_error body.template_app_token: The account has no template app configured"
	if got := refusal(t, send(t, s, "POST", "app", garden())); got != want {
		t.Error(got)
	}
	token := s.Apps()[1].Token
	if got := refusal(t, send(t, s, "POST", "app/"+token, object{"name": "x"})); got != want {
		t.Error(got)
	}
	app := create(t, s, garden("template_app_token", token))
	if got := statusOf(t, s, app.Ticket); got.Status != "completed" ||
		len(got.Result["events"].Successes) != len(s.Apps()[1].Events) {
		t.Errorf("%+v", got)
	}
	s = emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 3, Days: 2, Template: token})
	app = create(t, s, garden("sections", []any{"events"}))
	if got := statusOf(t, s, app.Ticket).Result["events"].Successes; len(got) != len(s.Apps()[1].Events) ||
		got[0] != s.Apps()[1].Events[0].Name {
		t.Errorf("%v", got)
	}
	s = emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 3, Days: 2, Template: "nosuchtoken1"})
	if got := refusal(t, send(t, s, "POST", "app", garden())); got !=
		"422 validation_error body.template_app_token: The template app was not found" {
		t.Error(got)
	}
}

func TestAFullAccount(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 999})
	create(t, s, garden())
	if got := refusal(t, send(t, s, "POST", "app", iosGarden())); got !=
		"400 request_error The account holds at most 1000 apps" {
		t.Error(got)
	}
	create(t, s, garden("name", "Another name"))
}
