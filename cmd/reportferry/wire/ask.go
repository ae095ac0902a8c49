package wire

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// An Ask holds what run, plan and backfill ask of jobs of every kind, beyond the config.
type Ask struct {
	Now        bool             // ignore the schedule
	Force      bool             // ignore what the ledger holds
	Rebaseline bool             // replace partitions whose numbers mean something else by now
	From       civil.Date       // the first day of the only periods that are meant; zero: all periods are
	Through    civil.Date       // the last day of these periods; set whenever From is
	Only       []refresh.Reason // only what is due for one of these reasons; nil for all
	NewColumns bool             // fetch partitions again that lack columns
}

// refuseRange refuses a backfill of a kind that has no past to fetch; why is the reason in the
// error.
func (a Ask) refuseRange(c config.Job, why string) error {
	if a.From.IsValid() || a.Only != nil {
		return fmt.Errorf("job %s: %w: %s", c.Name, ledger.ErrRefused, why)
	}
	return nil
}

// Choose returns the jobs that are named, or all of them, in the config's order. The name of an
// entry stands for the jobs of all its accounts.
func (e *Engine) Choose(names []string) ([]config.Job, error) {
	if len(e.Config.Jobs) == 0 {
		return nil, text.UsageError(errors.New("the config has no jobs; this command needs at least one under jobs"))
	}
	var known []string
	var chosen []config.Job
	wanted := map[string]bool{}
	for _, n := range names {
		wanted[n] = true
	}
	for _, c := range e.Config.Jobs {
		if !slices.Contains(known, c.Entry) {
			known = append(known, c.Entry)
		}
		if len(names) == 0 || wanted[c.Name] || wanted[c.Entry] {
			chosen = append(chosen, c)
		}
	}
	for n := range wanted {
		if e.Config.Named(n) != nil {
			continue
		}
		return nil, text.UsageError(fmt.Errorf("no job %q in the config; it has %s", n, strings.Join(known, ", ")))
	}
	return chosen, nil
}

// ChooseOne returns the one job of a name. The name of an entry with several accounts is refused.
func (e *Engine) ChooseOne(name string) (config.Job, error) {
	chosen, err := e.Choose([]string{name})
	if err == nil && len(chosen) > 1 {
		err = text.UsageError(fmt.Errorf("%s stands for a job of each of %d accounts; name one of them, such as %s",
			name, len(chosen), chosen[0].Name))
	}
	if err != nil {
		return config.Job{}, err
	}
	return chosen[0], nil
}

// ChooseJob finds the one job of a kind that a command is about: by its name, or because the config
// has no other.
func ChooseJob(c *config.Config, kind, name string) (config.Job, error) {
	var matches []config.Job
	for _, j := range c.Jobs {
		if j.Kind == kind && (name == "" || name == j.Name) {
			matches = append(matches, j)
		}
	}
	switch {
	case len(matches) == 1:
		return matches[0], nil
	case len(matches) > 1:
		return config.Job{}, text.UsageError(fmt.Errorf("the config has several jobs of kind %s; say which: --job",
			kind))
	case name != "":
		return config.Job{}, text.UsageError(fmt.Errorf("no job %q of kind %s in the config", name, kind))
	}
	return config.Job{}, text.UsageError(errors.New("the config has no job of kind " + kind))
}
