package refresh

import (
	"iter"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// Rebaseline is the metric of a Change that says that the numbers mean something else: Was and Is are the IDs of shapes.
const Rebaseline = "rebaseline"

// Rebaselined are the contents of a history whose numbers mean something else than those before them.
func Rebaselined(history []ledger.Record) (out []Change) {
	for was, is := range successive(history) {
		if rebaselined(was, is) {
			c := changeOf(was, is)
			c.Metric, c.Was, c.Is = Rebaseline, was.Shape, is.Shape
			out = append(out, c)
		}
	}
	return out
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
