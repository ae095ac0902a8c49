package wording

import (
	"fmt"
	"strings"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox"
)

// Lacking says in about half a line how many partitions lack which columns.
func Lacking(l ledger.Lacking) string {
	const usual = 45
	text := fmt.Sprintf("%d partitions lack", l.Partitions)
	if l.Partitions == 1 {
		text = "1 partition lacks"
	}
	for i, name := range l.Columns {
		switch {
		case i == 0:
			text += " " + name
		case len(text)+len(name) > usual:
			return text + fmt.Sprintf(" and %d more", len(l.Columns)-i)
		default:
			text += ", " + name
		}
	}
	return text
}

// Mending says what gives the partitions of a job the columns that they lack.
func Mending(job string, l ledger.Lacking) string {
	if l.Later {
		return "to fetch: " + Columns(job)
	}
	return "the next run fetches them"
}

// Columns is the command that fetches the partitions that lack columns.
func Columns(job string) string { return "backfill " + job + " --missing-columns" }

// Closing is the command that closes the gaps of a job. A job of kind events can fetch today alone.
func Closing(job, kind string) string {
	if kind == "events" {
		return "run " + job
	}
	return "backfill " + job + " --gaps"
}

// FileMending says what to do about a file that is refused, in words that fit every reason of its sort.
func FileMending(kind string, f outbox.File) string {
	switch {
	case strings.HasPrefix(f.Error, outbox.ErrTooMany.Error()):
		return "the rejects say what to write in each row; mend the file, or the job where all rows are refused for one reason (" + kind +
			" check counts them), or let more through by max_rejects"
	case strings.HasPrefix(f.Error, outbox.ErrForgotten.Error()):
		return "put the new rows alone into a file of another name"
	}
	return "mend the file, or what the job says of its columns and its format; " + kind + " check tries it, and the next push reads it again"
}
