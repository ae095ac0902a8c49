package partition

import (
	"cmp"
	"maps"
	"math/big"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// Compare holds what rows add up to against the totals that the service gives, under the same keys, which are partitions or
// groups of rows. It gives the columns that differ by more than the tolerance; a key without any isn't in it. The package
// documentation says what the tolerance is, and why.
func Compare[K comparable](columns []table.Column, rows, totals map[K]table.Part) map[K][]ledger.Difference {
	found := map[K][]ledger.Difference{}
	for _, c := range columns {
		decimals := max(decimalsOf(rows, c.Name), decimalsOf(totals, c.Name))
		compare := func(key K) {
			r, t := rows[key], totals[key]
			if differ(c, r, t, decimals) {
				d := ledger.Difference{Metric: c.Name, Rows: cmp.Or(r.Sums[c.Name], "0")}
				if t.Rows > 0 {
					d.Total = t.Sums[c.Name]
				}
				found[key] = append(found[key], d)
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
	return found
}

// decimalsOf is the most decimals that any cell of a column had.
func decimalsOf[K comparable](parts map[K]table.Part, column string) (most int) {
	for _, p := range parts {
		most = max(most, p.Decimals[column])
	}
	return most
}

// mostDecimals bounds how finely a tolerance is worked out, because an exponent may give a number any count of decimals.
const mostDecimals = 30

func differ(c table.Column, rows, total table.Part, decimals int) bool {
	r, t := exactly(rows.Sums[c.Name]), exactly(total.Sums[c.Name])
	apart := new(big.Rat).Sub(r, t)
	apart.Abs(apart)
	terms := rows.Rows + 1
	allowed := new(big.Rat)
	if c.Type != catalog.Int64 {
		most := mostDecimals
		if c.Type == catalog.Decimal {
			most = 6 // as many as a part stores
		}
		unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(min(decimals, most))), nil)
		allowed.SetFrac(big.NewInt(terms), unit.Lsh(unit, 1))
	}
	if c.Type == catalog.Double {
		size := new(big.Rat).Add(r.Abs(r), t.Abs(t))
		size.Mul(size, new(big.Rat).SetFrac(big.NewInt(terms), new(big.Int).Lsh(big.NewInt(1), 52)))
		allowed.Add(allowed, size)
	}
	return apart.Cmp(allowed) > 0
}

// exactly reads a sum of a part; none is 0, as a period without rows adds up to nothing.
func exactly(text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return new(big.Rat)
	}
	return r
}

// Add gives the totals of two answers that share no row: of other partitions, or of other apps.
func Add(columns []table.Column, a, b table.Part) table.Part {
	sum := table.Part{Partition: a.Partition, Rows: a.Rows + b.Rows, Sums: maps.Clone(a.Sums), Decimals: maps.Clone(a.Decimals)}
	for _, c := range columns {
		digits := map[catalog.Type]int{catalog.Decimal: 6, catalog.Double: mostDecimals}[c.Type]
		sum.Sums[c.Name] = new(big.Rat).Add(exactly(a.Sums[c.Name]), exactly(b.Sums[c.Name])).FloatString(digits)
		sum.Decimals[c.Name] = max(a.Decimals[c.Name], b.Decimals[c.Name])
	}
	return sum
}
