package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// nightly is a step's script of the workflow.
func nightly(t *testing.T, step string) string {
	t.Helper()
	var workflow struct {
		Concurrency struct {
			Group  string `json:"group"`
			Cancel *bool  `json:"cancel-in-progress"`
		} `json:"concurrency"`
		Jobs map[string]struct {
			Minutes   int               `json:"timeout-minutes"`
			Variables map[string]string `json:"env"`
			Steps     []struct{ Name, Run string }
		} `json:"jobs"`
	}
	check(t, yaml.Unmarshal([]byte(read(t, "github/nightly.yml")), &workflow))
	if c := workflow.Concurrency; c.Group == "" || c.Cancel == nil || *c.Cancel {
		t.Errorf("a run may be cancelled: %+v", c)
	}
	job := workflow.Jobs["run"]
	deadline(t, job.Variables["REPORTFERRY_DEADLINE"], 2, time.Duration(job.Minutes)*time.Minute)
	for _, s := range job.Steps {
		if s.Name == step {
			return s.Run
		}
	}
	t.Fatalf("no step %s", step)
	return ""
}

// bash runs a script as GitHub does, and tells how it ended.
func bash(t *testing.T, dir, script string, env ...string) int {
	t.Helper()
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("jq isn't there, which GitHub's machines have")
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-e", "-c", script)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	t.Logf("%v: %s", err, out)
	return cmd.ProcessState.ExitCode()
}

// The step ends as the program did, tries once more what another try may mend, and nothing else.
func TestExitCodesAtGitHub(t *testing.T) {
	for _, c := range []struct {
		codes, retry string
		want, tries  int
	}{
		{"0", "false", 0, 1}, {"1 0", "true", 0, 2}, {"3 3", "true", 3, 2}, {"3 0", "false", 3, 1},
		{"2", "false", 2, 1}, {"5", "false", 5, 1},
		{"4", "false", 0, 1}, {"130 0", "true", 0, 2}, {"137 1", "true", 1, 2},
	} {
		t.Run(c.codes+" "+c.retry, func(t *testing.T) {
			dir := t.TempDir()
			stub := fmt.Sprintf("#!/bin/sh\necho \"$*\" >>calls\necho '{\"retry\": %s}' >result.json\nexit \"$(echo "+
				"%s | cut -d' ' -f\"$(wc -l <calls)\")\"\n", c.retry, c.codes)
			check(t, os.WriteFile(filepath.Join(dir, "reportferry"), []byte(stub), 0o700))
			if code := bash(t, dir, nightly(t, "run"), "JOB=", "FROM=", "TO="); code != c.want {
				t.Errorf("exit code %d, want %d", code, c.want)
			}
			if calls := read(t, filepath.Join(dir, "calls")); calls != strings.Repeat("run --result result.json\n",
				c.tries) {
				t.Errorf("calls:\n%s", calls)
			}
		})
	}
}

// A night and a backfill of the program itself, and the page that GitHub shows of them.
func TestNightAtGitHub(t *testing.T) {
	path, err := binary()
	check(t, err)
	dir := t.TempDir()
	check(t, os.Symlink(path, filepath.Join(dir, "reportferry")))
	_, rest, _ := strings.Cut(here(t, dir, "x"), "\nledger: ")
	check(t, os.WriteFile(filepath.Join(dir, "reportferry.yml"), []byte("service: embedded\nledger: "+rest), 0o600))
	// Before the config's first.
	day := func(ago int) string { return time.Now().UTC().AddDate(0, 0, -ago).Format(time.DateOnly) }
	for _, inputs := range [][]string{{"JOB=", "FROM=", "TO="}, {"JOB=campaigns_daily", "FROM=" + day(70),
		"TO=" + day(69)}} {
		if code := bash(t, dir, nightly(t, "run"), append(inputs, "REPORTFERRY_CONFIG=reportferry.yml")...); code != 0 {
			t.Fatalf("%v: exit code %d", inputs, code)
		}
		summary := filepath.Join(t.TempDir(), "summary")
		bash(t, dir, nightly(t, "summary"), "GITHUB_STEP_SUMMARY="+summary)
		if page := read(t, summary); !strings.Contains(page, "### done, exit code 0\n") ||
			!strings.Contains(page, "\n|---|") || !strings.Contains(page, "\n| campaigns_daily | ") {
			t.Errorf("the summary is\n%s", page)
		}
	}
	for _, ago := range []int{70, 69} {
		if files, _ := filepath.Glob(filepath.Join(dir, "out/campaigns_daily/dt="+day(ago)+"/*.parquet")); len(files) !=
			1 {
			t.Errorf("the backfill has left %q of %s", files, day(ago))
		}
	}
}
