package emutest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator"
)

// Automate calls the app-automation API with a body of JSON, checks that the answer is 200, and
// decodes it into into unless that is nil.
func Automate(tb testing.TB, s *emulator.Server, method, path, body string, into any) {
	tb.Helper()
	r := httptest.NewRequest(method, "/app-automation/"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer x")
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		tb.Fatalf("%s %s: status %d: %s", method, path, w.Code, w.Body)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
		tb.Fatalf("%s %s: %v in %s", method, path, err, w.Body)
	}
}

// MakeApp makes an Android app by POST /app, or renames the one that has this store ID. It returns
// the app's token.
func MakeApp(tb testing.TB, s *emulator.Server, name, storeID string) string {
	tb.Helper()
	var app struct {
		Token string `json:"adjust_app_token"`
	}
	Automate(tb, s, "POST", "app", fmt.Sprintf(`{"name": %q, "bundle_id": %q, "store_id": %q, "platform": "android"}`,
		name, storeID, storeID), &app)
	return app.Token
}

// MakeEvents makes an app's events by POST /events; it returns their tokens.
func MakeEvents(tb testing.TB, s *emulator.Server, app string, names ...string) (tokens []string) {
	tb.Helper()
	var events []map[string]string
	for _, n := range names {
		events = append(events, map[string]string{"name": n})
	}
	body, err := json.Marshal(map[string]any{"app_tokens": []string{app}, "events": events})
	if err != nil {
		tb.Fatal(err)
	}
	var made struct {
		Successes []struct {
			Event struct {
				Token string `json:"token"`
			} `json:"event"`
		} `json:"successes"`
	}
	Automate(tb, s, "POST", "events", string(body), &made)
	for _, m := range made.Successes {
		tokens = append(tokens, m.Event.Token)
	}
	return tokens
}

// Admin makes an admin call, with a body of JSON, and returns the answer's status and body.
func Admin(s *emulator.Server, method, call, body string) (status int, text string) {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, "/_emulator/"+call, strings.NewReader(body))
	r.RemoteAddr = "127.0.0.1:4711"
	s.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}
