package refresh

import (
	"iter"
	"strings"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// Rebaseline is the metric of a Change that says that the numbers mean something else: Was and Is
// are what they mean, such as USD and EUR.
const Rebaseline = "rebaseline"

// Rebaselined are the contents of a history whose numbers mean something else than those before
// them, by the shapes of both.
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
		Partition: is.Partition, Seq: is.Seq, Before: was.Fetched, Now: is.Brought(), Run: is.Run, Reason: is.Reason,
		Finality: was.Finality,
	}
}
