package see

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// WriteResult writes the result of one job, at the end of a run and when the run is shown later.
//   - again is what suggested commands need to use the same config.
//   - errs are the job's errors as texts.
//   - each is what the job's units are called, such as file. It is empty when they are windows of
//     partitions.
//   - trigger is what began the run.
func WriteResult(w io.Writer, again string, r ledger.Result, errs []string, each, trigger string) {
	o := r.Outcome
	switch {
	case o.Windows > 0 || len(errs) > 0:
		fmt.Fprintf(w, "%s (%s)\n", r.Job, r.Took.Round(10*time.Millisecond))
	case r.Stopped || r.Left > 0:
		fmt.Fprintf(w, "%s: not begun\n", r.Job)
	case len(r.Problems) > 0:
		fmt.Fprintf(w, "%s: nothing was due, nothing was requested\n", r.Job)
	case trigger == ledger.Replayed:
		fmt.Fprintf(w, "%s: nothing is recorded of that, so nothing was replayed\n", r.Job)
	case trigger == "backfill":
		fmt.Fprintf(w, "%s: what was asked for is there, nothing was requested\n", r.Job)
	default:
		fmt.Fprintf(w, "%s: all is up to date, nothing was requested\n", r.Job)
	}
	if o.Windows > 0 {
		writeOutcome(w, o, each)
	}
	if o.Waiting > 0 {
		text.Labeled(w, "waiting", text.Plural(o.Waiting, cmp.Or(each,
			"window"))+" that may still be growing; due "+DueAt(o.Due))
	}
	switch {
	case r.Stopped && r.Left == 0:
		text.Labeled(w, "left", "all of it for the next run: this one was stopped before the plan")
	case r.Stopped:
		text.Labeled(w, "left", text.Plural(r.Left, cmp.Or(each, "window"))+" for the next run: this one was stopped")
	case r.Left > 0:
		text.Labeled(w, "left", text.Plural(r.Left, cmp.Or(each, "window"))+" for the next run: the deadline is near")
	}
	text.Problems(w, "  ", again, r.Problems, mostProblemDays)
	for _, err := range errs {
		text.Labeled(w, "error", text.Fold(err, 66))
	}
}

// DueAt says when units that wait are due.
func DueAt(at time.Time) string {
	if at.IsZero() {
		return "by the next run"
	}
	return "at " + at.UTC().Format(time.RFC3339)
}

// mostProblemDays bounds the rows that list a problem's partitions.
const mostProblemDays = 3

// writeOutcome writes what a job did, what that cost the service and how much data it was.
func writeOutcome(w io.Writer, o ledger.Outcome, each string) {
	if each == "" {
		writePartitions(w, o)
	} else {
		sent := fmt.Sprintf("sent %d, unchanged %d, failed %d", o.Written, o.Unchanged, o.Failed)
		if o.Held > 0 {
			sent += ", the others held by another run"
		}
		text.Labeled(w, each+"s", sent)
	}
	text.Labeled(w, "requests", fmt.Sprintf("%d, retries %d", o.Requests, o.Retries))
	if waits := waitsOf(o); waits != "" {
		text.Labeled(w, "waits", waits+", summed over requests")
	}
	if each == "app" {
		return
	}
	if o.Unkept > 0 {
		text.Labeled(w, "raw", text.Plural(o.Unkept, "answer")+" not kept, so that they can't be replayed; see above")
	}
	rows := text.Count(o.Rows)
	if o.Rounded > 0 {
		rows += fmt.Sprintf(", %s cells rounded to six decimals", text.Count(o.Rounded))
	}
	if o.Nulls > 0 {
		rows += fmt.Sprintf(", %s blank cells as NULL", text.Count(o.Nulls))
	}
	text.Labeled(w, "rows", rows)
	if o.NotTaken() > 0 {
		text.Labeled(w, "not taken", fmt.Sprintf("%s: %s", text.Count(o.NotTaken()),
			NotTaken(o.Refused, o.Rejected, o.Partly, o.Conflicts)))
	}
	if o.Skipped > 0 {
		text.Labeled(w, "skipped", text.Plural(int(o.Skipped), "row")+" of totals, notes or nothing")
	}
	for _, a := range o.Altered {
		text.Labeled(w, "altered", terminal.Line(fmt.Sprintf("%s of %s: %s", text.Plural(int(a.Cells), "cell"),
			a.Column, a.What)))
		text.Labeled(w, "", terminal.Line("first "+a.First))
	}
	if o.CSVBytes+o.ParquetBytes == 0 {
		return // there was nothing to fetch
	}
	bytes := "Parquet out " + text.Bytes(o.ParquetBytes)
	if o.CSVBytes > 0 {
		bytes = "CSV in " + text.Bytes(o.CSVBytes) + ", " + bytes
	}
	text.Labeled(w, "bytes", bytes)
}

// waitsOf says what requests waited for, and how long. Many wait at once, so the sum may be longer
// than the run.
func waitsOf(o ledger.Outcome) string {
	var parts []string
	for _, wait := range []struct {
		reason string
		length time.Duration
	}{{"limiter", o.Limiter}, {"back-off", o.Backoff}} {
		if wait.length >= 50*time.Millisecond { // else it would read 0.0 s
			parts = append(parts, fmt.Sprintf("%s %.1f s", wait.reason, wait.length.Seconds()))
		}
	}
	return strings.Join(parts, ", ")
}

// writePartitions writes how many windows a job had, and how many of its partitions were written,
// unchanged, empty, failed and so on.
func writePartitions(w io.Writer, o ledger.Outcome) {
	windows := fmt.Sprint(o.Windows)
	if o.Held > 0 {
		windows += fmt.Sprintf(", %d of them held by another run", o.Held)
	}
	text.Labeled(w, "windows", windows)
	partitions := fmt.Sprintf("written %d, unchanged %d, empty %d, failed %d", o.Written, o.Unchanged, o.Empty,
		o.Failed)
	if o.Kept > 0 {
		partitions += fmt.Sprintf(", kept %d", o.Kept)
	}
	if o.Probed > 0 {
		partitions += fmt.Sprintf(", not moved %d", o.Probed)
	}
	text.Labeled(w, "partitions", partitions)
	if o.Moved > 0 {
		text.Labeled(w, "moved", text.Plural(o.Moved, "partition")+" that had been final, and fetched again; see "+
			"changes")
	}
	if o.Unseen > 0 {
		text.Labeled(w, "not compared", text.Plural(o.Unseen,
			"final partition")+" with the service's totals; the next run tries again")
	}
}

// NotTaken says how many rows of pushed files were refused, rejected or in conflict.
func NotTaken(refused, rejected, partly, conflicts int64) string {
	by := "rejected " + text.Count(rejected)
	if partly > 0 {
		by += " (" + text.Count(partly) + " taken in part)"
	}
	return fmt.Sprintf("refused %s, %s, conflicts %s", text.Count(refused), by, text.Count(conflicts))
}
