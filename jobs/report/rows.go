package report

import (
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/reportferry/reportferry/internal/catalog"
)

// rowsByKey holds the metrics of the rows of one content of a partition, by keyOf their dimensions.
// Several rows may have the same key.
type rowsByKey map[string][][]string

// keyOf joins a row's dimensions to one text. It quotes them, so that different rows have different
// keys whatever their cells hold.
func keyOf(cells []string) string {
	var b strings.Builder
	for _, c := range cells {
		b.WriteString(strconv.Quote(c))
	}
	return b.String()
}

// A Row is a row that differs between two contents of a partition.
type Row struct {
	Change  string // appeared, vanished or changed
	Key     []string
	Numbers []Number // the metrics that differ, or all if the row appeared or vanished
}

// A Number is one metric of a Row. Numbers are exact decimals without zeros at the end; NULL is
// empty.
type Number struct {
	Metric  string
	Was, Is string
	Delta   string // Is less Was, where both are numbers
}

// The values of Row.Change.
const (
	Appeared = "appeared"
	Vanished = "vanished"
	Changed  = "changed"
)

// compareRows returns the rows that differ, ordered by their keys, and the number of the others.
// When several rows have the same key, equal ones are paired first, and the rest are sorted and
// compared one by one.
func compareRows(was, is rowsByKey, keys map[string][]string, metrics []string) (rows []Row, same int) {
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		before, now := slices.Clone(was[key]), slices.Clone(is[key])
		before = slices.DeleteFunc(before, func(row []string) bool {
			at := slices.IndexFunc(now, func(other []string) bool { return slices.Equal(row, other) })
			if at >= 0 {
				now = slices.Delete(now, at, at+1)
				same++
			}
			return at >= 0
		})
		slices.SortFunc(before, slices.Compare)
		slices.SortFunc(now, slices.Compare)
		for i := range max(len(before), len(now)) {
			r := Row{Change: Changed, Key: keys[key]}
			var a, b []string
			switch {
			case i >= len(before):
				r.Change, b = Appeared, now[i]
			case i >= len(now):
				r.Change, a = Vanished, before[i]
			default:
				a, b = before[i], now[i]
			}
			for m, name := range metrics {
				if n := numberOf(name, a, b, m); r.Change != Changed || n.Was != n.Is {
					r.Numbers = append(r.Numbers, n)
				}
			}
			rows = append(rows, r)
		}
	}
	return rows, same
}

// numberOf compares one metric of two rows. A row that isn't there is nil.
func numberOf(name string, was, is []string, at int) Number {
	n := Number{Metric: name}
	if was != nil {
		n.Was = was[at]
	}
	if is != nil {
		n.Is = is[at]
	}
	a, ok := rational(n.Was)
	b, both := rational(n.Is)
	if ok && both {
		n.Delta = exact(b.Sub(b, a))
	}
	return n
}

// sumRows adds up rows, metric by metric, into one row. NULLs are ignored; the sum of nothing but
// NULLs is NULL.
func sumRows(rows [][]string) [][]string {
	sums := make([]string, len(rows[0]))
	for m := range sums {
		var sum *big.Rat
		for _, row := range rows {
			if n, ok := rational(row[m]); ok {
				if sum == nil {
					sum = new(big.Rat)
				}
				sum.Add(sum, n)
			}
		}
		if sum != nil {
			sums[m] = exact(sum)
		}
	}
	return [][]string{sums}
}

// plain returns a cell of a metric as it is compared: a number in one spelling, and an empty text
// where the table has a NULL.
func plain(text string, typ catalog.Type) string {
	if typ == catalog.String {
		return text
	}
	if n, ok := rational(text); ok {
		return exact(n)
	}
	if slices.ContainsFunc([]string{"null", "nan", "none"},
		func(word string) bool { return strings.EqualFold(word, text) }) {
		return ""
	}
	return text
}

// longestNumber and largestExponent limit the memory that an exact number may take.
const (
	longestNumber   = 400
	largestExponent = 400
)

// rational parses a decimal number of limited size.
func rational(text string) (*big.Rat, bool) {
	if text == "" || len(text) > longestNumber || strings.ContainsAny(text, "/_xXpPoObB") {
		return nil, false
	}
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		if n, err := strconv.Atoi(text[at+1:]); err != nil || max(n, -n) > largestExponent {
			return nil, false
		}
	}
	return new(big.Rat).SetString(text)
}

// exact writes a number that has finitely many decimals, with all of them.
func exact(n *big.Rat) string {
	digits, _ := n.FloatPrec()
	return n.FloatString(digits)
}
