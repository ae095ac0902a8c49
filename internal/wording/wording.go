// Package wording has the texts that commands and pages share: what an exit code means, what came
// of a run, what to do about a file. Without it the page would advise one thing, and the command
// another.
//
//	Meaning, Outcome             of a run
//	Percent, Rebaselined         of numbers that moved, and of those that can't be compared
//	FileMending                  of a file that is pushed
//
// The texts have no layout. Names in them are as the config and the ledger have them, so whoever
// shows them escapes them.
package wording

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// Codes are the exit codes of all commands, with what they mean.
var Codes = []struct {
	Code    int
	Meaning string
}{
	{jobs.ExitDone, "done"},
	{jobs.ExitFailed, "failed"},
	{jobs.ExitUsage, "usage or config"},
	{jobs.ExitSome, "some units failed or are held back, or differ from the service's totals, or are suspected to " +
		"be empty, or their raw answers aren't kept, or rows of files weren't taken; the rest is published; of " +
		"status and check: not all is as it should be"},
	{jobs.ExitHeld, "a named run got no unit, because others hold them all"},
	{jobs.ExitDenied, "authentication or permission refused"},
	{jobs.ExitInterrupted, "interrupted; the next run goes on"},
}

// Meaning returns what an exit code means.
func Meaning(code int) string {
	for _, c := range Codes {
		if c.Code == code {
			return c.Meaning
		}
	}
	return "unknown"
}

// Unended is what is known of a run whose record has no end.
const Unended = "goes on, or was killed"

// Outcome says in a few words what came of a run.
func Outcome(r ledger.Run) string {
	var sum ledger.Outcome
	left, failed := false, 0
	for _, res := range r.Results {
		sum.Add(res.Outcome)
		left = left || res.Left > 0 || res.Stopped
		failed += len(res.Failures)
	}
	var parts []string
	if sum.Written > 0 {
		parts = append(parts, fmt.Sprintf("%d written", sum.Written))
	}
	if n := sum.NotTaken(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d rows not taken", n))
	}
	if failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", max(failed, sum.Failed)))
	}
	switch {
	case r.Ended == nil:
		return Unended
	case r.Exit == jobs.ExitInterrupted:
		parts = append(parts, "stopped")
	case r.Exit == jobs.ExitDenied:
		parts = append(parts, "refused")
	case r.Exit == jobs.ExitHeld:
		parts = append(parts, "held by others")
	case left:
		parts = append(parts, "some left")
	}
	switch {
	case len(parts) > 0:
		return strings.Join(parts, ", ")
	case r.Exit != jobs.ExitDone:
		return "something left out"
	case sum.Windows == 0:
		return "nothing was due"
	case sum.Held == sum.Windows:
		return "held by others"
	}
	return "nothing new"
}

// Percent writes the size of a move as a percentage of a usual day, with its sign.
func Percent(size float64) string {
	switch {
	case size == 0:
		return "0%"
	case max(size, -size) < 0.001:
		return "<0.1%"
	case max(size, -size) < 0.1:
		return fmt.Sprintf("%+.1f%%", size*100)
	}
	return fmt.Sprintf("%+.0f%%", size*100)
}

// Rebaselined returns a line for each change of what numbers mean, with the number of periods that
// it affects.
func Rebaselined(changes []refresh.Change) (lines []string) {
	n := map[string]int{}
	for _, c := range changes {
		n[c.Was+" -> "+c.Is]++
	}
	for _, text := range slices.Sorted(maps.Keys(n)) {
		periods := "periods"
		if n[text] == 1 {
			periods = "period"
		}
		lines = append(lines, fmt.Sprintf("%d %s rebaselined, %s, not compared", n[text], periods, text))
	}
	return lines
}
