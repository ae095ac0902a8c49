// Package status says what is wrong with a table, day by day, and which command ends it. Without
// it, each command, page and notice would have an idea of its own of what is wrong, and one would
// contradict another.
//
//	records, rules, runs ─ Inspect, Brief ─▶ problems ─┬─ status, plan, check
//	                                                   ├─ a run's last lines, its record, --result
//	                                                   └─ pages, notices, metrics
package status

import (
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// Inspect compares what the ledger has of a job's table with the rules, and says what is wrong.
func Inspect(now time.Time, job, kind string, r refresh.Rules, done ledger.Records,
	past ledger.Past) refresh.Inspection {
	if r.Stored == nil {
		r.Stored, r.Oldest = stored(job, r.Period, done, past)
	}
	in := refresh.Inspect(now, job, r, done, past)
	in.Problems = Of(job, kind, in, done)
	// The last run's failure stands behind what is wrong, and before what is only to be known.
	known := slices.IndexFunc(in.Problems, func(p ledger.Problem) bool { return !p.Wrong })
	if known < 0 {
		known = len(in.Problems)
	}
	in.Problems = slices.Insert(in.Problems, known, LastFailed(job, past, func(run *ledger.Run, f ledger.Failure) bool {
		return slices.ContainsFunc(in.Gaps, func(g refresh.Gap) bool { return g.Run == run.ID && g.Error == f.Error })
	})...)
	return in
}

// stored returns what the last run of a job saw in its sinks and couldn't mend, and the oldest
// partition that the sinks keep. The records don't show this.
func stored(job string, period refresh.Period, done ledger.Records,
	past ledger.Past) (conditions map[civil.Date]refresh.Condition, oldest civil.Date) {
	conditions = map[civil.Date]refresh.Condition{}
	run, res := past.Last(job)
	if run == nil {
		return conditions, oldest
	}
	for _, p := range res.Problems {
		for _, row := range p.Days {
			if next := period.Next(row.Through); ofAge(p) && oldest.Before(next) {
				oldest = next
			}
			for day, n := row.From, 0; OfSinks(p) && n < row.Partitions; day, n = period.Next(day), n+1 {
				if done[day].Fetched.Before(run.Started) {
					conditions[day] = refresh.Condition(p.Condition)
				}
			}
		}
	}
	return conditions, oldest
}

// ofAge tells whether a problem is that a table deletes partitions because of their age.
func ofAge(p ledger.Problem) bool {
	return p.Condition == string(refresh.Expired) || p.Condition == string(refresh.TooOld)
}

// OfSinks tells whether a problem is one that only the sinks show.
func OfSinks(p ledger.Problem) bool {
	return p.Condition == string(refresh.Deleted) || p.Condition == string(refresh.Replaced)
}

// Of lists what is wrong with a job's table, the worst first, and then what is only to be known.
func Of(job, kind string, in refresh.Inspection, done ledger.Records) (list []ledger.Problem) {
	lacks, c := in.Rest.Lacking, cohortsOf(done)
	for _, rule := range rules {
		p := ledger.Problem{
			Condition: string(rule.condition), Advice: rule.advice, Wrong: rule.wrong, Days: days(in, rule.condition),
			Partitions: map[refresh.Condition]int{Lacking: lacks.Partitions, Kept: in.Rest.Kept,
				Near: c.near}[rule.condition],
		}
		for _, row := range p.Days {
			p.Partitions += row.Partitions
		}
		if p.Partitions == 0 {
			continue
		}
		p.What = plural(p.Partitions) + " " + rule.what
		// What a rule alone can't say.
		switch {
		case rule.condition == refresh.Absent && in.Fresh.Success == nil:
			p.Wrong = false // it has never run
		case rule.condition == Lacking:
			p.What = lacking(lacks)
			if doubts := doubts(lacks); doubts != "" {
				p.What, p.Advice = doubts, "if the service has it, "+plural(lacks.Partitions)+" get it by"
			} else if lacks.Later {
				p.Advice = "to fetch them"
			}
		}
		if slices.Contains(Differing, rule.condition) && c.mostDiffer() {
			p.What, p.Advice, p.Days = p.What+", as most of this table's do", c.advice(), merged(in.Period, p.Days)
		}
		var first, last civil.Date
		if n := len(p.Days); n > 0 {
			first, last = p.Days[n-1].From, p.Days[0].Through
		}
		p.Command = command(rule.command, job, kind, first, last)
		list = append(list, p)
	}
	return list
}

// Brief returns what the record of a run keeps of a table, as a Result in which nothing else is
// set: the newest days of each problem, without the errors, which the record has anyway, and how
// many partitions are due. suspected has the partitions that were suspected when the run began.
func Brief(now time.Time, job, kind string, r refresh.Rules, done ledger.Records, past ledger.Past,
	suspected map[civil.Date]bool) ledger.Result {
	gaps := refresh.Gaps(now, job, r, done, past.Runs)
	for i := range gaps {
		gaps[i].Run, gaps[i].Error = "", ""
	}
	in := refresh.Inspection{
		Period: r.Period, Fresh: refresh.FreshnessOf("", r, done, ledger.Past{}), Rest: refresh.RestOf(r, done, gaps),
		Calendar: refresh.Troubled(r, done, gaps),
	}
	// A run reports changes of final partitions when they happen.
	list := slices.DeleteFunc(Of(job, kind, in, done),
		func(p ledger.Problem) bool { return p.Condition == string(refresh.ChangedFinal) })
	for i, p := range list {
		if !OfSinks(p) { // later runs and commands read problems of sinks from here
			list[i].Days = p.Days[:min(len(p.Days), mostDays)]
		}
	}
	brief := ledger.Result{Job: job, Rest: in.Rest, Newest: in.Fresh.Newest, Problems: list, Stored: done.Stored()}
	if !r.IgnoreLedger {
		for _, w := range refresh.Plan(now, r, done) {
			brief.Others += len(w.Due)
		}
	}
	for _, e := range in.Calendar {
		if e.Condition == refresh.Suspicious && !suspected[e.Partition] {
			brief.Outcome.Suspected++
		}
	}
	return brief
}

// mostDays is how many ranges of partitions the record of a run names for a problem.
const mostDays = 5

// Wrong counts the partitions that something is wrong with.
func Wrong(list []ledger.Problem) int {
	return count(list, func(p ledger.Problem) bool { return p.Wrong })
}

// AnyWrong tells whether something is wrong with partitions, or with the last run.
func AnyWrong(list []ledger.Problem) bool {
	return slices.ContainsFunc(list, func(p ledger.Problem) bool { return p.Wrong })
}

// Count counts the partitions that are in one of these conditions.
func Count(list []ledger.Problem, of ...refresh.Condition) int {
	return count(list, func(p ledger.Problem) bool { return slices.Contains(of, refresh.Condition(p.Condition)) })
}

// count counts the partitions of the problems that which chooses.
func count(list []ledger.Problem, which func(ledger.Problem) bool) (n int) {
	for _, p := range list {
		if which(p) {
			n += p.Partitions
		}
	}
	return n
}

// days returns the partitions of a condition, the newest first. Partitions that follow one another
// are one range if the same is to be said about them.
func days(in refresh.Inspection, condition refresh.Condition) (rows []ledger.ProblemDays) {
	for _, e := range in.Calendar {
		if e.Condition != condition {
			continue
		}
		row := ledger.ProblemDays{From: e.Partition, Through: e.Partition, Partitions: 1, Why: Why(e)}
		if e.Gap != nil {
			row.Run, row.Error = e.Gap.Run, e.Gap.Error
		}
		if n := len(rows); n > 0 && in.Period.Next(rows[n-1].Through) == row.From && rows[n-1].Why == row.Why &&
			rows[n-1].Run == row.Run && rows[n-1].Error == row.Error {
			rows[n-1].Through = row.Through
			rows[n-1].Partitions++
			continue
		}
		rows = append(rows, row)
	}
	slices.Reverse(rows)
	return rows
}

// Why returns what is to be said about a partition besides its condition.
func Why(e refresh.Entry) string {
	switch {
	case e.Gap != nil:
		return string(e.Gap.Reason)
	case e.Condition == refresh.HeldBack:
		return "since " + e.Record.HeldBack.Since.Format("2006-01-02") + ": " + e.Record.HeldBack.Why
	case (e.Condition == refresh.Differs || e.Condition == refresh.DiffersAlike) && e.Record.Control != nil:
		return e.Record.Control.Say()
	}
	return ""
}

// lacking says in about half a line how many partitions lack which columns.
func lacking(l ledger.Lacking) string {
	const usual = 45
	text := fmt.Sprintf("%d partitions lack", l.Partitions)
	if l.Partitions == 1 {
		text = "1 partition lacks"
	}
	for i, name := range l.Columns {
		switch {
		case i == 0:
			text += " " + name
		case len(text)+len(name) > usual:
			return text + fmt.Sprintf(" and %d more", len(l.Columns)-i)
		default:
			text += ", " + name
		}
	}
	return text
}

// doubts returns a doubt about the first lacking column that the catalogue doesn't know, because it
// may be misspelt.
func doubts(l ledger.Lacking) string {
	for _, name := range l.Columns {
		if doubt := catalog.Doubt(name); doubt != "" {
			return doubt
		}
	}
	return ""
}

// plural returns a number of partitions in words.
func plural(n int) string {
	if n == 1 {
		return "1 partition"
	}
	return fmt.Sprintf("%d partitions", n)
}
