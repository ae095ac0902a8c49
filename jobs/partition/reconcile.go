package partition

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"strings"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// Shares says how far the sums of some columns, those of cohorts, may be from the service's totals
// if rounding allows less, as shares of the totals: 0.02 is 2 %.
type Shares map[string]float64

// Compare compares the sums of rows with the totals that the service gives under the same keys,
// which are partitions or groups of rows. It returns the columns that differ by more than the
// tolerance; a key without any isn't in the result. The package documentation says what the
// tolerance is, and why.
func Compare[K comparable](columns []table.Column, rows, totals map[K]table.Part,
	within Shares) map[K][]ledger.Difference {
	differing := map[K][]ledger.Difference{}
	for _, c := range columns {
		decimals := max(decimalsOf(rows, c.Name), decimalsOf(totals, c.Name))
		compare := func(key K) {
			r, t := rows[key], totals[key]
			if differ(c, r, t, decimals, within) {
				differing[key] = append(differing[key], within.difference(c, r, t))
			}
		}
		for key := range rows {
			compare(key)
		}
		for key := range totals {
			if _, both := rows[key]; !both {
				compare(key)
			}
		}
	}
	return differing
}

// difference describes how the rows of a column differ from their total.
func (s Shares) difference(c table.Column, rows, total table.Part) ledger.Difference {
	d := ledger.Difference{Metric: c.Name, Rows: cmp.Or(rows.Sums[c.Name], "0")}
	if total.Rows > 0 {
		d.Total = total.Sums[c.Name]
	}
	if _, own := s[c.Name]; own {
		d.Of = ledger.OfCohort
	}
	return d
}

// decimalsOf returns the most decimals that any cell of a column had.
func decimalsOf[K comparable](parts map[K]table.Part, column string) (most int) {
	for _, p := range parts {
		most = max(most, p.Decimals[column])
	}
	return most
}

// mostDecimals bounds how finely a tolerance is worked out, because an exponent may give a number
// any count of decimals.
const mostDecimals = 30

// differ tells whether a column differs from its total by more than the tolerance.
func differ(c table.Column, rows, total table.Part, decimals int, within Shares) bool {
	apart, likely, most := distance(c, rows, total, decimals)
	return apart.Cmp(likely) > 0 && apart.Cmp(most) > 0 && apart.Cmp(within.allowed(c, total)) > 0
}

// allowed returns how far a column's rows may be from this total if rounding allows less.
func (s Shares) allowed(c table.Column, total table.Part) *big.Rat {
	share := new(big.Rat).SetFloat64(s[c.Name])
	return share.Abs(share.Mul(share, exactly(total.Sums[c.Name])))
}

// Near names the sums of a reconciled partition that are further from their totals than rounding is
// likely to bring them, but as near as is allowed: money when all prices are rounded the same way,
// and any column with a share of its own, whose differences are returned in apart. why is empty if
// there are none.
func Near(columns []table.Column, rows, total table.Part, within Shares) (why string, apart []ledger.Difference) {
	var words []string
	for _, c := range columns {
		off, likely, most := distance(c, rows, total, max(rows.Decimals[c.Name], total.Decimals[c.Name]))
		allows := "rounding"
		switch {
		case off.Cmp(likely) <= 0:
			continue
		case off.Cmp(most) <= 0:
		case off.Cmp(within.allowed(c, total)) <= 0:
			allows, apart = "reconcile: cohorts", append(apart, within.difference(c, rows, total))
		default:
			continue
		}
		words = append(words, fmt.Sprintf("%s within %s of %s, as %s allows", c.Name, ledger.Plain(off.FloatString(6)),
			ledger.Plain(total.Sums[c.Name]), allows))
	}
	return strings.Join(words, "; "), apart
}

// distance returns how far the sum of a column is from its total, how far rounding is likely to
// bring it, and how far rounding may bring it at most. Errors of rounding are spread evenly over a
// unit, whose standard deviation is 0.29 units. For n cells the deviation is 0.29 times the root of
// n, and six times that is never exceeded by chance.
func distance(c table.Column, rows, total table.Part, decimals int) (apart, likely, most *big.Rat) {
	r, t := exactly(rows.Sums[c.Name]), exactly(total.Sums[c.Name])
	apart = new(big.Rat).Sub(r, t)
	apart.Abs(apart)
	likely, most = new(big.Rat), new(big.Rat)
	terms := rows.Rows + 1
	if c.Type != catalog.Int64 || decimals > 0 { // counts have decimals where fractions were rounded
		finest := mostDecimals
		switch c.Type {
		case catalog.Decimal:
			finest = 6 // as many as a part stores
		case catalog.Int64:
			finest = 0
		}
		unit := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Exp(big.NewInt(10),
			big.NewInt(int64(min(decimals, finest))), nil))
		cells := terms
		if n, counted := rows.Cells[c.Name]; counted {
			cells = n + 1
		}
		worst := new(big.Rat).Mul(unit, big.NewRat(max(terms, cells), 2))
		six := new(big.Rat).SetFloat64(6 * 0.29 * math.Sqrt(float64(cells)))
		likely = smaller(six.Mul(six, unit), worst)
		hundredth := new(big.Rat).Mul(t, big.NewRat(1, 100))
		most = smaller(worst, hundredth.Abs(hundredth))
	}
	if c.Type == catalog.Double {
		size := new(big.Rat).Add(r.Abs(r), t.Abs(t))
		size.Mul(size, new(big.Rat).SetFrac(big.NewInt(terms), new(big.Int).Lsh(big.NewInt(1), 52)))
		likely.Add(likely, size)
	}
	return apart, likely, most
}

// smaller returns the smaller of two numbers.
func smaller(a, b *big.Rat) *big.Rat {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}

// exactly reads a sum of a part. A missing sum is 0, as a period without rows adds up to nothing.
func exactly(text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return new(big.Rat)
	}
	return r
}

// Equal tells whether two sums of parts are the same number.
func Equal(a, b string) bool { return exactly(a).Cmp(exactly(b)) == 0 }

// Add returns the totals of two answers that share no row: of different partitions, or of different
// apps. Only the given columns have a total.
func Add(columns []table.Column, a, b table.Part) table.Part {
	sum := table.Part{Partition: a.Partition, Rows: a.Rows + b.Rows, Sums: map[string]string{},
		Decimals: map[string]int{}}
	for _, c := range columns {
		digits := map[catalog.Type]int{catalog.Decimal: 6, catalog.Double: mostDecimals}[c.Type]
		sum.Sums[c.Name] = new(big.Rat).Add(exactly(a.Sums[c.Name]), exactly(b.Sums[c.Name])).FloatString(digits)
		sum.Decimals[c.Name] = max(a.Decimals[c.Name], b.Decimals[c.Name])
	}
	return sum
}
