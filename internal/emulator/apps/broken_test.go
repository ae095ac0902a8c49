package apps_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/emulator/reading"
	"github.com/reportferry/reportferry/internal/slow"
)

// callsOf asks each endpoint something that it would answer, of the account's first app and a
// ticket.
func callsOf(token, ticket string) [][3]any {
	return [][3]any{
		{"POST", "app", garden("store_id", "com.broken")},
		{"POST", "app", garden("force_update", true)},
		{"POST", "app/" + token, object{"name": "Broken"}},
		{"PATCH", "app/" + token + "/signature", object{"enforce_install_signing": true}},
		{"GET", "app?store_id=com.example.garden2&platform=android", nil},
		{"GET", "app/" + token, nil},
		{"GET", "app/" + token + "/settings", nil},
		{"GET", "apps/list", nil},
		{"GET", "status/" + ticket, nil},
		{"POST", "events", object{"app_tokens": []any{token}, "events": []any{object{"name": "broken"}}}},
		{"GET", "settings/csv?app_tokens=" + token, nil},
		{"POST", "app/" + token + "/secrets/revoke_outdated", object{"force": true}},
		{"POST", "vault", object{"section": "csv_upload_settings", "data": s3Data}},
		{"GET", "vault", nil},
	}
}

// A database that fails is told of, by every call that needs it: no call says that what isn't kept
// is done, nor that what can't be read isn't there.
func TestABrokenDatabaseIsSaid(t *testing.T) {
	t.Parallel()
	is := func(parts ...string) func(string) bool {
		return func(call string) bool {
			return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(call, part) })
		}
	}
	isNot := func(part string) func(string) bool {
		return func(call string) bool { return !strings.Contains(call, part) }
	}
	for what, c := range map[string]struct {
		statement string
		fine      func(call string) bool // needs nothing of what is broken
	}{
		"no apps": {"DROP TABLE account_apps", is(" vault ", " status/")},
		"records of apps that aren't any": {"UPDATE account_apps SET record = '{'",
			is(" vault ", " status/", "com.broken")},
		"no tickets": {"DROP TABLE tickets", is("nothing")},
		"no vault":   {"DROP TABLE vault", isNot(" vault ")},
		"no new apps": {"CREATE TRIGGER full BEFORE INSERT ON account_apps BEGIN SELECT " +
			"RAISE(ABORT, 'full'); END", is("GET ", " vault ")},
		"no new tickets": {"CREATE TRIGGER full BEFORE INSERT ON tickets BEGIN SELECT RAISE(ABORT, " +
			"'full'); END", isNot("POST app ")},
		"no more in the vault": {"CREATE TRIGGER full BEFORE INSERT ON vault BEGIN SELECT RAISE(ABORT, " +
			"'full'); END", isNot("POST vault ")},
	} {
		t.Run(what, func(t *testing.T) {
			o := emulator.Options{Apps: 2, Days: 2, DB: filepath.Join(t.TempDir(), "facts.db"), Rate: -1,
				Now: emutest.AtNoon}
			s := emutest.Open(t, o)
			made := create(t, s, garden())
			callOK[object](t, s, "GET", "status/"+made.Ticket, nil)
			db, err := sql.Open("sqlite", o.DB)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			if _, err := db.Exec(c.statement); err != nil {
				t.Fatal(err)
			}
			for _, call := range callsOf(made.Token, made.Ticket) {
				method, path := call[0].(string), call[1].(string)
				if c.fine(fmt.Sprint(method, " ", path, " ", call[2])) {
					continue
				}
				if w := send(t, s, method, path, call[2]); w.Code != 500 ||
					!strings.Contains(w.Body.String(), `"service_error"`) {
					t.Errorf("%s %s: %d %.200s, want 500", method, path, w.Code, w.Body)
				}
			}
		})
	}
}

// What a request is refused for is refused under every reading: another form of an answer is none
// of an error.
func TestRefusalsStayRefusalsUnderEveryReading(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	for _, topic := range reading.Topics() {
		for _, r := range topic.Readings {
			choice := topic.Name + "=" + r.Name
			s := emutest.Open(t, emulator.Options{Apps: 1, Days: 2, Rate: -1, Now: emutest.AtNoon,
				Readings: []string{choice}})
			w := send(t, s, "POST", "app", garden())
			made := map[string]any{}
			if w.Code/100 != 2 || json.Unmarshal(w.Body.Bytes(), &made) != nil || made["adjust_app_token"] == nil {
				continue // the answer doesn't name the app
			}
			token := made["adjust_app_token"].(string)
			for _, call := range [][3]any{
				{"POST", "app", garden("platform", "moon")},
				{"POST", "app/" + token, object{"override_settings": 5}},
				{"PATCH", "app/" + token + "/signature", object{"enforce_install_signing": "perhaps"}},
				{"POST", "events", object{"app_tokens": []any{token}, "events": []any{}}},
				{"POST", "vault", object{"section": "moon"}},
				{"POST", "app/" + token + "/secrets/revoke_outdated", object{"force": "perhaps"}},
			} {
				if w := send(t, s, call[0].(string), call[1].(string), call[2]); w.Code < 400 || w.Code > 499 {
					t.Errorf("%s: %s %s %v: %d %.200s", choice, call[0], call[1], call[2], w.Code, w.Body)
				}
			}
		}
	}
}
