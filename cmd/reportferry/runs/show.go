package runs

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/exit"
	"github.com/reportferry/reportferry/cmd/reportferry/human"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// list writes a line for each run. IDs are cut after their time where that is enough to tell them apart.
func list(w io.Writer, all []ledger.Run, now time.Time) {
	grid := human.Grid{Heads: []string{"run", "age", "trigger", "exit", "jobs", "outcome"}, Right: []bool{false, true, false, true}, Most: []int{0, 0, 0, 0, 20}}
	for i, r := range all {
		id, _, _ := strings.Cut(r.ID, "-")
		if slices.ContainsFunc(all, func(o ledger.Run) bool { return o.ID != all[i].ID && strings.HasPrefix(o.ID, id) }) {
			id = r.ID
		}
		names, code := fmt.Sprintf("%d jobs", len(r.Results)), fmt.Sprint(r.Exit)
		switch {
		case r.Ended == nil:
			names, code = "", ""
		case len(r.Results) == 1:
			names = r.Results[0].Job
		}
		grid.Rows = append(grid.Rows, []string{id, age(now.Sub(r.Started)), r.Trigger, code, names, outcome(r)})
	}
	grid.Write(w)
}

// age writes a length of time in its largest unit.
func age(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	case d >= 2*time.Minute:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	}
	return fmt.Sprintf("%ds", max(0, int(d.Seconds())))
}

// outcome says in a few words what came of a run.
func outcome(r ledger.Run) string {
	var sum ledger.Outcome
	left, failed := false, 0
	for _, res := range r.Results {
		sum.Add(res.Outcome)
		left = left || res.Left > 0 || res.Stopped
		failed += len(res.Failures)
	}
	var said []string
	if sum.Written > 0 {
		said = append(said, fmt.Sprintf("%d new", sum.Written))
	}
	if failed > 0 {
		said = append(said, fmt.Sprintf("%d failed", max(failed, sum.Failed)))
	}
	switch {
	case r.Ended == nil:
		return "goes on, or was killed"
	case r.Exit == jobs.ExitInterrupted:
		said = append(said, "stopped")
	case r.Exit == jobs.ExitDenied:
		said = append(said, "refused")
	case r.Exit == jobs.ExitHeld:
		said = append(said, "held by others")
	case left:
		said = append(said, "some left")
	}
	switch {
	case len(said) > 0:
		return strings.Join(said, ", ")
	case r.Exit != jobs.ExitDone:
		return "something left out"
	case sum.Windows == 0:
		return "nothing was due"
	}
	return "nothing new"
}

// unitNames says by job what its units are called; a job whose units are windows of partitions is missing.
func unitNames(c *config.Config) map[string]string {
	names := map[string]string{}
	for _, j := range c.Jobs {
		switch {
		case j.Spend != nil || j.Sharing != nil:
			names[j.Name] = "file"
		case j.Apps != nil:
			names[j.Name] = "app"
		}
	}
	return names
}

// show writes one run in whole, or what it did for one job.
func show(w io.Writer, r ledger.Run, units map[string]string, job string) {
	fmt.Fprintf(w, "run %s (%s)\n", r.ID, r.Trigger)
	human.Row(w, "began", r.Started.UTC().Format(time.RFC3339))
	if r.Ended == nil {
		human.Row(w, "ended", "not recorded: it still goes on, or was killed")
		return
	}
	human.Row(w, "ended", fmt.Sprintf("%s, after %s", r.Ended.UTC().Format(time.RFC3339), r.Ended.Sub(r.Started).Round(10*time.Millisecond)))
	human.Row(w, "exit code", human.Fold(fmt.Sprintf("%d: %s", r.Exit, meaning(r.Exit)), 66))
	for _, res := range r.Results {
		if job != "" && res.Job != job {
			continue
		}
		var errs []string
		for _, text := range r.Errors {
			if own, is := strings.CutPrefix(text, res.Job+": "); is {
				errs = append(errs, own)
			}
		}
		WriteResult(w, res, errs, units[res.Job], r.Trigger)
		if failed := failedUnits(res); failed != "" {
			human.Row(w, "failed", human.Fold(failed, 66))
		}
	}
}

// failedUnits lists the units that failed, each once.
func failedUnits(r ledger.Result) string {
	var names []string
	for _, f := range r.Failures {
		if f.Unit != "" && !slices.Contains(names, f.Unit) {
			names = append(names, f.Unit)
		}
	}
	return strings.Join(names, ", ")
}

// meaning is what an exit code means.
func meaning(code int) string {
	for _, c := range exit.Codes {
		if c.Code == code {
			return c.Meaning
		}
	}
	return "unknown"
}
