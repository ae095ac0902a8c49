package status

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// RunFailed is the condition of a job whose last run failed in a way that no partition shows.
const RunFailed refresh.Condition = "last run failed"

// mostErrors is how many errors of a job's last run are named, and mostUnits how many units are
// named for each error.
const (
	mostErrors = 5
	mostUnits  = 6
)

// LastFailed returns the problem that units of a job failed in the last run that had the job. It
// leaves out failures for which shown returns true, because they are shown elsewhere; a nil shown
// leaves out none. The list is empty when no failure remains.
func LastFailed(job string, past ledger.Past, shown func(*ledger.Run, ledger.Failure) bool) []ledger.Problem {
	run, res := past.Last(job)
	if run == nil {
		return nil
	}
	left := slices.DeleteFunc(slices.Clone(res.Failures), func(f ledger.Failure) bool {
		return shown != nil && shown(run, f)
	})
	if len(left) == 0 {
		return nil
	}
	p := Failed(job, run.ID, left, mostErrors)
	p.What = "its last run failed: " + p.What
	return []ledger.Problem{p}
}

// Failed returns the problem that units of a job failed in a run. It names at most this many
// errors, each once with its units.
func Failed(job, run string, failures []ledger.Failure, most int) ledger.Problem {
	p := ledger.Problem{
		Condition: string(RunFailed), What: "it couldn't be planned or ended", Run: run, Wrong: true,
		Advice: "what is published stays, and the next run tries again; to try now", Command: "run " + job + " --now",
	}
	if slices.ContainsFunc(failures, func(f ledger.Failure) bool { return refused(f.Error) }) {
		p.Advice = "what is published stays; once what the error names is changed"
	}
	var texts []string             // the errors, each once
	units := map[string][]string{} // by error
	n := 0                         // how many units there are
	for _, f := range failures {
		if !slices.Contains(texts, f.Error) {
			texts = append(texts, f.Error)
		}
		if f.Unit != "" {
			units[f.Error] = append(units[f.Error], f.Unit)
			n++
		}
	}
	for i, text := range texts {
		if i == most {
			p.Errors = append(p.Errors, fmt.Sprintf("and %d more", len(texts)-most))
			break
		}
		if named := units[text]; named != nil {
			text = firstUnits(named) + ": " + text
		}
		p.Errors = append(p.Errors, text)
	}
	if n == 1 {
		p.What = "1 unit"
	} else if n > 1 {
		p.What = fmt.Sprintf("%d units", n)
	}
	return p
}

// refused tells whether an error is a refusal by this program, and not a failed connection.
func refused(text string) bool {
	word := ledger.ErrRefused.Error()
	return strings.HasPrefix(text, word) || strings.Contains(text, ": "+word+":") ||
		strings.Contains(text, ": "+word+",")
}

// firstUnits names the first of many units.
func firstUnits(names []string) string {
	if len(names) <= mostUnits {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:mostUnits], ", "), len(names)-mostUnits)
}

// FurtherErrors returns the errors that a run ended with and that aren't those of a unit. They are
// told apart by their beginnings, because a failure's text is cut.
func FurtherErrors(r ledger.Run) (list []string) {
	begins := func(job, text string) string { return job + ": " + text[:min(len(text), 200)] }
	known := map[string]bool{}
	for _, res := range r.Results {
		for _, f := range res.Failures {
			known[begins(res.Job, f.Error)] = true
		}
	}
	for _, text := range r.Errors {
		job, own, _ := strings.Cut(text, ": ")
		if !known[begins(job, own)] {
			list = append(list, text)
		}
	}
	return list
}
