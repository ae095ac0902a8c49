package apps_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/apps"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/slow"
)

var sectionOrder = strings.Fields(
	`events partners trackers attribution_privacy_model attribution_settings callbacks csv_upload_settings
	external_data_forwarding fraud_prevention_settings purchase_verification signature sdk_secrets skad_network_v4 preview_link_settings s2s`)

// A job takes its sections one by one, events first, then partners; each is in the result, and in
// the app, once it is done.
func TestSectionsInOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		body    object
		chosen  []any
		missing []string // sections that the job leaves out
	}{
		{garden(), nil, []string{"attribution_privacy_model", "skad_network_v4"}},
		{iosGarden(), nil, []string{"signature"}},
		{garden(), []any{}, []string{"attribution_privacy_model", "skad_network_v4"}},
		{garden(), []any{"s2s", "partners", "events", "partners"}, []string{"all but", "s2s", "partners", "events"}},
		{garden(), []any{"skad_network_v4", "trackers"}, []string{"all but", "trackers"}},
		{iosGarden(), []any{"skad_network_v4", "attribution_privacy_model", "signature"},
			[]string{"all but", "skad_network_v4", "attribution_privacy_model"}},
		{iosGarden(), []any{"signature"}, []string{"all but"}},
	} {
		var want []string
		for _, name := range sectionOrder {
			if slices.Contains(c.missing, name) == slices.Contains(c.missing, "all but") {
				want = append(want, name)
			}
		}
		s := manual(t)
		if c.chosen != nil {
			c.body["sections"] = c.chosen
		}
		app := create(t, s, c.body)
		if got := statusOf(t, s, app.Ticket); got.Status != "new" || len(got.Result) != 0 {
			t.Errorf("%v: at first %+v", c.chosen, got)
		}
		advance(t, s, 1)
		if got := statusOf(t, s, app.Ticket); got.Status != "opened" || len(got.Result) != 0 {
			t.Errorf("%v: after a step %+v", c.chosen, got)
		}
		for i := range max(len(want), 1) {
			open := advance(t, s, 1)
			last := i == max(len(want), 1)-1
			got := statusOf(t, s, app.Ticket)
			if status := map[bool]string{true: "completed", false: "opened"}[last]; got.Status != status ||
				open != map[bool]int{true: 0, false: 1}[last] {
				t.Errorf("%v: after section %d: %s, %d open", c.chosen, i+1, got.Status, open)
			}
			var done []string
			for name, r := range got.Result {
				done = append(done, name)
				if len(r.Successes) == 0 || r.Failures == nil || len(r.Failures) > 0 || r.Detail != "" {
					t.Errorf("%s: %+v", name, r)
				}
			}
			soFar := slices.Clone(want[:min(i+1, len(want))])
			slices.Sort(soFar)
			slices.Sort(done)
			if !slices.Equal(done, soFar) {
				t.Errorf("%v: after section %d: %v, want %v", c.chosen, i+1, done, soFar)
			}
		}
	}
}

// What is copied: everything of the template, with tokens of the app's own.
func TestWhatIsCopied(t *testing.T) {
	t.Parallel()
	s := atOnce(t)
	template := settingsOf(t, s, s.Apps()[0].Token)
	app := create(t, s, garden())
	set := settingsOf(t, s, app.Token)
	res := statusOf(t, s, app.Ticket).Result
	for _, list := range []string{"events", "partners", "trackers"} {
		if got, want := names(set, list), names(template, list); len(want) < 5 || !slices.Equal(got, want) ||
			!slices.Equal(res[list].Successes, want) {
			t.Errorf("%s: %v, template %v, result %v", list, got, want, res[list].Successes)
		}
	}
	if got := res["callbacks"].Successes; !slices.Equal(got, []string{"global", "install"}) {
		t.Errorf("callbacks %v", got)
	}
	if got := res["attribution_settings"].Successes; !slices.Contains(got, "click_device_matching") {
		t.Errorf("attribution_settings %v", got)
	}
	seen := map[any]bool{}
	for _, name := range names(template, "events") {
		was, is := item(t, template, "events", name), item(t, set, "events", name)
		if is["unique"] != was["unique"] || is["token"] == was["token"] || is["id"] == was["id"] ||
			is["app_token"] != app.Token || len(is["token"].(string)) != 6 || seen[is["token"]] {
			t.Errorf("event %v of %v", is, was)
		}
		seen[is["token"]] = true
	}
	for _, name := range names(template, "partners") {
		if was, is := item(t, template, "partners", name), item(t, set, "partners", name); asJSON(t, was) != asJSON(t,
			is) {
			t.Errorf("partner %v of %v", is, was)
		}
	}
	if a, b := item(t, set, "trackers", "facebook_installs"), item(t, template, "trackers",
		"facebook_installs"); a["token"] == b["token"] {
		t.Errorf("tracker %v", a)
	}
	for _, object := range []string{"attribution_settings", "fraud_prevention_settings", "signature", "callbacks",
		"s2s"} {
		if asJSON(t, set[object]) != asJSON(t, template[object]) {
			t.Errorf("%s: %v, template %v", object, set[object], template[object])
		}
	}
	// An app's own events, trackers' and events' tokens stay, also when all is copied again.
	callOK[object](t, s, "POST", "events", object{"app_tokens": []any{app.Token},
		"events": []any{object{"name": "own"}}})
	create(t, s, garden("force_update", true))
	again := settingsOf(t, s, app.Token)
	for _, name := range names(set, "events") {
		if asJSON(t, item(t, again, "events", name)) != asJSON(t, item(t, set, "events", name)) {
			t.Errorf("event %s: %v", name, item(t, again, "events", name))
		}
	}
	item(t, again, "events", "own")
	if asJSON(t, again["trackers"]) != asJSON(t, set["trackers"]) {
		t.Errorf("trackers %v", again["trackers"])
	}
	// Links of partners without the events: only those that the app has.
	lone := create(t, s, garden("store_id", "com.lone", "sections", []any{"partners"}))
	if links := item(t, settingsOf(t, s, lone.Token), "partners", "google")["events_linking"].(object); len(links) !=
		0 {
		t.Errorf("links %v", links)
	}
	if got := settingsOf(t, s, lone.Token); len(got["events"].([]any)) != 0 || len(got["s2s"].(object)) != 0 {
		t.Errorf("sections that weren't chosen: %v", got)
	}
}

func TestFailingSections(t *testing.T) {
	t.Parallel()
	s := manual(t)
	s.SetJobFaults([]emulator.JobFault{{Section: "events", Times: 1, Detail: "no room"}})
	app := create(t, s, garden())
	advance(t, s, 3)
	got := statusOf(t, s, app.Ticket)
	if b := got.Result["partners"]; got.Status != "opened" || b.Section != "partners" ||
		b.Detail != "Could not be started because events section has failed" || b.Successes != nil ||
		b.Failures != nil {
		t.Errorf("%+v", got)
	}
	if raw := asJSON(t, callOK[object](t, s, "GET", "status/"+app.Ticket, nil)["result"].(object)["partners"]); raw !=
		`{"detail":"Could not be started because events section has failed","section":"partners"}` {
		t.Error(raw)
	}
	advance(t, s, 100)
	got = statusOf(t, s, app.Ticket)
	events := got.Result["events"]
	if got.Status != "failed" || len(got.Result) != 13 || len(events.Successes) != 0 ||
		len(events.Failures) != len(s.Apps()[0].Events) ||
		events.Failures[0] != (apps.ItemFailure{Name: s.Apps()[0].Events[0].Name, Detail: "no room"}) {
		t.Errorf("%+v", got)
	}
	set := settingsOf(t, s, app.Token)
	if len(set["events"].([]any)) != 0 || len(set["partners"].([]any)) != 0 || len(set["trackers"].([]any)) == 0 ||
		len(set["s2s"].(object)) == 0 {
		t.Errorf("settings after a failed job %v", set)
	}
	// The same request again tells of the failed job; force_update makes a new one.
	if again := create(t, s, garden()); again.Ticket != app.Ticket {
		t.Error("the same request queued a job")
	}
	forced := create(t, s, garden("force_update", true))
	advance(t, s, 100)
	if got := statusOf(t, s, forced.Ticket); got.Status != "completed" ||
		len(settingsOf(t, s, app.Token)["partners"].([]any)) == 0 {
		t.Errorf("%+v", got)
	}
}

func TestFailingItems(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := atOnce(t)
	event := s.Apps()[0].Events[0].Name
	for _, c := range []struct {
		fault    emulator.JobFault
		chosen   []any
		failed   apps.ItemFailure
		partners bool // are done
	}{
		{emulator.JobFault{Section: "events", Item: event}, nil, apps.ItemFailure{Name: event,
			Detail: "The migration of this item has failed"}, false},
		{emulator.JobFault{Section: "partners", Item: "facebook", Detail: "no"}, nil,
			apps.ItemFailure{Name: "facebook", Detail: "no"}, true},
		{emulator.JobFault{Section: "s2s", Item: "enabled", Detail: "no"}, nil,
			apps.ItemFailure{Name: "enabled", Detail: "no"}, true},
		{emulator.JobFault{Section: "s2s", Item: "nothing of the name", Detail: "no"}, nil,
			apps.ItemFailure{Name: "nothing of the name", Detail: "no"}, true},
		// Not in this job: nothing is blocked.
		{emulator.JobFault{Section: "events"}, []any{"partners"}, apps.ItemFailure{}, true},
	} {
		for _, whose := range []string{"", "token", "com.example.garden2", "another"} {
			s := atOnce(t)
			c.fault.App = whose
			if whose == "token" {
				c.fault.App = create(t, s, garden("sections", []any{"s2s"})).Token
			}
			s.SetJobFaults([]emulator.JobFault{c.fault})
			body := garden("force_update", true)
			if c.chosen != nil {
				body["sections"] = c.chosen
			}
			got := statusOf(t, s, create(t, s, body).Ticket)
			strikes := whose != "another" && c.failed.Name != ""
			r := got.Result[c.fault.Section]
			if (got.Status == "failed") != strikes || strikes && (len(r.Failures) != 1 || r.Failures[0] != c.failed ||
				len(r.Successes) == 0 || slices.Contains(r.Successes, c.failed.Name)) {
				t.Errorf("%+v: %+v", c.fault, got)
			}
			if done := len(got.Result["partners"].Successes) > 0; done != (c.partners || !strikes) {
				t.Errorf("%+v: partners %+v", c.fault, got.Result["partners"])
			}
		}
	}
	for _, f := range []emulator.JobFault{{}, {Section: "app_info"}, {Section: "x"}, {Section: "events", Times: -1}} {
		if _, err := emulator.New(emulator.Options{JobFaults: []emulator.JobFault{f}}); err == nil {
			t.Errorf("%+v is taken", f)
		}
	}
}

// Overrides replace what they name, are saved, and come again with every later job until others are
// sent.
func TestOverrides(t *testing.T) {
	t.Parallel()
	s := atOnce(t)
	template := settingsOf(t, s, s.Apps()[0].Token)
	event := s.Apps()[0].Events[0].Name
	own := object{
		"events": []any{object{"name": event, "unique": true, "archived": true},
			object{"name": "only here"}},
		"partners":             []any{object{"name": "google", "revenue_forwarding": "special"}},
		"callbacks":            []any{object{"id": "global", "url": "https://test.example.com"}},
		"attribution_settings": object{"click_device_matching": object{"window": 86400}, "inactivity_days": 30},
		"signature":            object{"android_fingerprints": []any{"C4:BD"}},
		"skad_network_v4":      object{"enabled": false},
	}
	app := create(t, s, garden("override_settings", own))
	check := func(when string, overrides object, applied bool) {
		t.Helper()
		details := callOK[object](t, s, "GET", "app/"+app.Token, nil)
		if got := asJSON(t, details["additional_info"]); got != asJSON(t, object{"overrides": overrides}) {
			t.Errorf("%s: saved %s", when, got)
		}
		set := settingsOf(t, s, app.Token)
		e, g, c, a := item(t, set, "events", event), item(t, set, "partners", "google"),
			item(t, set, "callbacks", "global"), set["attribution_settings"].(object)
		window := a["click_device_matching"].(object)
		if (g["revenue_forwarding"] == "special") != applied || (c["url"] == "https://test.example.com") != applied ||
			(e["archived"] == true) != applied ||
			(window["window"] == 86400.) != applied || (a["inactivity_days"] == 30.) != applied {
			t.Errorf("%s: %v %v %v %v", when, e, g, c, a)
		}
		if window["enabled"] != true || len(a) != len(template["attribution_settings"].(object)) ||
			len(g) != len(item(t, template, "partners", "google")) ||
			asJSON(t, item(t, set, "callbacks", "install")) != asJSON(t, item(t, template, "callbacks", "install")) {
			t.Errorf("%s: more than what was named has changed: %v %v", when, a, g)
		}
		if set["skad_network_v4"] != nil {
			t.Errorf("%s: skad_network_v4 on Android", when)
		}
	}
	check("at first", own, true)
	item(t, settingsOf(t, s, app.Token), "events", "only here")
	if got := settingsOf(t, s, app.Token)["signature"].(object)["android_fingerprints"]; asJSON(t, got) != `["C4:BD"]` {
		t.Errorf("fingerprints %v", got)
	}
	ticket := create(t, s, garden()).Ticket
	if ticket != app.Ticket {
		t.Error("without overrides a job was queued")
	}
	if got := create(t, s, garden("override_settings", own)).Ticket; got != ticket {
		t.Error("the same overrides queued a job")
	}
	create(t, s, garden("force_update", true))
	check("by a later job", own, true)
	if got := create(t, s, garden("override_settings", object{})).Ticket; got == ticket {
		t.Error("other overrides queued no job")
	}
	check("without", object{}, false)
	// An override by POST /app/{token}, of one section, replaces all that were saved.
	one := object{"s2s": object{"enabled": true}}
	callOK[createdApp](t, s, "POST", "app/"+app.Token, object{"override_settings": one})
	if got := asJSON(t, callOK[apps.AppDetails](t, s, "GET", "app/"+app.Token, nil).Info.Overrides); got != asJSON(t,
		one) {
		t.Error(got)
	}
	if got := settingsOf(t, s, app.Token)["s2s"].(object)["enabled"]; got != true {
		t.Errorf("s2s %v", got)
	}
	// The template itself is as it was.
	if got := settingsOf(t, s, s.Apps()[0].Token); asJSON(t, got) != asJSON(t, template) {
		t.Error("the template has changed")
	}
}

// Items of the lists of settings are told apart by a name or an ID, which overrides go by.
func TestListsOfSettingsHaveKeys(t *testing.T) {
	t.Parallel()
	s := atOnce(t)
	settings := settingsOf(t, s, s.Apps()[0].Token)
	for section, key := range map[string]string{"events": "name", "partners": "name", "trackers": "name",
		"callbacks": "id", "external_data_forwarding": "name"} {
		seen := map[string]bool{}
		for _, v := range settings[section].([]any) {
			name, _ := v.(object)[key].(string)
			if name == "" || seen[name] {
				t.Errorf("%s: the %s of %v is missing, or twice there", section, key, v)
			}
			seen[name] = true
		}
		if len(seen) < 2 {
			t.Errorf("%s: %d items", section, len(seen))
		}
	}
	for i, slug := range strings.Fields("applovin chartboost facebook gameanalytics google inmobi ironsource " +
		"mintegral snapchat tapjoy tiktok unityads vungle") {
		partner, tracker := settings["partners"].([]any)[i].(object), settings["trackers"].([]any)[i].(object)
		if partner["name"] != slug || tracker["partner"] != slug || len(tracker["token"].(string)) != 6 {
			t.Errorf("%s: partner %v, tracker %v", slug, partner["name"], tracker)
		}
	}
	for i, e := range s.Apps()[0].Events {
		if got := settings["events"].([]any)[i].(object); got["name"] != e.Name || got["token"] != e.Token ||
			got["app_token"] != s.Apps()[0].Token {
			t.Errorf("event %v, want %+v", got, e)
		}
	}
}

// The sections of settings that are objects have these keys, and items of lists those.
func TestShapesOfSettings(t *testing.T) {
	t.Parallel()
	s := atOnce(t)
	settings := settingsOf(t, s, s.Apps()[0].Token)
	for section, want := range map[string]string{
		"events":   "app_token archived autogenerated id name token unique",
		"trackers": "name partner token",
		"attribution_settings": "click_device_matching click_fingerprinting impression_device_matching " +
			"inactivity_days reattribution",
		"callbacks":                 "id url",
		"csv_upload_settings":       "credentials enabled interval",
		"external_data_forwarding":  "enabled name",
		"fraud_prevention_settings": "anonymous_ip click_injection click_spamming",
		"purchase_verification":     "enabled google_key ios_shared_secret",
		"signature":                 "android_fingerprints enforce_install_signing",
		"preview_link_settings":     "enabled title",
		"s2s":                       "enabled token_required",
	} {
		objects, list := settings[section].([]any)
		if !list {
			objects = []any{settings[section]}
		}
		for _, o := range objects {
			if got := strings.Join(slices.Sorted(maps.Keys(o.(object))), " "); got != want {
				t.Errorf("%s has %s, want %s", section, got, want)
			}
		}
	}
	for name, v := range settings["attribution_settings"].(object) {
		if window, ok := v.(object); ok && (window["enabled"] != true || window["window"].(float64) < 86400 ||
			int(window["window"].(float64))%86400 != 0) {
			t.Errorf("%s: %v, want whole days", name, window)
		}
	}
}

// What a job failed to copy isn't there, or is as it was; the rest of its section is copied.
func TestAKeyThatFailsIsNotCopied(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Apps: 2, Days: 2, Rate: -1, Now: emutest.AtNoon,
		JobFaults: []emulator.JobFault{{Section: "s2s", Item: "enabled", Detail: "no luck", Times: 1}}})
	app := create(t, s, garden())
	callOK[object](t, s, "GET", "status/"+app.Ticket, nil)
	if got := settingsOf(t, s, app.Token)["s2s"].(object); len(got) != 1 || got["token_required"] == nil {
		t.Errorf("s2s after a job that failed at enabled: %v", got)
	}
	again := create(t, s, garden("force_update", true))
	callOK[object](t, s, "GET", "status/"+again.Ticket, nil)
	if got := settingsOf(t, s, app.Token)["s2s"].(object); len(got) != 2 || got["enabled"] != false {
		t.Errorf("s2s after the next job: %v", got)
	}
}
