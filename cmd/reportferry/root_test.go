package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const rootConfig = `
service: embedded
ledger: file://./ledger
jobs:
  - {name: daily, kind: report, sinks: [file://./out], start: -5d, codec: snappy, currency: USD, dimensions: [day], metrics: [installs]}
`

// A command finds the same ledger and the same tables from wherever it is begun: they are in the
// config's folder, with which they may move, or in the root that the environment names. An earlier
// version's ledger in the working directory isn't passed over.
func TestPathsAreRelativeToTheConfig(t *testing.T) {
	base := t.TempDir()
	at := func(names ...string) string { return filepath.Join(append([]string{base}, names...)...) }
	for _, name := range []string{"conf", "other", "new", "old/ledger"} {
		check(t, os.MkdirAll(at(name), 0o700))
	}
	for _, name := range []string{"conf/c.yml", "new/c.yml"} {
		check(t, os.WriteFile(at(name), []byte(rootConfig), 0o600))
	}
	minutes := time.Duration(0)
	step := func(folder, args string, code int, says ...string) {
		t.Helper()
		t.Chdir(at(folder))
		var out bytes.Buffer
		synctest.Test(t, func(t *testing.T) {
			minutes++
			time.Sleep(10*365*24*time.Hour + 7*time.Hour + minutes*time.Minute)
			if got := execute(t.Context(), strings.Fields(args), &out, &out); got != code {
				t.Errorf("%s in %s: exit code %d, want %d: %s", args, folder, got, code, &out)
			}
		})
		for _, text := range says {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%s in %s says\n%s\nand not %s", args, folder, &out, text)
			}
		}
	}
	step("other", "run --config ../conf/c.yml", 0, "written 5")
	step("conf", "run --config c.yml", 0, "written 0, unchanged 5")
	step(".", "status --config conf/c.yml", 0, "daily: 2009-12-", "5 partitions", "ledger: "+at("conf", "ledger")+"\n")
	step("other", "check --config "+at("conf", "c.yml"), 0, "All of it works")
	if left, err := os.ReadDir(at("other")); err != nil || len(left) > 0 {
		t.Errorf("in the working directory lie %v, %v", left, err)
	}
	check(t, os.Rename(at("conf"), at("moved")))
	step(".", "run --config moved/c.yml", 0, "written 0, unchanged 5")

	step("old", "run --config ../new/c.yml", 2,
		"open the ledger: refused: file://./ledger is relative to the config's folder", at("new", "ledger"),
		"root: "+at("old"))
	if left, err := os.ReadDir(at("new")); err != nil || len(left) != 1 {
		t.Errorf("beside the config lie %v, %v", left, err)
	}
	t.Setenv("REPORTFERRY_ROOT", at("none"))
	step("old", "run --config ../new/c.yml", 2,
		"no such file or directory; make the folder, or name another by root in the config")
	t.Setenv("REPORTFERRY_ROOT", at("old"))
	step("new", "run --config c.yml", 0, "written 5")
	step("new", "status --config c.yml --json", 0, `"ledger": "`+at("old", "ledger")+`"`)
	step("other", "run --to ./out --embedded --currency USD --dimensions day --metrics installs --start -2d", 0,
		"written 2")
	for name, there := range map[string]bool{"old/out/daily": true, "new/out": false, "other/out/day": true,
		"other/out/.reportferry": true} {
		if _, err := os.Stat(at(name)); (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
	}
}
