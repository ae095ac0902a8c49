package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// A run that went well says nothing with --quiet, and is there all the same.
func TestQuietRun(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("REPORTFERRY_CONFIG", "")
	const table = "run --to ./out --embedded --currency USD --dimensions day,network --metrics installs,cost " +
		"--start -3d"
	if code, out, errs := inProcess(t, table+" --quiet"); code != 0 || out+errs != "" {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	if code, out, errs := inProcess(t, table+" -q --log-format json"); code != 0 || out+errs != "" {
		t.Errorf("exit code %d, JSON: %s%s", code, out, errs)
	}
	if code, out, _ := inProcess(t, table); code != 0 || !strings.Contains(out, "up to date") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if code, _, errs := inProcess(t, table+" --metrics nonsense --quiet"); code == 0 || errs == "" {
		t.Errorf("exit code %d: %q", code, errs)
	}
}

// What is left out is never quiet, and neither are warnings; what went well and each unit are.
func TestQuietTells(t *testing.T) {
	var out bytes.Buffer
	p := program("", "text")
	p.Quiet = true
	d := newDisplay(p, &out, &out)
	d.progress(jobs.Progress{Job: "good", Units: 1, Unit: "2026-01-04",
		Result: &ledger.Outcome{Windows: 1, Written: 1}})
	d.log.Info("as usual")
	if d.summary(ledger.Run{Results: []ledger.Result{{Job: "good", Outcome: ledger.Outcome{Windows: 1,
		Written: 1}}}}); out.Len() > 0 {
		t.Errorf("says %s", &out)
	}
	d.log.Warn("odd")
	d.summary(ledger.Run{Exit: jobs.ExitSome, Results: []ledger.Result{
		{Job: "good", Outcome: ledger.Outcome{Windows: 1, Written: 1}},
		{Job: "bad", Outcome: ledger.Outcome{Windows: 1, Failed: 1}, Errs: []error{errors.New("disk full")}},
	}})
	for _, want := range []string{"warn odd\n", "bad (0s)\n", "error       disk full\n", "left out in 1 of 2 jobs"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %s", want, &out)
		}
	}
	if strings.Contains(out.String(), "good") {
		t.Errorf("says %s", &out)
	}
}
