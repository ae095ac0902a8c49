package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/reportferry/reportferry/jobs"
)

// summary closes a run: a table per job, or a line of JSON each.
func (d *display) summary(r jobs.RunRecord) {
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
		writeResult(d.out, res, d.units[res.Job])
	}
	if d.json {
		d.logEnd(r)
	} else if r.Exit == jobs.ExitInterrupted {
		fmt.Fprintln(d.out, "Interrupted. The next run goes on where this one was.")
	}
}

func (d *display) logResult(r jobs.RunRecord, res jobs.Result) {
	o := res.Outcome
	args := []any{
		"job", res.Job, "run", r.ID, "windows", o.Windows, "held", o.Held, "written", o.Written,
		"unchanged", o.Unchanged, "empty", o.Empty, "kept", o.Kept, "failed", o.Failed, "left", res.Left, "requests", o.Requests,
		"retries", o.Retries, "wait", o.Limiter.Seconds(), "backoff", o.Backoff.Seconds(), "rows", o.Rows, "rounded", o.Rounded, "nulls", o.Nulls, "csv_bytes", o.CSVBytes,
		"parquet_bytes", o.ParquetBytes, "took", res.Took.Seconds(),
	}
	if o.Waiting > 0 {
		args = append(args, "waiting", o.Waiting, "due", dueAt(o.Due))
	}
	if len(res.Errs) > 0 {
		d.log.Error("job failed", append(args, "status", strings.Join(grouped(res.Errs), "\n"), "reason", reason(errors.Join(res.Errs...)))...)
		return
	}
	d.log.Info("job over", args...)
}

// logEnd is the last line of a run, which alerts count.
func (d *display) logEnd(r jobs.RunRecord) {
	level := slog.LevelError
	if r.Exit == jobs.ExitDone || r.Exit == jobs.ExitHeld || r.Exit == jobs.ExitInterrupted {
		level = slog.LevelInfo
	}
	d.log.Log(context.Background(), level, "run ended", "run", r.ID, "trigger", r.Trigger, "exit", r.Exit, "took", r.Ended.Sub(r.Started).Seconds())
}

// writeResult writes the closing table of one job, at most 80 columns wide but for errors. Of a job without partitions,
// each is what its units hold.
func writeResult(w io.Writer, r jobs.Result, each string) {
	o := r.Outcome
	if o.Windows == 0 && len(r.Errs) == 0 && r.Left == 0 {
		fmt.Fprintf(w, "%s: all is up to date, nothing was requested\n", r.Job)
		return
	}
	fmt.Fprintf(w, "%s (%s)\n", r.Job, r.Took.Round(10*time.Millisecond))
	if o.Windows > 0 {
		writeOutcome(w, o, each)
	}
	if o.Waiting > 0 {
		row(w, "waiting", plural(o.Waiting, cmp.Or(each, "window"))+" that may still be growing; due "+dueAt(o.Due))
	}
	if r.Left > 0 {
		row(w, "left", plural(r.Left, cmp.Or(each, "window"))+" for the next run: the deadline is near")
	}
	for _, err := range grouped(r.Errs) {
		row(w, "error", err)
	}
}

// dueAt says when what waits is due.
func dueAt(at time.Time) string {
	if at.IsZero() {
		return "by the next run"
	}
	return "at " + at.UTC().Format(time.RFC3339)
}

func writeOutcome(w io.Writer, o jobs.Outcome, each string) {
	if each == "" {
		writePartitions(w, o)
	} else {
		sent := fmt.Sprintf("sent %d, unchanged %d, failed %d", o.Written, o.Unchanged, o.Failed)
		if o.Held > 0 {
			sent += ", the others held by another run"
		}
		row(w, each+"s", sent)
	}
	retries := fmt.Sprint(o.Retries)
	if o.Backoff > 0 {
		retries += fmt.Sprintf(" after %.1f s", o.Backoff.Seconds())
	}
	row(w, "requests", fmt.Sprintf("%d, retries %s, waited %.1f s on the limiter", o.Requests, retries, o.Limiter.Seconds()))
	if each == "app" {
		return
	}
	rows := count(o.Rows)
	if o.Rounded > 0 {
		rows += fmt.Sprintf(", %s cells rounded to six decimals", count(o.Rounded))
	}
	if o.Nulls > 0 {
		rows += fmt.Sprintf(", %s blank ones NULL", count(o.Nulls))
	}
	row(w, "rows", rows)
	if o.CSVBytes+o.ParquetBytes == 0 {
		return // nothing was fetched
	}
	bytes := "Parquet out " + size(o.ParquetBytes)
	if o.CSVBytes > 0 {
		bytes = "CSV in " + size(o.CSVBytes) + ", " + bytes
	}
	row(w, "bytes", bytes)
}

func writePartitions(w io.Writer, o jobs.Outcome) {
	windows := fmt.Sprint(o.Windows)
	if o.Held > 0 {
		windows += fmt.Sprintf(", %d of them held by another run", o.Held)
	}
	row(w, "windows", windows)
	partitions := fmt.Sprintf("written %d, unchanged %d, empty %d, failed %d", o.Written, o.Unchanged, o.Empty, o.Failed)
	if o.Kept > 0 {
		partitions += fmt.Sprintf(", kept %d", o.Kept)
	}
	row(w, "partitions", partitions)
}

// row writes what there is to say under a label. Lines after the first are set under it, so that a line end in somebody's
// name makes no line of the program's own.
func row(w io.Writer, label, text string) {
	fmt.Fprintf(w, "  %-10s  %s\n", label, strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", 14)))
}

// grouped are the messages of errors, each once, with how often it came: one cause may fail every window.
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

// flat takes joined errors apart.
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

// count writes a number with thousands separated.
func count(n int64) string {
	digits := fmt.Sprint(n)
	var groups []string
	for len(digits) > 3 {
		groups = append(groups, digits[len(digits)-3:])
		digits = digits[:len(digits)-3]
	}
	slices.Reverse(groups)
	return strings.Join(append([]string{digits}, groups...), ",")
}

// size writes bytes for people.
func size(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.2f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d B", n)
}
