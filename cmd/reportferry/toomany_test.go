package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// More tasks than reports that may be under way are of no use, which plan says.
func TestPlanSaysThatTasksAreTooMany(t *testing.T) {
	for tasks, c := range map[string]struct {
		service string
		says    string
	}{
		"8":  {"", ""},
		"9":  {"", "9 tasks share 8 reports at a time (in_flight), and take turns: more tasks are of no use"},
		"20": {", in_flight: 20", ""},
		"21": {", in_flight: 20", "21 tasks share 20 reports at a time (in_flight), and take turns: more tasks are " +
			"of no use"},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "reportferry.yml")
		check(t, os.WriteFile(file,
			[]byte(`service: {base_url: "http://127.0.0.1:1", token: "${ADJUST_TOKEN}"`+c.service+`}
ledger: file://`+dir+`/ledger
jobs:
  - {name: daily, kind: report, sinks: ["file://./out"], start: -9d, currency: USD, dimensions: [day], metrics: [installs]}
`), 0o600))
		t.Setenv("ADJUST_TOKEN", "made-up")
		t.Setenv("JOB_COMPLETION_INDEX", "0")
		t.Setenv("REPORTFERRY_TASK_COUNT", tasks)
		var out, seen bytes.Buffer
		code := execute(t.Context(), []string{"plan", "--config", file}, &out, &seen)
		if code != 0 || strings.Contains(seen.String(), "tasks share") != (c.says != "") ||
			!strings.Contains(unfolded(seen.String()), c.says) {
			t.Errorf("%s tasks: exit code %d: %s", tasks, code, seen.String())
		}
	}
}
