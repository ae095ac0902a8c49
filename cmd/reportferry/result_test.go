package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/reportferry/reportferry/cmd/reportferry/run"
	"github.com/reportferry/reportferry/internal/slow"
)

// resulting runs a command with --result, holds what it writes against the schema, and gives it.
func (p *place) resulting(t *testing.T, code int, args ...string) (r run.Result) {
	t.Helper()
	path := filepath.Join(p.dir, "result.json")
	_ = os.Remove(path)
	out, got := p.run(append(args, "--result", path)...)
	if got != code {
		t.Fatalf("%v: exit %d, want %d\n%s", args, got, code, out)
	}
	text, err := os.ReadFile(path)
	check(t, err)
	valid(t, text)
	check(t, json.Unmarshal(text, &r))
	if r.Exit != code || r.Form != run.ResultForm || strings.Contains(string(text), p.token) && p.token != "" {
		t.Errorf("%v: the result says %s", args, text)
	}
	if left, _ := filepath.Glob(filepath.Join(p.dir, ".result.json-*")); len(left) > 0 {
		t.Errorf("%v: left behind: %v", args, left)
	}
	return r
}

// valid holds a result against its schema.
func valid(t *testing.T, text []byte) {
	t.Helper()
	schema, err := run.ResultSchema()
	check(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	check(t, err)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	check(t, c.AddResource("result.json", document))
	compiled, err := c.Compile("result.json")
	check(t, err)
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	check(t, err)
	if err := compiled.Validate(value); err != nil {
		t.Errorf("%v:\n%s", err, text)
	}
}

// states are how many partitions of the first job are in which state.
func states(r run.Result) map[string]int {
	n := map[string]int{}
	for _, j := range r.Jobs {
		for _, p := range j.Partitions {
			n[p.State]++
		}
	}
	return n
}

// However a run ends, its result says so, and what became of each partition.
func TestTheResultOfARun(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := startService(t)
	p := newPlace(t, s, 4, 2, racing)
	says := func(r run.Result, want string) {
		t.Helper()
		if got := fmt.Sprint(states(r)); got != want {
			t.Errorf("exit %d: %s, want %s", r.Exit, got, want)
		}
	}
	r := p.resulting(t, 0, "run")
	says(r, "map[written:4]")
	recorded := p.recorded()
	for _, part := range r.Jobs[0].Partitions {
		if recorded[part.Partition] != r.Run || part.Rows == 0 || part.Sums["installs"] == "" || part.Hash == "" ||
			part.Reconciled != "reconciled" || part.Finality == "" ||
			len(part.Sinks) != 1 || part.Sinks[0].Size == 0 || part.Due == "" {
			t.Errorf("%+v", part)
		}
	}
	says(p.resulting(t, 0, "run"), "map[]")
	says(p.resulting(t, 0, "run", "--force"), "map[unchanged:4]")

	s.admin(t, http.MethodPut, "faults",
		json.RawMessage(
			`[{"kind": "status", "status": 400, "path": "csv_report", "query": "dimensions=day,app", "nth": 2}]`))
	r = p.resulting(t, 3, "run", "--force")
	if n := states(r); n["failed"] == 0 || n["unchanged"] == 0 || n["failed"]+n["unchanged"] != 4 ||
		len(r.Jobs[0].Failures) == 0 || r.Jobs[0].Failures[0].Reason != "service" {
		t.Errorf("a run with a failure: %v %+v", n, r.Jobs[0].Failures)
	}
	s.admin(t, http.MethodPut, "faults",
		json.RawMessage(`[{"kind": "status", "status": 403, "path": "csv_report", "every": 1}]`))
	if r = p.resulting(t, 5, "run", "--force"); r.Jobs[0].Failures[0].Reason != "denied" {
		t.Errorf("%+v", r.Jobs[0].Failures)
	}
	s.admin(t, http.MethodPut, "faults",
		json.RawMessage(`[{"kind": "slow", "delay": "20s", "path": "csv_report", "every": 1}]`))
	r = p.resulting(t, 130, "run", "--force", "--deadline", "3s")
	if n := states(r); n["left"] != 4 || !r.Jobs[0].Stopped {
		t.Errorf("a run that is stopped: %v %+v", n, r)
	}
	s.admin(t, http.MethodPut, "faults", []string{})
	p.edit(t, "kind: report", "kind: repot")
	if r = p.resulting(t, 2, "run"); r.Reason != "config" || !strings.Contains(r.Error, "repot") || r.Run != "" {
		t.Errorf("a wrong config: %+v", r)
	}
	p.edit(t, "kind: repot", "kind: report")
	p.token = ""
	if r = p.resulting(t, 2, "run"); r.Error == "" || len(r.Jobs) != 0 {
		t.Errorf("no token: %+v", r)
	}
}

// What becomes of a result that can't be written, or that standard output is for.
func TestWhereAResultGoes(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	p := newPlace(t, startService(t), 2, 2, racing)
	if out, code := p.run("run", "--result", "nowhere/result.json"); code != 2 ||
		!strings.Contains(out, "the folder nowhere isn't there") || len(p.files()) != 0 {
		t.Errorf("a folder that isn't there: %d %s", code, out)
	}
	if out, code := p.run("run", "--result-format", "xml"); code != 2 || !strings.Contains(out, "want json or kestra") {
		t.Errorf("a form that isn't there: %d %s", code, out)
	}
	xcom := filepath.Join(p.dir, "airflow", "xcom")
	check(t, os.MkdirAll(filepath.Join(xcom, "return.json"), 0o755)) // a folder is in the way
	if out, code := p.run("run", "--result", filepath.Join(xcom, "return.json")); code != 1 ||
		!strings.Contains(out, "--result") || len(p.files()) != 2 {
		t.Errorf("a file that can't be written: %d %s", code, out)
	}
	check(t, os.Remove(filepath.Join(xcom, "return.json")))
	if out, code := p.run("run", "--force", "--result", filepath.Join(xcom, "return.json")); code != 0 {
		t.Errorf("%d %s", code, out)
	}
	text, err := os.ReadFile(filepath.Join(xcom, "return.json"))
	check(t, err)
	// The sidecar of Airflow prints it with a line's end.
	if valid(t, text); strings.Count(string(text), "\n") != 1 || !json.Valid(text) {
		t.Errorf("%s", text)
	}

	cmd, _ := p.command(t.Context(), "run", "--force", "--result", "-")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	check(t, cmd.Run())
	if valid(t, out.Bytes()); !strings.Contains(errs.String(), "written 2") {
		t.Errorf("people read %s", errs.String())
	}
	cmd, _ = p.command(t.Context(), "run", "--force", "--result-format", "kestra")
	var lines bytes.Buffer
	cmd.Stdout = &lines
	check(t, cmd.Run())
	found := 0
	for line := range strings.SplitSeq(lines.String(), "\n") {
		if inside, is := strings.CutPrefix(line, "::"); is {
			var got struct {
				Outputs struct{ Result run.Result }
				Metrics []struct {
					Name  string
					Value float64
				}
			}
			check(t, json.Unmarshal([]byte(strings.TrimSuffix(inside, "::")), &got))
			if got.Outputs.Result.Run != "" || len(got.Metrics) > 3 {
				found++
			}
		}
	}
	if found != 2 {
		t.Errorf("Kestra finds %d lines in\n%s", found, lines.String())
	}
}

// A listener that fails after a run that has failed is named, too: the exit code of the run alone
// would hide it.
func TestAResultThatIsLostIsSaid(t *testing.T) {
	t.Parallel()
	s := startService(t)
	s.admin(t, http.MethodPut, "faults",
		json.RawMessage(`[{"kind": "status", "status": 400, "path": "csv_report", "every": 1}]`))
	p := newPlace(t, s, 2, 2, racing)
	lost := filepath.Join(p.dir, "return.json")
	check(t, os.Mkdir(lost, 0o755)) // a folder is in the way
	if out, code := p.run("run", "--result", lost); code != 1 || !strings.Contains(out, lost) {
		t.Errorf("exit %d: %s", code, out)
	}
}
