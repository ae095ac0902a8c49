package partition

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// MostPlaces is how many groups a difference names.
const MostPlaces = 3

// Place names the groups of rows in which a metric differs, those with the largest differences
// first: "app_token abc123, network X". A group has the same values in the columns by; all is how
// many groups there are. If the metric differs in all of them, and these are more than MostPlaces,
// where says only that, and every is true. where is empty if the metric differs in none.
func Place(by []string, metric string, groups map[string][]ledger.Difference, all int) (where string, every bool) {
	type place struct {
		group string
		apart *big.Rat
	}
	var places []place
	for group, differences := range groups {
		for _, d := range differences {
			if d.Metric == metric {
				apart := new(big.Rat).Sub(exactly(d.Total), exactly(d.Rows))
				places = append(places, place{group, apart.Abs(apart)})
			}
		}
	}
	if len(places) > MostPlaces && len(places) == all {
		return fmt.Sprintf("each %s of %d", strings.Join(by, " and "), all), true
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(b.apart.Cmp(a.apart), cmp.Compare(a.group, b.group))
	})
	var words []string
	for i, p := range places {
		if i == MostPlaces {
			words = append(words, fmt.Sprintf("and %d more", len(places)-i))
			break
		}
		words = append(words, named(by, p.group))
	}
	return strings.Join(words, "; "), false
}

// named returns the values of a group, each behind the name of its column.
func named(by []string, group string) string {
	var words []string
	for i, value := range strings.Split(group, table.GroupSeparator) {
		words = append(words, by[i]+" "+cmp.Or(value, `""`))
	}
	return strings.Join(words, ", ")
}
