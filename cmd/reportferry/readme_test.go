package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/internal/wording"
)

const readmeHead = `# The commands of reportferry

<!-- Made by go test ./cmd/reportferry -run TestReadme -update from the commands, wording.Codes and text.FailureReasons. -->

The [README of the project](../../README.md) shows the everyday ones. ` + "`reportferry help COMMAND`" +
	` prints what stands here.

`

const readmeEnvironment = `## Environment

| variable | what it is |
|---|---|
| REPORTFERRY_CONFIG, REPORTFERRY_LOG_FORMAT, REPORTFERRY_LOG_LEVEL, REPORTFERRY_DEADLINE | the defaults of the flags of these names |
| REPORTFERRY_ROOT | the folder to which the config's relative paths are relative, in place of the key root and of the config's own folder |
| CLOUD_RUN_TASK_INDEX, CLOUD_RUN_TASK_COUNT, CLOUD_RUN_TASK_ATTEMPT, CLOUD_RUN_EXECUTION | set by Cloud Run: which of an execution's tasks this is. The tasks divide the rate and the windows among them |
| JOB_COMPLETION_INDEX, REPORTFERRY_TASK_COUNT, REPORTFERRY_EXECUTION | the same for an indexed Job of Kubernetes; the count is the Job's completions, and the execution's name, such as the Job's UID, is the trace of its tasks |
| ADJUST_TOKEN, or else ADJUST_API_TOKEN | the API token of the commands that have --token-env, when there is no config and the flag names no other variable |
| GOMEMLIMIT | Go's limit on the heap, instead of the program's own of 96 MiB |

A config names further variables as ` + "`${NAME}`" + `, for what is secret.
`

// The page of commands is what the commands say of themselves.
func TestReadme(t *testing.T) {
	root := newRoot(newProgram())
	root.InitDefaultHelpCmd()
	var b strings.Builder
	b.WriteString(readmeHead)
	b.WriteString("| command | what it does |\n|---|---|\n")
	eachCommand(root, func(c *cobra.Command) {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s |\n", c.CommandPath()[len("reportferry "):],
			strings.ReplaceAll(c.CommandPath(), " ", "-"), inTable(c.Short))
	})
	b.WriteString("\n## Flags of every command\n\n")
	writeFlags(&b, flagRows(root.PersistentFlags()))
	shared := sharedFlags(root)
	b.WriteString("\n## Flags of several commands\n\n")
	writeFlags(&b, slices.Sorted(maps.Keys(shared)))
	b.WriteString("\n## Exit codes\n\nOf several jobs, the first that applies of 2, 5, 1, 3, 4 and 0.\n\n| code | " +
		"meaning |\n|---|---|\n")
	for _, c := range wording.Codes {
		fmt.Fprintf(&b, "| %d | %s |\n", c.Code, inTable(c.Meaning))
	}
	b.WriteString("\n## Reasons\n\nWith `--log-format json` every error has a `reason`, for alerts: a word that " +
		"never changes.\n\n| reason | meaning |\n|---|---|\n")
	for _, r := range text.FailureReasons {
		fmt.Fprintf(&b, "| %s | %s |\n", r.Word, inTable(r.Meaning))
	}
	b.WriteString("\n" + readmeEnvironment)
	eachCommand(root, func(c *cobra.Command) {
		fmt.Fprintf(&b, "\n## %s\n\n", c.CommandPath())
		about := strings.TrimSpace(strings.TrimSuffix(c.Long, text.ExitHelp()))
		if about == "" {
			about = c.Short + "."
		}
		if c.Runnable() && c.Annotations["group"] == "" {
			about = "$ " + c.UseLine() + "\n\n" + about
		}
		if c.Example != "" {
			about += "\n\nExamples:\n" + strings.TrimRight(c.Example, "\n")
		}
		fmt.Fprintf(&b, "```text\n%s\n```\n", about)
		var own, others []string
		for _, row := range flagRows(c.LocalFlags()) {
			if name, is := shared[row]; is {
				others = append(others, name)
			} else {
				own = append(own, row)
			}
		}
		if len(own) > 0 {
			b.WriteString("\n")
			writeFlags(&b, own)
		}
		if len(others) > 0 {
			fmt.Fprintf(&b, "\nAlso [flags of several commands](#flags-of-several-commands): `%s`.\n",
				strings.Join(others, "`, `"))
		}
	})
	got := strings.TrimRight(b.String(), "\n") + "\n"
	if *update {
		check(t, os.WriteFile("README.md", []byte(got), 0o644))
	}
	want, err := os.ReadFile("README.md")
	check(t, err)
	if got != string(want) {
		t.Error("README.md isn't what the commands say of themselves; make it anew with -update")
	}
}

// eachCommand calls use for every command that a user may find, parents first.
func eachCommand(parent *cobra.Command, use func(*cobra.Command)) {
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			use(c)
			eachCommand(c, use)
		}
	}
}

// sharedFlags are the rows of flags that three commands or more have alike, with the flags' names.
func sharedFlags(root *cobra.Command) map[string]string {
	commands, names := map[string]int{}, map[string]string{}
	eachCommand(root, func(c *cobra.Command) {
		for _, row := range flagRows(c.LocalFlags()) {
			commands[row]++
			_, name, _ := strings.Cut(row, "--")
			names[row] = "--" + name[:strings.IndexAny(name, " `")]
		}
	})
	maps.DeleteFunc(names, func(row, _ string) bool { return commands[row] < 3 })
	return names
}

// writeFlags writes a table of these rows.
func writeFlags(b *strings.Builder, rows []string) {
	b.WriteString("| flag | default | meaning |\n|---|---|---|\n" + strings.Join(rows, ""))
}

// flagRows are the rows of a table of these flags.
func flagRows(set *pflag.FlagSet) (rows []string) {
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if value != "" {
			name += " " + value
		}
		preset := f.DefValue
		if preset == "false" || preset == "[]" || preset == "0" && f.Value.Type() != "int" || preset == "0s" {
			preset = ""
		}
		if preset != "" {
			preset = "`" + preset + "`"
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |\n", inTable(name), inTable(preset), inTable(usage)))
	})
	return rows
}

// inTable makes a text the cell of a table.
func inTable(text string) string { return strings.NewReplacer("|", `\|`, "\n", " ").Replace(text) }
