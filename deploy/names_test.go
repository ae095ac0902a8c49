package deploy

import (
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var variable = regexp.MustCompile(`\bREPORTFERRY_[A-Z_]+`)

// variables are those of the environment that the program reads.
func variables(t *testing.T) (known []string) {
	t.Helper()
	check(t, filepath.WalkDir("../cmd/reportferry", func(name string, _ fs.DirEntry, err error) error {
		if filepath.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") {
			known = append(known, variable.FindAllString(read(t, name), -1)...)
		}
		return err
	}))
	return known
}

// pages are the files of this folder by name, without the tests.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	check(t, filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(name) != ".go" {
			all[name] = read(t, name)
		}
		return err
	}))
	return all
}

func TestVariablesAreKnown(t *testing.T) {
	named, known := map[string]bool{}, variables(t)
	for name, text := range pages(t) {
		for _, v := range variable.FindAllString(text, -1) {
			named[v] = true
			if !slices.Contains(known, v) {
				t.Errorf("%s: the program knows no %s", name, v)
			}
		}
	}
	if !named["REPORTFERRY_DEADLINE"] || !named["REPORTFERRY_TASK_COUNT"] {
		t.Errorf("named are only %v", slices.Sorted(maps.Keys(named)))
	}
}

// The guide's table of exit codes and the program's help have the same ones.
func TestExitCodesAreExplained(t *testing.T) {
	_, table, _ := strings.Cut(read(t, "README.md"), "| exit | what happened |")
	table, _, _ = strings.Cut(table, "\n\n")
	help := program{dir: t.TempDir()}.accept(t, []string{"run", "--help"})
	_, help, _ = strings.Cut(help, "Exit codes:\n")
	help, _, _ = strings.Cut(help, "\n\n")
	codes := func(text, pattern string) (found []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			found = append(found, m[1])
		}
		return found
	}
	guide, program := codes(table, `(?m)^\| (\d+) \|`), codes(help, `(?m)^  (\d+) `)
	if len(program) != 7 || !slices.Equal(guide, program) {
		t.Errorf("the guide explains %v, the program has %v", guide, program)
	}
}

// The names that one file gives and another takes are the same: of secrets, accounts, the job, the
// image, the tick.
func TestNamesAgree(t *testing.T) {
	all := pages(t)
	for _, same := range []struct {
		what, pattern string
		files         []string
	}{
		{"image", `[\w$.{}]*REGION[}\w ]*-docker\.pkg\.dev/[^/\s]+/(reportferry/reportferry)`, []string{
			"README.md", "cloudrun/job.yaml", "kubernetes/cronjob.yaml", "kubernetes/backfill.yaml"}},
		{"secret of the token", `(reportferry-token)\b`, []string{
			"README.md", "cloudrun/job.yaml", "cloudrun/accounts.sh", "kubernetes/cronjob.yaml",
			"kubernetes/backfill.yaml", "aws/README.md", "aws/run-policy.json"}},
		{"config", `(reportferry-config)\b`, []string{
			"README.md", "cloudrun/job.yaml", "cloudrun/accounts.sh", "kubernetes/cronjob.yaml",
			"kubernetes/backfill.yaml"}},
		{"account", `(reportferry@(?:\$PROJECT|PROJECT|\$\{)[\w.]*)`,
			[]string{"kubernetes/README.md", "cloudrun/job.yaml", "cloudrun/accounts.sh"}},
		{"tick", `(10 6 \* \* \*)`, []string{"cloudrun/schedule.sh", "kubernetes/cronjob.yaml",
			"terraform/variables.tf"}},
		{"zone", `(Europe/Berlin)`, []string{"cloudrun/schedule.sh", "kubernetes/cronjob.yaml",
			"terraform/variables.tf", "config.yml"}},
	} {
		for _, name := range same.files {
			if !regexp.MustCompile(same.pattern).MatchString(all[name]) {
				t.Errorf("%s: no %s that fits %s", name, same.what, same.pattern)
			}
		}
	}
	for _, name := range []string{"README.md", "../.github/workflows/ci.yml", "cloudrun/schedule.sh"} {
		for _, m := range regexp.MustCompile(
			`gcloud run jobs (?:execute|update|add-iam-policy-binding) (\S+)`).FindAllStringSubmatch(read(t, name),
			-1) {
			if m[1] != "reportferry" {
				t.Errorf("%s: a job %s", name, m[1])
			}
		}
	}
}

func TestTenCommands(t *testing.T) {
	blocks := map[int]int{}
	first := 0
	for _, s := range steps(guide(t)) {
		if blocks[s.block]++; s.heading == "Ten commands" && first == 0 {
			first = s.block
		}
	}
	if blocks[first] != 10 {
		t.Errorf("the block under the heading has %d commands", blocks[first])
	}
}
