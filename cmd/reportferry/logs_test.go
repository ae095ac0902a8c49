package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/internal/slow"
)

// A logReader holds lines against the schema of the log.
type logReader struct {
	schema *jsonschema.Schema
	mu     sync.Mutex
	lines  int
	seen   map[string]bool // fields
}

func newLogReader(t *testing.T) *logReader {
	t.Helper()
	text, err := text.LogSchema()
	check(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	check(t, err)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	check(t, c.AddResource("log.json", document))
	schema, err := c.Compile("log.json")
	check(t, err)
	return &logReader{schema: schema, seen: map[string]bool{}}
}

// read holds every line of an output against the schema. A plain line is an error, and so is a
// field that comes twice.
func (l *logReader) read(t *testing.T, what, output string) {
	t.Helper()
	for line := range strings.SplitSeq(strings.TrimSpace(output), "\n") {
		if line == "" {
			continue
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err == nil {
			err = l.schema.Validate(value)
		}
		if err != nil {
			t.Errorf("%s: %v:\n%s", what, err, line)
			continue
		}
		l.mu.Lock()
		l.lines++
		for name := range value.(map[string]any) {
			l.seen[name] = true
		}
		l.mu.Unlock()
		for _, name := range repeated(t, line) {
			t.Errorf("%s: %s is there twice:\n%s", what, name, line)
		}
	}
}

// repeated are the fields that a line has more than once, which a map of them would hide.
func repeated(t *testing.T, line string) (names []string) {
	t.Helper()
	d, seen, depth := json.NewDecoder(strings.NewReader(line)), map[string]bool{}, 0
	for key := false; ; key = !key {
		token, err := d.Token()
		if err != nil {
			return names
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
			key = depth != 1 // flips to true before the first name
			continue
		case json.Delim('}'), json.Delim(']'):
			depth--
			key = false
			if depth == 1 {
				key = true // a value is over
			}
			continue
		}
		if name, is := token.(string); is && key && depth == 1 {
			if seen[name] {
				names = append(names, name)
			}
			seen[name] = true
		}
	}
}

// logged are the command lines of every command. Of those that are marked the log is on standard
// output, because it is what they have to say; the product of the others is there, and their log on
// standard error.
var logged = map[string][]string{
	"run": {"*run", "*run", "*run --force campaigns_daily", "*run nobody",
		"*run --to ./mine --embedded --currency USD --dimensions day --metrics installs --start -3d"},
	"plan": {"plan", "plan --nonsense"}, "backfill": {"*backfill campaigns_daily --from -3d",
		"backfill campaigns_daily --from -3d --dry-run", "*backfill"},
	"status": {"status", "status --json", "status --max-age 1s"},
	"accept": {"accept campaigns_daily", "accept campaigns_daily --reason sold"}, "check": {"check", "check --live"},
	"views": {"views campaigns_daily", "views ad_spend"}, "dbt": {"dbt campaigns_daily --out ./dbt", "dbt"},
	"history": {"history campaigns_daily"}, "changes": {"changes"}, "runs": {"runs", "runs last", "runs nothing"},
	"ledger list": {"ledger list"}, "ledger show": {"ledger show nothing.json"},
	"diff": {"diff campaigns_daily yesterday"}, "replay": {"*replay campaigns_daily --from -3d"},
	"events": {"events"}, "report": {"report --dimensions day --metrics installs --currency USD",
		"report --dimensions day --metrics nothing"}, "fields": {"fields roas", "fields --offline"},
	"init": {"init new.yml --embedded --preset cohorts --to ./new", "init"}, "config show": {"config show"},
	"schema": {"schema", "schema log"}, "version": {"version", "version --json"}, "man": {"man --out ./man"},
	"notify":      {"notify", "notify --test"},
	"spend check": {"spend check"}, "spend push": {"*spend push", "*spend push nothing.csv"},
	"spend status": {"spend status"}, "spend requeue": {"spend requeue"},
	"spend reconcile": {"spend reconcile --from -3d"}, "spend init": {"spend init nothing.csv"},
	"sharing check": {"sharing check"}, "sharing push": {"*sharing push"}, "sharing status": {"sharing status"},
	"sharing requeue": {"sharing requeue"}, "sharing explain": {"sharing explain"},
	"apps apply": {"apps apply"}, "apps plan": {"apps plan"}, "apps list": {"apps list"},
	"apps get": {"apps get nothing"}, "apps events": {"apps events nothing"}, "apps export": {"apps export"},
	"apps settings": {"apps settings nothing"}, "apps signature": {"apps signature nothing"},
	"apps status": {"apps status"}, "apps secrets revoke": {"apps secrets revoke a b"},
	"apps secrets reactivate":      {"apps secrets reactivate a b"},
	"apps secrets revoke-outdated": {"apps secrets revoke-outdated a"}, "apps vault list": {"apps vault list"},
	"apps vault put": {"apps vault put a nothing"}, "emulator readings": {"emulator readings"},
	"emulator engagements": {"emulator engagements --csv"},
	"serve":                nil, "console": nil, "emulator": nil, // they stay, and are below
}

// Every command that there is says what it logs in lines of the schema, whether it works or not.
func TestEveryLineOfTheLogIsOfTheSchema(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	l, dir := newLogReader(t), t.TempDir()
	example, err := os.ReadFile("../../config/example.yml")
	check(t, err)
	check(t, os.WriteFile(filepath.Join(dir, "reportferry.yml"), example, 0o600))
	check(t, os.CopyFS(filepath.Join(dir, "config"), os.DirFS("../../config")))
	run := func(line string) {
		line, log := strings.CutPrefix(line, "*")
		cmd := exec.Command(binary(t), append(strings.Fields(line), "--log-format", "json", "--log-level", "debug")...)
		var out, errs bytes.Buffer
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
		_ = cmd.Run() // many fail
		l.read(t, line+", errors", errs.String())
		if log {
			l.read(t, line, out.String())
		}
	}
	for _, line := range logged["run"] {
		run(line)
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, 4)
	for _, name := range commands(newRoot(newProgram())) {
		lines, known := logged[name]
		if !known {
			t.Errorf("nobody reads what %q logs", name)
		}
		for _, line := range lines {
			if name != "run" {
				wg.Go(func() { slots <- struct{}{}; run(line); <-slots })
			}
		}
	}
	wg.Wait()
	if l.lines < 150 {
		t.Errorf("only %d lines were read", l.lines)
	}
}

// commands are the names of those that do something.
func commands(c *cobra.Command) (names []string) {
	if c.Runnable() && c.HasParent() && (!c.HasSubCommands() || c.Name() == "emulator") &&
		!strings.Contains(c.CommandPath(), "completion") && !strings.HasSuffix(c.CommandPath(), " help") {
		names = append(names, strings.TrimPrefix(c.CommandPath(), "reportferry "))
	}
	for _, below := range c.Commands() {
		names = append(names, commands(below)...)
	}
	return names
}

// What goes wrong is told in the same lines: pauses, slow answers, refusals, an end by force, and
// those who stay.
func TestTheLogOfWhatGoesWrongIsOfTheSchema(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s, l := startService(t), newLogReader(t)
	asJSON := []string{"--log-format", "json", "--log-level", "debug"}
	p := newPlace(t, s, 3, 1, racing)
	p.env = []string{"CLOUD_RUN_EXECUTION=x", "JOB_COMPLETION_INDEX=", "GOOGLE_CLOUD_PROJECT=p",
		"CLOUD_RUN_TASK_COUNT=1", "STORAGE_EMULATOR_HOST=127.0.0.1:1"}
	out, code := p.run(append([]string{"run"}, asJSON...)...)
	l.read(t, "a folder in a task", out)
	if code == 0 {
		t.Error("a task has written into a folder")
	}
	p.env = nil
	s.admin(t, http.MethodPut, "faults", json.RawMessage(faultyNight))
	out, _ = p.run(append([]string{"run"}, asJSON...)...)
	l.read(t, "a faulty night", out)
	for _, want := range []string{`"status":429`, `"status":504`, `"wait":1,`, `"difference":"`} {
		if !strings.Contains(out, want) {
			t.Errorf("a faulty night's log has no %s:\n%s", want, out)
		}
	}
	for line := range strings.SplitSeq(out, "\n") {
		if strings.Contains(line, "attempt ") && (strings.Contains(line, `"run":""`) ||
			!strings.Contains(line, `"job":"installs"`)) {
			t.Errorf("a retry is nobody's: %s", line)
		}
	}
	s.admin(t, http.MethodPut, "faults",
		json.RawMessage(`[{"kind": "status", "status": 403, "path": "csv_report", "every": 1}]`))
	out, code = p.run(append([]string{"run", "--force"}, asJSON...)...)
	l.read(t, "a refusal", out)
	if code != 5 {
		t.Errorf("a refusal ends with %d", code)
	}
	s.admin(t, http.MethodPut, "faults",
		json.RawMessage(`[{"kind": "slow", "delay": "30s", "path": "csv_report", "every": 1}]`))
	p.edit(t, "    lookback: 0", "    lookback: 0\n    schedule: '0 6 * * *'")
	for _, stays := range [][]string{{"run", "--force"}, {"serve", "--listen", "127.0.0.1:0"},
		{"console", "--listen", "127.0.0.1:0"}, {"emulator", "--addr", "127.0.0.1:0"}} {
		cmd, _ := p.command(t.Context(), append(stays, asJSON...)...)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		check(t, cmd.Start())
		time.Sleep(1500 * time.Millisecond)
		check(t, cmd.Process.Signal(os.Interrupt))
		_ = cmd.Wait()
		l.read(t, stays[0], errs.String())
		if stays[0] != "console" {
			l.read(t, stays[0], out.String())
		}
	}
	for _, name := range []string{"reason", "error", "exit", "took", "backoff", "status"} {
		if !l.seen[name] {
			t.Errorf("no line had %s: %v", name, slices.Sorted(func(yield func(string) bool) {
				for n := range l.seen {
					if !yield(n) {
						return
					}
				}
			}))
		}
	}
}
