package events

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/partition"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// do takes the snapshot of a day and publishes it.
func (p *plan) do(ctx context.Context, window refresh.Window, claim ledger.Hold) (out ledger.Outcome, err error) {
	window, err = p.table.StillDue(ctx, window)
	if err != nil || len(window.Due) == 0 {
		return out, err
	}
	var m adjust.Meter
	d := p.definition()
	d.Rules = p.rules
	day := window.Due[0].Partition // a cell of the grid is one day
	var a partition.Answer
	if err = p.table.SaveShape(ctx, d.Shape); err == nil {
		a, err = p.fetch(ctx, p.o.Client.Metered(&m), d, day)
	}
	if err == nil {
		out, err = p.table.Deliver(ctx, claim, d, window, a)
	} else {
		out.Failed, err = 1, fmt.Errorf("fetch %s/%s: %w", p.o.Table, day, err)
	}
	out.Measure(m.Totals())
	if errors.Is(err, adjust.ErrAuth) {
		err = fmt.Errorf("%w: %w", jobs.ErrDenied, err)
	}
	return out, err
}

// fetch asks for the events as they are now, and makes the part of a day of them.
func (p *plan) fetch(ctx context.Context, client *adjust.Client, d partition.Definition, day civil.Date) (a partition.Answer, err error) {
	conv, err := p.table.Converter(d, []civil.Date{day})
	if err != nil {
		return a, err
	}
	defer conv.Abort()
	a.Fetched = time.Now()
	list, err := client.Events(ctx, adjust.EventsQuery{Contains: p.o.Search, AppTokens: p.o.Apps, TokensMapping: true})
	if err != nil {
		return a, err
	}
	a.None = len(list) == 0
	if err := conv.Rows(ctx, rows(day, list)); err != nil {
		return a, err
	}
	a.Parts, err = conv.Finish()
	return a, err
}
