package wire

import (
	"errors"
	"fmt"
	"strings"

	"github.com/reportferry/reportferry/cmd/reportferry/exit"
	"github.com/reportferry/reportferry/config"
)

// Choose gives the config's entries that are named, or all of them, in the config's order.
func (e *Engine) Choose(names []string) ([]config.Job, error) {
	var known []string
	var chosen []config.Job
	wanted := map[string]bool{}
	for _, n := range names {
		wanted[n] = true
	}
	for _, c := range e.Config.Jobs {
		known = append(known, c.Name)
		if len(names) == 0 || wanted[c.Name] {
			chosen = append(chosen, c)
			delete(wanted, c.Name)
		}
	}
	for n := range wanted {
		return nil, exit.Usage(fmt.Errorf("no job %q in the config; it has %s", n, strings.Join(known, ", ")))
	}
	return chosen, nil
}

// ChooseJob finds the one job of a kind that is meant: by its name, or because the config has no other.
func ChooseJob(c *config.Config, kind, name string) (config.Job, error) {
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
		return config.Job{}, exit.Usage(fmt.Errorf("the config has several jobs of kind %s; say which: --job", kind))
	case name != "":
		return config.Job{}, exit.Usage(fmt.Errorf("no job %q of kind %s in the config", name, kind))
	}
	return config.Job{}, exit.Usage(errors.New("the config has no job of kind " + kind))
}
