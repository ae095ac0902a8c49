package reading

import (
	"cmp"
	"slices"
	"sync"
)

// Row is a choice of one reading for each topic, for New. Row 0 has all defaults, the rows before
// Diagonal have every reading at least once, and all Rows rows have every two readings of different
// topics together at least once.
func Row(n int) (choices []string) {
	for i, t := range Topics() {
		choices = append(choices, t.Name+"="+t.Readings[rows()[n%Rows()][i]].Name)
	}
	return choices
}

// Rows is how many rows have every two readings of different topics together at least once.
func Rows() int { return len(rows()) }

// Diagonal is how many rows have every reading at least once: the n-th has the n-th reading of
// every topic, counted round where it has fewer.
func Diagonal() (n int) {
	for _, t := range Topics() {
		n = max(n, len(t.Readings))
	}
	return n
}

// A pair is two readings of different topics, as places in Topics and in Topic.Readings. a is less
// than b.
type pair struct{ a, i, b, j int }

func pairOf(a, i, b, j int) pair {
	if a > b {
		return pair{b, j, a, i}
	}
	return pair{a, i, b, j}
}

// rows are the places of each row's readings. After the diagonal each begins with a pair that no
// row has yet, and takes for one topic after the other, those of most readings first, the reading
// that makes the most such pairs with what was taken before. That is the greedy algorithm of Cohen
// and others, The AETG System (IEEE Transactions on Software Engineering 23, 1997), without its
// lots.
var rows = sync.OnceValue(func() (rows [][]int) {
	topics := Topics()
	var pairs []pair
	for a, t := range topics {
		for i := range t.Readings {
			for b := a + 1; b < len(topics); b++ {
				for j := range topics[b].Readings {
					pairs = append(pairs, pair{a, i, b, j})
				}
			}
		}
	}
	left := make(map[pair]bool, len(pairs))
	for _, p := range pairs {
		left[p] = true
	}
	add := func(row []int) {
		for a, i := range row {
			for b := a + 1; b < len(row); b++ {
				delete(left, pair{a, i, b, row[b]})
			}
		}
		rows = append(rows, row)
	}
	for n := range Diagonal() {
		row := make([]int, len(topics))
		for a, t := range topics {
			row[a] = n % len(t.Readings)
		}
		add(row)
	}
	order := make([]int, len(topics))
	for a := range order {
		order[a] = a
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(len(topics[b].Readings),
			len(topics[a].Readings))
	})
	for _, p := range pairs {
		if !left[p] {
			continue
		}
		row := make([]int, len(topics))
		row[p.a], row[p.b] = p.i, p.j
		taken := []int{p.a, p.b}
		for _, a := range order {
			if a == p.a || a == p.b {
				continue
			}
			most := -1
			for k := range topics[a].Readings {
				// So that among equals no reading comes first in every row.
				i, n := (k+len(rows))%len(topics[a].Readings), 0
				for _, b := range taken {
					if left[pairOf(a, i, b, row[b])] {
						n++
					}
				}
				if n > most {
					row[a], most = i, n
				}
			}
			taken = append(taken, a)
		}
		add(row)
	}
	return rows
})
