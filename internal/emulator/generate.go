package emulator

// fact is one row of base data: what one slice did in one hour. Money is in micros of USD.
type fact struct {
	id, day, slice, ts int // ts: hours since 1970-01-01 UTC
	salt               int // 0..999999: rounds this row's shares up or down, always the same way
	installs, clicks   int
	impressions        int
	sessions, dau      int
	spend              int // attributed ad spend
	netSpend, netDrift int // the network's final ad spend, and how far its first word was off, in parts per million
	revenue, adRevenue int // by activity date
	pricing            int // what spend is paid for

	firstSlice, engagement, reattributed, sandbox, adSource int // see schema
}

// Values of facts.engagement; users who came by none are organic.
const (
	engagementNone = iota
	engagementClick
	engagementImpression
	engagementAd
)

const rowsPerDay = 1000 // fact ids: (day*maxApps + app)*rowsPerDay + row

func firstFactID(day int) int { return day * maxApps * rowsPerDay }

// Weekday shape in percent, Sunday first; hour shape as a running share of the day's traffic in percent.
var (
	weekdayShape = [7]int{121, 88, 90, 93, 97, 108, 126}
	hourShape    = [24]int{3, 5, 6, 7, 8, 9, 11, 14, 18, 22, 26, 31, 36, 41, 46, 51, 56, 62, 69, 77, 84, 90, 95, 100}
)

// makeDay makes an app's facts of one UTC day, from nothing but the seed, the app and the day.
func makeDay(seed int64, appIndex int, a *App, day int) []fact {
	r := newRandom(seed, 3, appIndex, day)
	weekday := int(dayTime(day).Weekday())
	volume := a.volume * weekdayShape[weekday] / 100 * r.between(85, 115) / 100
	facts := make([]fact, 0, len(a.slices)*2)
	for i := range a.slices {
		s := &a.slices[i]
		paid := s.pricing != payNothing
		if s.network != organicNetwork && r.below(100) < 15 {
			continue // the campaign pauses
		}
		parts := 1
		if s.weight > 100 {
			parts = 3
		}
		for range parts {
			f := fact{
				id:  (day*maxApps+appIndex)*rowsPerDay + len(facts),
				day: day, slice: s.id, ts: day*24 + r.hour(), salt: r.below(million), pricing: s.pricing,
			}
			f.installs = (volume*s.weight*r.between(60, 140)/100/parts + r.below(1000)) / 1000
			if s.network != organicNetwork {
				f.clicks = f.installs*r.between(8, 40) + r.below(30)
				f.impressions = f.clicks * r.between(12, 70)
				if r.below(100) < 12 {
					f.installs = 0 // clicked, paid, nobody came
				}
			}
			users := volume * s.weight / 1000 * r.between(3, 12) / parts
			f.dau = f.installs + users
			f.sessions = users*r.between(12, 30)/10 + r.below(3)
			if paid {
				f.spend = spendOf(s.pricing, f.installs, f.clicks, f.impressions, r)
			}
			if s.networkData {
				f.netSpend = f.spend*r.between(90, 115)/100 + r.below(50_000)
				f.netDrift = r.between(-250_000, 120_000)
			}
			f.revenue = (f.installs*2 + users/4) * r.below(s.arpu) / 5
			f.adRevenue = (f.installs*2 + users/2) * r.below(s.adpu) / 8
			facts = append(facts, f)
		}
	}
	facts = append(facts, makeTests(seed, appIndex, a, day, len(facts))...)
	r = newRandom(seed, 7, appIndex, day) // a stream of its own: what was made above stays what it was
	for i := range facts {
		f := &facts[i]
		f.credit(r, a)
		f.adSource = adSourceAt(appIndex, r.below(million))
	}
	return facts
}

// credit says which engagement brought the fact's users, and which was their first.
func (f *fact) credit(r *random, a *App) {
	s := &a.slices[f.slice-a.slices[0].id]
	f.firstSlice = f.slice
	if s.network == organicNetwork {
		return
	}
	byClick, byImpression := 60, 30 // percent; engaged ads bring the rest
	if s.pricing == payImpression {
		byClick, byImpression = 25, 65
	}
	switch x := r.below(100); {
	case x < byClick:
		f.engagement = engagementClick
	case x < byClick+byImpression:
		f.engagement = engagementImpression
	default:
		f.engagement = engagementAd
	}
	if r.below(100) < 22 {
		if other := r.below(len(a.slices)); a.slices[other].network != organicNetwork {
			f.firstSlice = a.slices[other].id
		}
	}
	if r.below(100) < 12 {
		f.reattributed = 1
	}
}

// makeTests makes an app's sandbox facts of a day: two testers' devices.
func makeTests(seed int64, appIndex int, a *App, day, firstRow int) []fact {
	r := newRandom(seed, 8, appIndex, day)
	facts := make([]fact, 2)
	for i := range facts {
		s := &a.slices[r.below(len(a.slices))]
		facts[i] = fact{
			id:  (day*maxApps+appIndex)*rowsPerDay + firstRow + i,
			day: day, slice: s.id, ts: day*24 + r.hour(), salt: r.below(million), sandbox: 1, pricing: s.pricing,
			installs: r.between(1, 4), clicks: r.between(4, 9), impressions: r.between(9, 30), sessions: r.between(2, 12),
			dau: r.between(4, 6), revenue: r.between(0, 9) * 990_000, adRevenue: r.between(0, 900_000),
		}
	}
	return facts
}

func (r *random) hour() int {
	x := r.below(100)
	for h, share := range hourShape {
		if x < share {
			return h
		}
	}
	return 23
}

// spendOf prices an hour of traffic in micros of USD.
func spendOf(pricing, installs, clicks, impressions int, r *random) int {
	switch pricing {
	case payInstall:
		return installs * r.between(700_000, 3_400_000)
	case payClick:
		return clicks * r.between(20_000, 310_000)
	case payImpression:
		return impressions * r.between(1_500, 9_000)
	default: // payEvent
		return (installs*3 + 1) * r.between(90_000, 900_000)
	}
}
