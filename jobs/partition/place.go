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

// Place says in which groups of rows a metric differs, those with the largest differences first:
// "app_token abc123, network X". The groups go by the values of by. Where there are more than that
// names, and it is all of them, every says so. The place is empty when the metric differs in none.
func Place(by []string, metric string, groups map[string][]ledger.Difference, all int) (where string, every bool) {
	type place struct {
		group string
		apart *big.Rat
	}
	var found []place
	for group, differences := range groups {
		for _, d := range differences {
			if d.Metric == metric {
				apart := new(big.Rat).Sub(exactly(d.Total), exactly(d.Rows))
				found = append(found, place{group, apart.Abs(apart)})
			}
		}
	}
	if len(found) > MostPlaces && len(found) == all {
		return fmt.Sprintf("each %s of %d", strings.Join(by, " and "), all), true
	}
	slices.SortFunc(found, func(a, b place) int {
		return cmp.Or(b.apart.Cmp(a.apart), cmp.Compare(a.group, b.group))
	})
	var words []string
	for i, p := range found {
		if i == MostPlaces {
			words = append(words, fmt.Sprintf("and %d more", len(found)-i))
			break
		}
		words = append(words, named(by, p.group))
	}
	return strings.Join(words, "; "), false
}

// named puts the values of a group behind the names of their columns.
func named(by []string, group string) string {
	var words []string
	for i, value := range strings.Split(group, table.GroupSeparator) {
		words = append(words, by[i]+" "+cmp.Or(value, `""`))
	}
	return strings.Join(words, ", ")
}
