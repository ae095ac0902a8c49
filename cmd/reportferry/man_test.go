package main

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

var release = flag.String("release", "", "a folder that TestManPages leaves its files in, for the archives of a release")

// TestManPages writes a manual page for each command, and the completions of three shells. It is a test, so that the program
// doesn't carry what makes the pages.
func TestManPages(t *testing.T) {
	parent := *release
	if parent == "" {
		parent = t.TempDir()
	}
	dir, completions := filepath.Join(parent, "man"), filepath.Join(parent, "completions")
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.MkdirAll(completions, 0o755)); err != nil {
		t.Fatal(err)
	}
	root := newRoot(newProgram())
	root.InitDefaultCompletionCmd()
	root.DisableAutoGenTag = true                                    // else each page has a history of the day on which it was made
	header := &doc.GenManHeader{Section: "1", Source: "reportferry"} // with the month of SOURCE_DATE_EPOCH, or of today
	if err := doc.GenManTree(root, header, dir); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(
		root.GenBashCompletionFileV2(filepath.Join(completions, "reportferry.bash"), true),
		root.GenZshCompletionFile(filepath.Join(completions, "_reportferry")),
		root.GenFishCompletionFile(filepath.Join(completions, "reportferry.fish"), true),
	); err != nil {
		t.Error(err)
	}
	pages := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
		page, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(page), ".SH NAME") || !strings.Contains(string(page), cmd.Name()) {
			t.Errorf("%s: %.80q, %v", name, page, err)
		}
		pages++
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				walk(sub)
			}
		}
	}
	walk(root)
	if pages < 20 {
		t.Errorf("%d pages", pages)
	}
}
