package main

import (
	"errors"
	"fmt"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/jobs"
)

// chooseJob finds the one job of a kind that is meant: by its name, or because the config has no other.
func chooseJob(c *config.Config, kind, name string) (config.Job, error) {
	var found []config.Job
	for _, j := range c.Jobs {
		if j.Kind == kind && (name == "" || name == j.Name) {
			found = append(found, j)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return config.Job{}, &exitError{jobs.ExitUsage, fmt.Errorf("the config has several jobs of kind %s; say which: --job", kind)}
	case name != "":
		return config.Job{}, &exitError{jobs.ExitUsage, fmt.Errorf("no job %q of kind %s in the config", name, kind)}
	}
	return config.Job{}, &exitError{jobs.ExitUsage, errors.New("the config has no job of kind " + kind)}
}
