package console

import (
	"fmt"
	"strings"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/status"
)

type (
	gap   = refresh.Gap
	entry = refresh.Entry
)

// mostNamed is how many rows of partitions of a problem are named with what is wrong with each.
const mostNamed = 5

// ranks are those of the problems of tables.
var ranks = map[refresh.Condition]int{
	refresh.Broken: rankFailed, refresh.CutOff: rankCutOff, refresh.Absent: rankMissing, refresh.Mixed: rankMixed, refresh.HeldBack: rankHeldBack,
	refresh.DiffersAlike: rankHeldBack, refresh.Differs: rankDiffers, refresh.Suspicious: rankDiffers, refresh.MovedAndLeft: rankLeft, status.Lacking: rankLacking,
	refresh.ChangedFinal: rankChanged, status.Kept: rankKept, refresh.Gone: rankGone,
}

// lacks are the problems of a table.
func lacks(j seen) (list []problem) {
	for _, p := range j.look.Problems {
		one := problem{Job: j.Name, State: stateOf(refresh.Condition(p.Condition)), What: p.What, Advice: sentence(p), rank: ranks[refresh.Condition(p.Condition)]}
		if p.Command != "" {
			one.Type = []string{p.Command}
		}
		left := p.Partitions
		for i, d := range p.Days {
			if i == mostNamed {
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
