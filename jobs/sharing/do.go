package sharing

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/outbox/files"
)

// do pushes what is missing of the files, one after the other. A file that fails doesn't stop those
// after it, but their records wait if the failed file has records left of the same devices.
func (k *Kind) do(ctx context.Context, l *outbox.Lease, due []files.Path) (ledger.Outcome, error) {
	var m adjust.Meter
	client := k.o.Client.Metered(&m).Asking(outbox.May)
	out, err := files.Push(ctx, k.o.Log.With("job", k.o.Job, "run", k.o.Run), due,
		func(ctx context.Context, p files.Path) (outbox.Report, error) {
			var n notes
			push, err := k.push(ctx, p, client, &n)
			if err != nil {
				return outbox.Report{}, fmt.Errorf("push %s: %w", p.Name, err)
			}
			report, err := outbox.Do(ctx, l, k.Outbox(), push)
			for i, w := range warnings {
				if n[i].rows > 0 {
					k.o.Log.Warn(w.log, "job", k.o.Job, "run", k.o.Run, "window", p.Name, "rows", n[i].rows, "first",
						n[i].first, "note", w.note)
				}
			}
			return report, err
		})
	out.Measure(m.Totals())
	return out, err
}

// push returns the outbox's task of pushing a file.
func (k *Kind) push(ctx context.Context, p files.Path, client *adjust.Client, n *notes) (outbox.Task[Choice], error) {
	day, err := k.dayOf(ctx, p)
	return outbox.Task[Choice]{
		Name: p.Name, Source: k.file(p, n), Order: day,
		Send:     func(ctx context.Context, r Choice) (int, error) { return k.submit(ctx, client, r) },
		InFlight: k.o.InFlight, Quiet: k.o.Quiet, RejectsKey: p.Name + files.RejectsSuffix,
		MaxRejects: k.o.MaxRejects, ParkUnknown: k.o.ParkUnknown, SendConflicts: k.o.SendLate,
		Conflict: late, Instead: instead,
	}, err
}

// submit sends one record, and returns an error that the outbox understands.
func (k *Kind) submit(ctx context.Context, client *adjust.Client, r Choice) (resent int, err error) {
	s := adjust.Sharing{AppToken: r.App, IDFA: r.IDFA, GPSAdID: r.GPSAdID, Choice: r.Choice, Partners: r.Partners,
		Options: r.Options}
	if k.o.FormObjects && s.Partners != "" {
		if s.Partners, err = formObjects(s.Partners); err != nil {
			return 0, err
		}
	}
	a, err := client.ShareThirdParty(ctx, s)
	err = outbox.SendError(err, adjust.ErrAuth, adjust.ErrUnknown)
	if err != nil && k.o.ShowIDs {
		k.o.Log.Warn("not taken", "job", k.o.Job, "run", k.o.Run, "device", r.device(), "error", err)
	}
	return a.Resent, err
}

// device returns the device's IDs, for a log that is allowed to show them.
func (r Choice) device() string {
	var named []string
	for kind, id := range map[field]string{idfa: r.IDFA, gpsAdID: r.GPSAdID} {
		if id != "" {
			named = append(named, names[kind]+" "+id)
		}
	}
	slices.Sort(named)
	return strings.Join(named, ", ")
}

// Check does what a push would do up to the sending, and writes nothing.
func (k *Kind) Check(ctx context.Context, p files.Path) (files.Checked, error) {
	var n notes
	push, err := k.push(ctx, p, nil, &n)
	if err != nil {
		return files.Checked{}, err
	}
	c, err := files.Check(ctx, k.Outbox(), push, k.file(p, &n))
	for i, w := range warnings {
		if n[i].rows > 0 {
			c.Problems = append(c.Problems, files.Problem{Refusal: files.Refusal{Reason: w.reason}, Rows: n[i].rows,
				First: n[i].first, Sent: true})
		}
	}
	return c, err
}
