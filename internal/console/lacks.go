package console

import (
	"fmt"
	"slices"
	"strings"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/wording"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

type (
	gap   = refresh.Gap
	entry = refresh.Entry
)

// mostNamed is how many partitions of a problem are named with what is wrong with each.
const mostNamed = 5

// lacks are the problems of a table: partitions that are missing, doubtful, different from the service's totals, or lack columns.
func lacks(j seen) (list []problem) {
	for _, g := range j.look.Gaps {
		if p, is := ofGap(j, g); is {
			list = append(list, p)
		}
	}
	for _, of := range []struct {
		condition refresh.Condition
		what      string
		advice    string
		command   string
		rank      int
	}{
		{refresh.Differs, " with rows that don't add up to the service's totals", "Runs compare again while the service restates; to fetch them now:", "backfill", rankDiffers},
		{refresh.MovedAndLeft, " that had been final and that the service has changed since; the rows stay (drift: warn)", "To take the new numbers:", "backfill", rankLeft},
		{refresh.ChangedFinal, " that changed after being final; the new numbers are published", "What they were before:", "history", rankChanged},
	} {
		at := slices.DeleteFunc(slices.Clone(j.look.Calendar), func(e refresh.Entry) bool { return e.Condition != of.condition })
		if len(at) == 0 {
			continue
		}
		p := problem{Job: j.Name, State: stateOf(of.condition), What: plural(len(at), "partition") + of.what, Advice: of.advice, rank: of.rank}
		for i, e := range slices.Backward(at) { // the newest first
			text := day(e.Partition)
			if e.Record.Control != nil && of.condition == refresh.Differs {
				text += ": " + e.Record.Control.Say()
			}
			if len(at)-i > mostNamed {
				p.Details = append(p.Details, fmt.Sprintf("and %d more", i+1))
				break
			}
			p.Details = append(p.Details, text)
		}
		p.Type = []string{between(j.Name, of.command, at[0].Partition, at[len(at)-1].Partition)}
		list = append(list, p)
	}
	if l := j.look.Rest.Lacking; l.Partitions > 0 {
		p := problem{
			Job: j.Name, State: state{"warn", "◫", "lacking columns"}, What: wording.Lacking(l), rank: rankLacking,
			Advice: "To fetch them:", Type: []string{wording.Columns(j.Name)},
		}
		if !l.Later {
			p.Advice = strings.ToUpper(wording.Mending(j.Name, l)[:1]) + wording.Mending(j.Name, l)[1:] + ". To fetch them now:"
		}
		list = append(list, p)
	}
	if n := j.look.Rest.Kept; n > 0 {
		list = append(list, problem{
			Job: j.Name, State: state{"warn", "⊜", "kept"}, What: plural(n, "partition") + " with older rows: the last answer was empty, and on_empty keeps them",
			Advice: "When each was fetched:", Type: []string{"history " + j.Name}, rank: rankKept,
		})
	}
	return list
}

// ofGap is the problem of a gap; false when there is none, because its partitions aren't due yet.
func ofGap(j seen, g gap) (problem, bool) {
	p := problem{
		Job: j.Name, Advice: "To fetch what is missing:", Type: []string{wording.Closing(j.Name, j.Kind)}, Run: g.Run,
		What: fmt.Sprintf("%s: %s, %s", through(g.Partition, g.Through), plural(g.Partitions, "partition"), g.Reason),
	}
	if g.Error != "" {
		p.Details = []string{g.Error}
	}
	switch {
	case !g.Closable:
		p.State, p.rank, p.Advice, p.Type = stateOf(refresh.Gone), rankGone, "The service has no past of it, so there is nothing to do.", nil
	case g.Reason == refresh.NotDueYet:
		return p, false
	case g.Reason == refresh.RunFailed:
		p.State, p.rank = stateOf(refresh.Broken), rankFailed
	case g.Reason == refresh.PutCut:
		p.State, p.rank = stateOf(refresh.CutOff), rankCutOff
		p.Details = append(p.Details, "Newer rows were on their way; which of them readers see isn't known. The next run fetches it again.")
	default:
		p.State, p.rank = stateOf(refresh.Absent), rankMissing
	}
	return p, true
}

// through names a row of partitions.
func through(first, last civil.Date) string {
	if first == last {
		return day(first)
	}
	return day(first) + " to " + day(last)
}

// between is a command about the partitions of a job from one to another.
func between(job, command string, first, last civil.Date) string {
	switch {
	case command == "history" && first == sinks.Whole:
		return "history " + job
	case command == "history":
		return fmt.Sprintf("history %s --from %s --to %s", job, first, last)
	case first == sinks.Whole:
		return "run " + job + " --now"
	}
	return fmt.Sprintf("backfill %s --from %s --to %s --force", job, first, last)
}
