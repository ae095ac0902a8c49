package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/exit"
	"github.com/reportferry/reportferry/cmd/reportferry/human"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// summary closes a run: a table per job, or a line of JSON each, and a last line that says whether something is left out.
func (d *display) summary(r ledger.Run) {
	if d.bars != nil {
		for _, j := range d.jobs {
			if j.bar != nil && !j.bar.Completed() {
				j.bar.Abort(false)
			}
		}
		d.bars.Wait()
	}
	for _, res := range r.Results {
		if d.json {
			d.logResult(r, res)
			continue
		}
		writeResult(d.out, res, d.units[res.Job], r.Trigger)
	}
	left := leaving(r.Results)
	switch {
	case d.json:
		d.logEnd(r)
	case r.Exit == jobs.ExitInterrupted:
		fmt.Fprintln(d.out, "Interrupted. The next run goes on where this one was.")
	case left == 1 && len(r.Results) == 1:
		fmt.Fprintln(d.out, "Something is left out, as said above.")
	case left > 0:
		fmt.Fprintf(d.out, "Something is left out in %d of %s, as said above.\n", left, human.Plural(len(r.Results), "job"))
	}
	if n := unreconciled(r.Results); n > 0 && !d.json {
		fmt.Fprintf(d.out, "%s published, and not reconciled with the service's totals.\n", human.Plural(n, "partition"))
	}
	if n := moved(r.Results); n > 0 && !d.json {
		fmt.Fprintf(d.out, "%s moved after being final, as said above.\n", human.Plural(n, "partition"))
	}
}

// leaving counts the jobs that the run left incomplete, by failure or because others hold their units, kept old rows, lack
// columns or raw answers. Periods that nobody can fetch any more don't count.
func leaving(results []ledger.Result) (n int) {
	for _, r := range results {
		if !r.Succeeded() || r.Outcome.Held+r.Outcome.Kept+r.Outcome.Unkept+r.Outcome.Unseen+r.Rest.Lacking.Partitions > 0 {
			n++
		}
	}
	return n
}

// unreconciled counts the partitions that were published although nothing says that their rows agree with the service's totals.
func unreconciled(results []ledger.Result) (n int) {
	for _, r := range results {
		n += r.Outcome.Unreconciled
	}
	return n
}

// moved counts the final partitions whose numbers changed all the same.
func moved(results []ledger.Result) (n int) {
	for _, r := range results {
		n += r.Outcome.Moved + r.Outcome.Drifted
	}
	return n
}

// logResult logs the closing table of one job as one record.
func (d *display) logResult(r ledger.Run, res ledger.Result) {
	o := res.Outcome
	args := []any{
		"job", res.Job, "run", r.ID, "windows", o.Windows, "held", o.Held, "written", o.Written,
		"unchanged", o.Unchanged, "empty", o.Empty, "kept", o.Kept, "failed", o.Failed, "unreconciled", o.Unreconciled,
		"compared", o.Compared, "moved", o.Moved, "moved_and_left", o.Drifted, "not_compared", o.Unseen, "left", res.Left,
		"stopped", res.Stopped, "lacking", res.Rest.Lacking.Partitions, "lost", res.Rest.Lost, "requests", o.Requests,
		"retries", o.Retries, "wait", o.Limiter.Seconds(), "backoff", o.Backoff.Seconds(), "rows", o.Rows, "rounded", o.Rounded, "nulls", o.Nulls, "csv_bytes", o.CSVBytes,
		"parquet_bytes", o.ParquetBytes, "took", res.Took.Seconds(),
	}
	if o.Unkept > 0 {
		args = append(args, "unkept", o.Unkept)
	}
	if o.Probed > 0 {
		args = append(args, "probed", o.Probed)
	}
	if o.Waiting > 0 {
		args = append(args, "waiting", o.Waiting, "due", dueAt(o.Due))
	}
	if len(res.Errs) > 0 {
		d.log.Error("job failed", append(args, "status", strings.Join(grouped(res.Errs), "\n"), "reason", exit.Reason(errors.Join(res.Errs...)))...)
		return
	}
	d.log.Info("job over", args...)
}

// logEnd writes the last line of a run. Alerts count these lines, so there is always exactly one.
func (d *display) logEnd(r ledger.Run) {
	level := slog.LevelError
	if r.Exit == jobs.ExitDone || r.Exit == jobs.ExitHeld || r.Exit == jobs.ExitInterrupted {
		level = slog.LevelInfo
	}
	d.log.Log(context.Background(), level, "run ended", "run", r.ID, "trigger", r.Trigger, "exit", r.Exit, "left_out", leaving(r.Results), "unreconciled", unreconciled(r.Results), "took", r.Ended.Sub(r.Started).Seconds())
}

// writeResult writes the closing table of one job. Only errors may be wider than 80 columns. each is what to call the job's
// units, empty for windows of partitions.
func writeResult(w io.Writer, r ledger.Result, each, trigger string) {
	o := r.Outcome
	switch {
	case o.Windows > 0 || len(r.Errs) > 0:
		fmt.Fprintf(w, "%s (%s)\n", r.Job, r.Took.Round(10*time.Millisecond))
	case r.Stopped || r.Left > 0:
		fmt.Fprintf(w, "%s: not begun\n", r.Job)
	case r.Rest.Lacking.Partitions+r.Rest.Lost+r.Rest.Kept > 0:
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
		human.Row(w, "waiting", human.Plural(o.Waiting, cmp.Or(each, "window"))+" that may still be growing; due "+dueAt(o.Due))
	}
	switch {
	case r.Stopped && r.Left == 0:
		human.Row(w, "left", "all of it for the next run: this one was stopped before the plan")
	case r.Stopped:
		human.Row(w, "left", human.Plural(r.Left, cmp.Or(each, "window"))+" for the next run: this one was stopped")
	case r.Left > 0:
		human.Row(w, "left", human.Plural(r.Left, cmp.Or(each, "window"))+" for the next run: the deadline is near")
	}
	writeRest(w, r)
	for _, err := range grouped(r.Errs) {
		human.Row(w, "error", err)
	}
}

// dueAt says when units that wait are due.
func dueAt(at time.Time) string {
	if at.IsZero() {
		return "by the next run"
	}
	return "at " + at.UTC().Format(time.RFC3339)
}

// writeRest says what the table lacks after the run although no partition was due.
func writeRest(w io.Writer, r ledger.Result) {
	if l := r.Rest.Lacking; l.Partitions > 0 {
		human.Row(w, "lacking", human.Lacking(l))
		human.Row(w, "", human.Mending(r.Job, l))
	}
	if n := r.Rest.Lost; n > 0 {
		human.Row(w, "lost", human.Plural(n, "partition")+" can't be fetched any more; see gaps")
	}
	if n := r.Rest.Kept; n > 0 {
		human.Row(w, "kept", human.Plural(n, "partition")+" with older rows: the last answer was empty")
	}
}

// writeOutcome writes what a job did, what that cost the service and how much data it was.
func writeOutcome(w io.Writer, o ledger.Outcome, each string) {
	if each == "" {
		writePartitions(w, o)
	} else {
		sent := fmt.Sprintf("sent %d, unchanged %d, failed %d", o.Written, o.Unchanged, o.Failed)
		if o.Held > 0 {
			sent += ", the others held by another run"
		}
		human.Row(w, each+"s", sent)
	}
	retries := fmt.Sprint(o.Retries)
	if o.Backoff > 0 {
		retries += fmt.Sprintf(" after %.1f s", o.Backoff.Seconds())
	}
	human.Row(w, "requests", fmt.Sprintf("%d, retries %s, waited %.1f s for the rate limit", o.Requests, retries, o.Limiter.Seconds()))
	if each == "app" {
		return
	}
	if o.Unkept > 0 {
		human.Row(w, "raw", human.Plural(o.Unkept, "answer")+" not kept, so that they can't be replayed; see above")
	}
	rows := human.Count(o.Rows)
	if o.Rounded > 0 {
		rows += fmt.Sprintf(", %s cells rounded to six decimals", human.Count(o.Rounded))
	}
	if o.Nulls > 0 {
		rows += fmt.Sprintf(", %s blank cells as NULL", human.Count(o.Nulls))
	}
	human.Row(w, "rows", rows)
	if o.CSVBytes+o.ParquetBytes == 0 {
		return // there was nothing to fetch
	}
	bytes := "Parquet out " + human.Size(o.ParquetBytes)
	if o.CSVBytes > 0 {
		bytes = "CSV in " + human.Size(o.CSVBytes) + ", " + bytes
	}
	human.Row(w, "bytes", bytes)
}

// writePartitions counts the windows and partitions of a job by what became of them.
func writePartitions(w io.Writer, o ledger.Outcome) {
	windows := fmt.Sprint(o.Windows)
	if o.Held > 0 {
		windows += fmt.Sprintf(", %d of them held by another run", o.Held)
	}
	human.Row(w, "windows", windows)
	partitions := fmt.Sprintf("written %d, unchanged %d, empty %d, failed %d", o.Written, o.Unchanged, o.Empty, o.Failed)
	if o.Kept > 0 {
		partitions += fmt.Sprintf(", kept %d", o.Kept)
	}
	if o.Probed > 0 {
		partitions += fmt.Sprintf(", not moved %d", o.Probed)
	}
	human.Row(w, "partitions", partitions)
	if o.Unreconciled > 0 {
		human.Row(w, "differing", human.Plural(o.Unreconciled, "partition")+", from the service's totals; see status")
	}
	if o.Moved > 0 {
		human.Row(w, "moved", human.Plural(o.Moved, "partition")+" that had been final, and fetched again; see changes")
	}
	if o.Drifted > 0 {
		human.Row(w, "moved", human.Plural(o.Drifted, "partition")+" that had been final, left as recorded (drift: warn)")
	}
	if o.Unseen > 0 {
		human.Row(w, "not compared", human.Plural(o.Unseen, "final partition")+" with the service's totals; the next run tries again")
	}
}

// grouped lists the messages of errors, each once and with its number, because one cause may fail every window.
func grouped(errs []error) []string {
	var order []string
	times := map[string]int{}
	for _, err := range flat(errs) {
		msg := err.Error()
		if times[msg]++; times[msg] == 1 {
			order = append(order, msg)
		}
	}
	for i, msg := range order {
		if n := times[msg]; n > 1 {
			order[i] = fmt.Sprintf("%s (%d times)", msg, n)
		}
	}
	return order
}

// flat replaces joined errors by their parts. An error that wraps several and adds words of its own stays as it is.
func flat(errs []error) []error {
	var out []error
	for _, err := range errs {
		var joined interface{ Unwrap() []error }
		if errors.As(err, &joined) && err.Error() == errors.Join(joined.Unwrap()...).Error() {
			out = append(out, flat(joined.Unwrap())...)
		} else {
			out = append(out, err)
		}
	}
	return out
}
