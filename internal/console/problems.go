package console

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/wording"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/status"
)

// A problem is something that a person should do something about, or should know.
type problem struct {
	Job      string // empty: the problem isn't one job's
	State    state
	What     string            // what is wrong, in words
	Details  []string          // errors, or partitions and what is wrong with them
	Advice   string            // what to do, as a sentence; it ends in a colon when commands follow
	Type     []string          // commands, without the program's name
	Run      string            // the run that it happened in; empty: it isn't known, or has no page
	severity refresh.Condition // a condition that is as bad, by which problems are ordered; empty: it is worse than all
	harmless bool              // nothing is wrong, and a person should only know it
}

// problems shows everything that needs a person, the worst first, with the command to type.
func (c *Console) problems(ctx context.Context, _ vars) (view, error) {
	var body struct{ Needs, Known []problem }
	all := allProblems(c.cache.get(ctx, nil))
	n := countWrong(all)
	body.Needs, body.Known = all[:n], all[n:]
	return view{"Problems", "problems.html", body}, nil
}

// countWrong counts the problems that aren't harmless.
func countWrong(all []problem) (n int) {
	for _, p := range all {
		if !p.harmless {
			n++
		}
	}
	return n
}

// allProblems lists what is wrong, the worst first. Problems that are equally bad are in the
// config's order.
func allProblems(s snapshot) (all []problem) {
	for _, err := range s.past.Damaged {
		all = append(all, unreadable("", err, "runs"))
	}
	if s.err != nil {
		all = append(all, unreadable("", s.err, "runs"))
	}
	for _, j := range s.jobs {
		all = append(all, problemsOf(s, j)...)
	}
	if len(s.past.Runs) > 0 && s.past.Runs[0].Ended == nil && s.now.Sub(s.past.Runs[0].Started) > time.Hour {
		r := s.past.Runs[0]
		all = append(all, problem{
			State: runState(r), What: "The newest run began " + ago(s.now,
				r.Started) + " and has no end on record: it " + wording.Unended,
			Advice: "If it was killed, the next run goes on with what it left.", Run: s.linked(r.ID),
			severity: refresh.Final, harmless: true,
		})
	}
	return worstFirst(all)
}

// problemsOf lists what is wrong with a job, the worst first.
func problemsOf(s snapshot, j JobStatus) (all []problem) {
	p, is := neverRunProblem(s.past, j)
	switch {
	case j.Err != nil:
		all = []problem{unreadable(j.Name, j.Err, "status "+j.Name)}
	case is:
		all = []problem{p}
	default:
		all = slices.Concat(failures(s.past, j), problemsOfTable(j, civil.Date{}), stuck(s.now, j),
			appProblems(s.past, j))
	}
	for i, p := range all {
		all[i].Run = s.linked(p.Run)
	}
	return worstFirst(all)
}

// worstFirst sorts problems: what is wrong before what is harmless, then by severity.
func worstFirst(all []problem) []problem {
	slices.SortStableFunc(all, func(a, b problem) int {
		if a.harmless != b.harmless {
			return countWrong([]problem{b}) - countWrong([]problem{a})
		}
		return slices.Index(refresh.Conditions, a.severity) - slices.Index(refresh.Conditions, b.severity)
	})
	return all
}

// linked returns the ID of a run if it has a page, and an empty string otherwise: the ledger
// forgets runs before it forgets what they did.
func (s snapshot) linked(run string) string {
	if pathSafe(run) && slices.ContainsFunc(s.past.Runs, func(r ledger.Run) bool { return r.ID == run }) {
		return run
	}
	return ""
}

// unreadable returns the problem that something of the ledger, or the config of a job, can't be
// used.
func unreadable(job string, err error, command string) problem {
	p := problem{Job: job, State: unsure, What: "What the ledger has of it can't be read",
		Details: []string{err.Error()}, Type: []string{command}}
	var damaged *ledger.DamagedError
	switch {
	case errors.As(err, &damaged):
		p.What = "An object of the ledger can't be trusted: " + damaged.Location
	case job == "":
		p.What = "Records of runs can't be read"
	case !errors.Is(err, ledger.ErrBucket):
		p.What = "It can't be looked at"
	}
	p.Advice = "When it is mended, this says so:"
	if damaged != nil && damaged.Cost != "" {
		p.Advice = "Don't delete it: " + damaged.Cost + ". " + p.Advice
	}
	return p
}

// neverRunProblem returns the problem of a job that has never run and has no other record; false
// for any other job.
func neverRunProblem(past ledger.Past, j JobStatus) (problem, bool) {
	run, _ := past.Last(j.Name)
	if run != nil || !j.Success.IsZero() || status.Wrong(j.State.Problems) > 0 || len(j.Pushed) > 0 ||
		slices.ContainsFunc(j.Declared, func(a App) bool { return a.Condition != "" }) {
		return problem{}, false
	}
	p := problem{Job: j.Name, State: neverRun, What: "It has never run", Advice: "Its first run:",
		Type: []string{"run " + j.Name}, harmless: true}
	if n := j.State.Missing(); n > 0 {
		p.What = "It has never run: " + plural(n, "partition") + " missing"
	}
	return p, true
}

// failures returns the failures of the last run of a job without a table, except those that a file
// or an app shows.
func failures(past ledger.Past, j JobStatus) []problem {
	if j.Inspect != nil {
		return nil // they are among the problems of the table
	}
	list := status.LastFailed(j.Name, past, func(_ *ledger.Run, f ledger.Failure) bool {
		return slices.ContainsFunc(outbox.Latest(j.Pushed), func(o outbox.File) bool {
			return o.Error != "" && o.Name == f.Unit
		}) || slices.ContainsFunc(j.Declared, func(a App) bool {
			return a.Condition == AppFailed && strings.Contains(f.Error, a.ID)
		})
	})
	return problemsFrom(j, list, civil.Date{})
}

// mostNamed is how many ranges of partitions a problem names, with what is wrong with each.
const mostNamed = 5

// problemsOfTable returns the problems of a job's table. They name the ranges of days that include
// the partition, or all ranges when the partition is zero.
func problemsOfTable(j JobStatus, partition civil.Date) []problem {
	return problemsFrom(j, j.State.Problems, partition)
}

// problemsFrom turns problems that package status has found into those of a page.
func problemsFrom(j JobStatus, all []ledger.Problem, partition civil.Date) (list []problem) {
	for _, p := range all {
		c := refresh.Condition(p.Condition)
		one := problem{Job: j.Name, State: j.State.state(c), What: p.What, Details: p.Errors, Advice: sentence(p),
			Run: p.Run, severity: c, harmless: !p.Wrong}
		if p.Command != "" {
			one.Type = []string{p.Command}
		}
		left := p.Partitions
		for _, d := range p.Days {
			if partition.IsValid() && (partition.Before(d.From) || partition.After(d.Through)) {
				continue
			}
			if len(one.Details) == mostNamed {
				one.Details = append(one.Details, fmt.Sprintf("and %d more", left))
				break
			}
			left -= d.Partitions
			text := through(d.From, d.Through)
			for _, why := range []string{d.Why, d.Error} {
				if why != "" {
					text += ": " + why
				}
			}
			one.Details = append(one.Details, text)
			if one.Run == "" {
				one.Run = d.Run
			}
		}
		list = append(list, one)
	}
	return list
}

// sentence returns the advice of a problem as a sentence, which ends in a colon when a command
// follows.
func sentence(p ledger.Problem) string {
	if p.Advice == "" {
		return ""
	}
	end := "."
	if p.Command != "" {
		end = ":"
	}
	return strings.ToUpper(p.Advice[:1]) + p.Advice[1:] + end
}

// through names a range of partitions.
func through(first, last civil.Date) string {
	if first == last {
		return day(first)
	}
	return day(first) + " to " + day(last)
}
