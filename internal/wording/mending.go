package wording

import (
	"strings"

	"github.com/reportferry/reportferry/jobs/outbox"
)

// FileMending says what to do about a file that is refused, in words that fit every reason of the
// same sort.
func FileMending(kind string, f outbox.File) string {
	switch {
	case strings.HasPrefix(f.Error, outbox.ErrTooMany.Error()):
		return "the rejects say what to write in each row; mend the file, or the job where all rows are refused for " +
			"one reason (" + kind +
			" check counts them), or let more through by max_rejects"
	case strings.HasPrefix(f.Error, outbox.ErrForgotten.Error()):
		return "put the new rows alone into a file of another name"
	}
	return "mend the file, or what the job says of its columns and its format; " + kind +
		" check tries it, and the next push reads it again"
}
