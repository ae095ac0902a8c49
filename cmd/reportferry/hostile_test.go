package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/slow"
)

// evil moves the cursor, sets a title, clears the screen (also by C1), turns text around, and
// breaks lines in every way.
const evil = "\u202eevil\x1b]0;owned\x07\x1b[2J\u009b31m\u2066\u2069\u200f\u061c\u2028\r\n\x7f\x00lines forged: all " +
	"is up to date\u0085"

// forged is a line that begins with what evil has behind its line end.
var forged = regexp.MustCompile(`^(\\u[0-9a-f]{4})*lines forged`)

// A liar is the made-up account, with names of campaigns, events and apps that somebody hostile
// chose, and refusals of his.
type liar struct {
	account http.Handler
	refuse  atomic.Int32 // answer reports with this status and a hostile body
	columns atomic.Bool  // name one more column of a report
}

func (l *liar) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if status := l.refuse.Load(); status != 0 && strings.HasSuffix(r.URL.Path, "csv_report") {
		w.WriteHeader(int(status))
		fmt.Fprintf(w, "no such \xc3\x28 column \x9b2J\xff %s", evil)
		return
	}
	r.Header.Del("Accept-Encoding")
	told := httptest.NewRecorder()
	l.account.ServeHTTP(told, r)
	body := told.Body.Bytes()
	switch kind := told.Header().Get("Content-Type"); {
	case told.Code != http.StatusOK:
	case strings.HasPrefix(kind, "text/csv"):
		body = lieInCSV(body, l.columns.Load())
	case strings.HasPrefix(kind, "application/json"):
		keys := []string{"name", "short_name", "formatting", "description"}
		if !strings.HasSuffix(r.URL.Path, "filters_data") { // there, IDs are those of metrics that jobs ask for
			keys = append(keys, "id")
		}
		body = lieInJSON(body, keys)
	}
	for name, values := range told.Header() {
		if name != "Content-Length" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(told.Code)
	_, _ = w.Write(body)
}

func lieInCSV(body []byte, columns bool) []byte {
	rows, err := csv.NewReader(bytes.NewReader(body)).ReadAll()
	if err != nil || len(rows) == 0 {
		return body
	}
	at := slices.Index(rows[0], "campaign")
	if at < 0 {
		at = slices.Index(rows[0], "name")
	}
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	for i, cells := range rows {
		if columns {
			cells = append(cells, []string{strings.ReplaceAll(evil, "\x00", ""), "1"}[min(i, 1)])
		}
		if i > 0 && at >= 0 {
			cells[at] = strings.NewReplacer("\r", "", "\x00", "").Replace(evil) + cells[at]
		}
		_ = w.Write(cells)
	}
	w.Flush()
	return out.Bytes()
}

func lieInJSON(body []byte, keys []string) []byte {
	var all any
	if json.Unmarshal(body, &all) != nil {
		return body
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, one := range v {
				walk(one)
			}
		case map[string]any:
			for key, one := range v {
				text, isText := one.(string)
				if isText && slices.Contains(keys, key) {
					v[key] = evil + text
				}
				walk(one)
			}
		}
	}
	walk(all)
	out, _ := json.Marshal(all)
	return out
}

// shown wants nothing that a terminal would obey, and no line that the program didn't print itself.
func shown(t *testing.T, what, text string) {
	t.Helper()
	harmless(t, what, text)
	for line := range strings.Lines(text) {
		if forged.MatchString(line) {
			t.Errorf("%s: a line is forged: %q", what, line)
		}
	}
}

func harmless(t *testing.T, what, text string) {
	t.Helper()
	if !strings.Contains(text, `\u202eevil`) {
		t.Errorf("%s: the hostile text isn't there, escaped: %.600q", what, text)
	}
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1, r < 0x20 && r != '\n' && r != '\t', r >= 0x7f && r < 0xa0,
			r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069,
			slices.Contains([]rune{0x200e, 0x200f, 0x061c, 0x2028, 0x2029}, r):
			t.Errorf("%s: %q is shown raw: %.300q", what, r, text[max(0, i-80):])
			return
		}
	}
}

const hostileConfig = `
service: {base_url: %q, cost_url: %[1]q, token: "${TEST_TOKEN}", patience: 20s, attempts: 2, spend: {token: "${TEST_TOKEN}"}}
ledger: file://./ledger
spool_dir: spool
jobs:
  - name: daily
    kind: report
    sinks: [file://./out]
    start: -5d
    lookback: 0
    currency: USD
    dimensions: [day, campaign]
    metrics: [installs]
  - name: slugs
    kind: events
    sinks: [file://./out]
  - name: nightly_spend
    kind: spend
    source: file://./in/{date}/*.csv
    columns: {cost_id: click_id, cost_amount: spend, engaged_at: click_time}
    constants: {cost_type: cpi, tag: nightly}
    rejects: file://./rejects
    max_rejects: 5
    wait_until_quiet: false
`

// Names and words of others reach the terminal escaped, whatever command shows them; files keep
// them as they are.
func TestHostileNamesAreShownEscaped(t *testing.T) {
	slow.Test(t)
	account, err := emulator.New(emutest.With(emulator.Options{Apps: 2, Days: 30, Rate: -1}))
	check(t, err)
	l := &liar{account: account}
	service := httptest.NewServer(l)
	t.Cleanup(func() { service.Close(); check(t, account.Close()) })
	t.Chdir(t.TempDir())
	t.Setenv("TEST_TOKEN", "token-of-the-test")
	check(t, os.WriteFile("reportferry.yml", fmt.Appendf(nil, hostileConfig, service.URL), 0o600))
	ran := func(code int, args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if got := execute(t.Context(), args, &out, &errs); got != code {
			t.Fatalf("%v: exit code %d, want %d: %s%s", args, got, code, &errs, &out)
		}
		return errs.String() + out.String()
	}
	look := func(code int, args ...string) string {
		t.Helper()
		said := ran(code, args...)
		shown(t, strings.Join(args, " "), said)
		return said
	}
	report := []string{"report", "--dimensions", "day,campaign", "--metrics", "installs", "--date-period", "-2d:-1d"}
	ran(0, "run", "--now", "daily")
	look(0, append(report, "--format", "table")...)
	look(0, append(report, "--format", "jsonl")...)
	look(0, "events")
	look(0, "events", "--json")
	look(0, "events", "--log-format", "json")
	made, err := http.NewRequestWithContext(t.Context(), http.MethodPost, service.URL+"/app-automation/app",
		strings.NewReader(`{"name":"n","bundle_id":"b","store_id":"com.b","platform":"android"}`))
	check(t, err)
	made.Header.Set("Authorization", "Bearer x")
	res, err := http.DefaultClient.Do(made)
	check(t, errors.Join(err, res.Body.Close()))
	look(0, "apps", "list")
	look(0, "apps", "list", "--json")

	// Lossless where it is JSON, raw where it is a file.
	var object struct{ Campaign string }
	first, _, _ := strings.Cut(ran(0, append(report, "--format", "jsonl")...), "\n")
	check(t, json.Unmarshal([]byte(first), &object))
	ran(0, append(report, "--out", "kept.csv")...)
	kept, err := os.ReadFile("kept.csv")
	check(t, err)
	raw := strings.NewReplacer("\r", "", "\x00", "").Replace(evil)
	if piped := ran(0, append(report, "--format", "csv")...); !strings.HasPrefix(object.Campaign, raw) ||
		!bytes.Contains(kept, []byte(raw)) || piped != string(kept) {
		t.Errorf("data are changed: JSON %.80q, file %.200q, pipe %.200q", object.Campaign, kept, piped)
	}

	// Columns that weren't asked for.
	l.columns.Store(true)
	look(0, append(report, "--format", "jsonl")...)
	look(0, "run", "--now", "--force", "daily")
	l.columns.Store(false)

	// Files' names and cells.
	name := strings.ReplaceAll(evil, "\x00", "")
	write := func(folder, key, text string) {
		t.Helper()
		b, err := bucket.Open(t.Context(), "file://./"+folder)
		check(t, err)
		check(t, errors.Join(b.Blob().WriteAll(t.Context(), key, []byte(text), nil), b.Close()))
	}
	yesterday := time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly)
	write("in", yesterday+"/"+name+".csv", "click_id,cost_currency,spend,click_time\n\""+name+"\",USD,x,y\n")
	write("in", yesterday+"/head"+name+".csv", fmt.Sprintf("click_id,cost_currency,%s\n",
		strings.ReplaceAll(name, "\n", " ")))
	look(3, "spend", "check")
	look(0, "plan")
	look(3, "run", "--now", "nightly_spend")
	look(1, "run", "--now", "nightly_spend", "--log-format", "json")
	var rejects []byte
	check(t, filepath.WalkDir("rejects", func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rejects, err = os.ReadFile(path)
		}
		return err
	}))
	if !bytes.Contains(rejects, []byte(strings.ReplaceAll(name, "\r\n", "\n"))) {
		t.Errorf("the rejects don't keep the cells as they are: %q", rejects)
	}
	look(0, "spend", "status")
	look(0, "spend", "status", "--json")
	write("out", "daily/dt=2026-01-01/"+name+".parquet", "x")
	look(3, "check", "daily")

	// Refusals.
	for _, status := range []int32{http.StatusBadRequest, http.StatusServiceUnavailable, http.StatusForbidden} {
		code := 1
		if status == http.StatusForbidden {
			code = 5
		}
		l.refuse.Store(status)
		look(code, report...)
		look(code, append(report, "--log-format", "json")...)
		look(code, "run", "--now", "--force", "daily")
		look(code, "run", "--now", "--force", "daily", "--log-format", "json")
		look(3, "status", "daily")
		look(3, "status", "daily", "--json")
	}
	l.refuse.Store(http.StatusBadRequest)
	look(3, "check", "--live", "daily")
	check(t, os.RemoveAll("ledger/tables/daily"))
	look(3, "status", "daily")
	look(3, "status", "daily", "--json")

	// What runs leave in the ledger is escaped already.
	hostile := 0
	for _, run := range runsIn(t, "./ledger") {
		data, err := json.Marshal(run)
		check(t, err)
		var record any
		check(t, json.Unmarshal(data, &record))
		if text := fmt.Sprint(record); strings.Contains(text, "evil") {
			hostile++
			harmless(t, run.ID, text)
		}
	}
	if hostile < 6 {
		t.Errorf("%d records of runs hold a hostile text, want one of each that failed", hostile)
	}
}

// A mistake on the command line or in the config is quoted escaped too.
func TestHostileArgumentsAreShownEscaped(t *testing.T) {
	t.Chdir(t.TempDir())
	check(t, os.WriteFile("reportferry.yml", []byte(commandsConfig), 0o600))
	evil := strings.ReplaceAll(evil, "\n", " ") // who types a line's end means it
	for _, args := range [][]string{
		{"run", evil}, {evil}, {"run", "--" + evil}, {"run", "--config", "x" + evil},
		{"run", evil, "--log-format", "json"}, {"emulator", "--faults", "x" + evil}, {"run", "--log-format", evil},
	} {
		var out bytes.Buffer
		if code := execute(t.Context(), args, &out, &out); code != 2 {
			t.Errorf("%.40q: exit code %d", args, code)
		}
		shown(t, fmt.Sprintf("%.40q", args), out.String())
	}
}

// The same of app automation: the values that the service shows, the words with which it fails a
// migration.
func TestHostileAppsAreShownEscaped(t *testing.T) {
	p, server := newAppsPlace(t, emulator.Options{}, 2, twoApps)
	lying := httptest.NewServer(&liar{account: server})
	t.Cleanup(lying.Close)
	for _, secret := range appSecrets {
		name, value, _ := strings.Cut(secret, "=")
		t.Setenv(name, value)
	}
	const app = "android/com.example.puzzle"
	look := func(code int, args ...string) {
		t.Helper()
		said, got := p.here(args...)
		if got != code {
			t.Errorf("%v: exit code %d, want %d: %s", args, got, code, said)
		}
		shown(t, strings.Join(args, " "), said)
	}
	server.SetJobFaults([]emulator.JobFault{{App: "com.example.puzzle", Section: "partners", Item: "facebook",
		Detail: evil, Times: 1}})
	look(3, "apps", "apply")
	managed, err := server.ManagedApps()
	check(t, err)
	for _, m := range managed {
		if m.StoreID == "com.example.puzzle" {
			look(3, "apps", "status", m.Tickets[0])
			look(3, "apps", "status", m.Tickets[0], "--json")
		}
	}
	p.here("apps", "vault", "put", "csv_upload_settings", "reportferry.yml")
	path := filepath.Join(p.dir, "reportferry.yml")
	config, err := os.ReadFile(path)
	check(t, err)
	check(t, os.WriteFile(path, bytes.ReplaceAll(config, []byte(p.service.url), []byte(lying.URL)), 0o600))
	look(0, "apps", "plan")
	look(0, "apps", "plan", "--json")
	look(0, "apps", "list")
	look(0, "apps", "list", "--json")
	look(0, "apps", "get", app)
	look(0, "apps", "settings", app)
	look(0, "apps", "events", app)
	look(0, "apps", "events", app, "--add", "level_up")
}
