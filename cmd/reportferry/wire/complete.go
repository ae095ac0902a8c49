package wire

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/bucket"
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
