package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/slow"
)

const answersSchemaConfig = `
service: {base_url: %[1]s, cost_url: %[1]s, s2s_url: %[1]s, token: "${TEST_TOKEN}", spend: {token: "${TEST_TOKEN}"}, patience: 20s, attempts: 2, rate: 1000}
ledger: file://./ledger
raw: file://./raw
spool_dir: spool
jobs:
  - {name: daily, kind: report, sinks: [file://./out], start: -9d, lookback: 2, currency: USD, dimensions: [day, network], metrics: [installs, cost]}
  - {name: account_events, kind: events, sinks: [file://./out]}
  - {name: account_apps, kind: apps, file: apps.yaml, ticket_wait: 20s}
  - {name: nightly, kind: spend, source: "file://./in/{date}/spend.csv", rejects: file://./rejects, max_rejects: 5, wait_until_quiet: false}
  - {name: choices, kind: sharing, source: "file://./in/{date}/consent.csv", rejects: file://./rejects, wait_until_quiet: false}
`

// answersOf are command lines of every command that has --output, in the order in which they make
// answers of each other. Of those behind "run" the answer isn't read.
var answersOf = []string{
	"version", "fields --offline", "fields roas_d7 network", "fields --search purchase", "config show",
	"config show daily",
	"plan", "backfill daily --from -9d --dry-run", "status", "changes", "runs", "apps plan", "spend status",
	"sharing status", "apps status", "ledger list",
	"run --now", "plan", "plan --force daily", "status", "status --records --max-age 1s",
	"changes --since 2009-01-01", "history daily", "history daily --metric cost", "runs", "runs last",
	"apps plan", "apps status", "apps status TICKET", "apps list", "ledger list", "spend status", "sharing status",
	"spend reconcile --from -9d --network Partner",
	"sharing explain --partner google", "events",
	"report --dimensions day,network --metrics installs,cost,roas_d7 --currency USD --date-period -3d:-1d",
	"restate", "run --now", "status", "changes", "history daily", "diff daily yesterday", "runs",
}

// Every answer as JSON is of the schema that `schema COMMAND` prints, and no command with --output
// json is left out.
func TestEveryAnswerIsOfItsSchema(t *testing.T) {
	slow.Test(t)
	p, server := newAppsPlace(t, emulator.Options{}, 2, twoApps)
	t.Chdir(p.dir)
	t.Setenv("TEST_TOKEN", p.token)
	for _, secret := range appSecrets {
		name, value, _ := strings.Cut(secret, "=")
		t.Setenv(name, value)
	}
	check(t, os.WriteFile("reportferry.yml", fmt.Appendf(nil, answersSchemaConfig, p.service.url), 0o600))
	yesterday := time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly)
	check(t, os.MkdirAll("in/"+yesterday, 0o700))
	check(t, os.WriteFile("in/"+yesterday+"/spend.csv", fmt.Appendf(nil,
		"cost_id,cost_type,cost_currency,cost_amount,tag,engaged_at\nclick-00000001,cpc,USD,1.5,a,"+
			"%[1]sT01:00:00Z\nclick-00000002,cpc,USD,no,a,%[1]sT01:00:00Z\n", yesterday), 0o600))
	check(t, os.WriteFile("in/"+yesterday+"/consent.csv",
		[]byte("app_token,idfa,sharing\nabc123def456,c0ffee-1,disable\n"), 0o600))
	writeSlugs(t, filepath.Join(p.dir, "ledger"), "account_events")
	run := func(args ...string) []byte {
		var out, errs bytes.Buffer
		if code := execute(t.Context(), args, &out, &errs); code != 0 && code != 3 {
			t.Errorf("%v: exit code %d: %s%s", args, code, &errs, &out)
		}
		return out.Bytes()
	}
	values, objects := map[string]int{}, map[string]int{}
	names := slices.Collect(maps.Keys(schemas(newRoot(newProgram()))))
	for _, line := range answersOf {
		if line == "restate" {
			answer, err := http.Post(p.service.url+"/_emulator/restatements", "application/json",
				strings.NewReader(fmt.Sprintf(`[{"day": %q, "metric": "cost", "factor": 0.75}]`, yesterday)))
			check(t, err)
			if check(t, answer.Body.Close()); answer.StatusCode > 299 {
				t.Fatal(answer.Status)
			}
			continue
		}
		if strings.HasSuffix(line, " TICKET") {
			managed, err := server.ManagedApps()
			check(t, err)
			line = strings.Replace(line, "TICKET", managed[0].Tickets[0], 1)
		}
		name := ""
		for _, known := range names {
			if len(known) > len(name) && strings.HasPrefix(line+" ", known+" ") {
				name = known
			}
		}
		if name == "" {
			run(strings.Fields(line)...)
			continue
		}
		v, o := ofSchema(t, line, run(append([]string{"schema"}, strings.Fields(name)...)...),
			run(append(strings.Fields(line), "-o", "json")...))
		values[name], objects[name] = values[name]+v, objects[name]+o
	}
	var said bytes.Buffer
	if code := execute(t.Context(), []string{"schema", "apps", "get"}, io.Discard, &said); code != 2 ||
		!strings.Contains(said.String(), `schema "apps get": want one of apps, apps list, apps plan, `) {
		t.Errorf("of a command without --output: exit code %d: %s", code, &said)
	}
	for _, name := range names {
		var document map[string]any
		check(t, json.Unmarshal(run(append([]string{"schema"}, strings.Fields(name)...)...), &document))
		if want := wire.SchemaIDs + version() + "/" + strings.ReplaceAll(name, " ", "-") + ".json"; document["$id"] !=
			want || document["$schema"] != "https://json-schema.org/draft/2020-12/schema" || document["title"] == "" {
			t.Errorf("schema %s: $id %v, want %s; $schema %v, title %v", name, document["$id"], want,
				document["$schema"], document["title"])
		}
		if objects[name] == 0 && !slices.Contains([]string{"config", "apps", "log", "result"}, name) {
			t.Errorf("of %d answers of %q that were held to its schema none has an object", values[name], name)
		}
	}
}

// ofSchema holds each value of an answer to a schema, and counts them and those that have an
// object. A schema that takes anything is an error.
func ofSchema(t *testing.T, line string, schema, answer []byte) (n, objects int) {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	check(t, err)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	check(t, c.AddResource("answer.json", document))
	compiled, err := c.Compile("answer.json")
	check(t, err)
	if compiled.Validate("no answer") == nil {
		t.Errorf("%s: its schema takes anything: %s", line, schema)
	}
	for values := json.NewDecoder(bytes.NewReader(answer)); ; n++ {
		var one json.RawMessage
		if err := values.Decode(&one); errors.Is(err, io.EOF) {
			return n, objects
		} else if err != nil {
			t.Fatalf("%s: %v in %s", line, err, answer)
		}
		if bytes.Contains(one, []byte(`":`)) {
			objects++
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(one))
		check(t, err)
		if err := compiled.Validate(value); err != nil {
			t.Errorf("%s: %v:\n%.2000s", line, err, one)
		}
	}
}
