package facts

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync"
	"time"
)

// engagementsPerDay is how many engagements an app has on a day: enough for any test's file of
// spend.
const engagementsPerDay = 1_000_000

// An Engagement is a click or an impression that partners can post spend for. Its Cost ID names its
// app and its day, so that any of them is known without being kept.
type Engagement struct {
	CostID   string
	App      string // its name, as the dimension app shows it
	AppToken string
	Campaign string
	Network  string
	Time     time.Time // UTC, whole seconds

	Fact  *Fact // the fact that it is part of; its spend goes into another row beside it
	app   int   // index of the app
	place int   // index of Fact in what paidFacts returns for its app and day
}

// Engagements lists the first perDay engagements of each app and day, sorted by day, then app. The
// days are those by UTC between from and to, both included, that have data. Engagements later than
// now are left out.
func (w *World) Engagements(from, to time.Time, perDay int, now time.Time) iter.Seq[Engagement] {
	account := w.Account()
	first, last := max(DayOf(from), w.FirstDay), min(DayOf(to), DayOf(now))
	return func(yield func(Engagement) bool) {
		for day := first; day <= last; day++ {
			for app := range account.Apps {
				for n := range min(perDay, engagementsPerDay) {
					e, ok := w.engagementOf(&account.Apps[app], app, day, n)
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

// engagementOf makes the n-th engagement of a day of the app with this index; false when the app
// has no paid facts on that day.
func (w *World) engagementOf(a *App, app, day, n int) (Engagement, bool) {
	if day < a.FirstDay {
		return Engagement{}, false
	}
	facts := w.paidFacts(a, app, day)
	if len(facts) == 0 {
		return Engagement{}, false
	}
	r := NewRandom(w.Seed, 9, a.origin, day, n)
	check := r.Next()
	place := r.Below(len(facts))
	f := &facts[place]
	sl := &a.Slices[f.Slice-a.Slices[0].ID]
	return Engagement{
		CostID: fmt.Sprintf("emu-%s-%03d-%07d-%016x", DayTime(day).Format("20060102"), app, n, check),
		App:    a.Name, AppToken: a.Token, Campaign: sl.campaign, Network: sl.network,
		Time: time.Unix(int64(f.Hour)*3600+int64(r.Below(3600)), 0).UTC(),
		Fact: f, app: app, place: place,
	}, true
}

// FindEngagement returns the engagement of a Cost ID; false when no engagement has it, or when its
// day has no data.
func (w *World) FindEngagement(costID string, now time.Time) (Engagement, bool) {
	parts := strings.Split(costID, "-")
	if len(parts) != 5 || parts[0] != "emu" {
		return Engagement{}, false
	}
	t, err := time.Parse("20060102", parts[1])
	if err != nil {
		return Engagement{}, false
	}
	account := w.Account()
	app, err := strconv.Atoi(parts[2])
	if err != nil || app < 0 || app >= len(account.Apps) {
		return Engagement{}, false
	}
	n, err := strconv.Atoi(parts[3])
	if err != nil || n < 0 || n >= engagementsPerDay {
		return Engagement{}, false
	}
	day := DayOf(t)
	if day < w.FirstDay || day > DayOf(now) {
		return Engagement{}, false
	}
	e, ok := w.engagementOf(&account.Apps[app], app, day, n)
	return e, ok && e.CostID == costID
}

// firstSpendRow is the first row number of an app's day that is for spend; makeDay's rows have
// lower numbers. Each paid row of makeDay has four numbers from here on, one for each way of
// paying.
const firstSpendRow = 200

// SpendRow returns the id of the fact that holds spend for the engagement when it is paid for in
// this way.
func (e Engagement) SpendRow(pricing int) int {
	return (e.Fact.Day*MaxApps+e.app)*rowsPerDay + firstSpendRow + e.place*4 + pricing - 1
}

// paidDays remembers what paidFacts made, because that is called for every record of spend.
type paidDays struct {
	mu   sync.Mutex
	days map[appDay][]Fact
}

// paidFacts returns an app's facts of a day that came through some network: neither organic nor
// test traffic.
func (w *World) paidFacts(a *App, app, day int) []Fact {
	p := &w.paid
	k := appDay{app, day}
	p.mu.Lock()
	defer p.mu.Unlock()
	if facts, ok := p.days[k]; ok {
		return facts
	}
	var facts []Fact
	for _, f := range makeDay(w.Seed, app, a, day) {
		if f.Engagement != EngagementNone && f.sandbox == 0 {
			facts = append(facts, f)
		}
	}
	if p.days == nil {
		p.days = map[appDay][]Fact{}
	}
	p.days[k] = facts
	return facts
}
