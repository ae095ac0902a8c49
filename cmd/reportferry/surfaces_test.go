package main

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/internal/telemetry/collector"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/status"
	"github.com/reportferry/reportferry/sinks/bqsink/bqtest"
)

const rowsOnly = `"path": "csv_report", "query": "dimensions=day,app"`

// Whatever is wrong with a table is said by every surface with the same word, the same days and the
// same command, and the exit codes agree. Each state is made by what may happen to a service, a
// sink or a process, and never by writing a record.
func TestSurfacesAgree(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	for name, c := range map[string]struct {
		act       func(*testing.T, *surfaces)
		condition refresh.Condition
		command   string // DAY stands for the first and the last day
		days      int
		known     bool   // it is only to be known
		killed    bool   // no run has an end that tells of it
		asked     bool   // only those who ask the sink know: pages have what the last run saw
		wholly    bool   // it is about the table, and no days are named
		notice    string // the reason for which people are told; empty: they aren't
		failed    string // the checks of Dagster that fail
	}{
		"all is well": {act: func(t *testing.T, p *surfaces) { p.last(t, 0, "[]") }},
		"days that can't be fetched": {func(t *testing.T, p *surfaces) {
			p.empty(t)
			// How many days of the grid's windows lie in the table differs from day to day.
			p.edit(t, "page: 2d", "page: 1d")
			p.last(t, 3, `[{"kind": "status", "status": 400, "nth": 2, `+rowsOnly+`}]`)
		}, refresh.Broken, "backfill installs --gaps", 1, false, false, false, false, "failed", "fresh"},
		"rows that differ": {func(t *testing.T, p *surfaces) {
			p.empty(t)
			p.last(t, 3, `[{"kind": "drop_rows", "every_row": 3, "every": 1, `+rowsOnly+`}]`)
		}, refresh.Differs, "backfill installs --from DAY --to DAY --force", 4, false, false, false, false,
			"unreconciled", "reconciled"},
		"rows that differ on three days": {func(t *testing.T, p *surfaces) {
			p.empty(t)
			fault := `[{"kind": "drop_rows", "every_row": 3, "every": 1, ` + rowsOnly + `}]`
			p.night(t, 2, 3, fault)
			p.night(t, 1, 3, fault)
			p.last(t, 3, fault, "--force")
			if out, code := p.run("changes"); code != 0 || strings.Count(out, " differs, standing ") != 4 {
				t.Errorf("changes: exit code %d: %s", code, out)
			}
		}, refresh.DiffersAlike, "accept installs --days DAY:DAY --reason TEXT", 4, false, false, false, false,
			"unreconciled", "reconciled"},
		"an answer that takes rows away": {func(t *testing.T, p *surfaces) {
			fault, err := json.Marshal([]map[string]any{{"kind": "hide_app", "app": p.service.apps(t)[0], "every": 1}})
			check(t, err)
			p.last(t, 3, string(fault))
		}, refresh.HeldBack, "accept installs --days DAY:DAY --reason TEXT", 3, false, false, false, false, "held_back",
			""},
		"a day without a row": {func(t *testing.T, p *surfaces) {
			p.empty(t)
			p.last(t, 3, fmt.Sprintf(`[{"kind": "drop_day", "of": "any", "day": "%s", "every": 1}]`, p.day(-3)))
		}, refresh.Suspicious, "backfill installs --from DAY --to DAY --force", 1, false, false, false, false,
			"held_back", ""},
		"half a rebaseline": {func(t *testing.T, p *surfaces) {
			p.edit(t, "currency: USD", "currency: EUR")
			p.edit(t, "page: 2d", "page: 1d")
			p.last(t, 3, `[{"kind": "status", "status": 400, "nth": 2, `+rowsOnly+`}]`, "--rebaseline")
		}, refresh.Mixed, "run installs --rebaseline --now", 1, false, false, false, false, "stale", ""},
		"a final day that moved and is left": {func(t *testing.T, p *surfaces) {
			p.empty(t)
			p.edit(t, "lookback: 3", "lookback: 0\n    final_after: 1d\n    drift: warn")
			p.night(t, 1, 0, "[]")
			p.service.admin(t, http.MethodPost, "restatements",
				[]map[string]any{{"day": p.day(-3).String(), "metric": "cost", "factor": 0.75}})
			p.last(t, 3, "[]")
		}, refresh.MovedAndLeft, "backfill installs --from DAY --to DAY --force", 1, false, false, false, false,
			"changed_after_final", ""},
		"days that no run has come to": {act: func(t *testing.T, p *surfaces) {
			p.edit(t, "start: -4d", "start: -6d")
		}, condition: refresh.Absent, command: "backfill installs --gaps", days: 2, killed: true},
		"a put that was cut": {func(t *testing.T, p *surfaces) {
			p.kill(t)
		}, refresh.CutOff, "backfill installs --gaps", 1, false, true, false, false, "", ""},
		"a file that no run has missed": {act: func(t *testing.T, p *surfaces) {
			p.remove(t, -2)
		}, condition: refresh.Deleted, command: "backfill installs --from DAY --to DAY --force", days: 1, killed: true,
			asked: true},
		"a file that is gone": {func(t *testing.T, p *surfaces) {
			p.edit(t, "lookback: 3", "lookback: 0")
			p.remove(t, -3)
			p.last(t, 1, `[{"kind": "status", "status": 400, "every": 1, `+rowsOnly+`}]`)
		}, refresh.Deleted, "backfill installs --from DAY --to DAY --force", 1, false, false, false, false, "stale",
			""},
		"days that the table has deleted": {func(t *testing.T, p *surfaces) {
			p.empty(t)
			p.edit(t, "lookback: 3", "lookback: 0")
			p.toBigQuery(t, bqtest.Options{}, "")
			p.untilCode(0, "run", "--now")
			p.edit(t, "kind: report", "kind: report\n    bigquery: {expire_days: 2}")
			p.untilCode(0, "backfill", "installs", "--from", "yesterday", "--force")
			if out, code := p.run("check"); code != 0 || !strings.Contains(out,
				"2 partitions, whose rows are as many as recorded") {
				t.Errorf("check: exit code %d: %s", code, out)
			}
			p.last(t, 0, "[]")
		}, refresh.Expired, "", 2, true, false, false, false, "", ""},
		"days that the table wouldn't keep": {func(t *testing.T, p *surfaces) {
			p.empty(t)
			p.toBigQuery(t, bqtest.Options{PartitionExpiration: 48 * time.Hour}, "")
			p.last(t, 3, "[]")
		}, refresh.TooOld, "", 2, false, false, false, false, "failed", ""},
		"a table that has expired": {func(t *testing.T, p *surfaces) {
			p.empty(t)
			warehouse, _ := p.toBigQuery(t, bqtest.Options{TableExpiration: 30 * time.Minute}, "")
			p.untilCode(0, "run", "--now")
			warehouse.Advance(31 * time.Minute)
			p.last(t, 1, `[{"kind": "status", "status": 400, "every": 1, `+rowsOnly+`}]`)
		}, refresh.Deleted, "backfill installs --from DAY --to DAY --force", 4, false, false, false, false, "stale",
			""},
		"a run that failed at days that are there": {act: func(t *testing.T, p *surfaces) {
			p.last(t, 1, `[{"kind": "status", "status": 400, "every": 1, `+rowsOnly+`}]`, "--force")
			if p.hook.mu.Lock(); !strings.Contains(strings.Join(p.hook.got, ""), `"reason":"failed"`) {
				t.Errorf("notices: %q", p.hook.got)
			}
			p.hook.mu.Unlock()
		}, condition: status.RunFailed, command: "run installs --now", killed: true, wholly: true},
		"state tables that can't be written": {act: func(t *testing.T, p *surfaces) {
			folder := filepath.Join(p.dir, "out/_reportferry_partitions")
			check(t, os.RemoveAll(folder))
			check(t, os.WriteFile(folder, nil, 0o600))
			p.service.admin(t, http.MethodPost, "restatements",
				[]map[string]any{{"day": p.day(-1).String(), "metric": "cost", "factor": 0.75}})
			p.last(t, 3, "[]")
		}, condition: status.RunFailed, command: "run installs --now", killed: true, wholly: true},
		"a column that older days lack": {func(t *testing.T, p *surfaces) {
			p.edit(t, "lookback: 3", "lookback: 1")
			p.edit(t, "metrics: [installs,", "new_columns: later\n    metrics: [impressions, installs,")
			p.last(t, 0, "[]")
		}, status.Lacking, "backfill installs --missing-columns", 3, true, false, false, true, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newSurfaces(t)
			if out, code := p.run("run", "--now"); code != 0 {
				t.Fatalf("exit code %d: %s", code, out)
			}
			c.act(t, p)
			exit := 0
			if c.condition != "" && !c.known {
				exit = 3
			}
			var all struct {
				Tables []struct{ Problems []ledger.Problem }
			}
			out, code := p.run("status", "--json")
			decode(t, out, &all)
			if code != exit || len(all.Tables[0].Problems) > 0 != (c.condition != "") {
				t.Fatalf("status: exit code %d, want %d: %s", code, exit, out)
			}
			want := p.wants(t, all.Tables[0].Problems, c.command)
			if want.Condition != string(c.condition) || want.Partitions != c.days || want.Wrong != (exit == 3) ||
				(len(want.Days) == 0) != (c.wholly || c.condition == "") {
				t.Errorf("status: %+v, want %s of %d days", want, c.condition, c.days)
			}
			p.structured(t, want, c.killed)
			p.texts(t, want, exit, c.killed, c.asked)
			if !c.killed {
				p.receivers(t, want, status.Wrong(all.Tables[0].Problems), c.notice, c.failed)
			}
			described := func() bool {
				text, err := os.ReadFile(filepath.Join(p.dir, "out/installs.dataset.json"))
				return err == nil && strings.Contains(string(text), "two_meanings")
			}
			if mixed := c.condition == refresh.Mixed; described() != mixed {
				t.Errorf("dataset.json says that the table is of two meanings: %v", !mixed)
			} else if mixed {
				p.untilCode(0, "run", "--now")
				if described() {
					t.Error("dataset.json says that the table is of two meanings, and it no more is")
				}
			}
		})
	}
}

// surfaces are a place of which everything is told that can be: to Dagster, to a webhook and to a
// collector.
type surfaces struct {
	*place
	hook      *hook
	collected *collector.Collector
}

func newSurfaces(t *testing.T) *surfaces {
	s := startService(t, "--days", "20", "--apps", "3")
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// No goroutine waits for another call, which a clock that is moved would wait for.
		w.Header().Set("Connection", "close")
		at, err := url.Parse(s.url)
		check(t, err)
		httputil.NewSingleHostReverseProxy(at).ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	p := &surfaces{newPlace(t, &service{front.URL, s.pid}, 4, 2, living), newHook(t, nil), nil}
	p.service = s
	p.edit(t, "lookback: 0", "lookback: 3")
	p.edit(t, "attempts: 4", "attempts: 1")
	p.edit(t, "${TEST_TOKEN}", "${file:"+filepath.Join(p.dir, "token")+"}")
	check(t, os.WriteFile(filepath.Join(p.dir, "token"), []byte(p.token), 0o600))
	p.allNumbers(t)
	p.edit(t, "kind: report", "kind: report\n    codec: snappy") // the others go on beside what they are given
	return p
}

// day is a day of the job, so many days from today.
func (p *surfaces) day(from int) civil.Date { return civil.DateOf(time.Now().UTC()).AddDays(from) }

// empty takes away what was recorded and published.
func (p *surfaces) empty(t *testing.T) {
	t.Helper()
	check(t, os.RemoveAll(filepath.Join(p.dir, "ledger")))
	check(t, os.RemoveAll(filepath.Join(p.dir, "out")))
}

// remove deletes the file of a day.
func (p *surfaces) remove(t *testing.T, from int) {
	t.Helper()
	check(t, os.RemoveAll(filepath.Join(p.dir, "out/installs/dt="+p.day(from).String())))
}

func (p *surfaces) faults(t *testing.T, list string) {
	t.Helper()
	p.service.admin(t, http.MethodPut, "faults", json.RawMessage(list))
}

// last makes a run of which everybody hears, while the service has faults, which it then has no
// more.
func (p *surfaces) last(t *testing.T, want int, faults string, args ...string) {
	t.Helper()
	p.collected = collector.Start(t)
	p.edit(t, "ledger: ", "notify: [{url: \"${HOOK}\"}]\nledger: ")
	p.env = []string{
		"HOOK=" + p.hook.URL, "OTEL_EXPORTER_OTLP_ENDPOINT=" + p.collected.URL,
		"DAGSTER_PIPES_CONTEXT=" + packed(t, map[string]any{"data": map[string]any{"asset_keys": []string{"installs"},
			"extras": map[string]any{"reportferry_checks": []string{"reconciled", "fresh"}}}}),
		"DAGSTER_PIPES_MESSAGES=" + packed(t, map[string]any{"path": filepath.Join(p.dir, "messages")}),
	}
	p.faults(t, faults)
	if out, code := p.run(append([]string{"run", "--now", "--result", filepath.Join(p.dir, "result.json")},
		args...)...); code != want {
		t.Fatalf("exit code %d, want %d: %s", code, want, out)
	}
	p.faults(t, "[]")
	p.env = nil
}

// night makes a run of so many nights ago, in this process, whose clock and the service's go wrong
// together.
func (p *surfaces) night(t *testing.T, ago, want int, faults string) {
	t.Helper()
	p.faults(t, faults)
	shift := func(by time.Duration) {
		p.service.admin(t, http.MethodPost, "clock", map[string]string{"shift": by.String()})
	}
	back := time.Duration(ago) * 24 * time.Hour
	at := time.Now().Add(-back)
	shift(-back)
	defer shift(back)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(at))
		var out bytes.Buffer
		if code := execute(context.WithoutCancel(t.Context()), []string{"run", "--force", "--config",
			filepath.Join(p.dir, "reportferry.yml")}, &out, &out); code != want {
			t.Fatalf("exit code %d: %s", code, &out)
		}
	})
}

// kill ends a run by SIGKILL while the bucket takes a part.
func (p *surfaces) kill(t *testing.T) {
	t.Helper()
	c, begun := startCloud(t), make(chan struct{}, 1)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		check(t, err)
		if bytes.Contains(body, []byte("out/installs/dt=")) {
			begun <- struct{}{}
			<-r.Context().Done()
			return
		}
		r.Body, r.Host = io.NopCloser(bytes.NewReader(body)), c.addr
		c.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	p.env = []string{"STORAGE_EMULATOR_HOST=" + strings.TrimPrefix(front.URL, "http://")}
	p.edit(t, "file://"+p.dir+"/out]", "file://"+p.dir+"/out, gs://bkt/out]")
	p.edit(t, "page: 2d", "page: 1d")
	p.edit(t, "in_flight: 2", "in_flight: 1")
	p.edit(t, "lease: "+living, "lease: 1s")
	cmd, out := p.command(t.Context(), "run", "--now")
	check(t, cmd.Start())
	select {
	case <-begun:
	case <-time.After(time.Minute):
		t.Errorf("nothing is put: %s", out)
	}
	check(t, cmd.Process.Kill())
	_ = cmd.Wait()                      // it was killed
	time.Sleep(1100 * time.Millisecond) // until its lease is over, it passes for one that lives
}

func (p *surfaces) wants(t *testing.T, list []ledger.Problem, command string) (want ledger.Problem) {
	t.Helper()
	if len(list) == 0 {
		return want
	}
	want = list[0]
	if len(want.Days) > 0 {
		command = strings.Replace(command, "DAY", want.Days[len(want.Days)-1].From.String(), 1)
		command = strings.Replace(command, "DAY", want.Days[0].Through.String(), 1)
	}
	if want.Command != command {
		t.Errorf("status says %s, want %s", want.Command, command)
	}
	return want
}

// structured holds what programs read.
func (p *surfaces) structured(t *testing.T, want ledger.Problem, killed bool) {
	t.Helper()
	said := map[string][]ledger.Problem{}
	var plan struct{ Problems []ledger.Problem }
	out, _ := p.run("plan", "--log-format", "json")
	decode(t, out, &plan)
	said["plan"] = plan.Problems
	if !killed {
		var r struct {
			Jobs []struct{ Problems []ledger.Problem }
		}
		text, err := os.ReadFile(filepath.Join(p.dir, "result.json"))
		check(t, err)
		check(t, json.Unmarshal(text, &r))
		said["--result"] = r.Jobs[0].Problems
		var last struct{ Results []ledger.Result }
		out, _ := p.run("runs", "last", "--json")
		decode(t, out, &last)
		said["runs last --json"] = last.Results[0].Problems
	}
	for surface, problems := range said {
		if want.Condition == "" && len(problems) > 0 || want.Condition != "" &&
			!slices.ContainsFunc(problems, func(p ledger.Problem) bool { return spoken(p) == spoken(want) }) {
			t.Errorf("%s has %+v, want %+v", surface, problems, want)
		}
	}
}

// decode reads the first JSON object of what a command has written, behind lines of the log that
// aren't.
func decode(t *testing.T, out string, into any) {
	t.Helper()
	at := 0
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "{") && !strings.HasPrefix(line, `{"time"`) {
			break
		}
		at += len(line)
	}
	check(t, json.NewDecoder(strings.NewReader(out[at:])).Decode(into))
}

// spoken is what surfaces say of a problem. A run tells the errors on lines of their own.
func spoken(p ledger.Problem) string {
	p.Days = slices.Clone(p.Days)
	for i := range p.Days {
		p.Days[i].Run, p.Days[i].Error = "", ""
	}
	return fmt.Sprint(p)
}

// texts holds what people read.
func (p *surfaces) texts(t *testing.T, want ledger.Problem, exit int, killed, asked bool) {
	t.Helper()
	texts := map[string]string{}
	_, code := p.run("console", "--export", "file://"+filepath.Join(p.dir, "pages"))
	for _, page := range []string{"problems.html", "jobs/installs/index.html"} {
		text, err := os.ReadFile(filepath.Join(p.dir, "pages", page))
		if check(t, err); code != 0 {
			t.Errorf("console export: exit code %d", code)
		}
		if texts[page] = strings.ReplaceAll(string(text), "&#39;", "'"); asked {
			delete(texts, page)
		}
	}
	for _, args := range []string{"status", "check", "plan", "runs last"} {
		// Check names only what is wrong.
		if killed && args == "runs last" || want.Condition != "" && !want.Wrong && args == "check" {
			continue
		}
		out, code := p.run(strings.Fields(args)...)
		if texts[args] = out; code != exit && args != "runs last" && args != "plan" {
			t.Errorf("%s: exit code %d, want %d: %s", args, code, exit, out)
		}
	}
	for surface, text := range texts {
		line := strings.Join(strings.Fields(text), " ")
		for _, part := range []string{want.What, want.Command} {
			if !strings.Contains(line, part) {
				t.Errorf("%s doesn't say %q: %s", surface, part, text)
			}
		}
		for _, days := range want.Days {
			if !strings.Contains(text, days.From.String()) {
				t.Errorf("%s doesn't name %s", surface, days.From)
			}
			rest := strings.NewReplacer(want.Command, "", "window "+days.From.String(), "window").Replace(line)
			if once := surface == "check" && asked || surface == "plan" &&
				want.Condition == string(refresh.Absent); once && strings.Count(rest, days.From.String()) != 1 {
				t.Errorf("%s names %s more than once: %s", surface, days.From, text)
			}
		}
		if said := strings.Contains(text, "All of it works"); said != (surface == "check" && exit == 0) {
			t.Errorf("%s says %s", surface, text)
		}
	}
}

// receivers holds what was sent when the last run ended.
func (p *surfaces) receivers(t *testing.T, want ledger.Problem, wrong int, reason, failed string) {
	t.Helper()
	p.hook.mu.Lock()
	notices := strings.Join(p.hook.got, "\n")
	p.hook.mu.Unlock()
	if (notices != "") != (reason != "") {
		t.Errorf("notices: %s, want one of %q", notices, reason)
	}
	if reason != "" {
		parts := []string{`"reason":"` + reason + `"`, want.Condition, want.Command}
		if want.Command == "" {
			parts = append(parts, want.Advice)
		}
		if len(want.Days) > 0 {
			parts = append(parts, want.Days[0].Through.String(), want.Days[len(want.Days)-1].From.String())
		}
		for _, part := range parts {
			if !strings.Contains(notices, part) {
				t.Errorf("no notice says %q: %s", part, notices)
			}
		}
	}
	messages, err := os.ReadFile(filepath.Join(p.dir, "messages"))
	check(t, err)
	var broken []string
	for line := range strings.Lines(string(messages)) {
		var m struct {
			Method string
			Params struct {
				Name     string `json:"check_name"`
				Passed   bool
				Metadata map[string]struct {
					Value json.RawMessage `json:"raw_value"`
				}
			}
		}
		check(t, json.Unmarshal([]byte(line), &m))
		if m.Method != "report_asset_check" {
			continue
		}
		if !m.Params.Passed {
			broken = append(broken, m.Params.Name)
		}
		if differing := string(m.Params.Metadata["differing"].Value); failed == "reconciled" &&
			m.Params.Name == failed && !strings.Contains(differing, want.Days[0].Through.String()) {
			t.Errorf("Dagster's check names %s, want %s too", differing, want.Days[0].Through)
		}
		var problems []ledger.Problem
		check(t, json.Unmarshal(m.Params.Metadata["problems"].Value, &problems))
		if (len(problems) > 0) != (want.Condition != "") || len(problems) > 0 && spoken(problems[0]) != spoken(want) {
			t.Errorf("Dagster's %s: %+v, want %+v", m.Params.Name, problems, want)
		}
	}
	if strings.Join(broken, " ") != failed {
		t.Errorf("checks of Dagster that failed: %q, want %q", broken, failed)
	}
	const gauge = "reportferry.table.wrong_partitions"
	if m := p.collected.Metrics()[gauge]; m == nil || int(m.GetGauge().GetDataPoints()[0].GetAsDouble()) != wrong {
		t.Errorf("%s is %v, want %d", gauge, m, wrong)
	}
}

// packed is a text as Dagster passes it.
func packed(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	check(t, err)
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, err = z.Write(text)
	check(t, errors.Join(err, z.Close()))
	return base64.StdEncoding.EncodeToString(b.Bytes())
}
