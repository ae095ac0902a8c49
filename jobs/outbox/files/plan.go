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

// A Pusher plans the pushing of a job's files. It does what is the same for every kind of job that
// pushes files; what differs between kinds is in its Ways.
type Pusher struct {
	options Options
	outbox  *outbox.Outbox
	ways    Ways
}

// Ways are the functions by which one kind of job differs from others.
type Ways struct {
	// Order sorts the files that are due into the order in which they are pushed. Nil: they are
	// pushed as they are found.
	Order func(context.Context, []Path) error
	// Push pushes the files under the lease, one after the other.
	Push  func(context.Context, *outbox.Lease, []Path) (ledger.Outcome, error)
	Check func(context.Context, Path) (Checked, error) // reads a file without sending it
}

// NewPusher returns a Pusher with the outbox of the job's table. Nothing is read yet.
func NewPusher(o Options, w Ways) Pusher { return Pusher{options: o, outbox: o.Outbox(), ways: w} }

// Outbox returns the outbox of the job's table.
func (p *Pusher) Outbox() *outbox.Outbox { return p.outbox }

// Due returns the files that a run would push, in their order.
func (p *Pusher) Due(ctx context.Context, now time.Time) ([]Path, error) {
	due, _, err := p.due(ctx, now)
	return due, err
}

// due does the same as Due, and counts the files that wait for the schedule.
func (p *Pusher) due(ctx context.Context, now time.Time) (due []Path, later int, err error) {
	due, later, err = p.options.Inbox.Due(ctx, p.outbox, now)
	if err == nil && p.ways.Order != nil {
		err = p.ways.Order(ctx, due)
	}
	return due, later, err
}

// MayPush returns an error if records of the files would be sent twice.
func (p *Pusher) MayPush(ctx context.Context, due []Path, now time.Time) error {
	return p.options.mayPush(ctx, p.outbox, due, now, p.ways.Check)
}

// Plan returns what is to be done for a table: one unit, under the lease of the outbox, that pushes
// the due files one after the other. Where files wait for the schedule, the plan reports it as a
// problem.
func (p *Pusher) Plan(ctx context.Context, now time.Time) (jobs.Plan, error) {
	due, later, err := p.due(ctx, now)
	if err == nil {
		err = p.MayPush(ctx, due, now)
	}
	if err != nil {
		return jobs.Plan{}, err
	}
	plan := jobs.Plan{Ending: pruner{p.outbox}}
	if later > 0 {
		plan.Problems = []ledger.Problem{p.options.waiting(later, now)}
	}
	if len(due) == 0 {
		return plan, nil
	}
	u := jobs.Unit{Name: outbox.UnitName, Do: func(ctx context.Context) (out ledger.Outcome, err error) {
		err = p.outbox.Hold(ctx, func(ctx context.Context, l *outbox.Lease) (err error) {
			out, err = p.ways.Push(ctx, l, due)
			return err
		})
		return out, err
	}}
	for _, one := range due {
		u.Files = append(u.Files, one.Name)
	}
	plan.Units = []jobs.Unit{u}
	return plan, nil
}

// A pruner removes the records of files that ended long ago, at the end of a run.
type pruner struct{ outbox *outbox.Outbox }

func (p pruner) Finish(ctx context.Context, _ ledger.Outcome, _ ledger.Past) (ledger.Result, error) {
	return ledger.Result{}, p.outbox.Prune(ctx, time.Now())
}

func (pruner) Release(context.Context) error { return nil }

// Push pushes files one after the other, and counts and logs the result of each. A file that fails
// doesn't stop those after it. The loss of the lease and a refused credential end the loop. After
// the end of ctx, each file that isn't begun gets an error.
func Push(ctx context.Context, log *slog.Logger, due []Path, one func(context.Context, Path) (outbox.Report,
	error)) (out ledger.Outcome, err error) {
	for _, p := range due {
		if ctx.Err() != nil {
			err = errors.Join(err, &jobs.FileError{File: p.Name, Err: context.Cause(ctx)})
			continue
		}
		report, failed := one(ctx, p)
		failed = addOutcome(log.With("window", p.Name), &out, report, failed)
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

// Options are the options that every kind of job that pushes files has.
type Options struct {
	Job, Table string
	Run        string // the run's ID

	Ledger *ledger.Ledger

	Inbox   Inbox
	Rejects *blob.Bucket

	MaxRejects  *outbox.Most
	ParkUnknown bool
	Quiet       time.Duration // a file that was modified more recently waits for the next run
	InFlight    int           // see outbox.Task

	First bool // allows files older than anything on record to be sent, because a person has said so
	// Others holds, by job, the sources of other jobs that would send the same records of a file.
	Others map[string]Source

	SpoolDir string
	Log      *slog.Logger
}

// Outbox returns the outbox of the job's table. It keeps records for longer than their file may be
// due.
func (o Options) Outbox() *outbox.Outbox {
	return outbox.New(outbox.Options{
		Ledger: o.Ledger, Table: o.Table, Run: o.Run, SpoolDir: o.SpoolDir, Rejects: o.Rejects,
		Keep: time.Duration(max(o.Inbox.Window, 7)+2) * 24 * time.Hour, Log: o.Log,
	})
}

// waiting returns the problem that new or changed files wait until the schedule fires.
func (o Options) waiting(files int, now time.Time) ledger.Problem {
	what := "1 file waits"
	if files > 1 {
		what = fmt.Sprintf("%d files wait", files)
	}
	if s := o.Inbox.Schedule; s != nil {
		what += " for " + s.Next(now.In(o.Inbox.Zone)).Format("2006-01-02 15:04 MST")
	}
	return ledger.Problem{Condition: "waiting", What: what, Advice: "this takes it now",
		Command: "run " + o.Job + " --now"}
}
