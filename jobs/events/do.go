package events

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/partition"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/slugs"
)

// do takes the snapshot of a day and publishes it.
func (p *plan) do(ctx context.Context, window refresh.Window) (out ledger.Outcome, err error) {
	window, lease, err := p.table.Begin(ctx, window)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, lease.End(ctx)) }()
	if len(window.Due) == 0 {
		return out, nil
	}
	var m adjust.Meter
	d := p.definition()
	d.Rules = p.rules
	day := window.Due[0].Partition // a cell of the grid is one day
	var a partition.Answer
	var list []adjust.Event
	if err = p.table.SaveShape(ctx, d.Shape); err == nil {
		a, list, err = p.fetch(ctx, p.o.Client.Metered(&m), d, day)
	}
	if err == nil {
		unnoted := p.note(ctx, day, a.Fetched, list)
		out, err = p.table.Deliver(ctx, lease, d, window, a)
		err = errors.Join(err, unnoted)
	} else {
		out.Failed, err = 1, fmt.Errorf("fetch %s/%s: %w", p.o.Table, day, err)
	}
	out.Measure(m.Totals())
	if errors.Is(err, adjust.ErrAuth) {
		err = fmt.Errorf("%w: %w", jobs.ErrDenied, err)
	}
	return out, err
}

// fetch asks the service for the events as they are now, and converts them to the rows of a day.
func (p *plan) fetch(ctx context.Context, client *adjust.Client, d partition.Definition,
	day civil.Date) (a partition.Answer, list []adjust.Event, err error) {
	conv, err := p.table.Converter(d, []civil.Date{day})
	if err != nil {
		return a, nil, err
	}
	defer conv.Abort()
	a.Fetched = time.Now()
	list, err = client.Events(ctx, adjust.EventsQuery{Contains: p.o.Search, AppTokens: p.o.Apps, TokensMapping: true})
	if err != nil {
		return a, nil, err
	}
	a.None = len(list) == 0
	if err := conv.Rows(ctx, rows(day, list)); err != nil {
		return a, nil, err
	}
	a.Parts, err = conv.Finish()
	return a, list, err
}

// note compares the slugs with those of the last snapshot, and records what has changed. It comes
// before the snapshot is published: after a crash in between, the next run takes the snapshot
// again, and what is noted already isn't noted twice. When note fails, the snapshot is published
// all the same, because it can't be taken on another day, and the note of the next snapshot has the
// changes.
func (p *plan) note(ctx context.Context, day civil.Date, fetched time.Time, list []adjust.Event) error {
	now := make([]slugs.Event, 0, len(list))
	for _, e := range list {
		event := slugs.Event{Label: slugs.Label{Slug: e.ID, Name: e.Name}}
		for _, at := range owners(e) {
			event.Owners = append(event.Owners, slugs.Owner{App: at.app, Token: at.token})
		}
		now = append(now, event)
	}
	changes, err := slugs.Open(p.o.Ledger, p.o.Job, p.o.Table).Note(ctx, slugs.Snapshot{
		Events: now, Question: p.shape().FingerprintID(), Day: day, Seen: fetched, Run: p.o.Run,
	})
	for _, c := range changes {
		level := slog.LevelInfo
		if c.Lost() {
			level = slog.LevelWarn // a report job that names it will fail
		}
		p.o.Log.Log(ctx, level, "event slug "+c.String(), "job", p.o.Job, "run", p.o.Run, "window", day.String())
	}
	if err != nil {
		err = fmt.Errorf("compare %s/%s with the last snapshot: %w", p.o.Table, day, err)
	}
	return err
}
