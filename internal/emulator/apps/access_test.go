package apps_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/apps"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
)

// everyCall is a request to each of the fifteen endpoints.
func everyCall(app, ticket string, secret int) []struct {
	method, path string
	body         any
} {
	return []struct {
		method, path string
		body         any
	}{
		{"POST", "app", garden()},
		{"POST", "app/" + app, object{"name": "Renamed"}},
		{"PATCH", "app/" + app + "/signature", object{"android_fingerprints": []any{strings.Repeat("00:", 19) + "00"}}},
		{"GET", "app?platform=android&store_id=com.example.garden2", nil},
		{"GET", "app/" + app, nil},
		{"GET", "app/" + app + "/settings", nil},
		{"GET", "apps/list", nil},
		{"GET", "status/" + ticket, nil},
		{"POST", "events", object{"app_tokens": []any{app}, "events": []any{object{"name": "x"}}}},
		{"GET", "settings/csv", nil},
		{"POST", "app/" + app + "/secrets/revoke_outdated", nil},
		{"POST", fmt.Sprintf("app/%s/secrets/%d/revoke", app, secret), nil},
		{"POST", fmt.Sprintf("app/%s/secrets/%d/reactivate", app, secret), nil},
		{"POST", "vault", object{"section": "trackers", "data": "x"}},
		{"GET", "vault", nil},
	}
}

// prepared makes the app that everyCall is about.
func prepared(t *testing.T, s *emulator.Server) (app, ticket string, secret int) {
	t.Helper()
	made := create(t, s, garden())
	id := settingsOf(t, s, made.Token)["sdk_secrets"].(object)["secrets"].([]any)[0].(object)["id"].(float64)
	return made.Token, made.Ticket, int(id)
}

// Who may call: the same at every endpoint.
func TestAutomationAccess(t *testing.T) {
	t.Parallel()
	tokens := map[string]emulator.Role{"adm": emulator.RoleAdmin, "edi": emulator.RoleEditor,
		"rea": emulator.RoleReader}
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 2, Tokens: tokens, Token: "x"})
	off := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 2, NoAutomation: true})
	calls := everyCall(prepared(t, s))
	if len(calls) != len(apps.Endpoints) || len(calls) != 15 {
		t.Errorf("%d calls, %d endpoints", len(calls), len(apps.Endpoints))
	}
	for _, c := range calls {
		for _, who := range []struct {
			s          *emulator.Server
			auth, acct string
			want       string
		}{
			{s, "Bearer adm", "", "200"},
			{s, "Bearer edi", emulator.AccountID, "200"},
			{s, "Bearer x", "", "200"},
			{s, "Bearer rea", "", "403 auth_error App automation needs an Admin's or an Editor's token"},
			{s, "Bearer adm", "100002", "403 auth_error No access to account 100002"},
			{s, "Bearer other", "", "401 auth_error Invalid API token"},
			{s, "Bearer ", "", "401 auth_error Authorization header with a Bearer token is required"},
			{s, "Token adm", "", "401 auth_error Authorization header with a Bearer token is required"},
			{s, "", "", "401 auth_error Authorization header with a Bearer token is required"},
			{off, "Bearer x", "", "403 auth_error App automation is not enabled for this account"},
			{off, "", "", "401 auth_error Authorization header with a Bearer token is required"},
		} {
			w := send(t, who.s, c.method, c.path, c.body, "Authorization", who.auth, "X-Account-ID", who.acct)
			got := fmt.Sprint(w.Code)
			if w.Code != 200 {
				got = refusal(t, w)
			}
			if got != who.want {
				t.Errorf("%s %s as %q: %s, want %s", c.method, c.path, who.auth, got, who.want)
			}
		}
	}
	if kept, err := off.ManagedApps(); err != nil || len(kept) != 0 {
		t.Errorf("%v, %v", kept, err)
	}
	report := func(token string) int {
		r := httptest.NewRequest("GET", "/reports-service/events", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code
	}
	if report("rea") != 200 || report("other") != 401 {
		t.Errorf("reports: %d, %d", report("rea"), report("other"))
	}
	if _, err := emulator.New(emulator.Options{Tokens: map[string]emulator.Role{"x": "admin"}}); err == nil {
		t.Error("a role of no such name is taken")
	}
}

// A reset token is refused from then on, the new one has the same user's role.
func TestTokenReset(t *testing.T) {
	t.Parallel()
	for _, o := range []emulator.Options{{Token: "old"}, {},
		{Tokens: map[string]emulator.Role{"old": emulator.RoleEditor, "rea": emulator.RoleReader}}} {
		o.Now, o.Apps, o.Days = emutest.AtNoon, 2, 2
		s := emutest.Open(t, o)
		as := func(token, path string) int {
			return send(t, s, "GET", path, nil, "Authorization", "Bearer "+token).Code
		}
		reset := func(old string) (int, string) {
			w := adminCall(s, "POST", "reset-token", fmt.Sprintf(`{"token":%q}`, old), "")
			return w.Code, strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(w.Body.String()), `{"token":"`),
				`"}`)
		}
		if got := as("old", "apps/list"); got != 200 {
			t.Errorf("%d at first", got)
		}
		code, fresh := reset("old")
		if code != 200 || len(fresh) < 20 || as("old", "apps/list") != 401 || as(fresh, "apps/list") != 200 {
			t.Errorf("%d %s: old %d, new %d", code, fresh, as("old", "apps/list"), as(fresh, "apps/list"))
		}
		if code, _ := reset("old"); code != 400 {
			t.Errorf("reset again: %d", code)
		}
		if _, newer := reset(fresh); as(fresh, "apps/list") != 401 || as(newer, "apps/list") != 200 {
			t.Error("the second reset")
		}
		if o.Tokens != nil {
			if _, fresh := reset("rea"); as(fresh, "apps/list") != 403 {
				t.Errorf("a reader's new token: %d", as(fresh, "apps/list"))
			}
		}
	}
}
