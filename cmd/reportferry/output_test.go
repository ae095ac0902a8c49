package main

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Every command that prints an answer takes --output, and the names that the flag had; -o means
// nothing else anywhere.
func TestOneOutputSwitch(t *testing.T) {
	var have []string
	var each func(c *cobra.Command)
	each = func(c *cobra.Command) {
		c.InitDefaultHelpFlag()
		f := c.Flags().ShorthandLookup("o")
		if f != nil && f.Name != "output" {
			t.Errorf("%s: -o is --%s", c.CommandPath(), f.Name)
		}
		if f != nil {
			have = append(have, strings.TrimPrefix(c.CommandPath(), "reportferry "))
			for _, args := range []string{"--output text", "--output json", "-o json", "--json", "--format json",
				"--format table"} {
				if err := c.ParseFlags(strings.Fields(args)); err != nil {
					t.Errorf("%s %s: %v", c.CommandPath(), args, err)
				}
			}
			if err := c.ParseFlags([]string{"-o", "xml"}); err == nil || !strings.Contains(err.Error(), ": want text") {
				t.Errorf("%s -o xml: %v", c.CommandPath(), err)
			}
		}
		for _, sub := range c.Commands() {
			each(sub)
		}
	}
	each(newRoot(newProgram()))
	for _, name := range strings.Split("apps list,apps plan,apps status,backfill,changes,config "+
		"show,diff,events,fields,history,ledger list,plan,report,runs,sharing explain,sharing status,"+
		"spend reconcile,spend status,status", ",") {
		if !slices.Contains(have, name) {
			t.Errorf("%s has no --output", name)
		}
	}
}

// Whoever asks for the help of a command that isn't there has made a mistake, and a script finds
// out.
func TestHelpOfNothing(t *testing.T) {
	for args, want := range map[string]int{
		"nosuch --help": 2, "--help nosuch": 2, "help nosuch": 2, "spend nosuch -h": 2, "help spend nosuch": 2,
		"--help": 0, "help": 0, "spend --help": 0, "help spend": 0, "help spend push": 0, "run --help": 0,
	} {
		var said bytes.Buffer
		if code := execute(t.Context(), strings.Fields(args), io.Discard, &said); code != want || want == 2 &&
			!strings.Contains(said.String(), `no command "nosuch"`) {
			t.Errorf("%s: exit code %d, want %d: %s", args, code, want, &said)
		}
	}
}
