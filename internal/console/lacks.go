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
	list = gaps(j)
	for _, of := range []struct {
		condition refresh.Condition
		what      string
		advice    string
		command   string
		rank      int
	}{
		{refresh.HeldBack, " of which the newest answer isn't published, because it takes good rows away", "Runs ask again. If that is right:", "accept", rankHeldBack},
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
			if of.condition == refresh.HeldBack {
				text += ": " + e.Record.HeldBack.Why
			}
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

// gaps are the problems of partitions without a record, one for each condition.
func gaps(j seen) (list []problem) {
	for _, of := range []struct {
		condition    refresh.Condition
		what, advice string
		rank         int
	}{
		{refresh.Broken, " that couldn't be fetched", "To try again:", rankFailed},
		{refresh.CutOff, " whose put was interrupted; which rows readers see isn't known", "The next run fetches them again. To do it now:", rankCutOff},
		{refresh.Absent, " missing", "To fetch what is missing:", rankMissing},
		{refresh.Gone, " that can't be fetched any more", "The service has no past of it, so there is nothing to do.", rankGone},
	} {
		p := problem{Job: j.Name, State: stateOf(of.condition), Advice: of.advice, rank: of.rank}
		n, named := 0, 0
		for _, g := range slices.Backward(j.look.Gaps) { // the newest first
			if g.Condition() != of.condition {
				continue
			}
			n += g.Partitions
			if named++; named > mostNamed {
				continue
			}
			text := through(g.Partition, g.Through)
			if g.Error != "" {
				text += ": " + g.Error
			}
			p.Details = append(p.Details, text)
			if p.Run == "" {
				p.Run = g.Run
			}
		}
		if n == 0 {
			continue
		}
		if named > mostNamed {
			p.Details = append(p.Details, fmt.Sprintf("and %d more", named-mostNamed))
		}
		if of.condition != refresh.Gone {
			p.Type = []string{wording.Closing(j.Name, j.Kind)}
		}
		p.What = plural(n, "partition") + of.what
		list = append(list, p)
	}
	return list
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
