package console

import (
	"fmt"
	"strings"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// mostNamed is how many rows of partitions of a problem are named with what is wrong with each.
const mostNamed = 5

// ofTable are the problems of a job's table, with those rows of days that include a partition; the zero one: with all.
func ofTable(j JobStatus, of civil.Date) []problem { return problemsFrom(j, j.State.Problems, of) }

// problemsFrom shows problems of a job as package status finds them.
func problemsFrom(j JobStatus, all []ledger.Problem, of civil.Date) (list []problem) {
	for _, p := range all {
		c := refresh.Condition(p.Condition)
		one := problem{Job: j.Name, State: j.State.state(c), What: p.What, Details: p.Errors, Advice: sentence(p), Run: p.Run, like: c, known: !p.Wrong}
		if p.Command != "" {
			one.Type = []string{p.Command}
		}
		left := p.Partitions
		for _, d := range p.Days {
			if of.IsValid() && (of.Before(d.From) || of.After(d.Through)) {
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

// sentence is the advice of a problem, before its command if it has one.
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

// through names a row of partitions.
func through(first, last civil.Date) string {
	if first == last {
		return day(first)
	}
	return day(first) + " to " + day(last)
}
