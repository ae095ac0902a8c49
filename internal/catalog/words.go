package catalog

import (
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/lazy"
)

// Fold returns a word of the service's interface with the letters A to Z in lower case. It leaves
// other letters alone, because Unicode's lower case turns İ into i and the Kelvin sign into k, so
// that a wrong text would pass for a currency or a choice.
func Fold(word string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, word)
}

// SameWord tells whether two words of the interface are the same but for upper and lower case.
func SameWord(a, b string) bool { return Fold(a) == Fold(b) }

// Nearest returns up to three names that are most like name, for a "did you mean". It returns none
// when no name is close.
func Nearest(name string, names []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	var near []candidate
	for _, n := range names {
		if d := distance(name, n); d <= max(2, len(name)/4) {
			near = append(near, candidate{n, d})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return a.distance - b.distance })
	var out []string
	for _, c := range near[:min(3, len(near))] {
		out = append(out, c.name)
	}
	return out
}

// oneWordMore tells whether long is short with one more word in it, as retention_rate_d7 is
// retention_d7 with rate in it.
func oneWordMore(long, short string) bool {
	words := strings.Split(long, "_")
	for i := range words {
		if len(words) > 1 && strings.Join(slices.Delete(slices.Clone(words), i, i+1), "_") == short {
			return true
		}
	}
	return false
}

// cohortPeriod matches a cohort's period in a slug.
var cohortPeriod = lazy.Regexp(`_([dwm]\d+)(_|$)`)

// Suggestion says what may be meant by a metric that the service refuses, as the end of a sentence;
// empty when nothing is like it.
func Suggestion(slug string) string {
	if _, known := Metric(slug); known {
		return "it is known here, refused by this account: the plan may lack it"
	}
	names := Metrics()
	if at := cohortPeriod().FindStringSubmatch(slug); at != nil {
		for i, name := range names {
			names[i] = strings.ReplaceAll(name, period, at[1])
		}
	}
	near := Nearest(slug, names)
	if len(near) == 0 {
		near = slices.DeleteFunc(names, func(n string) bool { return !oneWordMore(n, slug) })
	}
	if slug != "" && len(near) > 0 {
		return "did you mean " + strings.Join(near, " or ") + "?"
	}
	return ""
}

// Doubt says that the catalogue doesn't know a column's name, and what may be meant. It is empty
// when the catalogue knows the name, or has nothing like it.
func Doubt(name string) string {
	_, dimension := Dimension(name)
	_, metric := Metric(name)
	_, guessed := Guess(name)
	if near := Suggestion(name); !dimension && !metric && !guessed && near != "" {
		return "the catalogue doesn't know " + name + "; " + near
	}
	return ""
}

// distance is the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			diagonal, row[j] = row[j], min(row[j]+1, row[j-1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
