package sharing_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/emulator/sharing"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

const (
	aDevice = "7ab5c8ff-0f8a-4c70-a3b1-2d6a0c2f7f10"
	gpsForm = "s2s=1&app_token=APP&gps_adid=" + aDevice // APP is the first app
	idfForm = "s2s=1&app_token=APP&idfa=" + aDevice
	jsonIDs = `"s2s":"1","app_token":"APP","idfa":"` + aDevice + `"`
)

// postSharing posts to the endpoint. Bodies are forms, or JSON when they begin with a brace. APP
// stands for the first app.
func postSharing(s *emulator.Server, query, body string, headers ...string) (status int, answer string) {
	app := strings.NewReplacer("APP", s.Apps()[0].Token)
	r := httptest.NewRequest(http.MethodPost, sharing.Path, strings.NewReader(app.Replace(body)))
	r.URL.RawQuery = app.Replace(query)
	switch {
	case strings.HasPrefix(strings.TrimSpace(body), "{"):
		r.Header.Set("Content-Type", "application/json; charset=utf-8")
	case body != "":
		r.Header.Set("Content-Type", wire.FormType)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// off lists what isn't shared with a partner, sorted.
func off(state emulator.SharingState, partner string) (out []string) {
	for metric, shared := range state.Partners[partner] {
		if !shared {
			out = append(out, metric)
		}
	}
	slices.Sort(out)
	return out
}

func sharingFailure(reason string) string {
	return `{"error":"Third party sharing failed (` + reason + `)"}`
}

func partly(reason string) string {
	return `{"error":"Third party sharing partially failed (` + reason + `)"}`
}

const allRight = `{"status":"OK"}`

func TestSharingMandatoryParameters(t *testing.T) {
	t.Parallel()
	const nothing = "Missing parameter: sharing, partner_sharing_settings or granular_third_party_sharing_options"
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 2})
	for _, c := range []struct{ query, body, reason string }{
		{gpsForm + "&sharing=enable", "", ""},
		{gpsForm + "&sharing=disable", "", ""},
		{"", gpsForm + "&sharing=disable", ""},
		{gpsForm + "&idfa=x&sharing=disable", "", ""},
		{idfForm, "sharing=disable", ""},
		{"", "", "Missing parameter: app_token"},
		{"s2s=1&gps_adid=x&sharing=enable", "", "Missing parameter: app_token"},
		{"s2s=1&gps_adid=x&sharing=enable&app_token=", "", "Missing parameter: app_token"},
		{"s2s=1&gps_adid=x&sharing=enable&App_Token=APP", "", "Missing parameter: app_token"},
		{"s2s=1&gps_adid=x&sharing=enable&app_token=nobodys", "", "App not found"},
		{"app_token=APP&gps_adid=x&sharing=enable", "", "Missing parameter: s2s"},
		{"s2s=0&app_token=APP&gps_adid=x&sharing=enable", "", "Invalid parameter: s2s"},
		{"s2s=true&app_token=APP&gps_adid=x&sharing=enable", "", "Invalid parameter: s2s"},
		{"s2s=1&app_token=APP&sharing=enable", "", "Missing parameter: idfa or gps_adid"},
		{"s2s=1&app_token=APP&oaid=x&idfa=&sharing=enable", "", "Missing parameter: idfa or gps_adid"},
		{"s2s=1&app_token=APP&sharing=enable&idfa=a%0d%0aX-Header:+1", "", "Invalid parameter: idfa"},
		{"s2s=1&app_token=APP&sharing=enable&idfa=a&gps_adid=a%00", "", "Invalid parameter: gps_adid"},
		{"s2s=1&app_token=APP&sharing=enable&gps_adid=%ff", "", "Invalid parameter: gps_adid"},
		{gpsForm, "", nothing},
		{gpsForm + "&sharing=", "", nothing},
		{gpsForm + "&partner_sharing_settings={}", "", nothing},
		{gpsForm + "&granular_third_party_sharing_options={\"tiktok\":{}}", "", nothing},
		{gpsForm + "&sharing=off", "", "Invalid sharing: off"},
		{gpsForm + "&sharing=Enable", "", "Invalid sharing: Enable"},
		{gpsForm + "&sharing=enable&x=%zz", "", "Malformed request (bad escape)"},
		{gpsForm + "&sharing=enable", "%=1", "Malformed request (bad escape)"},
		{gpsForm + "&sharing=enable", "{", "Malformed request body"},
		{gpsForm + "&sharing=enable", `{"s2s":"1"} {}`, "Malformed request body"},
		{gpsForm + "&sharing=enable", `{"sharing":["enable"]}`, "Malformed request body"},
		{gpsForm + "&sharing=enable", `{"idfa":{"a":1}}`, "Malformed request body"},
		{gpsForm + "&sharing=enable", `{"unknown":{"a":1}}`, ""},
		{strings.Repeat("x", 1<<20+1), "", "Request size too large"},
	} {
		before := s.Sharing().Records
		status, answer := postSharing(s, c.query, c.body)
		wantStatus, want := 200, allRight
		if c.reason != "" {
			wantStatus, want = 400, sharingFailure(c.reason)
		}
		if status != wantStatus || answer != want {
			t.Errorf("%.100s %.100s: %d %s, want %d %s", c.query, c.body, status, answer, wantStatus, want)
		}
		if taken := s.Sharing().Records - before; (taken == 1) != (c.reason == "") {
			t.Errorf("%.100s %.100s: %d taken", c.query, c.body, taken)
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
		r := httptest.NewRequest(method, sharing.Path+"?"+strings.ReplaceAll(gpsForm, "APP",
			s.Apps()[0].Token)+"&sharing=enable", nil)
		w := httptest.NewRecorder()
		if s.ServeHTTP(w, r); w.Code != 400 || w.Body.String() != sharingFailure("Method not allowed") {
			t.Errorf("%s: %d %s", method, w.Code, w.Body)
		}
	}
	got := s.Sharing()
	if got.Refused["App not found"] != 1 || got.Refused["No valid part"] != 2 || got.Refused[nothing] != 4 ||
		got.Statuses[400] == 0 {
		t.Errorf("books %+v", got)
	}
	if len(s.Requests()) != 0 {
		t.Error("device IDs are in the request log")
	}
}

func TestSharingBodyLimit(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 1, Days: 2})
	for _, c := range []struct {
		size, status int
		answer       string
	}{
		{1 << 20, 200, allRight},
		{1<<20 + 1, 400, sharingFailure("Request size too large")},
		{10 << 20, 400, sharingFailure("Request size too large")},
	} {
		body := gpsForm + "&sharing=disable&x="
		body += strings.Repeat("x", c.size-len(strings.ReplaceAll(body, "APP", s.Apps()[0].Token)))
		before := s.Sharing().Records
		status, answer := postSharing(s, "", body)
		if status != c.status || answer != c.answer || s.Sharing().Records-before != map[int]int{200: 1,
			400: 0}[c.status] {
			t.Errorf("%d bytes: %d %s", c.size, status, answer)
		}
	}
	r := httptest.NewRequest(http.MethodPost, sharing.Path, io.MultiReader(strings.NewReader("s2s=1"), brokenReader{}))
	r.Header.Set("Content-Type", wire.FormType)
	w := httptest.NewRecorder()
	if s.ServeHTTP(w, r); w.Code != 400 || w.Body.String() != sharingFailure("Malformed request body") {
		t.Errorf("a body that breaks off: %d %s", w.Code, w.Body)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// Each way of sending the same says the same.
func TestSharingEncodings(t *testing.T) {
	t.Parallel()
	const (
		settings = `{"all":{"all":false},"facebook":{"install":true}}`
		forms    = `[{"partnerName":"all","key":"all","value":false},{"partnerName":"facebook","key":"install","value":"true"}]`
		options  = `{"google_dma":{"eea":"1","npa":"0"}}`
	)
	q := func(v string) string { return strings.ReplaceAll(v, `"`, `\"`) }
	for _, c := range []struct{ name, query, body string }{
		{"query", gpsForm + "&" + emutest.Form(sharing.SettingsName, settings, sharing.OptionsName, options), ""},
		{"form", "", gpsForm + "&" + emutest.Form(sharing.SettingsName, settings, sharing.OptionsName, options)},
		{"query and form", emutest.Form(sharing.SettingsName, settings),
			gpsForm + "&" + emutest.Form(sharing.OptionsName, options)},
		{"JSON body with objects", "", `{"s2s":"1","app_token":"APP","gps_adid":"` + aDevice + `","` +
			sharing.SettingsName + `":` + settings + `,"` + sharing.OptionsName + `":` + options + `}`},
		{"JSON body with a number and texts", "", `{"s2s":1,"app_token":"APP","idfa":null,"gps_adid":"` + aDevice +
			`","` + sharing.SettingsName + `":"` + q(settings) + `","` + sharing.OptionsName + `":"` + q(options) +
			`"}`},
		{"JSON body with form objects", "", "\n{\"s2s\" : \"1\" ,\n\"app_token\":\"APP\",\"gps_adid\":\"" + aDevice +
			"\", \"" + sharing.SettingsName + "\": " + forms + ", \"" + sharing.OptionsName + "\":" + options + "}\n"},
		{"options in a JSON body, the rest in the query", gpsForm + "&" + emutest.Form(sharing.SettingsName, settings),
			`{"` + sharing.OptionsName + `":` + options + `}`},
		{"array of form objects", "", gpsForm + "&" + emutest.Form(sharing.SettingsName, forms, sharing.OptionsName,
			options)},
		{"single form objects, repeated", "", gpsForm + "&" + emutest.Form(sharing.SettingsName,
			`{"partnerName":"all","key":"all","value":false}`,
			sharing.SettingsName, `{"value":true,"key":"install","partnerName":"facebook"}`, sharing.OptionsName,
			options)},
		{"brackets", "", gpsForm + "&" + emutest.Form(sharing.SettingsName+"[0][partnerName]", "all",
			sharing.SettingsName+"[1][partnerName]", "facebook", sharing.SettingsName+"[0][key]", "all",
			sharing.SettingsName+"[0][value]", "false", sharing.SettingsName+"[1][key]", "install",
			sharing.SettingsName+"[1][value]", "true",
			sharing.OptionsName+"[google_dma][eea]", "1", sharing.OptionsName+"[google_dma][npa]", "0")},
		{"brackets in the query", gpsForm + "&" + emutest.Form(sharing.SettingsName+"[b][partnerName]", "all",
			sharing.SettingsName+"[b][key]", "all", sharing.SettingsName+"[b][value]", "false",
			sharing.SettingsName+"[a][partnerName]", "facebook", sharing.SettingsName+"[a][key]", "install",
			sharing.SettingsName+"[a][value]", "true", sharing.OptionsName, options), ""},
		{"aliases", "", gpsForm + "&" + emutest.Form(sharing.SettingsName,
			strings.ReplaceAll(settings, "facebook", "partner_3"), sharing.OptionsName,
			strings.ReplaceAll(options, "google_dma", "partner_dma"))},
		{"the body goes first", gpsForm + "&gps_adid=other&" + emutest.Form(sharing.SettingsName,
			`{"google":{"all":true}}`, sharing.OptionsName, `{"facebook":{"x":"1"}}`, "sharing", ""),
			emutest.Form(sharing.SettingsName, settings, sharing.OptionsName, options)},
		{"the body's device goes first", "s2s=1&app_token=APP&gps_adid=other",
			emutest.Form("gps_adid", aDevice, sharing.SettingsName, settings, sharing.OptionsName, options)},
		{"of plain ones the first counts", gpsForm + "&app_token=nobodys&gps_adid=other",
			emutest.Form(sharing.SettingsName, settings, sharing.OptionsName, options)},
		{"objects add up", gpsForm, emutest.Form(sharing.SettingsName, `{"all":{"all":false}}`, sharing.SettingsName,
			`{"facebook":{"install":true}}`, sharing.OptionsName+"[google_dma][eea]", "1", sharing.OptionsName,
			`{"google_dma":{"npa":"0"}}`)},
	} {
		s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 1, Days: 2})
		if status, answer := postSharing(s, c.query, c.body); status != 200 || answer != allRight {
			t.Errorf("%s: %d %s", c.name, status, answer)
		}
		got := s.SharingOf(s.Apps()[0].Token, "", aDevice)
		others := slices.Clone(sharing.Metrics())
		if len(off(got, "google")) != 15 || len(off(got, "dynamic_callbacks")) != 15 {
			t.Errorf("%s: google %q, callbacks %q aren't shared, want all", c.name, off(got, "google"),
				off(got, "dynamic_callbacks"))
		}
		others = slices.DeleteFunc(others, func(m string) bool { return m == "install" || m == "rejected_install" })
		if !slices.Equal(off(got, "facebook"), others) || got.IDType != "gps_adid" || got.Arrivals != 1 ||
			got.Sharing != "" {
			t.Errorf("%s: %+v", c.name, got)
		}
		if want := map[string]map[string]string{"google_dma": {"eea": "1", "npa": "0"}}; !reflect.DeepEqual(got.Options,
			want) {
			t.Errorf("%s: options %v", c.name, got.Options)
		}
	}
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 1, Days: 2})
	if status, answer := postSharing(s, gpsForm+"&sharing=enable", "", "Content-Type",
		"application/json"); status != 200 {
		t.Errorf("no body, of JSON's type: %d %s", status, answer)
	}
	if status, answer := postSharing(s, gpsForm, "sharing=enable", "Content-Type", "text/plain"); status != 400 ||
		!strings.Contains(answer, "Missing") {
		t.Errorf("a body of another type: %d %s", status, answer)
	}
}

// What is invalid is named, and the rest applies; with no rest nothing does.
func TestSharingInvalidParts(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 1, Days: 2, SharingPartners: []string{"extra"}})
	long := strings.Repeat("ä", 65)
	many := `{`
	for i := range 22 {
		many += strings.Repeat(",", min(i, 1)) + `"p` + string(rune('a'+i)) + `":{"all":true}`
	}
	many += `}`
	list := ""
	for i := range 20 {
		list += "Unknown partner: p" + string(rune('a'+i)) + "; "
	}
	for _, c := range []struct{ body, issue string }{
		{emutest.Form("sharing", "on"), "Invalid sharing: on"},
		{emutest.Form(sharing.SettingsName, `{"nobody":{"all":false}}`), "Unknown partner: nobody"},
		{emutest.Form(sharing.SettingsName, `{"AppLovin (34)":{"all":false}}`), "Unknown partner: AppLovin (34)"},
		{emutest.Form(sharing.SettingsName,
			`{"Facebook (35)":{"all":false},"(34)":{"all":false},"facebook 34":{"all":false}}`),
			"Unknown partner: Facebook (35); Unknown partner: (34); Unknown partner: facebook 34"},
		{emutest.Form(sharing.SettingsName, `{"partner_14":{"all":false},"partner_0":{}}`),
			"Unknown partner: partner_14; Unknown partner: partner_0"},
		{emutest.Form(sharing.SettingsName, `{"`+long+`":{}}`), "Unknown partner: " + long[:128] + "..."},
		{emutest.Form(sharing.SettingsName, many), list + "2 more"},
		{emutest.Form(sharing.SettingsName, `{"google":{"clicks":false}}`), "Unknown metric: google.clicks"},
		{emutest.Form(sharing.SettingsName, `{"google":{"attribution":false,"cost_update":true}}`),
			"Unknown metric: google.attribution; Unknown metric: google.cost_update"},
		{emutest.Form(sharing.SettingsName, `{"google":{"install":"false"}}`), "Invalid value: google.install"},
		{emutest.Form(sharing.SettingsName, `{"google":{"install":0}}`), "Invalid value: google.install"},
		{emutest.Form(sharing.SettingsName, `{"google":{"install":null}}`), "Invalid value: google.install"},
		{emutest.Form(sharing.SettingsName, `{"google":{"install":[true]}}`), "Invalid value: google.install"},
		{emutest.Form(sharing.SettingsName, `{"google":false}`), "Invalid settings of partner: google"},
		{emutest.Form(sharing.SettingsName, `{"google":["all"]}`), "Invalid settings of partner: google"},
		{emutest.Form(sharing.SettingsName, `all`), "Invalid partner_sharing_settings"},
		{emutest.Form(sharing.SettingsName, `{"google":{"all":false}`), "Invalid partner_sharing_settings"},
		{emutest.Form(sharing.SettingsName, `null`), "Invalid partner_sharing_settings"},
		{emutest.Form(sharing.SettingsName, `["google"]`), "Invalid partner_sharing_settings"},
		{emutest.Form(sharing.SettingsName, `[{"partnerName":"google"}]`), "Invalid partner_sharing_settings"},
		{emutest.Form(sharing.SettingsName, `[{"key":"all","value":true}]`), "Invalid partner_sharing_settings"},
		{emutest.Form(sharing.SettingsName, `{"partnerName":"google","key":"all"}`), "Invalid value: google.all"},
		{emutest.Form(sharing.SettingsName, `{"partnerName":"nobody","key":"all","value":true}`),
			"Unknown partner: nobody"},
		{emutest.Form(sharing.SettingsName, `{"partnerName":7,"key":"all","value":true}`), "Unknown partner: 7"},
		{emutest.Form(sharing.SettingsName+"[0][partnerName]", "google", sharing.SettingsName+"[0][key]", "all",
			sharing.SettingsName+"[0][value]", "1"), "Invalid value: google.all"},
		{emutest.Form(sharing.SettingsName+"[0][partnerName]", "google"), "Invalid partner_sharing_settings"},
		{emutest.Form(sharing.SettingsName+"[0", "google"), "Invalid partner_sharing_settings"},
		{emutest.Form(sharing.SettingsName+"[0][[key]]", "google"), "Invalid partner_sharing_settings"},
		{emutest.Form(sharing.SettingsName+"[google]", "false"), "Invalid partner_sharing_settings"},
		{emutest.Form(sharing.OptionsName, `x`), "Invalid granular_third_party_sharing_options"},
		{emutest.Form(sharing.OptionsName, `["google_dma"]`), "Invalid granular_third_party_sharing_options"},
		{emutest.Form(sharing.OptionsName+"[google_dma]", "1"), "Invalid granular_third_party_sharing_options"},
		{emutest.Form(sharing.OptionsName, `{"nobody":{"a":"1"}}`), "Unknown option group: nobody"},
		{emutest.Form(sharing.OptionsName, `{"all":{"a":"1"},"dynamic_callbacks":{"b":"2"}}`),
			"Unknown option group: all; Unknown option group: dynamic_callbacks"},
		{emutest.Form(sharing.OptionsName, `{"google_dma":"1"}`), "Invalid options of group: google_dma"},
		{emutest.Form(sharing.OptionsName, `{"google_dma":{"EEA":"1"}}`), "Unknown option: google_dma.EEA"},
		{emutest.Form(sharing.OptionsName, `{"google_dma":{"eea":"yes"}}`), "Invalid option: google_dma.eea"},
		{emutest.Form(sharing.OptionsName, `{"google_dma":{"eea":"true"}}`), "Invalid option: google_dma.eea"},
		{emutest.Form(sharing.OptionsName, `{"google_dma":{"eea":2}}`), "Invalid option: google_dma.eea"},
		{emutest.Form(sharing.OptionsName, `{"google_dma":{"eea":null}}`), "Invalid option: google_dma.eea"},
		{emutest.Form(sharing.OptionsName, `{"google_dma":{"eea":""}}`), "Invalid option: google_dma.eea"},
		{emutest.Form(sharing.OptionsName, `{"facebook":{"data_processing_options_country":"2"}}`),
			"Invalid option: facebook.data_processing_options_country"},
		{emutest.Form(sharing.OptionsName, `{"facebook":{"data_processing_options_state":"1"}}`),
			"Invalid option: facebook.data_processing_options_state"},
		{emutest.Form(sharing.OptionsName, `{"facebook":{"data_processing_options_state":true}}`),
			"Invalid option: facebook.data_processing_options_state"},
		{emutest.Form(sharing.OptionsName, `{"facebook":{"other":"1"}}`), "Unknown option: facebook.other"},
		{emutest.Form(sharing.OptionsName, `{"tiktok":{"a":1}}`), "Invalid option: tiktok.a"},
		{emutest.Form(sharing.OptionsName, `{"tiktok":{"":"x"}}`), "Invalid option: tiktok."},
		{emutest.Form(sharing.OptionsName, `{"tiktok":{"a":"x\r\ny"}}`), "Invalid option: tiktok.a"},
	} {
		for _, rest := range []string{"", emutest.Form("sharing", "disable"),
			emutest.Form(sharing.SettingsName, `{"extra":{"event":false}}`),
			emutest.Form(sharing.OptionsName, `{"apple_ads":{"a":"b"}}`)} {
			if rest != "" && rest[:3] == "sha" && c.body[:3] == "sha" {
				continue // the first sharing counts
			}
			check(t, s.ResetSharing())
			status, answer := postSharing(s, "", gpsForm+"&"+c.body+"&"+rest)
			wantStatus, want := 400, sharingFailure(c.issue)
			if rest != "" {
				wantStatus, want = 202, partly(c.issue)
			}
			if status != wantStatus || answer != want {
				t.Errorf("%s and %q: %d %s, want %d %s", c.body, rest, status, answer, wantStatus, want)
			}
			got := s.SharingOf(s.Apps()[0].Token, "", aDevice)
			if applied := got.Sharing == "disable" || len(off(got, "extra")) > 0 ||
				len(got.Options) > 0; applied != (rest != "") || applied && got.Arrivals != 1 {
				t.Errorf("%s and %q: %+v", c.body, rest, got)
			}
			if books := s.Sharing(); books.Statuses[wantStatus] != 1 ||
				(books.Refused["No valid part"] == 1) != (rest == "") {
				t.Errorf("%s and %q: books %+v", c.body, rest, books)
			}
		}
	}
}

func TestSharingKnowsPartnersAndMetrics(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 1, Days: 2,
		SharingPartners: []string{"extra", "34", "AppLovin", "facebook"}})
	names := []string{"applovin", "chartboost", "facebook", "gameanalytics", "google", "inmobi", "ironsource",
		"mintegral", "snapchat", "tapjoy",
		"tiktok", "unityads", "vungle", "dynamic_callbacks", "direkt_partner", "extra"}
	metrics := []string{"ad_revenue", "update", "att_update", "event", "install", "reattribution",
		"reattribution_reinstall", "reinstall", "rejected_install",
		"rejected_reattribution", "sdk_click", "sdk_info", "session", "subscription", "uninstall"}
	for i, name := range names {
		for _, metric := range metrics {
			check(t, s.ResetSharing())
			sent := name
			if i < 13 && metric == "event" {
				sent = "partner_" + []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13"}[i]
			}
			if status, answer := postSharing(s, "", gpsForm+"&"+emutest.Form(sharing.SettingsName,
				`{"`+sent+`":{"`+metric+`":false}}`)); status != 200 {
				t.Fatalf("%s %s: %d %s", name, metric, status, answer)
			}
			got := s.SharingOf(s.Apps()[0].Token, "gps_adid", aDevice)
			for _, other := range names {
				if isOff := slices.Contains(off(got, other), metric); isOff != (other == name) || other != name &&
					len(off(got, other)) > 0 {
					t.Errorf("%s=false of %s: %s lacks %q", metric, name, other, off(got, other))
				}
			}
			if len(got.Partners) != len(names) {
				t.Errorf("partners %q", slices.Collect(maps.Keys(got.Partners)))
			}
		}
	}
	sorted := slices.Sorted(slices.Values(metrics))
	if got := sharing.Metrics(); !slices.Equal(got, sorted) {
		t.Errorf("metrics %q", got)
	}
}

// A null in a JSON body is a parameter that isn't there.
func TestSharingNullIsNothing(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 1, Days: 2})
	status, answer := postSharing(s, "", `{`+jsonIDs+`,"sharing":null}`)
	if status != 400 || !strings.Contains(answer, "Missing parameter: sharing") {
		t.Errorf("%d %s", status, answer)
	}
}

func TestSharingOptions(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 1, Days: 2})
	type groups = map[string]map[string]string
	for _, c := range []struct {
		sent string
		want groups // with all that was sent before
	}{
		{`{"google_dma":{"eea":"1"}}`, groups{"google_dma": {"eea": "1"}}},
		{`{"google_dma":{"ad_personalization":1,"ad_user_data":false,"npa":true}}`,
			groups{"google_dma": {"eea": "1", "ad_personalization": "1", "ad_user_data": "0", "npa": "1"}}},
		{`{"partner_dma":{"eea":0,"eea":"0"}}`, groups{"google_dma": {"eea": "0", "ad_personalization": "1",
			"ad_user_data": "0", "npa": "1"}}},
		{`{"facebook":{"data_processing_options_country":"1"}}`, groups{"facebook": {sharing.FacebookCountry: "1"}}},
		{`{"facebook":{"data_processing_options_state":"1000"}}`,
			groups{"facebook": {sharing.FacebookCountry: "1", sharing.FacebookState: "1000"}}},
		{`{"partner_3":{"data_processing_options_country":"0"}}`,
			groups{"facebook": {sharing.FacebookCountry: "0", sharing.FacebookState: "0"}}},
		{`{"facebook":{"data_processing_options_country":"1","data_processing_options_state":"1002"}}`,
			groups{"facebook": {sharing.FacebookCountry: "1", sharing.FacebookState: "1002"}}},
		{`{"facebook":{"data_processing_options_state":"0"}}`,
			groups{"facebook": {sharing.FacebookCountry: "0", sharing.FacebookState: "0"}}},
		{`{"facebook":{"data_processing_options_state":"1001"}}`,
			groups{"facebook": {sharing.FacebookCountry: "1", sharing.FacebookState: "1001"}}},
		{`{"tiktok":{"a.b":"1, 2 = 3\u00e4"},"apple_ads":{"c":""}}`,
			groups{"tiktok": {"a.b": "1, 2 = 3ä"}, "apple_ads": {"c": ""}}},
		{`{"tiktok":{"d":"4"}}`, groups{"tiktok": {"a.b": "1, 2 = 3ä", "d": "4"}}},
	} {
		if status, answer := postSharing(s, "", `{`+jsonIDs+`,"`+sharing.OptionsName+`":`+c.sent+`}`); status != 200 {
			t.Fatalf("%s: %d %s", c.sent, status, answer)
		}
		got := s.SharingOf(s.Apps()[0].Token, "", aDevice)
		for group, want := range c.want {
			if !maps.Equal(got.Options[group], want) {
				t.Errorf("%s: %s is %v, want %v", c.sent, group, got.Options[group], want)
			}
		}
	}
	if got := s.SharingOf(s.Apps()[0].Token, "", aDevice); len(got.Options) != 4 || got.IDType != "idfa" ||
		got.Sharing != "" || got.Arrivals != 11 {
		t.Errorf("%+v", got)
	}
}

// A token is asked for where there is one.
func TestSharingTokens(t *testing.T) {
	t.Parallel()
	first := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 2}).Apps()[0].Token
	for _, c := range []struct {
		tokens  map[string]string
		header  string
		allowed [2]bool // for the first and the second app
	}{
		{nil, "", [2]bool{true, true}},
		{nil, "Bearer any", [2]bool{true, true}},
		{map[string]string{"t": first}, "", [2]bool{false, true}},
		{map[string]string{"t": first}, "Bearer t", [2]bool{true, true}},
		{map[string]string{"t": first}, "Bearer T", [2]bool{false, true}},
		{map[string]string{"t": first}, "t", [2]bool{false, true}},
		{map[string]string{"t": ""}, "", [2]bool{false, false}},
		{map[string]string{"t": ""}, "Bearer t", [2]bool{true, true}},
		{map[string]string{"t": first, "u": ""}, "Bearer t", [2]bool{true, false}},
		{map[string]string{"t": first, "u": ""}, "Bearer u", [2]bool{true, true}},
	} {
		s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 2, SharingTokens: c.tokens})
		for i, allowed := range c.allowed {
			body := strings.ReplaceAll(gpsForm, "APP", s.Apps()[i].Token) + "&sharing=disable"
			status, answer := postSharing(s, "", body, "Authorization", c.header)
			if allowed && status != 200 || !allowed && (status != 400 ||
				answer != sharingFailure("Failed to authorize request")) {
				t.Errorf("%v, %q, app %d: %d %s", c.tokens, c.header, i, status, answer)
			}
			if got := s.SharingOf(s.Apps()[i].Token, "", aDevice); (got.Sharing == "disable") != allowed {
				t.Errorf("%v, %q, app %d: %+v", c.tokens, c.header, i, got)
			}
		}
	}
	for _, o := range []emulator.Options{{SharingTokens: map[string]string{"t": "nobodys"}},
		{SharingTokens: map[string]string{"": ""}}, {SharingPartners: []string{""}}} {
		if s, err := emulator.New(o); err == nil {
			t.Errorf("%+v was taken", o)
			check(t, s.Close())
		}
	}
}

// Answers are JSON of one member whatever they quote.
func TestSharingAnswersAreJSON(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 1, Days: 2})
	r := httptest.NewRequest(http.MethodPost, sharing.Path+"/?"+strings.ReplaceAll(gpsForm, "APP",
		s.Apps()[0].Token)+"&"+emutest.Form("sharing", "\"\n\\</script>\xff"), nil)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	var body map[string]string
	check(t, json.Unmarshal(w.Body.Bytes(), &body))
	if w.Code != 400 || len(body) != 1 || !strings.HasPrefix(body["error"],
		"Third party sharing failed (Invalid sharing: ") || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%d %q %v", w.Code, body, w.Header())
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
