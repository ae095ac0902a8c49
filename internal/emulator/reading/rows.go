package reading

import (
	"cmp"
	"slices"
	"sync"
)

// Row returns a choice of one reading for each topic, for New. Row 0 has all defaults. The rows
// before Diagonal together have every reading at least once, and all Rows rows have every pair of
// readings of different topics at least once.
func Row(n int) (choices []string) {
	for i, t := range Topics() {
		choices = append(choices, t.Name+"="+t.Readings[rows()[n%Rows()][i]].Name)
	}
	return choices
}

// Rows returns the number of rows that have every pair of readings of different topics.
func Rows() int { return len(rows()) }

// Diagonal returns the number of rows that have every reading at least once: the n-th row has the
// n-th reading of every topic, and begins anew with the first reading of a topic that has fewer.
func Diagonal() (n int) {
	for _, t := range Topics() {
		n = max(n, len(t.Readings))
	}
	return n
}

// A pair is two readings of different topics: a and b are indexes of Topics, i and j of their
// Readings. a is less than b.
type pair struct{ a, i, b, j int }

// pairOf returns the pair of reading i of topic a and reading j of topic b, in either order.
func pairOf(a, i, b, j int) pair {
	if a > b {
		return pair{b, j, a, i}
	}
	return pair{a, i, b, j}
}

// rows returns, for each row, the index of the reading of every topic. After the diagonal, each row
// begins with a pair that no row has yet. It then goes through the other topics, those of most
// readings first, and takes the reading that makes the most such pairs with the ones taken before.
// That is the greedy algorithm of Cohen and others, The AETG System (IEEE Transactions on Software
// Engineering 23, 1997), without its random choices.
var rows = sync.OnceValue(func() (rows [][]int) {
	// List all pairs of readings, which at first no row has.
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
	// Make the rows of the diagonal.
	for n := range Diagonal() {
		row := make([]int, len(topics))
		for a, t := range topics {
			row[a] = n % len(t.Readings)
		}
		add(row)
	}
	// Order the topics by their number of readings, and make a row for each pair that is left.
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
				// Each row begins at another reading, so that of several that make equally many
				// pairs it isn't always the same one that is taken.
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
