package report

import (
	"math"
	"slices"
	"time"

	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/metrics"
)

// moment is a time at which numbers may have changed, with the days whose numbers may have.
type moment struct {
	at   time.Time
	days metrics.Period
	by   []int // numbers of the restatements made then, from 1
}

// moments lists the moments after since, up to and including until: each midnight by UTC, when days
// grow older, and each restatement.
func (b *sumsReport) moments(restated []facts.Restated, since, until time.Time) (list []moment) {
	add := func(at time.Time, days metrics.Period, by ...int) {
		if !at.After(since) || at.After(until) {
			return
		}
		i, found := slices.BinarySearchFunc(list, at, func(m moment, at time.Time) int { return m.at.Compare(at) })
		if !found {
			list = slices.Insert(list, i, moment{at: at.UTC(), days: days})
		}
		m := &list[i]
		m.days = metrics.Period{From: min(m.days.From, days.From), To: max(m.days.To, days.To)}
		m.by = append(m.by, by...)
	}
	horizon := b.horizon()
	for day := facts.DayOf(since); day <= facts.DayOf(until); day++ {
		from := b.service.world.FirstDay - 1
		if horizon < math.MaxInt {
			from = max(from, day-horizon-1)
		}
		add(facts.DayTime(day), metrics.Period{From: from, To: day + 1})
	}
	for i, r := range restated {
		add(r.At, metrics.Period{From: r.From - 1, To: r.To + 1}, i+1) // a zone's day lies on two days of UTC
	}
	return list
}

// horizon returns the age in days from which the clock no longer changes the report's metrics.
func (b *sumsReport) horizon() int {
	q, bad := b.service.parse(b.params, b.last)
	if bad != nil {
		return math.MaxInt
	}
	return b.service.glossary.Horizon(q.Metrics)
}
