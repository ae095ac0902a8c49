package see

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/wording"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// writeRuns writes a line for each run. An ID is cut after its time where that is enough to tell it
// from the others.
func writeRuns(w io.Writer, all []ledger.Run, now time.Time) {
	grid := text.Grid{Heads: []string{"run", "age", "trigger", "exit", "jobs", "outcome"},
		Right: []bool{false, true, false, true}, Most: []int{0, 0, 0, 0, 20}}
	for i, r := range all {
		id, _, _ := strings.Cut(r.ID, "-")
		if slices.ContainsFunc(all, func(o ledger.Run) bool {
			return o.ID != all[i].ID &&
				strings.HasPrefix(o.ID, id)
		}) {
			id = r.ID
		}
		names, code := fmt.Sprintf("%d jobs", len(r.Results)), fmt.Sprint(r.Exit)
		switch {
		case r.Ended == nil:
			names, code = "", ""
		case len(r.Results) == 1:
			names = r.Results[0].Job
		}
		grid.Rows = append(grid.Rows, []string{id, shortAge(now.Sub(r.Started)), r.Trigger, code, names,
			wording.Outcome(r)})
	}
	grid.Write(w)
}

// writeIdle writes how many runs have no record in the ledger, because they did nothing or there
// were too many.
func writeIdle(w io.Writer, p ledger.Past, now time.Time) {
	since := p.Since.Format(time.DateOnly)
	if n := p.Idle.Runs; n > 0 {
		fmt.Fprintf(w, "%s since %s did nothing, the last one %s ago.\n", text.Plural(n, "more run"), since,
			shortAge(now.Sub(p.Idle.Last)))
	}
	if p.Dropped > 0 {
		fmt.Fprintf(w, "%s since %s aren't kept, because there were too many.\n", text.Plural(p.Dropped, "more run"),
			since)
	}
}

// shortAge writes a length of time in its largest unit.
func shortAge(d time.Duration) string {
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

// UnitNames returns what the units of each job are called. It leaves out jobs whose units are
// windows of partitions.
func UnitNames(c *config.Config) map[string]string {
	names := map[string]string{}
	for _, j := range c.Jobs {
		switch {
		case !j.AsksService():
			names[j.Name] = "file"
		case j.Apps != nil:
			names[j.Name] = "app"
		}
	}
	return names
}

// writeRun writes one run in whole, or only what it did for one job if job isn't empty. units has
// what each job's units are called, as UnitNames returns it.
func writeRun(w io.Writer, again string, r ledger.Run, units map[string]string, job string) {
	fmt.Fprintf(w, "run %s (%s)\n", r.ID, r.Trigger)
	text.Labeled(w, "began", r.Started.UTC().Format(time.RFC3339))
	if r.Ended == nil {
		text.Labeled(w, "ended", "not recorded: it still "+wording.Unended)
		return
	}
	text.Labeled(w, "ended", fmt.Sprintf("%s, after %s", r.Ended.UTC().Format(time.RFC3339),
		r.Ended.Sub(r.Started).Round(10*time.Millisecond)))
	text.Labeled(w, "exit code", text.Fold(fmt.Sprintf("%d: %s", r.Exit, wording.Meaning(r.Exit)), 66))
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
		WriteResult(w, again, res, errs, units[res.Job], r.Trigger)
		if failed := failedUnits(res); failed != "" {
			text.Labeled(w, "failed", text.Fold(failed, 66))
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
