package spend

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/outbox/files"
)

// do pushes what is missing of the files. A file that is still being written is left for the next
// run, which isn't a failure.
func (k *Kind) do(ctx context.Context, l *outbox.Lease, due []files.Path) (ledger.Outcome, error) {
	var m adjust.Meter
	client := k.o.Client.Metered(&m).Asking(outbox.May)
	out, err := files.Push(ctx, k.o.Log.With("job", k.o.Job, "run", k.o.Run), due,
		func(ctx context.Context, p files.Path) (outbox.Report, error) {
			return outbox.Do(ctx, l, k.Outbox(), k.push(p, client))
		})
	out.Measure(m.Totals())
	return out, err
}

// push returns the task of pushing one file.
func (k *Kind) push(p files.Path, client *adjust.Client) outbox.Task[Cost] {
	day := files.DayOf(p.Key)
	return outbox.Task[Cost]{
		Name: p.Name, Source: k.file(p),
		Send:     func(ctx context.Context, r Cost) (int, error) { return k.submit(ctx, client, r) },
		InFlight: k.o.InFlight, Quiet: k.o.Quiet, RejectsKey: p.Name + files.RejectsSuffix,
		Separator:  k.o.Format.Separator,
		Tally:      tally(day),
		MaxRejects: k.o.MaxRejects, ParkUnknown: k.o.ParkUnknown, SendConflicts: k.o.SendConflicts,
		Conflict: conflict, Instead: instead,
	}
}

// submit sends one record, and returns the result as the outbox's errors.
func (k *Kind) submit(ctx context.Context, client *adjust.Client, r Cost) (resent int, err error) {
	if now := time.Now(); r.Expired(now) { // it may have expired while the rows before it were sent
		return 0, r.tooOld(now)
	}
	s := adjust.Spend{Type: r.Type, Currency: r.Currency, Amount: r.Amount, CostID: r.CostID, Tag: r.Tag}
	a, err := client.SubmitSpend(ctx, s, !k.o.ParkUnknown)
	duplicate := errors.Is(err, adjust.ErrDuplicate)
	if err = outbox.SendError(err, adjust.ErrAuth, adjust.ErrUnknown); duplicate {
		err = fmt.Errorf("%w: %w", outbox.ErrAlreadyTaken, err)
	}
	return a.Resent, err
}

// day returns the day of the spend, in UTC: that of the engagement or, without one, of the file or,
// without that, today.
func (r Cost) day(file string) string {
	switch {
	case !r.Engaged.IsZero():
		return r.Engaged.UTC().Format(time.DateOnly)
	case file != "":
		return file
	}
	return time.Now().UTC().Format(time.DateOnly)
}

// Check does what a push would do before the sending, and writes nothing.
func (k *Kind) Check(ctx context.Context, p files.Path) (files.Checked, error) {
	f := k.file(p)
	f.Show = Cost.show
	return files.Check(ctx, k.Outbox(), k.push(p, nil), f)
}

// show returns the fields as they are sent. The Cost ID, which identifies a person's click, is
// hidden, and so is a tag that contains it.
func (r Cost) show() []files.Shown {
	label := r.Tag
	if strings.Contains(label, r.CostID) {
		label = "(with the Cost ID)"
	}
	shown := []files.Shown{
		{Field: names[costID], Value: fmt.Sprintf("(%d characters)", utf8.RuneCountInString(r.CostID))},
		{Field: names[costType], Value: r.Type},
		{Field: names[costCurrency], Value: r.Currency}, {Field: names[costAmount], Value: r.Amount},
		{Field: names[tag], Value: label},
	}
	if !r.Engaged.IsZero() {
		shown = append(shown, files.Shown{Field: names[engagedAt], Value: r.Engaged.Format(time.RFC3339)})
	}
	return shown
}
