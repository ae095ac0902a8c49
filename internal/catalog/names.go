package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/lazy"
)

// Line returns a line of the tables as it is there: a dimension, a metric, or a pattern with its
// placeholders.
func Line(name string) (Field, bool) {
	if f, ok := dimensions()[name]; ok {
		return f, true
	}
	f, ok := metrics()[name]
	return f, ok
}

// Periods returns the periods of cohorts: d0 to d120, w0 to w52 and m0 to m36.
func Periods() []string {
	return slices.Concat(numbers("d", 0, 120), numbers("w", 0, 52), numbers("m", 0, 36))
}

// usualPeriods are the periods that a completion offers before the first letter of one is typed.
var usualPeriods = []string{"d0", "d1", "d3", "d7", "d14", "d30"}

// numbers returns the numbers from first to last, each with a text before it.
func numbers(before string, first, last int) []string {
	var out []string
	for n := first; n <= last; n++ {
		out = append(out, fmt.Sprint(before, n))
	}
	return out
}

// placeholderRE matches a placeholder.
var placeholderRE = lazy.Regexp(`\{[a-z]+\}`)

// Placeholders returns the placeholders of a pattern, in its order. Any other slug has none.
func Placeholders(slug string) []string { return placeholderRE().FindAllString(slug, -1) }

// Filling says what a placeholder stands for.
func Filling(placeholder string) string {
	switch placeholder {
	case period:
		return "a period since the install: d0 to d120, w0 to w52 or m0 to m36, such as d7"
	case anyEvent:
		return "an event's slug, such as purchase; reportferry events lists the account's"
	case anyMetric:
		return "another metric, such as installs"
	case "{window}":
		return "a number of periods, such as 7"
	case "{confidence}":
		return "a percentage, such as 95"
	}
	words := choices[placeholder]
	if last := len(words) - 1; len(words) > 5 && strings.Trim(words[0]+words[last], "0123456789") == "" {
		return "a number from " + words[0] + " to " + words[last]
	}
	return "one of " + strings.Join(words, ", ")
}

// WithPeriod puts a cohort's period in the place of a pattern's {p}; an event's {e} stays. It
// returns false for a slug without {p}, and for one with other placeholders.
func WithPeriod(pattern, token string) (Field, bool) {
	slug := strings.ReplaceAll(pattern, period, token)
	if slug == pattern {
		return Field{}, false
	}
	suffix, event := strings.CutPrefix(slug, anyEvent+"_")
	if !event {
		return Metric(slug)
	}
	f, ok := EventMetric(suffix)
	f.Slug = slug
	return f, ok
}

// Starting lists the dimensions or the metrics that begin with a prefix, sorted, for completion in
// a shell. It fills in the placeholders of patterns:
//   - {p} with the usual periods, or with all that fit once the prefix reaches into the period
//   - one that stands for one of few words with these words, once the prefix has come to it
//
// Patterns with other placeholders, such as {e} and {m}, aren't listed.
func Starting(prefix string, ofMetrics bool) []string {
	var out []string
	lines := Dimensions()
	if ofMetrics {
		lines = Metrics()
	}
	for _, slug := range lines {
		out = expand(out, slug, prefix)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// expand appends the slugs to out that a slug or pattern stands for and that fit the prefix.
func expand(out []string, slug, prefix string) []string {
	// A slug without placeholders fits, or doesn't.
	before, _, pattern := strings.Cut(slug, "{")
	switch {
	case !strings.HasPrefix(before, prefix) && !strings.HasPrefix(prefix, before):
		return out
	case !pattern && len(prefix) > len(slug):
		return out
	case !pattern:
		return append(out, slug)
	}
	// The first placeholder of a pattern is replaced by each word that it may stand for.
	placeholder := Placeholders(slug)[0]
	words := choices[placeholder]
	switch {
	case placeholder == period && len(prefix) > len(before):
		words = Periods()
	case placeholder == period:
		words = usualPeriods
	case len(prefix) < len(before):
		return out
	}
	for _, word := range words {
		out = expand(out, strings.Replace(slug, placeholder, word, 1), prefix)
	}
	return out
}
