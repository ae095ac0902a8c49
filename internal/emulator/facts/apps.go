package facts

import "fmt"

// App is an app of the emulated account, with what its data is made from.
type App struct {
	Token   string   // 12 characters of [a-z0-9]
	Name    string   // may hold commas, quotes and any script
	OSNames []string // the os_name values that occur in its data, sorted
	Events  []AppEvent
	Slices  []Slice // its traffic; their ids are consecutive

	StoreID  string // ID in its platform's store; only a declared app has one
	FirstDay int    // first day with traffic, counted from 1970-01-01; 0: all days of the world

	renamed []Slice // copies of Slices, with labels that hold for some days; they have no traffic of their own

	// The number that everything but the IDs of its facts is made from: the app's place in the
	// seed's account or, for a declared app, a number made from its token.
	origin int
	volume int // installs of an ordinary day
}

// AppEvent is an event of one app. Events of several apps share a slug when they share a name.
type AppEvent struct {
	Name, Slug, Token string
}

// appOSNames has the os_name values of the seed's apps in turn: the seventh app has those of the
// first.
var appOSNames = [][]string{{"android", "ios"}, {"ios"}, {"android"}, {"android", "ios", "unknown"},
	{"android", "fire-tv"}, {"ios", "windows"}}

// makeApps makes the n apps of a seed.
func (names *Names) makeApps(seed int64, n int) []App {
	apps := make([]App, n)
	taken := map[string]bool{}
	firstSlice := 0
	for i := range apps {
		r := NewRandom(seed, 1, i)
		a := App{Name: fmt.Sprintf("App %d", i+1), OSNames: appOSNames[i%len(appOSNames)], origin: i}
		if i < len(names.apps) {
			a.Name = names.apps[i]
		}
		for a.Token == "" || taken[a.Token] {
			a.Token = r.Token(12)
		}
		taken[a.Token] = true
		a.volume = volumeOf(r)
		a.Slices = names.makeSlices(seed, i, firstSlice, a.OSNames)
		names.describe(seed, &a)
		firstSlice += len(a.Slices)
		apps[i] = a
	}
	return apps
}

// volumeOf draws how many installs an app has on an ordinary day.
func volumeOf(r *Random) int { return 60 << r.Below(6) * r.Between(80, 140) / 100 }
