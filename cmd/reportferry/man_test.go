package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestManPages wants a page of each command, in a folder that isn't there yet, with the date that a
// packager gives.
func TestManPages(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1262304000")
	dir := filepath.Join(t.TempDir(), "share", "man1")
	var out bytes.Buffer
	if code := execute(t.Context(), []string{"man", "--out", dir}, &out, &out); code != 0 || out.Len() != 0 {
		t.Fatalf("exit code %d: %s", code, &out)
	}
	pages := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
		page, err := os.ReadFile(filepath.Join(dir, name))
		text := string(page)
		title := ".SH NAME\n" + roff(strings.TrimSuffix(name, ".1")) + ` \- `
		if err != nil || !strings.Contains(text, title) || !strings.Contains(text, `"2010-01-01"`) {
			t.Errorf("%s: %.200q, %v", name, page, err)
		}
		pages++
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				walk(sub)
			}
		}
	}
	walk(newRoot(newProgram()))
	run, err := os.ReadFile(filepath.Join(dir, "reportferry.1"))
	if err != nil || !strings.Contains(string(run), ".nf\nExit codes:\n  0 ") ||
		!strings.Contains(string(run), "reportferry\\-run(1), ") {
		t.Errorf("the page of all commands has no exit codes in lines, or doesn't name the others: %s, %v", run, err)
	}
	if files, err := os.ReadDir(dir); err != nil || pages < 60 || len(files) < pages {
		t.Errorf("%d pages of %d commands, %v", len(files), pages, err)
	}
}

// A folder that can't be made, and none at all, are said as such.
func TestManPagesAreRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	check(t, os.WriteFile(file, nil, 0o600))
	for want, args := range map[string][]string{
		"--out is missing":                    {"man"},
		"make the folder of the manual pages": {"man", "--out", filepath.Join(file, "man1")},
	} {
		var out bytes.Buffer
		if code := execute(t.Context(), args, &out, &out); code == 0 || !strings.Contains(out.String(), want) {
			t.Errorf("%q: exit code %d: %s", args, code, &out)
		}
	}
}

func TestRoff(t *testing.T) {
	for text, want := range map[string]string{`a\n`: `a\en`, "--to": `\-\-to`, ".x\n'y\nz.": "\\&.x\n\\&'y\nz."} {
		if got := roff(text); got != want {
			t.Errorf("%q: %q; want %q", text, got, want)
		}
	}
}
