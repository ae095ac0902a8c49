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

// An Engagement is a click or an impression that partners can post spend for. Its Cost ID says whose it is and of which
// day, so that any of them is known without being kept.
type Engagement struct {
	CostID   string
	App      string // its name, as the dimension app shows it
	Campaign string
	Network  string
	Time     time.Time // UTC, whole seconds
}

// engagements lists the first perDay engagements of each app and day: days from's to to's by UTC, of those that have
// data, and nothing that is still to come. They are sorted by day, then app.
func (w *world) engagements(from, to time.Time, perDay int, now time.Time) iter.Seq[Engagement] {
	first, last := max(dayOf(from), w.firstDay), min(dayOf(to), dayOf(now))
	return func(yield func(Engagement) bool) {
		for day := first; day <= last; day++ {
			for app := range w.apps {
				for n := range min(perDay, engagementsPerDay) {
					e, ok := w.engagementOf(app, day, n)
					if !ok || e.time.After(now) {
						continue
					}
					if !yield(w.describeEngagement(e)) {
						return
					}
				}
			}
		}
	}
}

// engagement is an Engagement as the books need it.
type engagement struct {
	costID string
	time   time.Time
	place  int   // among the day's facts that people were paid for
	fact   *fact // what it is part of: whose spend is booked beside it
	app    int
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
	return engagement{
		costID: fmt.Sprintf("emu-%s-%03d-%07d-%016x", dayTime(day).Format("20060102"), app, n, check),
		time:   time.Unix(int64(f.ts)*3600+int64(r.below(3600)), 0).UTC(),
		place:  place, fact: f, app: app,
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
	return e, ok && e.costID == costID
}

func (w *world) describeEngagement(e engagement) Engagement {
	sl := w.sliceOf(e)
	return Engagement{CostID: e.costID, App: w.apps[e.app].Name, Campaign: sl.campaign, Network: sl.network, Time: e.time}
}

func (w *world) sliceOf(e engagement) *slice {
	a := &w.apps[e.app]
	return &a.slices[e.fact.slice-a.slices[0].id]
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
