package files

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"gocloud.dev/blob"

	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox"
)

// Plan is what is to be done for a table: one unit, under the one claim of the outbox, that pushes the files that are due
// one after the other. push does it. So many files wait for the schedule; the plan and what becomes of it say so.
func (o Options) Plan(out *outbox.Outbox, due []Path, later int, now time.Time, push func(context.Context, *ledger.Claim) (ledger.Outcome, error)) jobs.Plan {
	plan := jobs.Plan{Tidy: func(ctx context.Context) error { return out.Prune(ctx, time.Now()) }}
	if later > 0 {
		plan.Brief = func(context.Context, ledger.Past) (ledger.Result, error) {
			return ledger.Result{Problems: []ledger.Problem{o.waiting(later, now)}}, nil
		}
	}
	if len(due) == 0 {
		return plan
	}
	u := jobs.Unit{Name: outbox.ClaimName, Do: func(ctx context.Context, h ledger.Hold) (ledger.Outcome, error) {
		return push(ctx, h[0]) // the unit has one claim
	}}
	for _, p := range due {
		u.Files = append(u.Files, p.Name)
	}
	plan.Units = []jobs.Unit{u}
	return plan
}

// Push pushes files one after the other, and counts and logs what came of each. One that fails doesn't stop those after it,
// but the loss of the claim, a refused credential and the end of ctx do: each file that isn't begun then has an error, too.
func Push(ctx context.Context, log *slog.Logger, due []Path, one func(context.Context, Path) (outbox.Report, error)) (out ledger.Outcome, err error) {
	for _, p := range due {
		if ctx.Err() != nil {
			err = errors.Join(err, &jobs.FileError{File: p.Name, Err: context.Cause(ctx)})
			continue
		}
		report, failed := one(ctx, p)
		failed = outcome(log.With("window", p.Name), &out, report, failed)
		if failed == nil {
			continue
		}
		if ctx.Err() != nil && errors.Is(failed, context.Canceled) {
			out.Failed-- // the next run goes on with it
		}
		err = errors.Join(err, &jobs.FileError{File: p.Name, Err: failed})
		if jobs.Denied(failed) || errors.Is(failed, ledger.ErrLost) {
			break
		}
	}
	return out, err
}

// Options are those that every kind that pushes files has.
type Options struct {
	Job, Table string
	Run        string // the run's ID

	Ledger *ledger.Ledger
	Lease  time.Duration

	Shelf   Shelf
	Rejects *blob.Bucket

	MaxRejects  *outbox.Most
	ParkUnknown bool
	Quiet       time.Duration // a file that was modified more recently waits for the next run
	InFlight    int

	First  bool              // files may be sent that are older than what is on record; a person has said so
	Others map[string]Source // where other jobs find their files, by the jobs' names, that would send the same records of a file

	SpoolDir string
	Log      *slog.Logger
}

// Outbox makes the outbox of the job's table. It knows records for longer than a file of theirs may be due.
func (o Options) Outbox() *outbox.Outbox {
	return outbox.New(outbox.Options{
		Ledger: o.Ledger, Table: o.Table, Run: o.Run, Lease: o.Lease, SpoolDir: o.SpoolDir, Rejects: o.Rejects,
		Keep: time.Duration(max(o.Shelf.Window, 7)+2) * 24 * time.Hour, Log: o.Log,
	})
}

// waiting says that new or changed files wait until the schedule fires.
func (o Options) waiting(files int, now time.Time) ledger.Problem {
	what := "1 file waits"
	if files > 1 {
		what = fmt.Sprintf("%d files wait", files)
	}
	if s := o.Shelf.Schedule; s != nil {
		what += " for " + s.Next(now.In(o.Shelf.Zone)).Format("2006-01-02 15:04 MST")
	}
	return ledger.Problem{Condition: "waiting", What: what, Advice: "this takes it now", Command: "run " + o.Job + " --now"}
}
