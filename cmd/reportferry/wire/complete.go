package wire

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/config/preset"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/sinks"
)

// CompleteJobs completes arguments in a shell with the config's jobs that aren't on the command
// line yet.
func (p *Program) CompleteJobs(_ *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	c, err := p.loadConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, job := range c.Jobs {
		for _, name := range []string{job.Entry, job.Name} {
			if !slices.Contains(given, name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// CompleteJobDay completes a job, and then a day of its table.
func (p *Program) CompleteJobDay(cmd *cobra.Command, given []string, word string) ([]string, cobra.ShellCompDirective) {
	switch len(given) {
	case 0:
		return p.CompleteJobs(cmd, given, word)
	case 1:
		return p.CompleteDays(cmd, given, word)
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// CompleteDays completes an argument with the days that the ledger has of the first job on the
// command line, the newest one first. A ledger in a bucket isn't asked, because a shell can't wait
// for it.
func (p *Program) CompleteDays(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	if len(given) == 0 {
		return nil, directive
	}
	records, err := p.recorded(cmd.Context(), given[0])
	if err != nil {
		return nil, directive
	}
	var days []string
	for _, r := range slices.Backward(records) {
		if r.Partition != sinks.Whole {
			days = append(days, r.Partition.String())
		}
	}
	return days, directive
}

// recorded returns the records of a job's table from a ledger in a folder, and nothing when the
// ledger is elsewhere.
func (p *Program) recorded(ctx context.Context, job string) ([]ledger.Record, error) {
	c, err := p.loadConfig()
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(c.Jobs, func(j config.Job) bool { return j.Name == job })
	if dir, err := bucket.Folder(c.Ledger); err != nil || dir == "" || at < 0 {
		return nil, err
	}
	l, err := openLedger(ctx, c, Task{})
	if err != nil {
		return nil, err
	}
	defer func() { _ = l.Close() }() // nothing was written
	t, err := l.Table(ctx, c.Jobs[at].Table)
	if err != nil {
		return nil, err
	}
	return t.Sorted(), nil
}

// A completion completes an argument, or the value of a flag, in the form that Cobra calls.
type completion = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective)

// AddCompletions adds a completion to each flag of root and the commands below it whose name is in
// the table here. A flag of one name means the same on all commands.
func AddCompletions(p *Program, root *cobra.Command) {
	byName := map[string]completion{
		"dimensions": completeList(completeDimensions), "index": completeList(completeDimensions),
		"metrics": completeList(completeMetrics), "metric": completeList(completeMetrics),
		"sort":   completeList(completeSorted),
		"filter": completeFilter, "job": p.CompleteJobs,
		"preset": completeList(completePresets), "log-format": completeWords("text", "json"),
		"log-level": completeWords("debug", "info", "warn", "error"),
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
		AddCompletions(p, cmd)
	}
}

// CompleteFields returns the dimensions and metrics that begin with word.
func CompleteFields(word string) []string {
	return append(completeDimensions(word), completeMetrics(word)...)
}

// completeDimensions returns the dimensions that begin with word.
func completeDimensions(word string) []string { return catalog.Starting(word, false) }

// completeMetrics returns the metrics that begin with word.
func completeMetrics(word string) []string { return catalog.Starting(word, true) }

// completePresets returns the names of init's presets that begin with word.
func completePresets(word string) (names []string) {
	for _, p := range preset.All() {
		if strings.HasPrefix(p.Name, word) {
			names = append(names, p.Name)
		}
	}
	return names
}

// completeSorted returns the dimensions and metrics that begin with word, which may start with the
// minus of a descending order.
func completeSorted(word string) []string {
	name, descending := strings.CutPrefix(word, "-")
	names := CompleteFields(name)
	if descending {
		for i := range names {
			names[i] = "-" + names[i]
		}
	}
	return names
}

// completeWords returns a completion that always offers the same words.
func completeWords(list ...string) completion {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeList returns a completion for the last item of a comma-separated list, with names that
// aren't in it yet. No space is added, because a comma may follow.
func completeList(names func(string) []string) completion {
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

// completeFilter completes a field's name, and then its operator.
func completeFilter(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	name, operator, found := strings.Cut(word, "__")
	var out []string
	switch {
	case strings.Contains(word, "="):
	case !found:
		for _, field := range CompleteFields(name) {
			out = append(out, field+"__")
		}
	default:
		for _, o := range adjust.Operators {
			if _, dimension := catalog.Dimension(name); strings.HasPrefix(o, operator) &&
				dimension != slices.Contains(metricOperators, o) {
				out = append(out, name+"__"+o+"=")
			}
		}
	}
	return out, directive
}

// metricOperators holds the operators of metrics; the other operators are those of dimensions.
var metricOperators = []string{"lt", "lte", "gt", "gte", "eq", "ne"}
