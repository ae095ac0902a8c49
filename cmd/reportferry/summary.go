package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/see"
	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/lazy"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/status"
)

// printEnd prints the end of a run for people: what the run did and, when a person started it, what
// to do next. Nobody watches the output of a daemon.
func (d *display) printEnd(ctx context.Context, r *wire.RunInfo) error {
	d.summary(r.Record)
	if r.Unrecorded != "" && !d.json {
		fmt.Fprintln(d.out, text.Fold("The ledger has no record of this run: "+r.Unrecorded, 80))
	}
	if !d.json && !d.mute && (r.Record.Trigger == "manual" || r.Record.Trigger == "backfill") {
		see.WriteEnd(d.out, r, time.Now())
	}
	return nil
}

// summary prints the result of a run: a table per job, or a line of JSON each, and a last line that
// says whether something is left out. With --quiet only jobs that leave something out get a table.
func (d *display) summary(r ledger.Run) {
	if d.bars != nil {
		d.bars.Close()
	}
	for _, res := range r.Results {
		if d.json {
			d.logResult(r, res)
			continue
		}
		if d.mute && countIncomplete([]ledger.Result{res}) == 0 {
			continue
		}
		see.WriteResult(d.out, d.configFlag, res, grouped(res.Errs), d.units[res.Job], r.Trigger)
	}
	incomplete := countIncomplete(r.Results)
	switch {
	case d.json:
		d.logEnd(r)
	case r.Exit == jobs.ExitInterrupted:
		fmt.Fprintln(d.out, "Interrupted. The next run goes on where this one was.")
	case incomplete == 1 && len(r.Results) == 1:
		fmt.Fprintln(d.out, "Something is left out, as said above.")
	case incomplete > 0:
		fmt.Fprintf(d.out, "Something is left out in %d of %s, as said above.\n", incomplete,
			text.Plural(len(r.Results), "job"))
	}
	if d.json {
		return
	}
	if refused := d.refusedAccounts(r.Results); len(refused) > 0 {
		fmt.Fprintln(d.out, text.Fold(fmt.Sprintf("The service refused %s: %s. See token and account_id under "+
			"accounts in the config. Jobs of other accounts weren't held up by it.",
			text.Plural(len(refused), "account"), strings.Join(refused, ", ")), 80))
	}
	wrong := 0
	for _, res := range r.Results {
		wrong += status.Wrong(res.Problems)
		if res.Outcome.AllBlank() {
			fmt.Fprintln(d.out, text.Fold(res.Job+": the first run has found no row at all. Are its filters, its "+
				"start and the token's apps right? See check.", 80))
		}
	}
	if wrong > 0 {
		fmt.Fprintf(d.out, "Not as it should be: %s; see status.\n", text.Plural(wrong, "partition"))
	}
}

// accountsOf returns the account of each job that has one, by the job's name.
func accountsOf(list []jobs.Job) map[string]string {
	accounts := map[string]string{}
	for _, j := range list {
		if j.Account != "" {
			accounts[j.Name] = j.Account
		}
	}
	return accounts
}

// refusedAccounts returns the accounts whose credentials the service refused.
func (d *display) refusedAccounts(results []ledger.Result) (names []string) {
	for _, res := range results {
		if name := d.accounts[res.Job]; name != "" && errors.Is(errors.Join(res.Errs...), adjust.ErrAuth) &&
			!slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// countIncomplete counts the jobs that the run left incomplete. A job is incomplete if any of these
// holds:
//
//   - it failed
//   - units are held by other runs
//   - old rows were kept
//   - columns or raw answers are missing
//
// Periods that nobody can fetch any more don't count.
func countIncomplete(results []ledger.Result) (n int) {
	for _, r := range results {
		if !r.Succeeded() || r.Outcome.NotTaken() > 0 ||
			r.Outcome.Held+r.Outcome.Kept+r.Outcome.Unkept+r.Outcome.Unseen+r.Rest.Lacking.Partitions > 0 {
			n++
		}
	}
	return n
}

// logResult logs what the closing table of one job shows, as one record.
func (d *display) logResult(r ledger.Run, res ledger.Result) {
	o := res.Outcome
	args := []any{
		"job", res.Job, "run", r.ID, "windows", o.Windows, "held", o.Held, "written", o.Written,
		"unchanged", o.Unchanged, "empty", o.Empty, "blank", o.Blank, "kept", o.Kept, "failed", o.Failed, "held_back",
		o.HeldBack + o.StillHeld, "standing", o.StillHeld + o.StillDiffers, "wrong", status.Wrong(res.Problems),
		"unreconciled", o.Unreconciled,
		"compared", o.Compared, "moved", o.Moved, "moved_and_left", o.Drifted, "not_compared", o.Unseen, "left",
		res.Left,
		"stopped", res.Stopped, "lacking", res.Rest.Lacking.Partitions, "lost", res.Rest.Lost, "requests", o.Requests,
		"retries", o.Retries, "wait", o.Limiter.Seconds(), "backoff", o.Backoff.Seconds(), "rows", o.Rows, "rounded",
		o.Rounded, "nulls", o.Nulls, "csv_bytes", o.CSVBytes,
		"parquet_bytes", o.ParquetBytes, "took", res.Took.Seconds(),
	}
	if account := d.accounts[res.Job]; account != "" {
		args = append(args, "account", account)
	}
	if len(o.Altered) > 0 {
		args = append(args, "altered", o.Altered)
	}
	if o.Unkept > 0 {
		args = append(args, "unkept", o.Unkept)
	}
	if o.Probed > 0 {
		args = append(args, "probed", o.Probed)
	}
	if o.NotTaken()+o.Skipped > 0 {
		args = append(args, "refused", o.Refused, "rejected", o.Rejected, "partly", o.Partly, "conflicts", o.Conflicts,
			"skipped", o.Skipped)
	}
	if o.Waiting > 0 {
		args = append(args, "waiting", o.Waiting, "due", see.DueAt(o.Due))
	}
	if len(res.Errs) > 0 {
		d.log.Error("job failed", append(args, "error", strings.Join(grouped(res.Errs), "\n"), "reason",
			text.FailureReason(errors.Join(res.Errs...)))...)
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
	unreconciled := 0
	for _, res := range r.Results {
		unreconciled += res.Outcome.Unreconciled
	}
	d.log.Log(context.Background(), level, "run ended", "run", r.ID, "trigger", r.Trigger, "exit", r.Exit, "left_out",
		countIncomplete(r.Results), "unreconciled", unreconciled, "took", r.Ended.Sub(r.Started).Seconds())
}

// grouped lists the messages of errors, because one cause may fail every window:
//   - A message that occurs several times is listed once, with its number.
//   - Of more than mostAlike messages that differ only by days and numbers, the first is listed,
//     with the number of the others.
func grouped(errs []error) []string {
	var order []string
	times := map[string]int{}
	for _, err := range flattened(errs) {
		msg := err.Error()
		if errors.Is(err, syscall.ENOSPC) { // their messages differ by the file's name
			msg = fullDisk
		}
		if times[msg]++; times[msg] == 1 {
			order = append(order, msg)
		}
	}
	kinds := map[string]int{} // by kind: how many different messages there are
	for _, msg := range order {
		kinds[withoutNumbers(msg)]++
	}
	var out []string
	summed := map[string]bool{} // the kinds whose first message stands for all
	for _, msg := range order {
		kind := withoutNumbers(msg)
		switch n := times[msg]; {
		case summed[kind]:
			continue
		case kinds[kind] > mostAlike:
			summed[kind] = true
			msg += fmt.Sprintf(" (and %d more like it)", kinds[kind]-1)
		case n > 1:
			msg += fmt.Sprintf(" (%d times)", n)
		}
		out = append(out, msg)
	}
	return out
}

// fullDisk is the message in place of all errors about a full disk.
const fullDisk = "no space left on the device: a disk is full, that of spool_dir, of the ledger or of a sink in a " +
	"folder; make room, and the next run goes on (check says how much is free)"

// mostAlike is the largest number of messages of one kind that are all listed. Of more, only the
// first is.
const mostAlike = 3

// figures matches days, times and numbers in a message.
var figures = lazy.Regexp(`[0-9][0-9.:TZ-]*(s|ms|m)?`)

// withoutNumbers returns a message with its days, times and numbers replaced, so that messages that
// differ only by these are equal.
func withoutNumbers(message string) string { return figures().ReplaceAllString(message, "#") }

// flattened replaces joined errors by their parts. An error that wraps several and adds its own
// words stays as it is.
func flattened(errs []error) []error {
	var out []error
	for _, err := range errs {
		var joined interface{ Unwrap() []error }
		if errors.As(err, &joined) && err.Error() == errors.Join(joined.Unwrap()...).Error() {
			out = append(out, flattened(joined.Unwrap())...)
		} else {
			out = append(out, err)
		}
	}
	return out
}
