package emulator

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync"
	"time"
)

// engagementsPerDay is how many engagements an app has on a day: enough for any test's file of spend.
const engagementsPerDay = 1_000_000

// An engagement is a click or an impression that partners can post spend for. Its Cost ID says whose it is and of which
// day, so that any of them is known without being kept.
type engagement struct {
	CostID   string
	App      string // its name, as the dimension app shows it
	Campaign string
	Network  string
	Time     time.Time // UTC, whole seconds

	fact  *fact // what it is part of: its spend is booked beside it
	app   int
	place int // of the fact among the day's that people were paid for
}

// engagements lists the first perDay engagements of each app and day: days from's to to's by UTC, of those that have
// data, and nothing that is still to come. They are sorted by day, then app.
func (w *world) engagements(from, to time.Time, perDay int, now time.Time) iter.Seq[engagement] {
	first, last := max(dayOf(from), w.firstDay), min(dayOf(to), dayOf(now))
	return func(yield func(engagement) bool) {
		for day := first; day <= last; day++ {
			for app := range w.apps {
				for n := range min(perDay, engagementsPerDay) {
					e, ok := w.engagementOf(app, day, n)
					if !ok || e.Time.After(now) {
						continue
					}
					if !yield(e) {
						return
					}
				}
			}
		}
	}
}

// engagementOf makes the n-th engagement of an app's day; not ok when nobody was paid on that day.
func (w *world) engagementOf(app, day, n int) (engagement, bool) {
	facts := w.paidFacts(app, day)
	if len(facts) == 0 {
		return engagement{}, false
	}
	r := newRandom(w.seed, 9, app, day, n)
	check := r.next()
	place := r.below(len(facts))
	f := &facts[place]
	a := &w.apps[app]
	sl := &a.slices[f.slice-a.slices[0].id]
	return engagement{
		CostID: fmt.Sprintf("emu-%s-%03d-%07d-%016x", dayTime(day).Format("20060102"), app, n, check),
		App:    a.Name, Campaign: sl.campaign, Network: sl.network,
		Time: time.Unix(int64(f.ts)*3600+int64(r.below(3600)), 0).UTC(),
		fact: f, app: app, place: place,
	}, true
}

// findEngagement is the engagement of a Cost ID; not ok when it is nobody's, or of a day without data.
func (w *world) findEngagement(costID string, now time.Time) (engagement, bool) {
	parts := strings.Split(costID, "-")
	if len(parts) != 5 || parts[0] != "emu" {
		return engagement{}, false
	}
	t, err := time.Parse("20060102", parts[1])
	if err != nil {
		return engagement{}, false
	}
	app, err := strconv.Atoi(parts[2])
	if err != nil || app < 0 || app >= len(w.apps) {
		return engagement{}, false
	}
	n, err := strconv.Atoi(parts[3])
	if err != nil || n < 0 || n >= engagementsPerDay {
		return engagement{}, false
	}
	day := dayOf(t)
	if day < w.firstDay || day > dayOf(now) {
		return engagement{}, false
	}
	e, ok := w.engagementOf(app, day, n)
	return e, ok && e.CostID == costID
}

// firstSpendRow is the first row of an app's day that is made of spend; makeDay's rows are below. Each of them has four
// places from here on, one for each way of paying.
const firstSpendRow = 200

// spendRow is the id of the fact that spend for the engagement is part of, when it is paid for in this way.
func (e engagement) spendRow(pricing int) int {
	return (e.fact.day*maxApps+e.app)*rowsPerDay + firstSpendRow + e.place*4 + pricing - 1
}

// paidDays remembers what paidFacts made: it is asked for every record of spend.
type paidDays struct {
	mu   sync.Mutex
	days map[appDay][]fact
}

// paidFacts are an app's facts of a day that came by some network: neither organic nor a tester's.
func (w *world) paidFacts(app, day int) []fact {
	p := &w.paid
	k := appDay{app, day}
	p.mu.Lock()
	defer p.mu.Unlock()
	if facts, ok := p.days[k]; ok {
		return facts
	}
	var facts []fact
	for _, f := range makeDay(w.seed, app, &w.apps[app], day) {
		if f.engagement != engagementNone && f.sandbox == 0 {
			facts = append(facts, f)
		}
	}
	if p.days == nil {
		p.days = map[appDay][]fact{}
	}
	p.days[k] = facts
	return facts
}
