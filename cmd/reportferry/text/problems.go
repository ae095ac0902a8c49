package text

import (
	"fmt"
	"io"
	"strings"

	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// Problems writes what is wrong with a table, or worth knowing about it. Under each problem it
// writes:
//   - its newest days, in at most so many rows as most says; 0 means all
//   - the command that ends it, followed by again, which makes the command use the same config
func Problems(w io.Writer, indent, again string, list []ledger.Problem, most int) {
	for _, p := range list {
		writeFolded(w, indent, p.What)
		left := p.Partitions
		for i, d := range p.Days {
			if most > 0 && i == most {
				break
			}
			left -= d.Partitions
			why := d.Why
			if d.Run != "" {
				why += " in run " + d.Run
			}
			if d.Error != "" {
				why += ": " + strings.ReplaceAll(d.Error, "\n", "; ")
			}
			writeFolded(w, indent+"  ", strings.TrimSpace(DayRange(d.From, d.Through)+"  "+terminal.Line(why)))
		}
		for _, err := range p.Errors {
			fmt.Fprintf(w, "%s  error in run %s: %s\n", indent, p.Run,
				terminal.Line(strings.ReplaceAll(err, "\n", "; ")))
		}
		if left > 0 && p.Days != nil {
			writeFolded(w, indent+"  ", "and "+Plural(left, "partition")+" more")
		}
		command := "reportferry " + p.Command + again
		if p.Command == "" {
			writeFolded(w, indent+"  ", p.Advice)
		} else if line := p.Advice + ": " + command; len(indent)+2+len(line) <= terminalColumns {
			fmt.Fprintf(w, "%s  %s\n", indent, line)
		} else { // a command is never folded, so that it can be copied
			room := min(len(indent)+4, max(0, terminalColumns-len(command)))
			fmt.Fprintf(w, "%s  %s:\n%*s%s\n", indent, p.Advice, room, "", command)
		}
	}
}

// terminalColumns is the width of the narrowest terminal that lines are made for.
const terminalColumns = 80

// writeFolded writes a text whose later lines are indented below its first one.
func writeFolded(w io.Writer, indent, text string) {
	text = Fold(text, terminalColumns-len(indent)-4)
	fmt.Fprintf(w, "%s%s\n", indent, strings.ReplaceAll(text, "\n", "\n"+indent+"    "))
}
