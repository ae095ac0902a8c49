package catalog

import "slices"

// Nearest gives up to three of the names that are most like name, for "did you mean"; none when nothing is close.
func Nearest(name string, names []string) []string {
	type scored struct {
		name string
		d    int
	}
	var close []scored
	for _, n := range names {
		if d := distance(name, n); d <= max(2, len(name)/4) {
			close = append(close, scored{n, d})
		}
	}
	slices.SortStableFunc(close, func(a, b scored) int { return a.d - b.d })
	var out []string
	for _, s := range close[:min(3, len(close))] {
		out = append(out, s.name)
	}
	return out
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
