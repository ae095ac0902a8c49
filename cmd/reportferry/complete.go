package main

import (
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/config"
)

// completeJobs offers the config's jobs that aren't on the command line yet.
func (f *flags) completeJobs(_ *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	c, err := config.Load(f.config, os.LookupEnv)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, job := range c.Jobs {
		if !slices.Contains(given, job.Name) {
			names = append(names, job.Name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
