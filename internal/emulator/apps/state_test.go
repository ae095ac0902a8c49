package apps_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/apps"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
)

// all is every answer that app automation gives about what it keeps.
func all(t *testing.T, s *emulator.Server, tickets ...string) string {
	t.Helper()
	paths := []string{"apps/list", "settings/csv", "vault"}
	for _, a := range callOK[[]apps.AppDetails](t, s, "GET", "apps/list", nil) {
		paths = append(paths, "app/"+a.Token, "app/"+a.Token+"/settings")
	}
	for _, ticket := range tickets {
		paths = append(paths, "status/"+ticket)
	}
	var out strings.Builder
	for _, path := range paths {
		w := send(t, s, "GET", path, nil)
		if w.Code != 200 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
		fmt.Fprintf(&out, "%s\n%s\n", path, w.Body)
	}
	return out.String()
}

// All is there again when a kept file is opened again, in the middle of jobs too, even if the
// process was gone without a word.
func TestAppsAreKept(t *testing.T) {
	t.Parallel()
	o := emutest.With(emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 2, Rate: -1, TicketStep: -1,
		DB: filepath.Join(t.TempDir(), "kept.db")})
	s, stop := emutest.Start(t, o)
	body := garden("channel_setup", object{"partner_1": object{"sdk_keys": []any{"k"}}}, "override_settings",
		object{"s2s": object{"limit": 12345678901234567890., "ratio": 0.10}},
		"editors", []any{"a@example.com"}, "ios_pv_shared_secret", "abc", "additional_stores",
		object{"amazon": object{"store_id": "B0"}})
	app := create(t, s, body)
	advance(t, s, 3)
	second := create(t, s, apps.Merged(body, object{"force_update": true}))
	callOK[object](t, s, "POST", "events", object{"app_tokens": []any{app.Token, s.Apps()[1].Token},
		"events": []any{object{"name": "mine", "unique": true}}})
	callOK[object](t, s, "PATCH", "app/"+app.Token+"/signature",
		object{"android_fingerprints": []any{strings.Repeat("0a:", 19) + "0a"}})
	callOK[object](t, s, "POST", "app/"+s.Apps()[1].Token+"/secrets/revoke_outdated", nil)
	callOK[object](t, s, "POST", "vault", object{"section": "csv_upload_settings", "data": s3Data})
	want := all(t, s, app.Ticket, second.Ticket)
	if !strings.Contains(want, `"status":"opened"`) || !strings.Contains(want, `"status":"new"`) ||
		!strings.Contains(want, "12345678901234567000") {
		t.Error("the test shows little")
	}
	killed, err := emulator.New(o) // while the other one is there: nothing is kept only at its end
	if err != nil {
		t.Fatal(err)
	}
	if got := all(t, killed, app.Ticket, second.Ticket); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if err := killed.Close(); err != nil {
		t.Error(err)
	}
	stop()
	s, stop = emutest.Start(t, o)
	if got := all(t, s, app.Ticket, second.Ticket); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := create(t, s, body); got != second {
		t.Errorf("the same request: %+v, want %+v", got, second)
	}
	if open := advance(t, s, 100); open != 0 || statusOf(t, s, second.Ticket).Status != "completed" ||
		statusOf(t, s, app.Ticket).Status != "completed" {
		t.Errorf("%d open", open)
	}
	kept, err := s.ManagedApps()
	if err != nil || len(kept) != 1 || len(kept[0].Tickets) != 2 || kept[0].Editors[0] != "a@example.com" ||
		kept[0].StoreID != app.StoreID {
		t.Errorf("%+v, %v", kept, err)
	}
	stop()
	s, stop = emutest.Start(t, o)
	if got := statusOf(t, s, second.Ticket); got.Status != "completed" || len(got.Result) != 13 {
		t.Errorf("%+v", got)
	}
	stop()
}

// What fails inside is 500, tells nothing of the request, and leaves nothing behind.
func TestAutomationFails(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	o := emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 2, Rate: -1, DB: filepath.Join(t.TempDir(), "kept.db"),
		Logger: slog.New(slog.NewTextHandler(&log, nil))}
	s, stop := emutest.Start(t, o)
	defer stop()
	db, err := sql.Open("sqlite", o.DB)
	if err == nil {
		_, err = db.Exec("DROP TABLE vault; CREATE TRIGGER full BEFORE INSERT ON tickets BEGIN SELECT RAISE(ABORT, " +
			"'no room'); END")
	}
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	const want = "500 service_error The emulator failed: see its log"
	if got := refusal(t, send(t, s, "POST", "vault", object{"section": "trackers", "data": "plain secret"})); got !=
		want {
		t.Error(got)
	}
	if got := refusal(t, send(t, s, "POST", "app", garden("channel_setup",
		object{"ironsource": object{"advertiser_id": "a", "password": "plain secret"}}))); got != want {
		t.Error(got)
	}
	if kept, err := s.ManagedApps(); err != nil || len(kept) != 0 {
		t.Errorf("an app without its job was kept: %v, %v", kept, err)
	}
	if text := log.String(); strings.Count(text, "app automation failed") != 2 || !strings.Contains(text, "no room") ||
		strings.Contains(text, "plain") {
		t.Errorf("log %s", text)
	}
}

func TestAutomationAdmin(t *testing.T) {
	t.Parallel()
	s := atOnce(t)
	app := create(t, s, garden("editors", []any{"a@example.com"}))
	for _, c := range []struct{ method, path, body, want string }{
		{"GET", "apps", "", `[{"token":"` + app.Token +
			`","name":"Sky Garden 2","bundle_id":"com.example.garden2","store_id":"com.example.garden2","platform":"android","editors":["a@example.com"],"tickets":["` + app.Ticket + `"]}]`},
		{"PUT", "job-faults", `[{"section":"events","app":"x","item":"i","detail":"d","times":2}]`, `{"faults":1}`},
		{"PUT", "job-faults", `[{"section":"event"}]`,
			`{"error_code":"request_error","error_desc":"set job faults: fault 1: section \"event\" can't be migrated, so it can't fail"}`},
		{"PUT", "job-faults", `[{"sections":"events"}]`,
			`{"error_code":"request_error","error_desc":"set job faults: json: unknown field \"sections\""}`},
		{"PUT", "job-faults", `[]`, `{"faults":0}`},
		{"POST", "reset-token", `{"token":""}`,
			`{"error_code":"request_error","error_desc":"reset a token: it isn't one that is let in"}`},
		{"POST", "reset-token", `x`,
			`{"error_code":"request_error","error_desc":"reset a token: invalid character 'x' looking for beginning of value"}`},
		{"POST", "apps", ``, `{"error_code":"request_error","error_desc":"No such admin call: POST /_emulator/apps"}`},
	} {
		if got := strings.TrimSpace(adminCall(s, c.method, c.path, c.body, "127.0.0.1:5").Body.String()); got !=
			c.want {
			t.Errorf("%s %s %s: %s\nwant %s", c.method, c.path, c.body, got, c.want)
		}
		if w := adminCall(s, c.method, c.path, c.body, "192.0.2.1:5"); w.Code != 403 {
			t.Errorf("%s %s from elsewhere: %d", c.method, c.path, w.Code)
		}
	}
}
