package refresh

import (
	"cmp"
	"math/big"
	"slices"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// A Move is a change and its size: how much it is of the metric's average over the table's
// partitions that have any of it. So a change of a big day comes before one of a small day,
// whatever the metric is counted in.
type Move struct {
	Change
	Size float64 `json:"size"`
}

// Moves are the changes of a history, the biggest first, of a table whose records are done.
func Moves(history []ledger.Record, done ledger.Records) (list []Move) {
	changes := Changes(history)
	if len(changes) == 0 {
		return nil
	}
	usual := averages(done)
	for _, c := range changes {
		one := Move{Change: c}
		if delta, ok := new(big.Rat).SetString(c.Delta); ok && delta.Sign() != 0 {
			if all := usual[c.Metric]; all != nil {
				delta.Quo(delta, all)
			} // else no partition has any of it now, and a unit of it is as much as a usual day
			one.Size, _ = delta.Float64()
		}
		list = append(list, one)
	}
	slices.SortStableFunc(list, func(a, b Move) int { return cmp.Compare(max(b.Size, -b.Size), max(a.Size, -a.Size)) })
	return list
}

// averages are the sums of a table's metrics, and its rows, by partition that has any.
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
