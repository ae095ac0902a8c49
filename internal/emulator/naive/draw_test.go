package naive

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/reportferry/reportferry/internal/emulator/facts"
)

// naiveDeck deals its cards in random order and begins anew when all are dealt, so that none is
// missed for long.
type naiveDeck struct {
	cards []string
	left  []string
	shown map[string]int // by answers that had rows
}

func (d *naiveDeck) deal(r *rand.Rand) string {
	if len(d.left) == 0 {
		d.left = slices.Clone(d.cards)
		r.Shuffle(len(d.left), func(i, j int) { d.left[i], d.left[j] = d.left[j], d.left[i] })
	}
	card := d.left[len(d.left)-1]
	d.left = d.left[:len(d.left)-1]
	return card
}

// naiveDealer draws valid queries and counts what they are made of.
type naiveDealer struct {
	r        *rand.Rand
	decks    map[string]*naiveDeck
	families map[string][]string
	dealt    []naiveCard // for the query at hand
	near     int         // age that its cohorts' periods lie about, or -1 for any
}

type naiveCard struct{ deck, card string }

// naiveCards are the decks; parameters draw their values from the deck of their name, "" is their
// absence.
var naiveCards = map[string][]string{
	"slug form": {"*", "*", "*", "*", "*", "*", "*", "*", "*", "*", "*", "*", "*", "*", "*", "*", "*", "*", "*", "*",
		"*", "*", "*", "*",
		"mavg_7_*", "mavg_upper_28_95_*", "mavg_lower_3_80_*", "mavg_margin_of_error_14_90_*"},
	"dim op": naiveDimOps,
	"num op": naiveNumOps,
	"date_period": {"absolute", "absolute", "absolute", "absolute", "absolute", "single", "relative", "relative",
		"relative", "mixed", "mixed", "today", "yesterday", "this_week", "last_week",
		"this_month", "last_month", "this_month_until_yesterday"},
	"late date_period": {"absolute", "single", "relative", "mixed"},
	"zone": {"", "", "utc_offset=+00:00", "utc_offset=-03:30", "utc_offset=+14:00", "utc_offset=-11:00",
		"utc_offset=+05:45",
		"timezone_id=UTC", "timezone_id=Europe/Berlin", "timezone_id=America/New_York", "timezone_id=Asia/Kolkata",
		"timezone_id=Australia/Lord_Howe", "timezone_id=America/St_Johns",
		"timezone_id=Asia/Beirut", "timezone_id=America/Havana", "timezone_id=Africa/Cairo", "timezone_id=Africa/Cairo",
		"timezone_id=Asia/Beirut", "timezone_id=1", "timezone_id=6"},
	"currency":        {"", "", "USD", "eur", "JPY", "IDR", "KWD"},
	"ad_spend_mode":   {"", "adjust", "network", "mixed"},
	"readable_names":  {"", "", "true", "false"},
	"format_dates":    {"", "true", "false"},
	"cohort_maturity": {"", "", "immature", "mature", "fully_mature", "fully_mature"},
	"attribution_types": {"", "", "", "", "", "", "", "click", "impression", "engaged_ad", "click,engaged_ad",
		"Impression,CLICK,engaged_ad"},
	"attribution_source": {"", "dynamic", "first", "first"},
	"reattributed":       {"", "", "", "", "", "", "all", "true", "false"},
	"iap_revenue_mode": {"", "", "", "GROSS_100", "GROSS_95", "GROSS_85", "GROSS_80", "GROSS_70", "GROSS_65",
		"GROSS_60", "GROSS_50"},
	"sandbox": {"", "", "", "", "", "", "", "", "false", "true"},
	"ad_revenue_sources": {"", "", "", "unknown,IronSource,AppLovin Max,admob", "Unity SDK,TopOn SDK,ADX SDK",
		"SDK Tradplus,MoPub", "Tapjoy,publisher sdk,Fyber,Admost"},
	"without effect": {"", "", "", "", "", "full_data=true", "assisting_attribution_type=click",
		"include_attr_dependency=false", "nosuch=1,2", "format=csv"},
	"attribution_type": {"", "", "", "all", "click", "impression"},
	"hour__between": {"", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "-10h:-0h", "-40h:-0h",
		"-150h:-3h", "-60h:-60h", "-99h:-42h"},
	"period_over_period": {"", "", "", "", "", "", "previous_day", "previous_week", "previous_month", "previous_year",
		"previous_period", "days ago", "date"},
	"os_names": {"", "", "", "", "", "", "", "", "ios", "android,IOS", "unknown", "windows,ios"},
	"limit":    {"", "", "", "", "", "1", "7", "1000"},
}

func newNaiveDealer(seed uint64, w *naiveWorld) *naiveDealer {
	d := &naiveDealer{r: rand.New(rand.NewPCG(seed, 20260329)), decks: map[string]*naiveDeck{}}
	add := func(name string, cards []string) { d.decks[name] = &naiveDeck{cards: cards, shown: map[string]int{}} }
	for name, cards := range naiveCards {
		add(name, cards)
	}
	d.families = w.families()
	add("family", slices.Sorted(maps.Keys(d.families)))
	var dims []string
	for _, n := range naiveDims {
		dims = append(dims, n.slug)
	}
	add("dimension", dims)
	add("filter dimension", dims)
	return d
}

func (d *naiveDealer) card(deck string) string {
	card := d.decks[deck].deal(d.r)
	d.dealt = append(d.dealt, naiveCard{deck, card})
	return card
}

// settle counts the cards of the last query if its answer had rows; else they have shown nothing
// and go back, to come again soon in other company.
func (d *naiveDealer) settle(rows bool) {
	for _, c := range d.dealt {
		deck := d.decks[c.deck]
		if rows {
			deck.shown[c.card]++
		} else if deck.shown[c.card] == 0 {
			deck.left = slices.Insert(deck.left, d.r.IntN(len(deck.left)+1), c.card)
		}
	}
	d.dealt = nil
}

// missed are the cards that no answer with rows had to do with.
func (d *naiveDealer) missed() (out []string) {
	for _, name := range slices.Sorted(maps.Keys(d.decks)) {
		for _, c := range slices.Compact(slices.Sorted(slices.Values(d.decks[name].cards))) {
			if d.decks[name].shown[c] == 0 {
				out = append(out, name+" "+c)
			}
		}
	}
	return out
}

// one draws from a list that isn't counted.
func one[T any](d *naiveDealer, list []T) T { return list[d.r.IntN(len(list))] }

func (d *naiveDealer) often(percent int) bool { return d.r.IntN(100) < percent }

// query draws a valid query against a world.
func (d *naiveDealer) query(w *naiveWorld) url.Values {
	v := url.Values{}
	set := func(name, value string) {
		if name != "" && value != "" {
			v.Set(name, value)
		}
	}
	maturity := d.card("cohort_maturity")
	set("cohort_maturity", maturity)
	if d.near = -1; strings.HasSuffix(maturity, "mature") || d.often(40) {
		d.near = facts.DayOf(w.now) - int(one(d, w.facts)[w.fcol["day"]])
	}
	var dims, metrics []string
	for range []int{1, 1, 1, 2, 2, 2, 3, 3, 4, 6}[d.r.IntN(10)] {
		dims = append(dims, d.card("dimension"))
	}
	zone, value, _ := strings.Cut(d.card("zone"), "=")
	if set(zone, value); zone == "timezone_id" {
		if d.often(30) { // hours that a zone repeats or leaves out
			dims = append([]string{"hour"}, dims[:min(1, d.r.IntN(3))]...)
		}
		if d.often(15) {
			set("utc_offset", "-07:00") // the zone goes before it
		}
	}
	for range 1 + d.r.IntN(9) {
		metrics = append(metrics, d.metric(w))
	}
	set("dimensions", d.list(dims))
	set("metrics", d.list(metrics))
	period, from := d.period(w)
	set("date_period", period)
	for _, name := range []string{"currency", "ad_spend_mode", "readable_names", "format_dates", "os_names", "limit",
		"attribution_types", "attribution_source", "reattributed", "iap_revenue_mode", "sandbox", "ad_revenue_sources",
		"attribution_type", "hour__between"} {
		set(name, d.card(name))
	}
	if h := v.Get("hour__between"); h != "" {
		to, ago := facts.DayOf(w.now)+1, 0
		if w.late {
			to = int(w.facts[len(w.facts)-1][w.fcol["day"]]) - 1
			ago = (facts.DayOf(w.now) - to) * 24
		}
		if d.often(85) { // few periods meet such hours
			from = int64(to - 8)
			set("date_period", facts.DayTime(to-8).Format(time.DateOnly)+":"+facts.DayTime(to).Format(time.DateOnly))
		}
		var first, last int
		if _, err := fmt.Sscanf(h, "-%dh:-%dh", &first, &last); err != nil {
			panic(err)
		}
		set("hour__between", fmt.Sprintf("-%dh:-%dh", first+ago, last+ago))
	}
	latest := int64(facts.DayOf(w.now))
	if w.late {
		latest = from // what comes after the loaded days mustn't be touched
	}
	switch p := d.card("period_over_period"); p {
	case "days ago":
		set("period_over_period", fmt.Sprintf("-%dd", int64(facts.DayOf(w.now))-latest+d.r.Int64N(20)))
	case "date":
		set("period_over_period", facts.DayTime(int(latest)-d.r.IntN(20)).Format(time.DateOnly))
	default:
		set("period_over_period", p)
	}
	kept := d.anchor(w, v)
	for d.often(40) {
		dim, op := d.card("filter dimension"), d.card("dim op")
		if dim == "app_token" && op == "in" {
			set("app_token__in", d.tokens(w)) // at least one app must match
		} else {
			set(dim+"__"+op, d.filterValue(w, kept, dim, op))
		}
	}
	for d.often(20) {
		slug := one(d, metrics)
		if d.often(40) {
			slug = d.metric(w)
		}
		set(slug+"__"+d.card("num op"), d.bound(w, slug))
	}
	if d.often(40) {
		var keys []string
		for range 1 + d.r.IntN(3) {
			keys = append(keys, one(d, []string{"", "-"})+one(d, slices.Concat(dims, metrics)))
		}
		set("sort", strings.Join(keys, ","))
	}
	if d.often(15) {
		set("index", d.list([]string{one(d, dims), one(d, dims)}))
	}
	if name, value, ok := strings.Cut(d.card("without effect"), "="); ok {
		set(name, value)
	}
	for _, name := range []string{"attribution_source", "cohort_maturity", "reattributed", "ad_spend_mode",
		"iap_revenue_mode", "sandbox", "readable_names", "period_over_period"} {
		if value := v.Get(name); d.often(10) && !strings.HasPrefix(value, "-") {
			set(name, strings.ToUpper(value)) // case doesn't matter
		}
	}
	return v
}

// list joins by commas; some people write blanks, empty entries and things twice.
func (d *naiveDealer) list(entries []string) string {
	switch text := strings.Join(entries, ","); {
	case d.often(6):
		return " " + strings.Join(entries, " , ") + " "
	case d.often(4):
		return text + ",," + entries[0]
	default:
		return text
	}
}

// metric fills in a family's placeholders. Periods are near and far, one of them always with the
// ages of this world.
func (d *naiveDealer) metric(w *naiveWorld) string {
	pattern := one(d, d.families[d.card("family")])
	n := []int{0, 1, 2, 3, 6, 7, 14, 30, 36, 52, 60, 120}
	period := fmt.Sprintf("d%d", one(d, n))
	if d.near >= 0 && d.often(80) { // just mature, or not quite
		period = fmt.Sprintf("d%d", max(0, d.near-d.r.IntN(4)))
	} else if d.often(40) {
		period = one(d, []string{"w0", "w1", "w2", "w4", "w52", "m0", "m1", "m2", "m12", "m36"})
	}
	event := one(d, slices.Sorted(maps.Keys(w.events)))
	slug := strings.NewReplacer("{p}", period, "{e}", event).Replace(pattern)
	switch form := d.card("slug form"); {
	case strings.HasPrefix(slug, "general_revenue_") && d.often(50):
		return strings.Replace(slug, "_", " ", 1)
	default:
		return strings.Replace(form, "*", slug, 1)
	}
}

// period draws a date_period that often holds data, in every form; from is its first day where that
// is drawn.
func (d *naiveDealer) period(w *naiveWorld) (period string, from int64) {
	first, last := w.facts[0][w.fcol["day"]], w.facts[len(w.facts)-1][w.fcol["day"]]
	a := first - 1 + d.r.Int64N(last-first+3)
	b := min(a+d.r.Int64N(9), last+2)
	deck := "date_period"
	if w.late { // a day of a zone reaches into the next day of UTC
		b, deck = min(b, last-1), "late date_period"
	}
	a = min(a, b)
	date := func(day int64) string { return facts.DayTime(int(day)).Format(time.DateOnly) }
	today := int64(facts.DayOf(w.now))
	back := func(day int64) string { return fmt.Sprintf("-%dd", max(0, today-day)) }
	switch form := d.card(deck); form {
	case "absolute":
		return date(a) + ":" + date(b), a
	case "single":
		return date(a) + ":" + date(a), a
	case "relative":
		return back(a) + ":" + back(b), a - 1
	case "mixed":
		return date(min(a, today-1)) + ":" + back(min(b, today-1)), a
	default:
		return form, a
	}
}

func (d *naiveDealer) tokens(w *naiveWorld) string {
	tokens := []string{"nosuchtoken0"}
	for _, app := range w.apps {
		if d.often(60) || len(tokens) == 1 {
			tokens = append(tokens, one(d, []string{app, strings.ToUpper(app)}))
		}
	}
	return strings.Join(tokens, ",")
}

// anchor picks a fact that the query drawn so far keeps, for filters that keep it.
func (d *naiveDealer) anchor(w *naiveWorld, v url.Values) *naiveScope {
	q, err := w.parse(v)
	if err != nil {
		panic(err)
	}
	var all, kept []*naiveScope
	for _, f := range w.facts {
		s := &naiveScope{w: w, q: q, f: f, d: w.slices[f[w.fcol["slice"]]]}
		all = append(all, s)
		if w.keeps(s) {
			kept = append(kept, s)
		}
	}
	if len(kept) == 0 {
		kept = all
	}
	return one(d, kept)
}

// filterValue draws a text that mostly keeps a fact; letters change their case now and then.
func (d *naiveDealer) filterValue(w *naiveWorld, kept *naiveScope, dim, op string) string {
	label := func() string {
		f := one(d, w.facts)
		return w.label(&naiveScope{w: w, q: kept.q, f: f, d: w.slices[f[w.fcol["slice"]]]}, dim)
	}
	value := label()
	if op != "exclude" && !strings.HasPrefix(op, "not_") && d.often(85) {
		value = w.label(kept, dim)
	}
	switch {
	case strings.HasSuffix(op, "in"):
		for range d.r.IntN(3) {
			value += "," + label()
		}
	default:
		runes := []rune(value)
		n := 1 + d.r.IntN(len(runes))
		from := d.r.IntN(len(runes) - n + 1)
		if strings.HasSuffix(op, "starts_with") {
			from = 0
		} else if strings.HasSuffix(op, "ends_with") {
			from = len(runes) - n
		}
		value = string(runes[from : from+n])
	}
	if d.often(30) {
		value = one(d, []func(string) string{strings.ToUpper, strings.ToLower})(value)
	}
	return value
}

// bound draws a number that the metric's values lie around, often one of them exactly.
func (d *naiveDealer) bound(w *naiveWorld, slug string) string {
	if d.often(30) {
		return one(d, []string{"0", "1", "-1", "0.5", "100", "0.0", "2.25", "1000000", "1e3", "+12", ".75", " 3 ",
			"-0"})
	}
	m, err := w.metric(slug)
	if err != nil {
		panic(err)
	}
	q := &naiveQuery{loc: time.UTC, currency: naiveRates[0], gross: 100}
	g := &naiveGroup{w: w, q: q, known: map[string]naiveNumber{}}
	for range 1 + d.r.IntN(3) {
		f := one(d, w.facts)
		g.facts = append(g.facts, &naiveScope{w: w, q: q, f: f, d: w.slices[f[w.fcol["slice"]]]})
	}
	n, err := g.value(m)
	if err != nil {
		panic(err)
	}
	return n.text()
}
