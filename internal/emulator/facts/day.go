package facts

// Fact is one row of base data: what one slice did in one hour. Money is in micros (millionths) of
// USD. See schema for what each column means.
type Fact struct {
	ID    int // orders facts by day, then app
	Day   int // days since 1970-01-01 UTC
	Hour  int // hours since 1970-01-01 UTC
	Slice int // ID of the Slice that the users belong to

	FirstSlice   int // ID of the slice that was engaged first, credited under attribution_source=first
	Engagement   int // one of EngagementNone to EngagementAd
	Reattributed int // 1 or 0
	AdSource     int // place in AdSources
	Pricing      int // what Spend is paid for: one of PayInstall to PayEvent, or 0
	Spend        int // attributed ad spend

	sandbox             int // 1 for test traffic
	salt                int // 0..999999: rounds this row's shares up or down, always the same way
	installs            int
	clicks, impressions int
	sessions, dau       int
	netSpend, netDrift  int // the network's final ad spend, and the error of its first figure, in parts per million
	revenue, adRevenue  int // by activity date
}

// Values of the column facts.engagement. EngagementNone is for organic users, and for users of the
// service's own networks.
const (
	EngagementNone = iota
	EngagementClick
	EngagementImpression
	EngagementAd
)

// rowsPerDay is how many row numbers an app's day has. A fact's id is
// (day*MaxApps + app)*rowsPerDay + row.
const rowsPerDay = 1000

// FirstFactID is the least id that a fact of the day can have: facts are ordered by day, then app.
func FirstFactID(day int) int { return day * MaxApps * rowsPerDay }

// weekdayShape is each weekday's traffic in percent of the ordinary, Sunday first. hourShape is how
// much of a day's traffic has come by the end of each hour, in percent.
var (
	weekdayShape = [7]int{121, 88, 90, 93, 97, 108, 126}
	hourShape    = [24]int{3, 5, 6, 7, 8, 9, 11, 14, 18, 22, 26, 31, 36, 41, 46, 51, 56, 62, 69, 77, 84, 90, 95, 100}
)

// makeDay makes an app's facts of one UTC day, from nothing but the seed, the app and the day.
func makeDay(seed int64, appIndex int, a *App, day int) []Fact {
	r := NewRandom(seed, 3, a.origin, day)
	weekday := int(DayTime(day).Weekday())
	volume := a.volume * weekdayShape[weekday] / 100 * r.Between(85, 115) / 100
	facts := make([]Fact, 0, len(a.Slices)*2)
	for i := range a.Slices {
		s := &a.Slices[i]
		paid := s.pricing != payNothing
		paused := 15 // percent of the days
		if s.ownNetwork {
			paused = 60
		}
		if s.network != organicNetwork && r.Below(100) < paused {
			continue // the campaign pauses
		}
		parts := 1
		if s.weight > 100 {
			parts = 3
		}
		for range parts {
			f := Fact{
				ID:  (day*MaxApps+appIndex)*rowsPerDay + len(facts),
				Day: day, Slice: s.ID, Hour: day*24 + r.hour(), salt: r.Below(Million), Pricing: s.pricing,
			}
			f.installs = (volume*s.weight*r.Between(60, 140)/100/parts + r.Below(1000)) / 1000
			if s.network != organicNetwork && !s.ownNetwork {
				f.clicks = f.installs*r.Between(8, 40) + r.Below(30)
				f.impressions = f.clicks * r.Between(12, 70)
				if r.Below(100) < 12 {
					f.installs = 0 // clicked, paid, nobody came
				}
			}
			// users are active in the hour besides those who install.
			users := volume * s.weight / 1000 * r.Between(3, 12) / parts
			f.dau = f.installs + users
			f.sessions = users*r.Between(12, 30)/10 + r.Below(3)
			if paid {
				f.Spend = spendOf(s.pricing, f.installs, f.clicks, f.impressions, r) * s.price / 100
			}
			if s.networkData {
				f.netSpend = f.Spend*r.Between(90, 115)/100 + r.Below(50_000)
				f.netDrift = r.Between(-250_000, 120_000)
			}
			f.revenue = (f.installs*2 + users/4) * r.Below(s.arpu) / 5
			f.adRevenue = (f.installs*2 + users/2) * r.Below(s.adpu) / 8
			facts = append(facts, f)
		}
	}
	facts = append(facts, makeQuietHours(seed, appIndex, a, day, facts)...)
	facts = append(facts, makeTests(seed, appIndex, a, day, len(facts))...)
	r = NewRandom(seed, 7, a.origin, day) // a stream of its own: what was made above stays what it was
	for i := range facts {
		f := &facts[i]
		f.credit(r, a)
		f.AdSource = adSourceAt(a.origin, r.Below(Million))
	}
	return facts
}

// credit sets which engagement brought the fact's users, and which was their first.
func (f *Fact) credit(r *Random, a *App) {
	s := &a.Slices[f.Slice-a.Slices[0].ID]
	f.FirstSlice = f.Slice
	if s.network == organicNetwork || s.ownNetwork {
		return
	}
	byClick, byImpression := 60, 30 // percent; engaged ads bring the rest
	if s.pricing == PayImpression {
		byClick, byImpression = 25, 65
	}
	switch x := r.Below(100); {
	case x < byClick:
		f.Engagement = EngagementClick
	case x < byClick+byImpression:
		f.Engagement = EngagementImpression
	default:
		f.Engagement = EngagementAd
	}
	if r.Below(100) < 22 { // perhaps another paid slice was engaged first
		if other := r.Below(len(a.Slices)); a.Slices[other].network != organicNetwork && !a.Slices[other].ownNetwork {
			f.FirstSlice = a.Slices[other].ID
		}
	}
	if r.Below(100) < 12 {
		f.Reattributed = 1
	}
}

// makeQuietHours gives each hour without users a few organic users who install nothing: an app of
// the real service has rows of all 24 hours. Source: a client's report by hour, in which 39 apps
// had 936 rows a day.
func makeQuietHours(seed int64, appIndex int, a *App, day int, made []Fact) (facts []Fact) {
	var busy [24]bool
	for _, f := range made {
		busy[f.Hour-day*24] = busy[f.Hour-day*24] || f.dau > 0
	}
	r := NewRandom(seed, 13, a.origin, day)
	for hour := range busy {
		if busy[hour] {
			continue
		}
		s := &a.Slices[r.Below(4*len(a.OSNames))] // organic ones come first
		users := r.Between(1, 5)
		facts = append(facts, Fact{
			ID:  (day*MaxApps+appIndex)*rowsPerDay + len(made) + len(facts),
			Day: day, Slice: s.ID, Hour: day*24 + hour, salt: r.Below(Million),
			sessions: users * r.Between(12, 30) / 10, dau: users,
		})
	}
	return facts
}

// makeTests makes an app's sandbox facts of a day: two testers' devices.
func makeTests(seed int64, appIndex int, a *App, day, firstRow int) []Fact {
	r := NewRandom(seed, 8, a.origin, day)
	facts := make([]Fact, 2)
	for i := range facts {
		s := &a.Slices[r.Below(len(a.Slices))]
		facts[i] = Fact{
			ID:  (day*MaxApps+appIndex)*rowsPerDay + firstRow + i,
			Day: day, Slice: s.ID, Hour: day*24 + r.hour(), salt: r.Below(Million), sandbox: 1, Pricing: s.pricing,
			installs: r.Between(1, 4), clicks: r.Between(4, 9), impressions: r.Between(9, 30),
			sessions: r.Between(2, 12),
			dau:      r.Between(4, 6), revenue: r.Between(0, 9) * 990_000, adRevenue: r.Between(0, 900_000),
		}
	}
	return facts
}

// hour draws an hour of the day by hourShape.
func (r *Random) hour() int {
	x := r.Below(100)
	for h, share := range hourShape {
		if x < share {
			return h
		}
	}
	return 23
}

// spendOf prices an hour of traffic in micros of USD.
func spendOf(pricing, installs, clicks, impressions int, r *Random) int {
	switch pricing {
	case PayInstall:
		return installs * r.Between(700_000, 3_400_000)
	case PayClick:
		return clicks * r.Between(20_000, 310_000)
	case PayImpression:
		return impressions * r.Between(1_500, 9_000)
	default: // PayEvent
		return (installs*3 + 1) * r.Between(90_000, 900_000)
	}
}
