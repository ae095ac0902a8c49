package refresh

import (
	"cmp"
	"math/big"
	"slices"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// A Move is a change and its size: the quotient of the change and the average of the metric's
// absolute values over the table's partitions where it isn't 0. Its sign is the change's. So a
// change of a big day comes before one of a small day, whatever the metric is counted in.
type Move struct {
	Change
	Size float64 `json:"size"`
}

// Moves returns the changes of a table's history, the biggest first. done are the table's records.
func Moves(history []ledger.Record, done ledger.Records) (list []Move) {
	changes := Changes(history)
	if len(changes) == 0 {
		return nil
	}
	usual := averages(done)
	for _, c := range changes {
		one := Move{Change: c}
		if delta, ok := new(big.Rat).SetString(c.Delta); ok && delta.Sign() != 0 {
			if average := usual[c.Metric]; average != nil {
				delta.Quo(delta, average)
			} // without an average, no partition has any of the metric now, and its average counts as 1
			one.Size, _ = delta.Float64()
		}
		list = append(list, one)
	}
	slices.SortStableFunc(list, func(a, b Move) int { return cmp.Compare(max(b.Size, -b.Size), max(a.Size, -a.Size)) })
	return list
}

// averages returns the average of each metric, and of the number of rows, over the partitions in
// which it isn't 0.
func averages(records ledger.Records) map[string]*big.Rat {
	sum, n := map[string]*big.Rat{}, map[string]int64{}
	for _, e := range records {
		for metric, value := range Numbers(e) {
			if value.Sign() != 0 {
				sum[metric] = new(big.Rat).Add(cmp.Or(sum[metric], new(big.Rat)), value.Abs(value))
				n[metric]++
			}
		}
	}
	for metric, total := range sum {
		total.Quo(total, new(big.Rat).SetInt64(n[metric]))
	}
	return sum
}
