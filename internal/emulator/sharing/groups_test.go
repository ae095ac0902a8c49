package sharing_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/apps"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/emulator/sharing"
	"github.com/reportferry/reportferry/internal/slow"
)

// The group rules one by one. A case is what one device is sent, in this order; want says what a
// partner doesn't get then.
func TestSharingGroupRules(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	const (
		everything = "ad_revenue att_update event install reattribution reattribution_reinstall reinstall " +
			"rejected_install rejected_reattribution sdk_click sdk_info session subscription uninstall update"
		sessions = "install reattribution reattribution_reinstall reinstall rejected_install " +
			"rejected_reattribution session"
		notInstall = "reattribution reattribution_reinstall reinstall rejected_reattribution session"
	)
	without := func(all string, metrics ...string) string {
		return strings.Join(slices.DeleteFunc(strings.Fields(all),
			func(m string) bool { return slices.Contains(metrics, m) }), " ")
	}
	for _, c := range []struct {
		name string
		sent []string // settings, or a sharing=
		want map[string]string
	}{
		{"all is shared by default", []string{`sharing=enable`}, map[string]string{"google": "",
			"dynamic_callbacks": ""}},
		{"a leaf", []string{`{"google":{"event":false}}`}, map[string]string{"google": "event", "facebook": ""}},

		// 1: a false value on a group metric also disables its child metrics; seven metrics are
		// groups.
		{"session", []string{`{"google":{"session":false}}`}, map[string]string{"google": sessions}},
		{"install", []string{`{"google":{"install":false}}`}, map[string]string{"google": "install rejected_install"}},
		{"rejected_install", []string{`{"google":{"rejected_install":false}}`},
			map[string]string{"google": "rejected_install"}},
		{"reinstall", []string{`{"google":{"reinstall":false}}`}, map[string]string{"google": "reinstall"}},
		{"reattribution", []string{`{"google":{"reattribution":false}}`}, map[string]string{"google": "reattribution"}},
		{"rejected_reattribution", []string{`{"google":{"rejected_reattribution":false}}`},
			map[string]string{"google": "rejected_reattribution"}},
		{"reattribution_reinstall", []string{`{"google":{"reattribution_reinstall":false}}`},
			map[string]string{"google": "reattribution_reinstall"}},

		// 2: a disabled group with an enabled child.
		{"the document's example", []string{`{"google":{"session":false,"install":true}}`},
			map[string]string{"google": notInstall}},
		{"the other way round", []string{`{"google":{"install":true,"session":false}}`},
			map[string]string{"google": notInstall}},
		{"a grandchild", []string{`{"google":{"session":false,"rejected_install":true}}`},
			map[string]string{"google": without(sessions, "rejected_install")}},
		{"three levels", []string{`{"google":{"rejected_install":false,"install":true,"session":false}}`},
			map[string]string{"google": without(sessions, "install")}},
		{"four levels", []string{`{"google":{"all":false,"rejected_install":false,"install":true,"session":false}}`},
			map[string]string{"google": without(everything, "install")}},
		{"no group disables its parent", []string{`{"google":{"install":false,"session":true}}`},
			map[string]string{"google": "install rejected_install"}},

		// 3: an enabled group with a disabled child.
		{"a child", []string{`{"google":{"session":true,"install":false}}`},
			map[string]string{"google": "install rejected_install"}},
		{"within what is disabled", []string{`{"google":{"all":false,"session":true,"install":false}}`},
			map[string]string{"google": without(everything, strings.Fields(notInstall)...)}},

		// 4: all, as a partner, as a metric, and both.
		{"all metrics", []string{`{"google":{"all":false}}`}, map[string]string{"google": everything, "facebook": ""}},
		{"all metrics but one", []string{`{"google":{"event":true,"all":false}}`},
			map[string]string{"google": without(everything, "event")}},
		{"all partners", []string{`{"all":{"event":false}}`}, map[string]string{"google": "event", "facebook": "event",
			"dynamic_callbacks": "event", "extra": "event"}},
		{"both", []string{`{"all":{"all":false}}`}, map[string]string{"google": everything,
			"dynamic_callbacks": everything, "extra": everything}},
		{"disable broadly, enable a partner", []string{`{"facebook":{"all":true},"all":{"all":false}}`},
			map[string]string{"google": everything, "facebook": ""}},
		{"disable broadly, enable a metric", []string{`{"all":{"all":false,"event":true}}`},
			map[string]string{"google": without(everything, "event")}},
		{"disable broadly, enable a partner's group", []string{`{"all":{"all":false},"facebook":{"install":true}}`},
			map[string]string{"facebook": without(everything, "install", "rejected_install"), "google": everything}},
		{"a partner's group goes before all partners' metric",
			[]string{`{"all":{"install":false},"facebook":{"session":true}}`},
			map[string]string{"facebook": "", "google": "install rejected_install"}},
		{"callbacks", []string{`{"dynamic_callbacks":{"all":false}}`},
			map[string]string{"dynamic_callbacks": everything, "google": ""}},
		{"callbacks but", []string{`{"all":{"all":false},"dynamic_callbacks":{"session":true}}`},
			map[string]string{"dynamic_callbacks": without(everything, strings.Fields(sessions)...),
				"google": everything}},

		// The same twice.
		{"the last of two counts", []string{`{"google":{"event":false},"partner_5":{"event":true}}`},
			map[string]string{"google": ""}},
		{"and the other way round", []string{`{"partner_5":{"event":true},"google":{"event":false}}`},
			map[string]string{"google": "event"}},
		{"within an object", []string{`{"google":{"event":true,"install":true,"event":false}}`},
			map[string]string{"google": "event"}},

		// Later requests.
		{"keys that aren't named stay", []string{`{"google":{"event":false}}`, `{"google":{"update":false}}`,
			`{"facebook":{"event":false}}`}, map[string]string{"google": "event update", "facebook": "event"}},
		{"a key again", []string{`{"google":{"event":false}}`, `{"google":{"event":true}}`},
			map[string]string{"google": ""}},
		{"a group clears what was said of its children", []string{`{"google":{"session":false,"install":true}}`,
			`{"google":{"session":false}}`}, map[string]string{"google": sessions}},
		{"all clears too", []string{`{"google":{"rejected_install":true}}`, `{"google":{"all":false}}`},
			map[string]string{"google": everything}},
		{"a child doesn't clear its group", []string{`{"google":{"session":false}}`, `{"google":{"install":true}}`},
			map[string]string{"google": notInstall}},
		{"a later all doesn't go over what was said of a partner", []string{`{"facebook":{"install":true}}`,
			`{"all":{"all":false}}`}, map[string]string{"facebook": without(everything, "install", "rejected_install"),
			"google": everything}},
		{"nor does its enabling", []string{`{"facebook":{"all":false}}`, `{"all":{"all":true}}`},
			map[string]string{"facebook": everything, "google": ""}},

		// The master switch.
		{"disable", []string{`sharing=disable`}, map[string]string{"google": everything,
			"dynamic_callbacks": everything}},
		{"disable goes over settings", []string{`sharing=disable`, `{"google":{"all":true}}`},
			map[string]string{"google": everything, "facebook": everything}},
		{"enable lifts it and keeps settings", []string{`{"google":{"event":false}}`, `sharing=disable`,
			`sharing=enable`}, map[string]string{"google": "event", "facebook": ""}},
		{"enable enables no setting", []string{`{"all":{"all":false}}`, `sharing=enable`},
			map[string]string{"google": everything}},
		{"settings under disable hold later", []string{`sharing=disable`, `{"google":{"event":false}}`,
			`sharing=enable`}, map[string]string{"google": "event"}},
	} {
		s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 1, Days: 2,
			SharingPartners: []string{"extra"}})
		for _, sent := range c.sent {
			body := sent
			if sent[0] == '{' {
				body = emutest.Form(sharing.SettingsName, sent)
			}
			if status, answer := postSharing(s, "", gpsForm+"&"+body); status != 200 {
				t.Errorf("%s: %d %s", c.name, status, answer)
			}
		}
		got := s.SharingOf(s.Apps()[0].Token, "", aDevice)
		for partner, want := range c.want {
			if metrics := strings.Join(off(got, partner), " "); metrics != want {
				t.Errorf("%s: %s doesn't get %q, want %q", c.name, partner, metrics, want)
			}
		}
	}
}

// Settings are a device's of an app, by ID and its type.
func TestSharingIsPerDevice(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 2})
	one, two := s.Apps()[0].Token, s.Apps()[1].Token
	for _, query := range []string{
		"s2s=1&sharing=disable&app_token=" + one + "&idfa=a",
		"s2s=1&sharing=enable&app_token=" + one + "&gps_adid=a",
		"s2s=1&sharing=enable&app_token=" + two + "&idfa=a",
		"s2s=1&sharing=disable&app_token=" + two + "&idfa=b&gps_adid=c",
		"s2s=1&sharing=enable&app_token=" + two + "&gps_adid=c",
		"s2s=1&sharing=disable&app_token=" + two + "&gps_adid=A",
	} {
		if status, answer := postSharing(s, query, ""); status != 200 {
			t.Errorf("%s: %d %s", query, status, answer)
		}
	}
	for _, c := range []struct {
		app, idType, device, sharing string
		arrivals                     int
	}{
		{one, "idfa", "a", "disable", 1}, {one, "gps_adid", "a", "enable", 1}, {one, "", "a", "disable", 1},
		{two, "idfa", "a", "enable", 1}, {two, "", "b", "disable", 1}, {two, "", "c", "enable", 2},
		{two, "", "A", "disable", 1}, {two, "gps_adid", "a", "", 0}, {one, "", "nobody", "", 0},
	} {
		got := s.SharingOf(c.app, c.idType, c.device)
		if got.Sharing != c.sharing || got.Arrivals != c.arrivals ||
			(len(off(got, "google")) == 15) != (c.sharing == "disable") {
			t.Errorf("%s %s of %s: %+v", c.idType, c.device, c.app, got)
		}
	}
	if got := s.Sharing(); got.Devices != 6 || got.Records != 6 || got.Duplicates != 0 {
		t.Errorf("books %+v", got)
	}
}

// Apps that app automation made are known.
func TestSharingOfAnAppMadeByAutomation(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 1, Days: 2})
	r := httptest.NewRequest(http.MethodPost, apps.Prefix+"app",
		strings.NewReader(`{"name":"n","bundle_id":"b.c","store_id":"b.c","platform":"android"}`))
	r.Header.Set("Authorization", "Bearer x")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	var made struct {
		Token string `json:"adjust_app_token"`
	}
	check(t, json.Unmarshal(w.Body.Bytes(), &made))
	for range 2 {
		if status, answer := postSharing(s, "s2s=1&sharing=disable&idfa=a&app_token="+made.Token, ""); status != 200 {
			t.Errorf("%d %s of %q", status, answer, made.Token)
		}
	}
	if got := s.SharingOf(made.Token, "", "a"); got.Arrivals != 2 {
		t.Errorf("%+v", got)
	}
}
