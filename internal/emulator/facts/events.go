package facts

import (
	"slices"
	"strings"
)

// eventDef is an event name with the apps that have it: the app with index i has it when
// i%every == from.
type eventDef struct {
	name, short, section, formatting string
	skad                             bool
	every, from                      int
	rate                             int // events per 1000 active users and day
	price                            int // micros of USD per event; 0: no revenue
}

// eventDefs are events as people name them: the same in several apps, near-doubles, periods and
// metric words inside.
var eventDefs = []eventDef{
	{"Purchase", "PUR", "revenue", "money", false, 1, 0, 45, 4_990_000},
	{"purchase completed", "PCO", "revenue", "money", false, 3, 1, 21, 9_990_000},
	{"Starter Pack", "", "revenue", "", false, 4, 0, 4, 1_990_000},
	{"Subscription Renewed", "SUB", "revenue", "money", false, 5, 2, 9, 12_500_000},
	{"Level Complete", "LVL", "events", "integer", false, 2, 0, 260, 0},
	{"level_10", "", "events", "integer", false, 2, 0, 55, 0},
	{"Tutorial Complete", "TUT", "conversion", "integer", false, 2, 1, 130, 0},
	{"Registration", "REG", "conversion", "integer", false, 3, 0, 110, 0},
	{"Add to Cart", "ATC", "events", "integer", false, 4, 1, 75, 0},
	{"session_start", "", "retention", "integer", false, 6, 0, 290, 0},
	{"Trial d7", "", "retention", "integer", false, 4, 2, 13, 0},
	{"Day 1 Return", "", "retention", "integer", false, 6, 3, 95, 0},
	{"Coupon Redeemed", "", "cost", "money_precise", false, 5, 0, 8, 350_000},
	{"Media Cost Ack", "", "cost", "money", false, 6, 4, 3, 80_000},
	{"Refund Flagged", "", "fraud", "", false, 4, 3, 2, 0},
	{"Multi-Account Ban", "", "fraud", "integer", false, 7, 0, 1, 0},
	{"First Open", "FOP", "installs", "integer", false, 2, 0, 170, 0},
	{"Season Pass", "", "revenue", "money", false, 6, 5, 17, 6_000_000},
	{"Gift Purchase", "", "revenue", "money", false, 6, 3, 12, 3_300_000},
	{"SKAN Purchase", "SKP", "conversion_events", "integer", true, 2, 1, 30, 5_000_000},
	{"SKAN Install Quality", "", "conversion_values", "integer", true, 3, 1, 60, 0},
	{"Farewell Gift", "", "events", "integer", false, 12, 11, 7, 0}, // the last app's alone: gone in a smaller account
}

// Event is an element of the answer of GET /events. The order of fields is the answer's.
type Event struct {
	ID          string              `json:"id"`
	Name        string              `json:"name"`
	ShortName   string              `json:"short_name"`
	Section     string              `json:"section"`
	Formatting  *string             `json:"formatting"`
	Description string              `json:"description"`
	AppToken    []string            `json:"app_token"`
	Tokens      []string            `json:"tokens"`
	IsSkadEvent bool                `json:"is_skad_event"`
	Mapping     map[string][]string `json:"app_token_x_event_tokens_mapping,omitempty"`
}

// Catalog is every event of the account, sorted by slug.
type Catalog struct {
	Records []Event        // with mappings
	Index   map[string]int // numbers in app_events, by slug
	// Slugs are names in small letters, blanks and all.
	nameSlugs bool
	rates     []eventRate
}

// eventRate is how often one app's users trigger an event (rate, in millionths a user and day), and
// what it brings (price, in micros of USD).
type eventRate struct{ app, event, rate, price int }

// fill makes the events of the seed's apps.
func (c *Catalog) fill(seed int64, defs []eventDef, apps []App) {
	c.Index = map[string]int{}
	type owner struct {
		def  int
		apps []int
	}
	var owners []owner
	// Find the apps of each event.
	for d, def := range defs {
		o := owner{def: d}
		for i := range apps {
			if i%def.every == def.from {
				o.apps = append(o.apps, i)
			}
		}
		if len(o.apps) > 0 {
			owners = append(owners, o)
		}
	}
	// Make the record of each event, with its tokens and rates in each app.
	for _, o := range owners {
		def := defs[o.def]
		rec := newEvent(def, "")
		for _, i := range o.apps {
			r := NewRandom(seed, 4, i, o.def)
			tokens := []string{r.Token(6)}
			if r.Below(8) == 0 { // renamed or doubled in the dashboard: two tokens under one name
				tokens = append(tokens, r.Token(6))
			}
			rec.AppToken = append(rec.AppToken, apps[i].Token)
			rec.Tokens = append(rec.Tokens, tokens...)
			rec.Mapping[apps[i].Token] = tokens
		}
		rec.ID = c.slugOf(def.name, rec.Tokens[0])
		for _, i := range o.apps {
			apps[i].Events = append(apps[i].Events, AppEvent{Name: def.name, Slug: rec.ID,
				Token: rec.Mapping[apps[i].Token][0]})
			r := NewRandom(seed, 5, i, o.def)
			c.rates = append(c.rates, eventRate{app: i, event: o.def, rate: def.rate * r.Between(60, 140) * 10,
				price: def.price})
		}
		c.Records = append(c.Records, rec)
		c.Index[rec.ID] = o.def
	}
	slices.SortFunc(c.Records, func(a, b Event) int { return compareID(a, b.ID) })
}

// newEvent returns an event that no app has yet.
func newEvent(def eventDef, slug string) Event {
	e := Event{ID: slug, Name: def.name, ShortName: def.short, Section: def.section, IsSkadEvent: def.skad,
		Description: "Event " + def.name, Mapping: map[string][]string{}}
	if def.formatting != "" {
		e.Formatting = &def.formatting
	}
	return e
}

// compareID orders records by their slugs.
func compareID(e Event, slug string) int { return strings.Compare(e.ID, slug) }

// slugOf returns the slug of an event name. If the name has no letter or digit that a slug may
// hold, the slug is made of token.
func (c *Catalog) slugOf(name, token string) string {
	if c.nameSlugs {
		return strings.ToLower(strings.Join(strings.Fields(name), " "))
	}
	plain := false
	slug := strings.Map(func(c rune) rune {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			plain = true
			return c
		}
		return '_'
	}, name)
	if !plain {
		return "event_" + token
	}
	return slug
}

// BySlug returns the record of a slug that is in the index.
func (c *Catalog) BySlug(slug string) *Event {
	i, _ := slices.BinarySearchFunc(c.Records, slug, compareID)
	return &c.Records[i]
}
