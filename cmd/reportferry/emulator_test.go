package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
)

// What the command lists is known to a server of the same seed, and to no other.
func TestEngagementsCommand(t *testing.T) {
	var out, errs bytes.Buffer
	if code := execute(t.Context(), []string{"emulator", "engagements", "--csv", "--seed", "5", "--apps", "3", "--days",
		"3", "--per-day", "4"}, &out, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, &errs)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	check(t, err)
	if strings.Join(rows[0], ",") != "cost_id,app,campaign,time" || len(rows) < 1+2*3*4 || len(rows) > 1+3*3*4 {
		t.Fatalf("%d rows under %q", len(rows), rows[0])
	}
	for _, seed := range []int64{5, 6} {
		s, err := emulator.New(emulator.Options{Seed: seed, Apps: 3}) // no client asks here
		check(t, err)
		for _, row := range rows[1:] {
			at, err := time.Parse(time.RFC3339, row[3])
			if err != nil || at.After(time.Now()) || time.Since(at) > 3*24*time.Hour {
				t.Errorf("time %q, %v", row[3], err)
			}
			form := url.Values{"cost_type": {"cpc"}, "cost_currency": {"usd"}, "cost_amount": {"1"},
				"cost_id": {row[0]}, "tag": {"t"}}
			r := httptest.NewRequest(http.MethodPost, "/cost?"+form.Encode(), nil)
			r.Header.Set("Authorization", "Bearer x")
			w := httptest.NewRecorder()
			if s.ServeHTTP(w, r); w.Code != http.StatusOK {
				t.Errorf("%v: %d", row, w.Code)
			}
		}
		state := map[int64]string{5: "matched", 6: "pending"}[seed]
		if got := s.Spend(); got.States[state] != len(rows)-1 || got.Records != len(rows)-1 {
			t.Errorf("seed %d: %+v", seed, got)
		}
		check(t, s.Close())
	}
	for _, args := range [][]string{{"--per-day", "0"}, {"--days", "-1"}, {"--apps", "9999"}, {"more"}} {
		if code := execute(t.Context(), append([]string{"emulator", "engagements"}, args...), &out, &errs); code != 2 {
			t.Errorf("%v: exit code %d", args, code)
		}
	}
}

// The flags reach the emulator: each refuses or fails something that it wouldn't without.
func TestEmulatorAutomationFlags(t *testing.T) {
	const app = `{"name":"n","bundle_id":"b","store_id":"com.b","platform":"android"}`
	for _, c := range []struct {
		args  []string
		token string
		want  string // status of POST /app, then that of its job
	}{
		{nil, "x", "200 completed"},
		{[]string{"--role", "ed=Editor,re=Reader"}, "ed", "200 completed"},
		{[]string{"--role", "ed=Editor,re=Reader"}, "re", "403 "},
		{[]string{"--role", "ed=Editor"}, "x", "401 "},
		{[]string{"--no-automation"}, "x", "403 "},
		{[]string{"--no-template"}, "x", "422 "},
		{[]string{"--ticket-step", "-1s"}, "x", "200 new"},
		{[]string{"--fail-job", "s2s"}, "x", "200 failed"},
		{[]string{"--fail-job", "s2s@com.b"}, "x", "200 failed"},
		{[]string{"--fail-job", "s2s@com.other,trackers@other"}, "x", "200 completed"},
	} {
		base, stop := serveEmulator(t, append(c.args, "--apps", "1", "--days", "1")...)
		ask := func(method, path, body string) (int, string) {
			r, err := http.NewRequestWithContext(t.Context(), method, base+"/app-automation/"+path,
				strings.NewReader(body))
			check(t, err)
			r.Header.Set("Authorization", "Bearer "+c.token)
			resp, err := http.DefaultClient.Do(r)
			check(t, err)
			defer func() { _ = resp.Body.Close() }()
			var fields struct {
				Ticket string `json:"ticket_token"`
				Status string `json:"status"`
			}
			check(t, json.NewDecoder(resp.Body).Decode(&fields))
			return resp.StatusCode, fields.Ticket + fields.Status
		}
		status, ticket := ask("POST", "app", app)
		state := ""
		if status == http.StatusOK {
			_, state = ask("GET", "status/"+ticket, "")
		}
		if got := fmt.Sprint(status, " ", state); got != c.want {
			t.Errorf("%v: %s, want %s", c.args, got, c.want)
		}
		stop()
	}
	var out, errs bytes.Buffer
	for _, args := range [][]string{{"--role", "x"}, {"--role", "x=admin"}, {"--fail-job", "app_info"},
		{"--fail-job", "@x"}} {
		if code := execute(t.Context(), append([]string{"emulator", "--addr", "127.0.0.1:0"}, args...), &out,
			&errs); code != 2 {
			t.Errorf("%v: exit code %d: %s", args, code, &errs)
		}
	}
}

// serveEmulator runs the command until stop.
func serveEmulator(t *testing.T, args ...string) (base string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	code := make(chan int)
	go func() {
		n := execute(ctx, append([]string{"emulator", "--addr", "127.0.0.1:0"}, args...), io.Discard, write)
		_ = write.Close()
		code <- n
	}()
	lines := bufio.NewScanner(read)
	for base == "" && lines.Scan() {
		_, base, _ = strings.Cut(lines.Text(), "serving on ")
	}
	go func() { _, _ = io.Copy(io.Discard, read) }()
	return base, func() {
		t.Helper()
		cancel()
		if n := <-code; n != 0 && n != 130 {
			t.Errorf("%v: exit code %d", args, n)
		}
	}
}

func TestEmulatorAnswersOnlyToItsHosts(t *testing.T) {
	base, stop := serveEmulator(t, "--apps", "1", "--days", "1")
	defer stop()
	for path, good := range map[string]int{"/reports-service/events": 200, "/_emulator/requests": 200, "/nowhere": 404,
		"/cost": 400} {
		answersOnlyToItsHosts(t, base+path, good)
	}
}

// TestReadingsList finds every topic and reading in the list that people read, and no line longer
// than 80 columns.
func TestReadingsList(t *testing.T) {
	var out, errs strings.Builder
	if code := execute(t.Context(), []string{"emulator", "readings"}, &out, &errs); code != 0 {
		t.Fatalf("%d: %s", code, errs.String())
	}
	for line := range strings.Lines(out.String()) {
		if len(line) > 81 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
	for _, topic := range emulator.ReadingTopics() {
		_, of, found := strings.Cut("\n"+out.String(), "\n"+topic.Name+"\n")
		for i, r := range topic.Readings {
			mark := "  "
			if i == 0 {
				mark = "* "
			}
			_, after, listed := strings.Cut(of, "  "+mark+r.Name+" ")
			words := strings.Join(strings.Fields(after), " ")
			if !found || !listed || !strings.HasPrefix(words, strings.Join(strings.Fields(r.Means), " ")) {
				t.Errorf("%s=%s isn't listed with what it means: %.100q", topic.Name, r.Name, words)
			}
		}
	}
}

// TestReadingsRows takes each line of --rows as a --reading.
func TestReadingsRows(t *testing.T) {
	var out, errs strings.Builder
	if code := execute(t.Context(), []string{"emulator", "readings", "--rows"}, &out, &errs); code != 0 {
		t.Fatalf("%d: %s", code, errs.String())
	}
	rows := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(rows) != emulator.ReadingRows() || len(strings.Split(rows[0], ",")) != len(emulator.ReadingTopics()) {
		t.Fatalf("%d rows, the first is %s", len(rows), rows[0])
	}
	for _, row := range rows {
		s, err := emulator.New(emulator.Options{Apps: 1, Readings: strings.Split(row, ",")})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
