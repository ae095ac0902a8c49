package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/cmd/reportferry/run"
	"github.com/reportferry/reportferry/internal/emulator"
)

// An answer that takes good rows away is told of by every surface: the last lines and the exit
// code, once; --result and status, as long as it lasts. A person accepts it with a reason,
// which history shows.
func TestHeldBackIsTold(t *testing.T) {
	t.Parallel()
	s := startService(t, "--days", "20", "--apps", "3")
	p := newPlace(t, s, 4, 2, living)
	p.edit(t, "lookback: 0", "lookback: 3")
	p.edit(t, "attempts: 4", "attempts: 1")
	runs := func(want int) (out run.Result) {
		t.Helper()
		text, code := p.run("run", "--now", "--result", "-", "--quiet")
		at := strings.Index(text, "{\"form\"")
		if at < 0 || code != want {
			t.Fatalf("exit code %d, want %d: %s", code, want, text)
		}
		check(t, json.Unmarshal([]byte(strings.SplitN(text[at:], "\n", 2)[0]), &out))
		return out
	}
	says := func(want int, text string, args ...string) {
		t.Helper()
		if out, code := p.run(args...); code != want || !strings.Contains(out, text) {
			t.Errorf("%v: exit code %d, want %d and %q: %s", args, code, want, text, out)
		}
	}
	if r := runs(0); r.Retry {
		t.Errorf("all is done, and another try may do more: %+v", r)
	}
	fault, err := json.Marshal([]emulator.Fault{{Kind: emulator.FaultHideApp, App: s.apps(t)[0], Every: 1}})
	check(t, err)
	s.admin(t, http.MethodPut, "faults", json.RawMessage(fault))
	r := runs(3)
	held := 0
	for _, day := range r.Jobs[0].Partitions {
		if day.State == run.StateHeldBack {
			held++
		}
	}
	if r.Retry || held == 0 || r.Jobs[0].HeldBack != held || r.Jobs[0].Standing != 0 {
		t.Errorf("the first time: %+v", r)
	}
	if r = runs(0); r.Jobs[0].HeldBack != held || r.Jobs[0].Standing != held {
		t.Errorf("the second time: %+v", r)
	}
	says(3, "whose newest answer isn't published", "status")
	says(3, "if that is right:\n      reportferry accept installs --days ", "status")
	says(2, "--reason: want a text", "accept", "installs")
	says(3, "nothing of these days is held back", "accept", "installs", "--days", "2020-01-01", "--reason", "sold")
	says(0, "accepted", "accept", "installs", "--reason", "the other half was fraud")
	runs(0)
	says(0, ": the other half was fraud", "history", "installs")
	says(0, "    held back 20", "history", "installs")
	says(0, "accepted,,,,0,,the other half was fraud", "changes", "installs", "--format", "csv")
	says(0, `"metric":"held back"`, "changes", "installs", "--format", "json")
	says(0, " events since 20", "changes", "installs")
	says(0, "reconciled", "status")
}

// apps are the tokens of the account's apps.
func (s *service) apps(t *testing.T) (tokens []string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		s.url+"/reports-service/filters_data?required_filters=apps", nil)
	check(t, err)
	req.Header.Set("Authorization", "Bearer x")
	res, err := http.DefaultClient.Do(req)
	check(t, err)
	defer func() { check(t, res.Body.Close()) }()
	var lists map[string][]struct{ ID string }
	check(t, json.NewDecoder(res.Body).Decode(&lists))
	for _, app := range lists["apps"] {
		tokens = append(tokens, app.ID)
	}
	return tokens
}
