package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

var man = flag.String("man", "", "a folder that TestManPages leaves its pages in, for the archives of a release")

// TestManPages writes a manual page for each command. It is a test, so that the program doesn't carry what makes them.
func TestManPages(t *testing.T) {
	dir := *man
	if dir == "" {
		dir = t.TempDir()
	} else if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	root := newRoot(newProgram())
	root.InitDefaultCompletionCmd()
	root.DisableAutoGenTag = true                                    // else each page has a history of the day on which it was made
	header := &doc.GenManHeader{Section: "1", Source: "reportferry"} // with the month of SOURCE_DATE_EPOCH, or of today
	if err := doc.GenManTree(root, header, dir); err != nil {
		t.Fatal(err)
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
