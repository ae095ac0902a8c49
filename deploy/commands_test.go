package deploy

import (
	"io/fs"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// here is the cloud's config for a folder of this machine: the made-up account, and folders instead
// of a bucket and a warehouse.
func here(t *testing.T, dir, service string) string {
	t.Helper()
	text := read(t, "config.yml")
	for _, change := range [][2]string{
		{"https://automate.adjust.com", service},
		{"gs://my-project-reportferry/ledger", "file://" + dir + "/ledger"},
		{`"bigquery://my-project/reportferry?location=EU"`, "file://" + dir + "/out"},
	} {
		if !strings.Contains(text, change[0]) {
			t.Fatalf("config.yml has no %s", change[0])
		}
		text = strings.ReplaceAll(text, change[0], change[1])
	}
	return text
}

// Every command of the guide that is one of ours does what it says, against the made-up account:
// those of --args too.
func TestCommandsOfTheGuide(t *testing.T) {
	service := httptest.NewServer(account(t, 7, 2, 0))
	t.Cleanup(service.Close)
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "my.yml"), []byte(here(t, dir, service.URL)), 0o600))
	p := program{dir: dir, env: []string{"ADJUST_TOKEN=made-up", "REPORTFERRY_CONFIG=my.yml"}}
	p.accept(t, []string{"run", "--config", "my.yml"})

	ran := map[string]int{}
	for _, s := range steps(guide(t)) {
		args, ok := ours(s.line)
		if !ok {
			continue
		}
		ran[args[0]]++
		if !strings.Contains(s.line, "--config") { // in the image it is REPORTFERRY_CONFIG
			args = append(args, "--config", "my.yml")
		}
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			accepted := []int{}
			if args[0] == "status" { // 3: there are some
				accepted = append(accepted, 3)
			}
			p.accept(t, append(slices.Clone(args), "--help"))
			p.accept(t, args, accepted...)
		})
	}
	for _, command := range []string{"events", "report", "status", "plan", "check", "backfill"} {
		if ran[command] == 0 {
			t.Errorf("the guide has no %s any more", command)
		}
	}
}

// And every other list of arguments in this folder.
func TestArgumentsOfTheManifests(t *testing.T) {
	lists := regexp.MustCompile(`args(?:\s*=|:)\s*\[(.*)\]`)
	files, err := filepath.Glob("*/*.*")
	check(t, err)
	found := 0
	for _, name := range files {
		for _, m := range lists.FindAllStringSubmatch(read(t, name), -1) {
			args := []string{}
			for arg := range strings.SplitSeq(m[1], ",") {
				args = append(args, strings.Trim(arg, ` "`))
			}
			found++
			program{dir: t.TempDir()}.accept(t, append(args, "--help"))
		}
	}
	if found < 4 {
		t.Errorf("%d lists of arguments found; job, cron job, backfill and module have one each", found)
	}
}

var inline = regexp.MustCompile("`([^`\n]+)`")

// Every command of ours that any page of the repository shows, in a block or within a line, is one
// that there is.
func TestCommandsOfThePages(t *testing.T) {
	p := program{dir: t.TempDir(), env: []string{"ADJUST_TOKEN=made-up"}}
	found := map[string]int{}
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "testdata", "out", "dist"}, d.Name()):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".md" || path.Base(name) == "CHANGELOG.md":
			return nil
		}
		page := read(t, "../"+name)
		var lines []string
		for _, s := range steps(page) {
			lines = append(lines, s.line)
		}
		for _, span := range inline.FindAllStringSubmatch(page, -1) {
			lines = append(lines, span[1])
		}
		for _, line := range lines {
			args, ok := ours(line)
			if !ok || slices.ContainsFunc(args, func(a string) bool { return strings.ContainsAny(a, "<[|&>") }) {
				continue // what isn't typed in as it stands
			}
			found[name]++
			t.Run(name+"/"+strings.Join(args, " "), func(t *testing.T) { p.accept(t, append(args, "--help")) })
		}
		return nil
	})
	check(t, err)
	for _, name := range []string{"README.md", "deploy/README.md"} {
		if found[name] < 8 {
			t.Errorf("%s: %d commands found", name, found[name])
		}
	}
}
