package catalog

import (
	"regexp"
	"slices"
	"strings"
)

// Period tokens: days to 120, weeks to 52, months to 36, lower case (the service's glossary).
const periodRE = `(?:d(?:1[01][0-9]|120|[1-9]?[0-9])|w(?:5[0-2]|[1-4]?[0-9])|m(?:3[0-6]|[12]?[0-9]))`

// Ad revenue sources as slugs (the service's glossary).
var sources = []string{
	"unknown", "ironsource", "applovin_max", "mopub", "s2s", "admost", "admost_sdk", "admob", "ironsource_sdk",
	"applovin_max_sdk", "applovin_max_fb_only", "unity_sdk", "topon", "tapjoy", "helium_by_chartboost_sdk",
	"publisher_sdk",
}

var placeholders = map[string]string{
	"{p}":   periodRE,
	"{e}":   `x`, // EventMetric puts it before the suffix
	"{n}":   `[0-9]{1,2}`,
	"{src}": "(?:" + strings.Join(sources, "|") + ")",
}

type pattern struct {
	re    *regexp.Regexp
	event bool
	field Field
}

type patternList []pattern

func compilePatterns(all map[string]Field) patternList {
	var list patternList
	for _, slug := range sortedKeys(all) {
		if !strings.Contains(slug, "{") {
			continue
		}
		expr := regexp.QuoteMeta(slug)
		for name, re := range placeholders {
			expr = strings.ReplaceAll(expr, regexp.QuoteMeta(name), re)
		}
		list = append(list, pattern{regexp.MustCompile("^" + expr + "$"), strings.HasPrefix(slug, "{e}"), all[slug]})
	}
	// The pattern with the most fixed text is the one that is meant: {e}_{p}_events_cohort before {e}_events.
	slices.SortStableFunc(list, func(a, b pattern) int { return len(b.field.Slug) - len(a.field.Slug) })
	return list
}

func (l patternList) match(slug string, event bool) (Field, bool) {
	for _, p := range l {
		if p.event == event && p.re.MatchString(slug) {
			return p.field, true
		}
	}
	return Field{}, false
}
