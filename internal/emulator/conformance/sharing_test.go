package conformance_test

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator"
)

const jsonKind, formKind = "application/json", "application/x-www-form-urlencoded"

// share posts parameters as a form.
func share(s *emulator.Server, v url.Values) called {
	return call(s, "POST", "/third_party_sharing", "", formKind, v.Encode())
}

// choice is what a call must say, and more.
func choice(s *emulator.Server, device string, more ...string) url.Values {
	v := url.Values{"s2s": {"1"}, "app_token": {s.Apps()[0].Token}, "idfa": {device}}
	for i := 0; i < len(more); i += 2 {
		v[more[i]] = []string{more[i+1]}
		if more[i+1] == "" {
			delete(v, more[i])
		}
	}
	return v
}

// took posts a choice, which must be answered 200.
func took(t *testing.T, s *emulator.Server, device string, more ...string) {
	t.Helper()
	if c := share(s, choice(s, device, more...)); c.status != 200 ||
		same(t, object[fields](t, c)) != `{"status":"OK"}` {
		t.Fatalf("%v: %d %s", more, c.status, c.body)
	}
}

// sharedWith gives the metrics that a device's partner is sent.
func sharedWith(t *testing.T, s *emulator.Server, device, partner string) (metrics []string) {
	t.Helper()
	c := call(s, "GET", "/_emulator/sharing?app_token="+s.Apps()[0].Token+"&device="+device, "", "", "")
	state := object[struct {
		Partners map[string]map[string]bool
	}](t, c)
	if len(state.Partners[partner]) != len(documentMetrics)-1 {
		t.Fatalf("%s of %s: %d %s", partner, device, c.status, c.body)
	}
	for metric, shared := range state.Partners[partner] {
		if shared {
			metrics = append(metrics, metric)
		}
	}
	slices.Sort(metrics)
	return metrics
}

// documentMetrics are the document's allowed names.
var documentMetrics = []string{"ad_revenue", "all", "update", "att_update", "event", "install", "reattribution",
	"reattribution_reinstall", "reinstall",
	"rejected_install", "rejected_reattribution", "sdk_click", "sdk_info", "session", "subscription", "uninstall"}

// below are the metrics that a group takes with it; the service's page nests them so.
func below(metric string) []string {
	switch metric {
	case "all":
		return documentMetrics
	case "session":
		return []string{"session", "install", "rejected_install", "reinstall", "reattribution",
			"rejected_reattribution", "reattribution_reinstall"}
	case "install":
		return []string{"install", "rejected_install"}
	}
	return []string{metric}
}

// without are the metrics but for some and all, which is no metric of its own.
func without(gone ...string) (rest []string) {
	for _, m := range documentMetrics {
		if m != "all" && !slices.Contains(gone, m) {
			rest = append(rest, m)
		}
	}
	slices.Sort(rest)
	return rest
}

func sorted(names ...string) []string {
	slices.Sort(names)
	return names
}

// Each metric can be taken from a partner, with those below it, and given back.
func TestDocumentSharingMetrics(t *testing.T) {
	t.Parallel()
	s := serviceOf(t, emulator.Options{Apps: 1, Days: 2})
	for _, metric := range documentMetrics {
		t.Run(metric, func(t *testing.T) {
			for i, partner := range []string{"facebook", "all"} {
				device := fmt.Sprintf("device-%s-%d", metric, i)
				took(t, s, device, "partner_sharing_settings", `{"`+partner+`":{"`+metric+`":false}}`)
				others := without()
				if partner == "all" {
					others = without(below(metric)...)
				}
				for of, want := range map[string][]string{"facebook": without(below(metric)...), "google": others,
					"dynamic_callbacks": others} {
					if got := sharedWith(t, s, device, of); !slices.Equal(got, want) {
						t.Errorf("%s disabled for %s: %s is sent %v, want %v", metric, partner, of, got, want)
					}
				}
				took(t, s, device, "partner_sharing_settings", `{"`+partner+`":{"`+metric+`":true}}`)
				if got := sharedWith(t, s, device, "facebook"); !slices.Equal(got, without()) {
					t.Errorf("%s enabled again for %s: facebook is sent %v", metric, partner, got)
				}
			}
		})
	}
}

func TestDocumentGroupRules(t *testing.T) {
	t.Parallel()
	s := serviceOf(t, emulator.Options{Apps: 1, Days: 2})
	cases := []struct {
		rule, settings, partner string
		want                    []string
	}{
		{"rule 1", `{"facebook":{"session":false}}`, "facebook", without(below("session")...)},
		{"rule 1", `{"facebook":{"install":false}}`, "facebook", without("install", "rejected_install")},
		{"rule 1",
			`{"facebook":{"rejected_install":false,"reinstall":false,"reattribution":false,"rejected_reattribution":false,"reattribution_reinstall":false}}`,
			"facebook", without("rejected_install", "reinstall", "reattribution", "rejected_reattribution",
				"reattribution_reinstall")},
		{"rule 2", `{"facebook":{"session":false,"install":true}}`, "facebook",
			sorted(append(without(below("session")...), "install", "rejected_install")...)},
		{"rule 2", `{"facebook":{"session":false,"reinstall":true}}`, "facebook",
			sorted(append(without(below("session")...), "reinstall")...)},
		{"rule 2", `{"facebook":{"all":false,"install":true}}`, "facebook", []string{"install", "rejected_install"}},
		{"rule 3", `{"facebook":{"session":true,"install":false}}`, "facebook", without("install", "rejected_install")},
		{"rule 3", `{"facebook":{"all":false,"session":true,"install":false}}`, "facebook",
			sorted("session", "reinstall", "reattribution", "rejected_reattribution", "reattribution_reinstall")},
		{"rule 4", `{"all":{"event":false}}`, "facebook", without("event")},
		{"rule 4", `{"facebook":{"all":false}}`, "facebook", nil},
		{"rule 4", `{"facebook":{"all":false}}`, "google", without()},
		{"rule 4", `{"all":{"all":false}}`, "vungle", nil},
		{"rule 4", `{"all":{"all":false}}`, "dynamic_callbacks", nil},
		{"rule 4", `{"all":{"all":false},"facebook":{"all":true}}`, "facebook", without()},
		{"rule 4", `{"all":{"all":false},"facebook":{"event":true}}`, "facebook", []string{"event"}},
		{"rule 4", `{"all":{"all":false},"facebook":{"event":true}}`, "google", nil},
		{"rule 4", `{"all":{"all":true},"facebook":{"event":false}}`, "facebook", without("event")},
		{"rule 4", `{"all":{"session":true},"facebook":{"all":false}}`, "facebook", nil},
		{"rule 4", `{"dynamic_callbacks":{"all":false}}`, "dynamic_callbacks", nil},
	}
	for _, rule := range []string{"rule 1", "rule 2", "rule 3", "rule 4"} {
		t.Run(rule, func(t *testing.T) {
			for i, c := range cases {
				if c.rule != rule {
					continue
				}
				device := fmt.Sprint("device-", i)
				took(t, s, device, "partner_sharing_settings", c.settings)
				if got := sharedWith(t, s, device, c.partner); !slices.Equal(got, c.want) {
					t.Errorf("%s: %s is sent %v, want %v", c.settings, c.partner, got, c.want)
				}
			}
		})
	}
}

// The same choice in the query, as a form and as a JSON body, with settings in every form.
func TestDocumentSharingEncodings(t *testing.T) {
	t.Parallel()
	s := serviceOf(t, emulator.Options{Apps: 1, Days: 2})
	const settings = `{"facebook":{"event":false,"session":false},"google":{"all":false}}`
	const objects = `[{"partnerName":"facebook","key":"event","value":false},{"partnerName":"facebook","key":"session","value":false},{"partnerName":"google","key":"all","value":false}]`
	const options = `{"google_dma":{"eea":"1","ad_personalization":"0"}}`
	app := s.Apps()[0].Token
	plain := func(device string, more ...string) url.Values {
		return choice(s, device, append(more, "granular_third_party_sharing_options", options)...)
	}
	brackets := func(device string) url.Values {
		v := plain(device)
		for i, o := range [][3]string{{"facebook", "event", "false"}, {"facebook", "session", "false"},
			{"google", "all", "false"}} {
			for n, field := range []string{"partnerName", "key", "value"} {
				v.Set("partner_sharing_settings["+strconv.Itoa(i)+"]["+field+"]", o[n])
			}
		}
		return v
	}
	body := func(device, settings string) string {
		return `{"s2s":"1","app_token":"` + app + `","idfa":"` + device + `","partner_sharing_settings":` + settings +
			`,"granular_third_party_sharing_options":` + options + `}`
	}
	for i, c := range []struct {
		name string
		send func(device string) called
	}{
		{"query", func(d string) called {
			return call(s, "POST", "/third_party_sharing?"+plain(d, "partner_sharing_settings", settings).Encode(), "",
				"", "")
		}},
		{"form", func(d string) called { return share(s, plain(d, "partner_sharing_settings", settings)) }},
		{"form objects", func(d string) called { return share(s, plain(d, "partner_sharing_settings", objects)) }},
		{"form objects in brackets", func(d string) called { return share(s, brackets(d)) }},
		{"JSON", func(d string) called {
			return call(s, "POST", "/third_party_sharing", "", jsonKind, body(d, settings))
		}},
		{"JSON objects", func(d string) called {
			return call(s, "POST", "/third_party_sharing", "", jsonKind, body(d, objects))
		}},
		{"query and JSON", func(d string) called {
			return call(s, "POST", "/third_party_sharing?"+choice(s, d, "partner_sharing_settings", settings).Encode(),
				"", jsonKind,
				`{"granular_third_party_sharing_options":`+options+`}`)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			device := fmt.Sprint("device-", i)
			if got := c.send(device); got.status != 200 {
				t.Fatalf("%d %s", got.status, got.body)
			}
			if got, want := sharedWith(t, s, device, "facebook"),
				without(append(below("session"), "event")...); !slices.Equal(got, want) {
				t.Errorf("facebook is sent %v, want %v", got, want)
			}
			if got := sharedWith(t, s, device, "google"); len(got) > 0 {
				t.Errorf("google is sent %v", got)
			}
			if got, want := optionsOf(t, s, device), `{"google_dma":{"ad_personalization":"0","eea":"1"}}`; got !=
				want {
				t.Errorf("options %s, want %s", got, want)
			}
		})
	}
}

func optionsOf(t *testing.T, s *emulator.Server, device string) string {
	t.Helper()
	c := call(s, "GET", "/_emulator/sharing?app_token="+s.Apps()[0].Token+"&device="+device, "", "", "")
	return same(t, object[fields](t, c)["options"])
}

func TestDocumentSharingParameters(t *testing.T) {
	t.Parallel()
	s := serviceOf(t, emulator.Options{Apps: 1, Days: 2})
	refused := func(t *testing.T, v url.Values, reason string) {
		t.Helper()
		if c := share(s, v); c.status != 400 || !strings.Contains(object[fields](t, c)["error"].(string), reason) {
			t.Errorf("%v: %d %s, want 400 and %s", v, c.status, c.body, reason)
		}
	}
	t.Run("gps_adid, idfa", func(t *testing.T) {
		refused(t, choice(s, "d", "sharing", "disable", "idfa", ""), "idfa")
		took(t, s, "an-idfa", "sharing", "disable")
		took(t, s, "", "sharing", "disable", "idfa", "", "gps_adid", "an-adid")
		for _, device := range []string{"an-idfa", "an-adid"} {
			if got := sharedWith(t, s, device, "google"); len(got) > 0 {
				t.Errorf("%s: %v", device, got)
			}
		}
	})
	t.Run("s2s", func(t *testing.T) {
		refused(t, choice(s, "d", "sharing", "disable", "s2s", ""), "s2s")
		for _, other := range []string{"0", "2", "10", "01", "-1", " 1", "true", "yes"} {
			refused(t, choice(s, "d", "sharing", "disable", "s2s", other), "s2s")
		}
		if got := sharedWith(t, s, "d", "google"); !slices.Equal(got, without()) {
			t.Errorf("after choices that were refused, google is sent %v", got)
		}
		took(t, s, "d", "sharing", "disable", "s2s", "1")
		for _, other := range []string{`"2"`, "2", "true", "1.5", "null"} {
			body := `{"s2s":` + other + `,"app_token":"` + s.Apps()[0].Token + `","idfa":"d","sharing":"enable"}`
			if c := call(s, "POST", "/third_party_sharing", "", jsonKind, body); c.status != 400 {
				t.Errorf("s2s %s in a JSON body: %d %s", other, c.status, c.body)
			}
		}
	})
	t.Run("app_token", func(t *testing.T) {
		refused(t, choice(s, "d", "sharing", "disable", "app_token", ""), "app_token")
		refused(t, choice(s, "d", "sharing", "disable", "app_token", "nosuchapp"), "App not found")
	})
	t.Run("sharing", func(t *testing.T) {
		took(t, s, "switched", "partner_sharing_settings", `{"facebook":{"event":false}}`) // omitted beside settings
		took(t, s, "switched", "sharing", "disable")
		if got := sharedWith(t, s, "switched", "google"); len(got) > 0 {
			t.Errorf("disabled: %v", got)
		}
		took(t, s, "switched", "sharing", "enable")
		if got := sharedWith(t, s, "switched", "google"); !slices.Equal(got, without()) {
			t.Errorf("enabled: %v", got)
		}
		if got := sharedWith(t, s, "switched", "facebook"); !slices.Equal(got, without("event")) {
			t.Errorf("enabled, with what was said of a partner: %v", got)
		}
		refused(t, choice(s, "d", "sharing", "perhaps"), "sharing")
		refused(t, choice(s, "d"), "sharing") // nothing is said at all
	})
	t.Run("partner_sharing_settings", func(t *testing.T) {
		for i, slug := range []string{"applovin", "chartboost", "facebook", "gameanalytics", "google", "inmobi",
			"ironsource", "mintegral", "snapchat",
			"tapjoy", "tiktok", "unityads", "vungle"} {
			alias := fmt.Sprint("partner_", i+1)
			took(t, s, alias, "partner_sharing_settings", `{"`+alias+`":{"all":false}}`)
			if got := sharedWith(t, s, alias, slug); len(got) > 0 {
				t.Errorf("%s isn't %s, which is sent %v", alias, slug, got)
			}
		}
		refused(t, choice(s, "d", "partner_sharing_settings", "{"), "partner_sharing_settings")
		refused(t, choice(s, "d", "partner_sharing_settings", `{"nobody":{"event":false}}`), "nobody")
		refused(t, choice(s, "d", "partner_sharing_settings", `{"facebook":{"moon":false}}`), "moon")
		refused(t, choice(s, "d", "partner_sharing_settings", `{"facebook":{"event":"no"}}`), "facebook.event")
	})
	t.Run("granular_third_party_sharing_options", func(t *testing.T) {
		took(t, s, "granular", "granular_third_party_sharing_options",
			`{"partner_dma":{"eea":"0"},"facebook":{"data_processing_options_country":"1","data_processing_options_state":"1000"}}`)
		if got := optionsOf(t, s, "granular"); !strings.Contains(got, `"eea":"0"`) ||
			!strings.Contains(got, `"data_processing_options_state":"1000"`) {
			t.Errorf("options %s", got)
		}
		refused(t, choice(s, "d", "granular_third_party_sharing_options", "["), "granular_third_party_sharing_options")
		refused(t, choice(s, "d", "granular_third_party_sharing_options", `{"nobody":{"eea":"1"}}`), "nobody")
	})
}

// The keys of the group for the Digital Markets Act; flags are the texts 1 and 0.
func TestDocumentConsent(t *testing.T) {
	t.Parallel()
	s := serviceOf(t, emulator.Options{Apps: 1, Days: 2})
	for _, key := range []string{"eea", "ad_personalization", "ad_user_data", "npa"} {
		t.Run(key, func(t *testing.T) {
			for _, flag := range []string{"1", "0"} {
				took(t, s, "of-"+key, "granular_third_party_sharing_options", `{"google_dma":{"`+key+`":"`+flag+`"}}`)
				if got, want := optionsOf(t, s, "of-"+key), `{"google_dma":{"`+key+`":"`+flag+`"}}`; got != want {
					t.Errorf("%s, want %s", got, want)
				}
			}
			for _, flag := range []string{`"2"`, `"yes"`, `""`, `[1]`} {
				c := share(s, choice(s, "of-"+key, "granular_third_party_sharing_options",
					`{"google_dma":{"`+key+`":`+flag+`}}`))
				if c.status != 400 || !strings.Contains(c.body, key) {
					t.Errorf("the flag %s: %d %s", flag, c.status, c.body)
				}
			}
			if got, want := optionsOf(t, s, "of-"+key), `{"google_dma":{"`+key+`":"0"}}`; got != want {
				t.Errorf("after bad flags %s, want %s", got, want)
			}
		})
	}
}

func TestDocumentSharingStatuses(t *testing.T) {
	t.Parallel()
	s := serviceOf(t, emulator.Options{Apps: 1, Days: 2})
	t.Run("200", func(t *testing.T) {
		took(t, s, "d200", "sharing", "enable", "partner_sharing_settings", `{"facebook":{"event":false}}`,
			"granular_third_party_sharing_options", `{"google_dma":{"eea":"1"}}`)
	})
	t.Run("202", func(t *testing.T) {
		for i, bad := range [][]string{
			{"partner_sharing_settings", `{"facebook":{"event":false},"nobody":{"event":false}}`, "nobody"},
			{"partner_sharing_settings", `{"facebook":{"event":false,"moon":true}}`, "moon"},
			{"partner_sharing_settings", `{"facebook":{"event":false}}`, "eea", "granular_third_party_sharing_options",
				`{"google_dma":{"eea":"maybe"}}`},
			{"partner_sharing_settings", `{"facebook":{"event":false}}`, "granular_third_party_sharing_options",
				"granular_third_party_sharing_options", "{"},
		} {
			device := fmt.Sprint("d202-", i)
			more := slices.Concat(bad[:2], bad[3:])
			c := share(s, choice(s, device, more...))
			if c.status != 202 || !strings.Contains(object[fields](t, c)["error"].(string), bad[2]) {
				t.Errorf("%v: %d %s, want 202 and %s", more, c.status, c.body, bad[2])
			}
			if got := sharedWith(t, s, device, "facebook"); !slices.Equal(got, without("event")) {
				t.Errorf("%v: the valid part isn't applied, facebook is sent %v", more, got)
			}
		}
	})
	t.Run("400", func(t *testing.T) {
		c := share(s, choice(s, "d400", "sharing", "disable", "app_token", "nosuchapp"))
		if c.status != 400 || same(t, object[fields](t, c)) !=
			`{"error":"Third party sharing failed (App not found)"}` {
			t.Errorf("an unknown app: %d %s", c.status, c.body)
		}
		for _, v := range []url.Values{{}, choice(s, "d400"), choice(s, "d400", "sharing", "disable", "idfa", ""),
			choice(s, "d400", "partner_sharing_settings", `{"nobody":{"all":false}}`)} {
			if c := share(s, v); c.status != 400 || object[fields](t, c)["error"] == "" {
				t.Errorf("%v: %d %s", v, c.status, c.body)
			}
		}
		if c := call(s, "POST", "/third_party_sharing", "", jsonKind, "{"); c.status != 400 {
			t.Errorf("malformed JSON: %d %s", c.status, c.body)
		}
		if got := sharedWith(t, s, "d400", "facebook"); !slices.Equal(got, without()) {
			t.Errorf("something was applied: %v", got)
		}
	})
}

// The document doesn't say how requests are authenticated: by default not at all, else by a token
// of the app's.
func TestDocumentSharingAuthentication(t *testing.T) {
	t.Parallel()
	s := serviceOf(t, emulator.Options{Apps: 1, Days: 2, SharingTokens: map[string]string{"right": ""}})
	form := choice(s, "d", "sharing", "disable").Encode()
	for token, want := range map[string]int{"": 400, "wrong": 400, "right": 200} {
		if c := call(s, "POST", "/third_party_sharing", token, formKind, form); c.status != want {
			t.Errorf("token %q: %d %s, want %d", token, c.status, c.body, want)
		}
	}
	took(t, serviceOf(t, emulator.Options{Apps: 1, Days: 2}), "d", "sharing", "disable")
}
