package inspect

import (
	"fmt"
	"io"
	"strings"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// writeWaiting writes a line for each gap that the schedule will close.
func writeWaiting(w io.Writer, gaps []refresh.Gap) {
	for _, g := range gaps {
		if g.Closable && g.Reason == refresh.NotDueYet {
			fmt.Fprintf(w, "  %s not due yet: %s\n", text.Plural(g.Partitions, "partition"),
				text.DayRange(g.Partition, g.Through))
		}
	}
}

// writeCounts writes how many partitions are final, and how they compare with the service's totals.
// Nothing is said of a table without partitions, nor of totals when none were compared yet.
func writeCounts(w io.Writer, c refresh.Counts) {
	final := "final"
	if c.Through != nil && *c.Through != sinks.Whole {
		final = fmt.Sprintf("final (all through %s)", c.Through)
	}
	writeLine(w, count{c.Final, final}, count{c.Restating, "restating"}, count{c.Partial, "partial"},
		count{c.Doubtful, "in doubt"})
	writeLine(w, count{c.Staying, "restating ones won't be fetched when they could be final: see final_after"})
	if c.Reconciled+c.Unreconciled > 0 {
		writeLine(w, count{c.Reconciled, "reconciled"}, count{c.Unreconciled, "unreconciled"},
			count{c.Unchecked, "unchecked"})
	}
}

// A count is a number, and what it counts.
type count struct {
	n    int
	what string
}

// writeLine writes the counts that aren't 0 in one line, if there are any.
func writeLine(w io.Writer, counts ...count) {
	var parts []string
	for _, c := range counts {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	if len(parts) > 0 {
		fmt.Fprintf(w, "  %s\n", strings.Join(parts, ", "))
	}
}
