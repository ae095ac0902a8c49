package refresh

import (
	"iter"
	"strings"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// Rebaseline is the Metric of a Change in what all numbers of a partition mean, such as their
// currency. Was and Is are the old and the new meaning, such as USD and EUR.
const Rebaseline = "rebaseline"

// Rebaselined returns a Change for each record of a history whose numbers have another meaning
// than those of the partition's record before it. The meanings come from the records' shapes.
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

// rebaselined tells whether the numbers of two records have different meanings.
func rebaselined(was, is ledger.Record) bool {
	return was.Shape != is.Shape && was.Meaning != is.Meaning
}

// successive yields each pair of consecutive records of the same partition.
func successive(history []ledger.Record) iter.Seq2[ledger.Record, ledger.Record] {
	return func(yield func(was, is ledger.Record) bool) {
		for i := 1; i < len(history); i++ {
			if history[i-1].Partition == history[i].Partition && !yield(history[i-1], history[i]) {
				return
			}
		}
	}
}

// changeOf describes the step from one record to the next, without Metric, Was and Is.
func changeOf(was, is ledger.Record) Change {
	return Change{
		Partition: is.Partition, Seq: is.Seq, Before: was.Fetched, Now: is.Brought(), Run: is.Run, Reason: is.Reason,
		Finality: was.Finality,
	}
}
