package apps_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator/apps"
)

type secretsAnswer struct {
	Combined struct {
		Enforce bool             `json:"enforce_install_signing"`
		Secrets []apps.SDKSecret `json:"secrets"`
	} `json:"combined_secrets"`
	Revoked *int `json:"revoked"`
}

func activeOf(a secretsAnswer) string {
	var out []string
	for _, s := range a.Combined.Secrets {
		out = append(out, fmt.Sprintf("v%d %t %s", s.Version, s.Active, s.UpdatedAt))
	}
	return strings.Join(out, ", ")
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	s := atOnce(t)
	token := s.Apps()[0].Token
	post := func(path string, body any) secretsAnswer {
		t.Helper()
		return callOK[secretsAnswer](t, s, "POST", "app/"+token+"/secrets/"+path, body)
	}
	const old, now = "2024-01-15T09:00:00Z", "2026-03-14T12:00:00Z"
	refused := func(path string, body any, want string) {
		t.Helper()
		if got := refusal(t, send(t, s, "POST", "app/"+token+"/secrets/"+path, body)); got != want {
			t.Errorf("%s %v: %s, want %s", path, body, got, want)
		}
	}
	got := post("revoke_outdated", object{"min_active_version": 1})
	if *got.Revoked != 0 || activeOf(got) != "v1 true "+old+", v2 true "+old+", v3 true "+old {
		t.Errorf("%d %s", *got.Revoked, activeOf(got))
	}
	for i, secret := range got.Combined.Secrets {
		if i < 2 != (len(secret.Value) == 4) || i < 2 != (secret.Name != "") ||
			i == 2 != (secret.Scope == "all-traffic") || i == 2 != (secret.Algorithm == "adj1") || secret.ID == 0 {
			t.Errorf("%+v", secret)
		}
	}
	id := func(i int) string { return fmt.Sprint(got.Combined.Secrets[i].ID) }
	refused("revoke_outdated", object{"min_active_version": 4},
		"400 request_error No active secret would be left: send force to revoke them all the same")
	if got := post("revoke_outdated", ""); *got.Revoked != 2 ||
		activeOf(got) != "v1 false "+now+", v2 false "+now+", v3 true "+old {
		t.Errorf("%d %s: what was refused has changed something, or the default isn't 3", *got.Revoked, activeOf(got))
	}
	if got := post("revoke_outdated", object{}); *got.Revoked != 0 {
		t.Errorf("%d again", *got.Revoked)
	}
	s.Shift(time.Hour)
	const later = "2026-03-14T13:00:00Z"
	if got := post(id(0)+"/reactivate", nil); got.Revoked != nil ||
		activeOf(got) != "v1 true "+later+", v2 false "+now+", v3 true "+old {
		t.Errorf("%s", activeOf(got))
	}
	if got := post(id(2)+"/revoke", nil); activeOf(got) != "v1 true "+later+", v2 false "+now+", v3 false "+later {
		t.Errorf("%s", activeOf(got))
	}
	if got := post(id(0)+"/revoke", nil); activeOf(got) != "v1 false "+later+", v2 false "+now+", v3 false "+later {
		t.Errorf("%s: the last one by its ID", activeOf(got))
	}
	if got := post(id(2)+"/reactivate", object{"scope": "test-traffic"}); got.Combined.Secrets[2].Scope !=
		"test-traffic" || !got.Combined.Secrets[2].Active {
		t.Errorf("%+v", got)
	}
	if got := post(id(2)+"/reactivate", object{}); got.Combined.Secrets[2].Scope != "test-traffic" {
		t.Errorf("%+v", got)
	}
	if got := post("revoke_outdated", object{"min_active_version": 9, "force": true}); *got.Revoked != 1 ||
		strings.Contains(activeOf(got), "true") {
		t.Errorf("%d %s", *got.Revoked, activeOf(got))
	}
	if got := settingsOf(t, s, token)["sdk_secrets"].(object)["secrets"].([]any)[2].(object); got["active"] != false ||
		got["scope"] != "test-traffic" {
		t.Errorf("settings %v", got)
	}
	const integer = "Input should be a valid integer"
	refused("revoke_outdated", object{"min_active_version": "3", "force": 1},
		"422 validation_error body.force: Input should be a valid boolean; body.min_active_version: "+integer)
	refused("revoke_outdated", object{"min_active_version": 2.5},
		"422 validation_error body.min_active_version: "+integer)
	refused("revoke_outdated", object{"min_active_version": 1e30},
		"422 validation_error body.min_active_version: "+integer)
	refused("revoke_outdated", object{"min_active_version": 0},
		"422 validation_error body.min_active_version: Input should be greater than or equal to 1")
	refused("x/revoke", nil, "422 validation_error path.secret_id: "+integer)
	refused("7/revoke", nil, "400 request_error Secret not found")
	refused("7/reactivate", nil, "400 request_error Secret not found")
	refused(id(2)+"/reactivate", object{"scope": 1}, "422 validation_error body.scope: Input should be a valid string")
	refused(id(2)+"/reactivate", object{"scope": "a\r\nb"},
		"422 validation_error body.scope: String should not contain control characters")
	refused(id(0)+"/reactivate", object{"scope": "all-traffic"},
		"400 request_error Only secrets of version 3 have a scope")
	refused(id(0)+"/reactivate", "{", "422 validation_error body: JSON decode error")
	token = "nosuchtoken1"
	refused("revoke_outdated", nil, "400 request_error App not found")
	refused("7/revoke", nil, "400 request_error App not found")
	// A new app begins with one secret, of version 3 and its platform.
	token = create(t, s, iosGarden()).Token
	got = post("revoke_outdated", nil)
	if *got.Revoked != 0 || activeOf(got) != "v3 true "+later || got.Combined.Secrets[0].Platform != "ios" {
		t.Errorf("%+v", got)
	}
}

func TestSignature(t *testing.T) {
	t.Parallel()
	s := atOnce(t)
	app := create(t, s, garden("sections", []any{"signature"})).Token
	patch := func(body object) string {
		t.Helper()
		got := callOK[object](t, s, "PATCH", "app/"+app+"/signature", body)
		if kept := settingsOf(t, s, app)["signature"]; asJSON(t, kept) != asJSON(t, got) {
			t.Errorf("answered %v, kept %v", got, kept)
		}
		return asJSON(t, got)
	}
	one, two := strings.Repeat("AB:", 19)+"0F", strings.Repeat("00:", 19)+"99"
	patch(object{"enforce_install_signing": true})
	for _, c := range []struct {
		body object
		want string
	}{
		{object{}, `{"android_fingerprints":[],"enforce_install_signing":true}`},
		{object{"android_fingerprints": []any{strings.ToLower(one), two}},
			`{"android_fingerprints":["` + one + `","` + two + `"],"enforce_install_signing":true}`},
		{object{"enforce_install_signing": false}, `{"android_fingerprints":["` + one + `","` + two +
			`"],"enforce_install_signing":false}`},
		{object{"android_fingerprints": []any{two}}, `{"android_fingerprints":["` + two +
			`"],"enforce_install_signing":false}`},
		{object{"android_fingerprints": nil}, `{"android_fingerprints":["` + two +
			`"],"enforce_install_signing":false}`},
	} {
		if got := patch(c.body); got != c.want {
			t.Errorf("%v: %s, want %s", c.body, got, c.want)
		}
	}
	// A later job leaves an app's fingerprints, overrides go before them.
	create(t, s, garden("force_update", true))
	if got := settingsOf(t, s, app)["signature"].(object)["android_fingerprints"]; asJSON(t, got) != `["`+two+`"]` {
		t.Errorf("after a job %v", got)
	}
	create(t, s, garden("override_settings", object{"signature": object{"android_fingerprints": []any{one}}}))
	if got := settingsOf(t, s, app)["signature"].(object)["android_fingerprints"]; asJSON(t, got) != `["`+one+`"]` {
		t.Errorf("after an override %v", got)
	}
	patch(object{"android_fingerprints": []any{}})
	const bad = "Input should be 20 bytes in hexadecimal, with colons between them"
	for _, c := range []struct {
		body any
		want string
	}{
		{object{"enforce_install_signing": "true"}, "body.enforce_install_signing: Input should be a valid boolean"},
		{object{"android_fingerprints": one}, "body.android_fingerprints: Input should be a valid list"},
		{object{"android_fingerprints": []any{one, one[:56], one + ":00", strings.ReplaceAll(one, ":", ""),
			strings.Repeat("AB:", 31) + "AB", strings.Replace(one, "A", "G", 1), 1, ""}},
			"body.android_fingerprints.1: " + bad + "; body.android_fingerprints.2: " + bad +
				"; body.android_fingerprints.3: " + bad + "; body.android_fingerprints.4: " + bad +
				"; body.android_fingerprints.5: " + bad +
				"; body.android_fingerprints.6: Input should be a valid string; body.android_fingerprints.7: String " +
				"should have at least 1 character"},
		{object{"android_fingerprints": []any{one + "\r\n"}},
			"body.android_fingerprints.0: String should not contain control characters"},
		{"", "body: Field required"},
	} {
		if got := refusal(t, send(t, s, "PATCH", "app/"+app+"/signature", c.body)); got !=
			"422 validation_error "+c.want {
			t.Errorf("%v: %s\nwant %s", c.body, got, c.want)
		}
	}
	ios := create(t, s, iosGarden()).Token
	if got := refusal(t, send(t, s, "PATCH", "app/"+ios+"/signature", object{})); got !=
		"400 request_error Signature settings are for Android apps" {
		t.Error(got)
	}
	if got := refusal(t, send(t, s, "PATCH", "app/nosuchtoken1/signature", object{})); got !=
		"400 request_error App not found" {
		t.Error(got)
	}
}
