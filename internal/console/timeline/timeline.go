// Package timeline computes a bar for each unit of a run, on one time axis. Without it, a run that
// took an hour would be a column of numbers, and nobody would see that it waited for one unit.
//
// Lengths are in percent of the axis, so that a browser can draw it at any width. The phases of a
// unit are drawn in the order of Phases, because the ledger knows how long each took but not when
// it was.
package timeline

import (
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// A Phase is something that takes a part of a unit's time.
type Phase struct{ Class, Text string }

// Phases are the phases in the order in which they are drawn.
var Phases = []Phase{
	{"limiter", "waiting on the limiter"}, {"backoff", "backing off"}, {"fetch", "fetching"}, {"convert", "converting"},
	{"put", "putting"},
}

// A Bar shows one unit.
type Bar struct {
	ledger.Timing
	Fetch  time.Duration // the unit's time without the other phases
	Hidden bool          // Fetch isn't known, because requests have waited at the same time
	Parts  []Part
	End    float64 // percent of the axis
}

// A Part is the stretch of a bar for one phase.
type Part struct {
	Class    string
	At, Long float64 // percent of the axis
}

// shortestBar is the length of the shortest bar, in percent of the axis, so that every bar can be
// seen.
const shortestBar = 0.3

// Bars returns the bars of a job's units, in a run that began at began and took took.
func Bars(began time.Time, took time.Duration, units []ledger.Timing) []Bar {
	bars := make([]Bar, 0, len(units))
	for _, u := range units {
		bars = append(bars, bar(began, took, u))
	}
	return bars
}

// bar returns the bar of one unit.
func bar(began time.Time, took time.Duration, u ledger.Timing) Bar {
	b := Bar{Timing: u}
	share := func(d time.Duration) float64 { return min(100, max(0, 100*d.Seconds()/max(took, 1).Seconds())) }
	at := share(u.Begun.Sub(began))
	long := max(shortestBar, min(share(u.Took), 100-at))
	at = min(at, 100-long)
	phases := []time.Duration{u.Limiter, u.Backoff, 0, u.Convert, u.Put}
	var sum time.Duration
	for _, d := range phases {
		sum += max(0, d)
	}
	b.Fetch, b.Hidden = max(0, u.Took-sum), sum > u.Took
	phases[2] = b.Fetch
	whole := max(sum+b.Fetch, 1) // if requests have waited at the same time, this exceeds Took, and all parts shrink
	for i, d := range phases {
		if d <= 0 {
			continue
		}
		p := Part{Phases[i].Class, at, long * d.Seconds() / whole.Seconds()}
		b.Parts = append(b.Parts, p)
		at += p.Long
	}
	b.End = at
	return b
}

// A Tick is a mark on the axis.
type Tick struct {
	At   float64 // percent
	Time time.Duration
}

// steps are the possible distances between ticks.
var steps = []time.Duration{
	time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour,
	2 * time.Hour, 6 * time.Hour, 24 * time.Hour,
}

// Axis returns at most six ticks, from 0 on, for an axis as long as took.
func Axis(took time.Duration) (ticks []Tick) {
	step := took/5 + 1
	for _, s := range steps {
		if took <= 5*s {
			step = s
			break
		}
	}
	for t := time.Duration(0); t <= took; t += step {
		ticks = append(ticks, Tick{100 * t.Seconds() / max(took, 1).Seconds(), t})
	}
	return ticks
}
