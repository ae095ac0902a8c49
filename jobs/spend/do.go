package spend

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/outbox"
)

// Do pushes what is missing of one file. A file that is being written is left for the next run, and is no failure.
func (k *Kind) Do(ctx context.Context, u jobs.Unit) (out jobs.Outcome, err error) {
	p, known := k.files[u.Name]
	if !known {
		return out, fmt.Errorf("push %s: no file of this name was planned", u.Name)
	}
	var m adjust.Meter
	report, err := outbox.Do(ctx, k.outbox, k.push(p, k.o.Client.Metered(&m)))
	out.Requests, out.Retries = m.Requests.Load(), m.Retries.Load()
	out.Limiter, out.Backoff = time.Duration(m.Limiter.Load()), time.Duration(m.Backoff.Load())
	log := k.o.Log.With("job", k.o.Job, "run", k.o.Run, "window", p.Name)
	var held *jobs.HeldError
	switch {
	case errors.Is(err, outbox.ErrGrowing):
		log.Info("left for the next run", "status", err)
		return out, nil
	case errors.As(err, &held):
		return out, err
	case err != nil:
		out.Failed = 1
		return out, err
	case report.Same:
		out.Unchanged = 1
		return out, nil
	}
	out.Written, out.Rows = 1, report.Accepted
	k.tell(log, report)
	return out, nil
}

// push is what is done with a file.
func (k *Kind) push(p Path, client *adjust.Client) outbox.Push[Record] {
	source := k.source(p)
	day := dayOf(p.Key)
	return outbox.Push[Record]{
		Name: p.Name, Source: source,
		Send:     func(ctx context.Context, r Record) error { return submit(ctx, client, r) },
		InFlight: k.o.InFlight, Quiet: k.o.Quiet, RejectsKey: p.Name + RejectsSuffix,
		Tally: func(r Record) (string, int64) {
			return Key{Day: r.day(day), Type: r.Type, Currency: r.Currency}.String(), units(r.Amount)
		},
		MaxRejects: k.o.MaxRejects, ParkUnknown: k.o.ParkUnknown, SendConflicts: k.o.SendConflicts,
		Conflict: outbox.Rejection{Field: names[costID], Reason: "was pushed before with other content"},
	}
}

// submit sends one record, and says in the outbox's words what came of it.
func submit(ctx context.Context, client *adjust.Client, r Record) error {
	if r.Expired(time.Now()) { // while the rows before it were sent
		return expired()
	}
	err := client.SubmitSpend(ctx, adjust.Spend{Type: r.Type, Currency: r.Currency, Amount: r.Amount, CostID: r.CostID, Tag: r.Tag})
	var refused *adjust.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, adjust.ErrAuth):
		return fmt.Errorf("%w: %w", jobs.ErrDenied, err)
	case errors.Is(err, adjust.ErrRejected) && errors.As(err, &refused):
		reason := fmt.Sprintf("the service answered %d", refused.Status)
		if refused.Message != "" {
			reason += ": " + refused.Message
		}
		return &outbox.Rejection{Reason: reason}
	case errors.Is(err, adjust.ErrUnknown):
		return fmt.Errorf("%w: %w", outbox.ErrUnknown, err)
	}
	return err
}

// tell logs what a person should know of a file that was pushed.
func (k *Kind) tell(log *slog.Logger, r outbox.Report) {
	args := []any{
		"rows", r.Rows, "accepted", r.Accepted, "duplicates", r.Duplicates, "refused", r.Refused, "rejected", r.Rejected,
		"conflicts", r.Conflicts, "unknown", r.Unknown, "resent", r.Resent, "status", pushed(r),
	}
	if r.Refused+r.Rejected+r.Conflicts+r.Unknown > 0 {
		log.Warn("pushed, but for some rows", args...)
		return
	}
	log.Info("pushed", args...)
}

func pushed(r outbox.Report) string {
	status := "the file is new"
	if r.Changed {
		status = "the file has changed since it was pushed; only its new records were sent"
	}
	if r.Rejects != "" {
		status += "; rows that were not taken are in " + r.Rejects
	}
	return status
}

var date = regexp.MustCompile(`\d{4}-\d{2}-\d{2}`)

// dayOf is the day that a file's name says; empty: none.
func dayOf(key string) string {
	for _, s := range date.FindAllString(key, -1) {
		if _, err := time.Parse(time.DateOnly, s); err == nil {
			return s
		}
	}
	return ""
}

// day is the day that the spend is of, in UTC: the engagement's, the file's, or else today.
func (r Record) day(file string) string {
	switch {
	case !r.Engaged.IsZero():
		return r.Engaged.UTC().Format(time.DateOnly)
	case file != "":
		return file
	}
	return time.Now().UTC().Format(time.DateOnly)
}

// Check does what Do does up to the sending, and writes nothing. The problems are the reasons why rows would be refused.
func (k *Kind) Check(ctx context.Context, u jobs.Unit) (outbox.Report, []Problem, error) {
	push := k.push(k.files[u.Name], nil)
	counted := &counting{Source: push.Source, seen: map[Refusal]*Problem{}}
	push.Source, push.Quiet = counted, 0
	report, err := outbox.Check(ctx, k.outbox, push)
	return report, counted.problems, err
}
