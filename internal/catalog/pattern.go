package catalog

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/reportferry/reportferry/internal/lazy"
)

// periodRE matches the period of a cohort as slugs have it: days to 120, weeks to 52, months to 36
// (the service's glossary).
const periodRE = `d(?:1[01][0-9]|120|[1-9]?[0-9])|w(?:5[0-2]|[1-4]?[0-9])|m(?:3[0-6]|[12]?[0-9])`

// anyPeriod finds the last period token of a slug, also a longer one than the glossary has.
var anyPeriod = lazy.Regexp(`^(?:.*_)?([dwm])([0-9]{1,3})(?:_.*)?$`)

// horizon reads the period of a cohort from any slug: 90 days of anything_d90, 62 of anything_w8.
// It is 0 of a slug without one.
func horizon(slug string) int {
	found := anyPeriod().FindStringSubmatch(slug)
	if found == nil {
		return 0
	}
	n, _ := strconv.Atoi(found[2]) // three digits at most
	return lastDay(found[1][0], n)
}

// lastDay is the last day of a period, counted from the install: 7 of d7, 13 of w1.
func lastDay(unit byte, n int) int { return (n+1)*periodDays[unit] - 1 }

// periodDays is the number of days that one unit of a period token spans (the service's glossary).
var periodDays = map[byte]int{'d': 1, 'w': 7, 'm': 30}

// The placeholders that the code treats by themselves.
const (
	period    = "{p}" // of a cohort
	anyEvent  = "{e}" // an event's slug
	anyMetric = "{m}" // another metric's slug
)

// sources are the ad revenue sources, as slugs. The glossary lists those of the first three lines.
// Of the others only display names are known (OpenAPI file of June 2024), from which the slugs are
// made in the same way.
var sources = []string{
	"unknown", "ironsource", "applovin_max", "mopub", "s2s", "admost", "admost_sdk", "admob", "ironsource_sdk",
	"applovin_max_sdk", "applovin_max_fb_only", "unity_sdk", "topon", "tapjoy", "helium_by_chartboost_sdk",
	"publisher_sdk",
	"facebook_sdk", "topon_sdk", "adx_sdk", "sdk_tradplus", "api_tradplus", "fyber",
}

// Subscription events, and the kinds of subscription revenue (help center, metrics glossary).
var (
	subscriptionEvents = []string{
		"activation", "billing_retry", "cancellation", "discounted_offer", "expiration", "first_conversion",
		"grace_period", "on_hold", "paused", "price_accepted", "price_declined", "reactivation", "renewal",
		"renewal_from_billing_retry", "refund", "revoked", "trial_started",
	}
	subscriptionKinds = []string{
		"activation", "discounted_offer", "reactivation", "refund", "renewal", "renewal_from_billing_retry", "unknown",
	}
)

// choices are the placeholders that stand for one of few words.
var choices = map[string][]string{
	"{value}":    numbers("", 0, 63),
	"{bit}":      numbers("", 1, 6),
	"{coarse}":   {"null", "none", "low", "medium", "high"},
	"{postback}": numbers("", 0, 2),
	"{src}":      sources,
	"{sub}":      subscriptionEvents,
	"{kind}":     subscriptionKinds,
	"{from}":     append([]string{"install", "trial"}, subscriptionEvents...),
	"{to}":       append([]string{"trial"}, subscriptionEvents...),
}

// placeholders maps the other placeholders to what they match.
var placeholders = map[string]string{
	period:         periodRE,
	anyEvent:       `.+`,
	anyMetric:      `.+`,
	"{window}":     `[0-9]{1,3}`, // how it is written isn't documented
	"{confidence}": `[0-9]{1,3}`, // nor is this
}

// pattern is a metric whose slug has placeholders. A lookup skips nearly all patterns by what their
// slugs begin and end with, so that few regular expressions are ever compiled. To compile all of
// them would add 8 ms to every start.
type pattern struct {
	before, after string                // what the slug has before and after the placeholders
	expression    func() *regexp.Regexp // has a group for each placeholder, named like it without braces
	field         Field
}

// event tells whether the pattern is one of events' metrics.
func (p pattern) event() bool { return strings.HasPrefix(p.field.Slug, anyEvent) }

// A patternList has the patterns in the order of their slugs.
type patternList []pattern

// readPatterns returns the patterns among all metrics.
func readPatterns(all map[string]Field) patternList {
	var list patternList
	for _, slug := range sortedKeys(all) {
		first, last := strings.Index(slug, "{"), strings.LastIndex(slug, "}")
		if first >= 0 {
			list = append(list, pattern{slug[:first], slug[last+1:],
				sync.OnceValue(func() *regexp.Regexp { return compile(slug) }), all[slug]})
		}
	}
	return list
}

// compile returns the expression of a pattern's slug.
func compile(slug string) *regexp.Regexp {
	expr := regexp.QuoteMeta(slug)
	for name, words := range choices {
		expr = strings.ReplaceAll(expr, regexp.QuoteMeta(name), "(?P<"+strings.Trim(name, "{}")+">"+strings.Join(words,
			"|")+")")
	}
	for name, re := range placeholders {
		expr = strings.ReplaceAll(expr, regexp.QuoteMeta(name), "(?P<"+strings.Trim(name, "{}")+">"+re+")")
	}
	return regexp.MustCompile("^" + expr + "$")
}

// match finds the pattern that stands for a slug, and returns its metric, with the event's slug in
// e. With event it searches the patterns of events' metrics, else the others. It looks up a metric
// inside the slug by inner.
func (l patternList) match(slug string, event bool, inner func(string) (Field, bool)) (f Field, e string, ok bool) {
	for _, p := range l {
		if p.event() != event || !strings.HasPrefix(slug, p.before) || !strings.HasSuffix(slug, p.after) {
			continue
		}
		if found := p.expression().FindStringSubmatch(slug); found != nil {
			if f, e, ok = p.fill(slug, found, inner); ok {
				return f, e, true
			}
		}
	}
	return Field{}, "", false
}

// Without takes the value of a placeholder of the metric's pattern out of its slug: for
// retained_users_d7 and {p} the rest is retained_users, and the value is d7.
func (f Field) Without(placeholder string) (rest, value string, ok bool) {
	for _, p := range patterns() {
		if p.field.Slug != f.Pattern || !strings.Contains(f.Pattern, placeholder) {
			continue
		}
		at := p.expression().FindStringSubmatchIndex(f.Slug)
		if group := p.expression().SubexpIndex(strings.Trim(placeholder, "{}")); at != nil {
			before, value, after := f.Slug[:at[2*group]], f.Slug[at[2*group]:at[2*group+1]], f.Slug[at[2*group+1]:]
			if before == "" {
				return strings.TrimPrefix(after, "_"), value, true
			}
			return strings.TrimSuffix(before, "_") + after, value, true
		}
	}
	return "", "", false
}

// fill returns the metric of a slug; found holds the texts of its placeholders. ok is false when
// inner doesn't know the metric inside the slug.
func (p pattern) fill(slug string, found []string, inner func(string) (Field, bool)) (f Field, event string, ok bool) {
	f = p.field
	f.Slug, f.Pattern = slug, p.field.Slug
	// What each placeholder is replaced by in the description, and what it says of the metric.
	var words []string
	for i, name := range p.expression().SubexpNames()[1:] {
		text := found[i+1]
		words = append(words, "{"+name+"}", text)
		switch "{" + name + "}" {
		case period:
			n, _ := strconv.Atoi(text[1:]) // the expression lets digits through, no more than three
			words = append(words, "{P}", strings.ToUpper(text[1:]+text[:1]))
			f.Horizon = lastDay(text[0], n)
		case "{from}", "{to}": // the total that a rate divides by, and the one that it divides
			total := "subscription_" + text + "_events_total_{p}"
			switch text {
			case "install":
				total = "cohort_size_{p}"
			case "trial":
				total = "subscription_trial_started_events_total_{p}"
			}
			words = append(words, "{"+strings.ToUpper(name)+"}", total)
		case anyEvent:
			event = text
			if text != anyEvent {
				words = append(words, "{E}", text)
			}
		case anyMetric:
			within, known := inner(text)
			if !known {
				return Field{}, "", false
			}
			f.unit, f.Horizon, f.Accumulates, f.spend = within.Unit(), within.Horizon, within.Accumulates, within.spend
		}
	}
	filled := strings.NewReplacer(words...)
	f.Description = filled.Replace(filled.Replace(f.Description)) // a total has a placeholder, too
	return f, event, true
}
