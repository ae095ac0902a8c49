package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/jobs/ledger"
)

func TestTaskOf(t *testing.T) {
	for _, c := range []struct {
		env  string
		want Task
		says string
	}{
		{"", Task{}, ""},
		{"CLOUD_RUN_EXECUTION=night-x7 CLOUD_RUN_TASK_INDEX=0 CLOUD_RUN_TASK_COUNT=1 CLOUD_RUN_TASK_ATTEMPT=0",
			Task{platform: cloudRun, execution: "night-x7", count: 1}, ""},
		{"CLOUD_RUN_EXECUTION=e CLOUD_RUN_TASK_INDEX=5 CLOUD_RUN_TASK_COUNT=6 CLOUD_RUN_TASK_ATTEMPT=1 " +
			"GOOGLE_CLOUD_PROJECT=p",
			Task{platform: cloudRun, execution: "e", project: "p", index: 5, count: 6, attempt: 1}, ""},
		{"CLOUD_RUN_EXECUTION=e", Task{platform: cloudRun, execution: "e", count: 1}, ""},
		{"JOB_COMPLETION_INDEX=2 REPORTFERRY_TASK_COUNT=3", Task{platform: kubernetes, index: 2, count: 3}, ""},
		{"JOB_COMPLETION_INDEX=2", Task{}, "set it to the Job's completions"},
		{"JOB_COMPLETION_INDEX=3 REPORTFERRY_TASK_COUNT=3", Task{}, "there is no such task"},
		{"CLOUD_RUN_TASK_INDEX=one", Task{}, `CLOUD_RUN_TASK_INDEX="one": want a number`},
		{"CLOUD_RUN_TASK_INDEX=-1", Task{}, "want a number"},
		{"REPORTFERRY_TASK_COUNT=3", Task{}, ""},
	} {
		env := map[string]string{}
		for _, e := range strings.Fields(c.env) {
			name, value, _ := strings.Cut(e, "=")
			env[name] = value
		}
		got, err := TaskOf(func(name string) string { return env[name] })
		if c.says == "" && (err != nil || got != c.want) || c.says != "" &&
			(err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %+v %v, want %+v %s", c.env, got, err, c.want, c.says)
		}
	}
}

// Every line has what Cloud Logging reads, and every error the reason that alerts are made of.
func TestLogLines(t *testing.T) {
	var out bytes.Buffer
	p := &Program{LogFormat: "json", LogLevel: "debug", Task: Task{platform: cloudRun, execution: "night-x7",
		project: "proj", index: 2, count: 6, attempt: 1}}
	log := p.Logger(&out).With("job", "installs")
	log.Debug("a")
	log.Info("b", "level", "shallow")
	log.Warn("c", "error", ledger.ErrLost)
	log.Error("d", "error", fmt.Errorf("put: %w", ledger.ErrLost), "window", "2026-01-04")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, severity := range []string{"DEBUG", "INFO", "WARNING", "ERROR"} {
		var line struct {
			Severity, Message, Job, Window, Reason, Error, Level string
			Time                                                 time.Time
			Labels                                               map[string]string `json:"logging.googleapis.com/labels"`
			Trace                                                string            `json:"logging.googleapis.com/trace"`
		}
		check(t, json.Unmarshal([]byte(lines[i]), &line))
		if line.Severity != severity || line.Message != string(rune('a'+i)) || line.Job != "installs" ||
			time.Since(line.Time) > time.Hour ||
			fmt.Sprint(line.Labels) != "map[attempt:1 execution:night-x7 task:2]" ||
			!strings.HasPrefix(line.Trace, "projects/proj/traces/") ||
			len(line.Trace) != len("projects/proj/traces/")+32 {
			t.Errorf("%s", lines[i])
		}
		if (line.Reason == "lease_lost") != (severity == "ERROR") ||
			strings.HasSuffix(line.Error, "lease lost") != (i >= 2) {
			t.Errorf("reason and error: %s", lines[i])
		}
	}
	if len(lines) != 4 {
		t.Errorf("%d lines", len(lines))
	}
}

// Of what a Cloud Run task writes into a folder nothing is left, so that the ledger and the pages
// want a bucket.
func TestFoldersOfATaskAreRefused(t *testing.T) {
	for place, c := range map[string]config.Config{"ledger": {Ledger: "file://./ledger"},
		"export": {Ledger: "gs://bucket/ledger", Export: "file://./status"}} {
		e := &Engine{Program: &Program{Task: Task{platform: cloudRun, count: 1}}, Config: &c}
		if err := e.OpenLedger(t.Context()); !errors.Is(err, ledger.ErrRefused) ||
			!strings.HasPrefix(err.Error(), place+" file:") {
			t.Errorf("%s: %v", place, err)
		}
	}
}
