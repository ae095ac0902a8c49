// Package complete completes values in a shell: names of dimensions and metrics, of jobs, and the
// days that the ledger has. Without it, each command would do so for its own flags, and forget
// some. Nothing is asked of the service or of a bucket: names come from the catalogue, the config,
// and a ledger in a folder.
package complete

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/config/preset"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/catalog"
)

type completion = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective)

// Flags adds a completion to each flag of root's commands that has one of these names: a flag means
// the same on all of them.
func Flags(p *wire.Program, root *cobra.Command) {
	byName := map[string]completion{
		"dimensions": list(dimensions), "index": list(dimensions), "metrics": list(metrics), "metric": list(metrics),
		"sort":   list(sorted),
		"filter": filter, "job": p.CompleteJobs,
		"preset": list(presets), "log-format": words("text", "json"),
		"log-level": words("debug", "info", "warn", "error"),
	}
	for name, complete := range byName {
		if root.PersistentFlags().Lookup(name) != nil {
			_ = root.RegisterFlagCompletionFunc(name, complete) // fails if the flag has a completion already
		}
	}
	for _, cmd := range root.Commands() {
		for name, complete := range byName {
			if f := cmd.LocalNonPersistentFlags().Lookup(name); f != nil && f.Value.Type() != "bool" {
				_ = cmd.RegisterFlagCompletionFunc(name, complete) // as above
			}
		}
		if set := cmd.Flags(); set.Lookup("from") != nil && set.Lookup("to") != nil { // the --to of run is a folder
			_ = cmd.RegisterFlagCompletionFunc("from", p.CompleteDays) // as above
			_ = cmd.RegisterFlagCompletionFunc("to", p.CompleteDays)   // as above
		}
		Flags(p, cmd)
	}
}

// Fields returns the dimensions and metrics that begin with word.
func Fields(word string) []string { return append(dimensions(word), metrics(word)...) }

func dimensions(word string) []string { return catalog.Starting(word, false) }

func metrics(word string) []string { return catalog.Starting(word, true) }

// presets returns the names of init's presets that begin with word.
func presets(word string) (names []string) {
	for _, p := range preset.All() {
		if strings.HasPrefix(p.Name, word) {
			names = append(names, p.Name)
		}
	}
	return names
}

// sorted returns the dimensions and metrics that begin with word, which may start with the minus of
// a descending order.
func sorted(word string) []string {
	name, descending := strings.CutPrefix(word, "-")
	names := Fields(name)
	if descending {
		for i := range names {
			names[i] = "-" + names[i]
		}
	}
	return names
}

// words returns a completion that always offers the same words.
func words(list ...string) completion {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

// list returns a completion for the last item of a comma-separated list, with names that aren't in
// it yet. No space is added, because a comma may follow.
func list(names func(string) []string) completion {
	return func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		at := strings.LastIndex(word, ",") + 1
		given := strings.Split(word[:at], ",")
		var out []string
		for _, name := range names(word[at:]) {
			if !slices.Contains(given, name) {
				out = append(out, word[:at]+name)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// filter completes a field's name, and then its operator.
func filter(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	name, operator, found := strings.Cut(word, "__")
	var out []string
	switch {
	case strings.Contains(word, "="):
	case !found:
		for _, field := range Fields(name) {
			out = append(out, field+"__")
		}
	default:
		for _, o := range adjust.Operators {
			if _, dimension := catalog.Dimension(name); strings.HasPrefix(o, operator) &&
				dimension != slices.Contains(compared, o) {
				out = append(out, name+"__"+o+"=")
			}
		}
	}
	return out, directive
}

// compared holds the operators of metrics; the other operators are those of dimensions.
var compared = []string{"lt", "lte", "gt", "gte", "eq", "ne"}
