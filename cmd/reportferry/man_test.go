package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestManPages wants a page of each command, in a folder that isn't there yet, with the date that a packager gives.
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
		if err != nil || !strings.Contains(text, ".SH NAME") || !strings.Contains(text, cmd.Name()) || !strings.Contains(text, `"Jan 2010"`) {
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
