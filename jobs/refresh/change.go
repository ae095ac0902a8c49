package refresh

import (
	"cmp"
	"maps"
	"math/big"
	"slices"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// RowCount is the metric of a Change that says how many rows a partition has.
const RowCount = "rows"

// A Change is a number of a partition that a later fetch brought with another value.
type Change struct {
	Partition civil.Date `json:"partition"`
	Seq       int        `json:"seq"`    // of the record that has the new number
	Before    time.Time  `json:"before"` // when the old number was fetched last
	Now       time.Time  `json:"now"`    // when the new number was fetched first
	Run       string     `json:"run"`    // the run that brought the new number
	Metric    string     `json:"metric"` // a metric, RowCount or Rebaseline
	Was       string     `json:"was"`    // exact decimals, without zeros at the end
	Is        string     `json:"is"`
	Delta     string     `json:"delta"` // Is less Was
	Reason    string     `json:"reason,omitempty"`
	// The finality of the old number when it was fetched last. One that was Final shouldn't have
	// changed.
	Finality string `json:"finality,omitempty"`
}

// Changes derives from a table's history which numbers changed, in the history's order and by
// metric.
//   - A partition's first content is no change.
//   - A sum that only one of two contents has is a change when the other has no rows. Otherwise its
//     column was added or removed, which is no change.
//   - Rows that changed although no sum did are a change of RowCount by 0.
//   - Contents of different meanings aren't compared: see Rebaselined.
func Changes(history []ledger.Record) (out []Change) {
	for was, is := range successive(history) {
		if rebaselined(was, is) {
			continue
		}
		c := changeOf(was, is)
		before := len(out)
		a, b := Numbers(was), Numbers(is)
		for _, metric := range names(a, b) {
			if a[metric] == nil && was.Rows > 0 || b[metric] == nil && is.Rows > 0 {
				continue
			}
			if moved := c.ofMetric(metric, a[metric], b[metric]); moved.Delta != "0" {
				out = append(out, moved)
			}
		}
		if len(out) == before && was.Hash != is.Hash && was.Shape == is.Shape && was.State == is.State {
			out = append(out, c.ofMetric(RowCount, a[RowCount], b[RowCount]))
		}
	}
	return out
}

// ofMetric returns the change of one metric. A number that is missing counts as 0.
func (c Change) ofMetric(metric string, was, is *big.Rat) Change {
	was, is = cmp.Or(was, new(big.Rat)), cmp.Or(is, new(big.Rat))
	c.Metric, c.Was, c.Is, c.Delta = metric, Decimal(was), Decimal(is), Decimal(new(big.Rat).Sub(is, was))
	return c
}

// Numbers returns the sums of a record, and its number of rows under RowCount.
func Numbers(e ledger.Record) map[string]*big.Rat {
	all := map[string]*big.Rat{}
	for name, text := range e.Sums {
		if n, ok := new(big.Rat).SetString(text); ok {
			all[name] = n
		}
	}
	all[RowCount] = new(big.Rat).SetInt64(e.Rows)
	return all
}

// names returns the names that a or b has, sorted.
func names(a, b map[string]*big.Rat) []string {
	both := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(both)
	return slices.Compact(both)
}

// Decimal writes a sum, which has finitely many decimals, with all of them.
func Decimal(n *big.Rat) string {
	digits, _ := n.FloatPrec()
	return n.FloatString(digits)
}
