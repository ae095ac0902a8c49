package refresh

import (
	"cmp"
	"iter"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// RowCount is the metric of a Change that says how many rows a partition has.
const RowCount = "rows"

// A Change is a number of a partition that another fetch brought otherwise.
type Change struct {
	Partition civil.Date `json:"partition"`
	Seq       int        `json:"seq"`    // of the record by which the new number holds
	Before    time.Time  `json:"before"` // when the old number was fetched last
	Now       time.Time  `json:"now"`    // when the new one was fetched first
	Run       string     `json:"run"`    // that brought it
	Metric    string     `json:"metric"` // or RowCount, or Rebaseline
	Was       string     `json:"was"`    // exact decimals, without zeros at the end
	Is        string     `json:"is"`
	Delta     string     `json:"delta"` // Is less Was
	Reason    string     `json:"reason,omitempty"`
	Finality  string     `json:"finality,omitempty"` // of the old number, when it was fetched last: Final is one that shouldn't have changed
}

// Changes derives what has moved from a table's history, in its order and by metric. A partition's first content is no change. A sum
// that only one of two contents has is one when the other has no rows; else its column came or went. Rows that changed although no
// sum did are a change of RowCount by 0. Contents of different meanings aren't compared: see Rebaselined.
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
			if moved := c.of(metric, a[metric], b[metric]); moved.Delta != "0" {
				out = append(out, moved)
			}
		}
		if len(out) == before && was.Hash != is.Hash && was.Shape == is.Shape && was.State == is.State {
			out = append(out, c.of(RowCount, a[RowCount], b[RowCount]))
		}
	}
	return out
}

// of is the change of one metric. A number that isn't there is 0.
func (c Change) of(metric string, was, is *big.Rat) Change {
	was, is = cmp.Or(was, new(big.Rat)), cmp.Or(is, new(big.Rat))
	c.Metric, c.Was, c.Is, c.Delta = metric, Decimal(was), Decimal(is), Decimal(new(big.Rat).Sub(is, was))
	return c
}

// Numbers are the sums of a record, and its rows.
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

// A Move is a change and its size: how much it is of the metric's average over the table's partitions that have any of it. So a
// change of a big day comes before one of a small day, whatever the metric is counted in.
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

// Rebaseline is the metric of a Change that says that the numbers mean something else: Was and Is are what they mean, such as USD and EUR.
const Rebaseline = "rebaseline"

// Rebaselined are the contents of a history whose numbers mean something else than those before them, by the shapes of both.
func Rebaselined(history []ledger.Record, shapeOf func(ledger.Record) (ledger.Shape, error)) (out []Change, err error) {
	for was, is := range successive(history) {
		if !rebaselined(was, is) {
			continue
		}
		before, err := shapeOf(was)
		if err != nil {
			return nil, err
		}
		now, err := shapeOf(is)
		if err != nil {
			return nil, err
		}
		c := changeOf(was, is)
		c.Metric = Rebaseline
		c.Was, c.Is, _ = strings.Cut(before.Turned(now), " -> ")
		out = append(out, c)
	}
	return out, nil
}

func rebaselined(was, is ledger.Record) bool {
	return was.Shape != is.Shape && was.Meaning != is.Meaning
}

// successive are the contents of a history that follow on one another in a partition.
func successive(history []ledger.Record) iter.Seq2[ledger.Record, ledger.Record] {
	return func(yield func(was, is ledger.Record) bool) {
		for i := 1; i < len(history); i++ {
			if history[i-1].Partition == history[i].Partition && !yield(history[i-1], history[i]) {
				return
			}
		}
	}
}

func changeOf(was, is ledger.Record) Change {
	return Change{
		Partition: is.Partition, Seq: is.Seq, Before: was.Fetched, Now: is.Brought(), Run: is.Run, Reason: is.Reason, Finality: was.Finality,
	}
}
