package apps_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/emulator/reading"
)

// under opens an emulator that follows the default readings, all but this choice.
func under(t *testing.T, choice string) *emulator.Server {
	t.Helper()
	return emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 3, Days: 2, Readings: []string{choice}})
}

// Each reading of an answer: the request, the answer's status and how its body begins. {app} and
// {secret} stand for the token of the app that was made before, and the ID of its secret.
func TestReadings(t *testing.T) {
	t.Parallel()
	const (
		notThere = "GET app?store_id=com.example.none&platform=android"
		byToken  = "GET app/abcdefghijkl"
		there    = "GET app?store_id=com.example.garden2&platform=android"
		vault    = `POST vault {"section":"purchase_verification","store":"google","data":"x"}`
		events   = `POST events {"app_tokens":["{app}"],"events":[{"name":"purchase"}]}`
		partly   = `POST events {"app_tokens":["abcdefghijkl"],"events":[{"name":"purchase"}]}`
		again    = `POST app {"name":"Sky Garden 2","bundle_id":"com.example.garden2","store_id":"com.example.garden2","platform":"android"}`
		byApp    = `POST app/{app} {"name":"Sky Garden 3"}`
		refused  = `POST app/abcdefghijkl {"name":"Sky Garden 3"}`
		sign     = `PATCH app/{app}/signature {"enforce_install_signing":true}`
		revoke   = `POST app/{app}/secrets/revoke_outdated {"force":true}`
		revoked  = `POST app/{app}/secrets/{secret}/revoke {}`
		scoped   = `POST app/{app}/secrets/{secret}/reactivate {"scope":"all-traffic"}`
		secret   = `{"active":`
	)
	for choice, cases := range map[string]map[string]string{
		"app-absent=400": {notThere: `400 {"error_code":"request_error","error_desc":"App not found"}`,
			byToken: `400 {"error_code":"request_error","error_desc":"App not found"}`, there: `200 {"name":`,
			refused: "400 {"},
		"app-absent=400-words": {notThere: `400 {"error_code":"request_error","error_desc":"No such application in this account"}`, byToken: `400 {"error_code":"request_error","error_desc":"No such application`, refused: `400 {"error_code":"request_error","error_desc":"App not found"}`},
		"app-absent=404": {notThere: `404 {"error_code":"request_error"`, byToken: "404 {",
			there: `200 {"name":`, "GET app?platform=android": "422 {"},
		"app-absent=403": {notThere: `403 {"error_code":"auth_error"`, byToken: "403 {",
			there: `200 {"name":`},
		"app-absent=204": {notThere: "204", byToken: "204", there: `200 {"name":`},
		"app-absent=422": {notThere: `422 {"error_code":"validation_error"`, byToken: "422 {",
			there: `200 {"name":`},
		"app-absent=empty-object": {notThere: "200 {}", byToken: "200 {}", there: `200 {"name":`},
		"app-absent=empty-list":   {notThere: "200 []", byToken: "200 []", there: `200 {"name":`},
		"app-absent=null":         {notThere: "200 null", byToken: "200 null", there: `200 {"name":`},

		"app-answer=object": {there: `200 {"name":"Sky Garden 2"`, "GET app/{app}": `200 {"name":`},
		"app-answer=list":   {there: `200 [{"name":"Sky Garden 2"`, "GET app/{app}": `200 {"name":`, notThere: "400 {"},
		"app-answer=app": {there: `200 {"app":{"name":"Sky Garden 2"`, "GET app/{app}": `200 {"name":`,
			notThere: "400 {"},
		"app-answer=apps": {there: `200 {"apps":[{"name":"Sky Garden 2"`, "GET app/{app}": `200 {"name":`,
			notThere: "400 {"},

		"store-filter=default-id": {there + "&store=amazon": `200 {"name":`,
			"GET app?store_id=B01&platform=android&store=amazon": "400 {", there + "&store=huawei": "400 {",
			there + "&store=google_play": `200 {"name":`},
		"store-filter=store-id": {there + "&store=amazon": "400 {",
			"GET app?store_id=B01&platform=android&store=amazon": `200 {"name":`, there: `200 {"name":`,
			there + "&store=google_play": `200 {"name":`},

		"apps-list=list":   {"GET apps/list": `200 [{"name":`},
		"apps-list=apps":   {"GET apps/list": `200 {"apps":[{"name":`},
		"apps-list=data":   {"GET apps/list": `200 {"data":[{"name":`},
		"apps-list=denied": {"GET apps/list": `403 {"error_code":"auth_error"`},
		"apps-list=204":    {"GET apps/list": `200 [{"name":`, "GET apps/list?offset=9": "204"},
		"apps-list=page":   {"GET apps/list?offset=9": "200 []"},

		"ticket-status=lower": {"GET status/{ticket}": `200 {"kind":"migration","result":{`},
		"ticket-unknown=kept": {"GET status/{ticket}": `200 {"kind":"migration"`, "GET status/x": "400 {"},
		"ticket-unknown=400":  {"GET status/{ticket}": `400 {"error_code":"request_error","error_desc":"Ticket not found"}`, "GET status/x": "400 {"},
		"ticket-unknown=404":  {"GET status/{ticket}": `404 {"error_code":"request_error"`, "GET status/x": "404 {"},

		"update-answer=created":      {byApp: `200 {"adjust_app_token":`, refused: "400 {"},
		"update-answer=details":      {byApp: `200 {"name":"Sky Garden 3"`, refused: "400 {"},
		"update-answer=wrapped":      {byApp: `200 {"app":{"adjust_app_token":`, refused: "400 {"},
		"update-answer=empty-object": {byApp: "200 {}", refused: "400 {", again: `200 {"adjust_app_token":`},
		"update-answer=204":          {byApp: "204", refused: "400 {", again: `200 {"adjust_app_token":`},

		"events-answer=object": {events: `200 {"successes":[{`, partly: `200 {"successes":[],"failures":[{`},
		"events-answer=list": {events: `200 [{"app_token":`,
			partly: `200 [{"app_token":"abcdefghijkl","details":`},
		"events-answer=empty-object": {events: "200 {}", partly: `200 {"successes":[],"failures":[{`,
			"POST events {}": "422 {"},
		"events-answer=204": {events: "204", partly: `200 {"successes":[],"failures":[{`,
			"POST events {}": "422 {"},

		"settings-answer=sections": {"GET app/{app}/settings?sections=events": `200 {"events":[`},
		"settings-answer=settings": {"GET app/{app}/settings?sections=events": `200 {"settings":{"events":[`},
		"settings-answer=data":     {"GET app/{app}/settings?sections=events": `200 {"data":{"events":[`},

		"secrets-answer=combined": {revoke: `200 {"combined_secrets":{`, revoked: `200 {"combined_secrets":{`,
			scoped: `200 {"combined_secrets":{`},
		"secrets-answer=bare": {revoke: `200 {"enforce_install_signing":true,"secrets":[` + secret,
			revoked: `200 {"enforce_install_signing":`, scoped: `200 {"enforce_install_signing":`},
		"secrets-answer=list":         {revoke: "200 [" + secret, revoked: "200 [" + secret, scoped: "200 [" + secret},
		"secrets-answer=empty-object": {revoke: "200 {}", revoked: "200 {}", scoped: "200 {}"},
		"secrets-answer=204": {revoke: "204", revoked: "204", scoped: "204",
			"POST app/{app}/secrets/9/revoke {}": "400 {"},

		"vault-answer=bare":         {"GET vault": "200 []", vault: `200 {"id":`},
		"vault-answer=wrapped":      {"GET vault": `200 {"records":[]}`, vault: `200 {"record":{"id":`},
		"vault-answer=empty-object": {"GET vault": "200 []", vault: "200 {}", "POST vault {}": "422 {"},
		"vault-answer=204":          {"GET vault": "204", vault: "204", "POST vault {}": "422 {"},

		"signature-answer=settings":     {sign: `200 {"android_fingerprints":`},
		"signature-answer=wrapped":      {sign: `200 {"signature":{"android_fingerprints":`},
		"signature-answer=empty-object": {sign: "200 {}"},
		"signature-answer=204":          {sign: "204"},
	} {
		t.Run(choice, func(t *testing.T) {
			t.Parallel()
			for request, want := range cases {
				s := under(t, choice)
				app := create(t, s, garden("additional_stores", object{"amazon": object{"store_id": "B01"}}))
				secretID := secretOf(t, s, app.Token)
				fill := strings.NewReplacer("{app}", app.Token, "{ticket}", app.Ticket, "{secret}", secretID)
				method, path, _ := strings.Cut(fill.Replace(request), " ")
				path, body, _ := strings.Cut(path, " ")
				w := send(t, s, method, path, body)
				if got := strings.TrimSpace(fmt.Sprint(w.Code, " ", w.Body)); !strings.HasPrefix(got, want) {
					t.Errorf("%s: %.300s\nwant %s", request, got, want)
				}
			}
		})
	}
}

// secretOf is the ID of the app's secret, whichever form settings have.
func secretOf(t *testing.T, s *emulator.Server, token string) string {
	t.Helper()
	_, after, ok := strings.Cut(send(t, s, "GET", "app/"+token+"/settings?sections=sdk_secrets", nil).Body.String(),
		`"id":`)
	id, _, _ := strings.Cut(after, ",")
	if !ok {
		t.Fatal("the app has no secret")
	}
	return id
}

func TestReadingsPage(t *testing.T) {
	t.Parallel()
	s := under(t, "apps-list=page")
	for _, id := range []string{"a.a", "b.b", "c.c"} {
		create(t, s, garden("store_id", id))
	}
	for path, want := range map[string]int{"apps/list": 2, "apps/list?offset=2": 1, "apps/list?limit=9": 3,
		"apps/list?limit=1&offset=1": 1} {
		if got := callOK[[]object](t, s, "GET", path, nil); len(got) != want {
			t.Errorf("%s: %d apps, want %d", path, len(got), want)
		}
	}
}

// A job's states in the words of each reading; one of its sections fails.
func TestReadingsTicketStatus(t *testing.T) {
	t.Parallel()
	for choice, want := range map[string]string{
		"lower": "new opened failed", "upper": "NEW OPENED FAILED", "words": "queued processing error",
	} {
		for fail, last := range map[bool]string{true: strings.Fields(want)[2],
			false: map[string]string{"upper": "COMPLETED"}[choice]} {
			if last == "" {
				last = "completed"
			}
			o := emulator.Options{Now: emutest.AtNoon, Apps: 3, Days: 2, TicketStep: -1,
				Readings: []string{"ticket-status=" + choice}}
			if fail {
				o.JobFaults = []emulator.JobFault{{Section: "events"}}
			}
			s := emutest.Open(t, o)
			app := create(t, s, garden("sections", []string{"events"}))
			var got []string
			for range 3 {
				got = append(got, statusOf(t, s, app.Ticket).Status)
				advance(t, s, 1)
			}
			if strings.Join(got, " ") != strings.Join(append(strings.Fields(want)[:2:2], last), " ") {
				t.Errorf("%s: %q, want %s at the end", choice, got, last)
			}
		}
	}
}

// What the ticket is when a request changes nothing.
func TestReadingsTicketIdle(t *testing.T) {
	t.Parallel()
	for _, r := range []string{"newest", "null", "empty", "absent", "new-job"} {
		s := under(t, reading.TicketIdle+"="+r)
		first := create(t, s, garden())
		for _, path := range []string{"app", "app/" + first.Token} {
			second := callOK[object](t, s, "POST", path, garden())
			got, there := second["ticket_token"]
			ok := map[string]bool{"newest": got == first.Ticket, "null": there && got == nil, "empty": got == "",
				"absent":  !there,
				"new-job": got != nil && got != "" && got != first.Ticket}[r]
			if !ok || first.Ticket == "" {
				t.Errorf("%s: POST %s: ticket %v after %s", r, path, got, first.Ticket)
			}
			if r == "new-job" {
				statusOf(t, s, got.(string))
			}
		}
	}
}

// An answer without a body can be cut too: the connection ends, and what was asked for is done.
func TestReadingsCut(t *testing.T) {
	t.Parallel()
	s := under(t, "vault-answer=204")
	s.SetFaults([]emulator.Fault{{Kind: emulator.FaultCut, Times: 1}})
	func() {
		defer func() {
			if got, _ := recover().(error); !errors.Is(got, http.ErrAbortHandler) {
				t.Errorf("the connection isn't dropped: %v", got)
			}
		}()
		send(t, s, "POST", "vault", `{"section":"purchase_verification","store":"google","data":"x"}`)
	}()
	if kept := callOK[[]object](t, s, "GET", "vault", nil); len(kept) != 1 {
		t.Errorf("%v", kept)
	}
}
