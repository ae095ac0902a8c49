package events

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/partition"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// do takes the snapshot of a day and publishes it.
func (p *plan) do(ctx context.Context, window refresh.Window, claim ledger.Hold) (ledger.Outcome, error) {
	window, err := p.table.StillDue(ctx, window)
	if err != nil || len(window.Due) == 0 {
		return ledger.Outcome{}, err
	}
	var m adjust.Meter
	var out ledger.Outcome
	day := window.Due[0].Partition // a cell of the grid is one day
	if out, err = p.snapshot(ctx, claim, p.o.Client.Metered(&m), day, window.Base[day]); err != nil {
		out.Failed, err = 1, fmt.Errorf("fetch %s/%s: %w", p.o.Table, day, err)
	}
	out.Measure(m.Totals())
	if errors.Is(err, adjust.ErrAuth) {
		err = fmt.Errorf("%w: %w", jobs.ErrDenied, err)
	}
	return out, err
}

func (p *plan) snapshot(ctx context.Context, c ledger.Hold, client *adjust.Client, day civil.Date, base ledger.Record) (out ledger.Outcome, err error) {
	fetched := time.Now()
	list, err := client.Events(ctx, adjust.EventsQuery{Contains: p.o.Search, AppTokens: p.o.Apps, TokensMapping: true})
	if err != nil {
		return out, err
	}
	part, err := p.part(ctx, day, list)
	if err != nil {
		return out, err
	}
	defer os.Remove(part.Path) //nolint:errcheck // a spool file
	shape := p.shape()
	if err := p.table.SaveShape(ctx, shape); err != nil {
		return out, err
	}
	state, size, err := p.table.Publish(ctx, c, partition.Publication{
		Part: sinks.Part{
			Table: p.o.Table, Partition: day, Rows: part.Rows, Size: part.Size, Hash: part.Hash, Run: p.o.Run, Schema: schema(p.o.Warehouse),
			Open: func() (io.ReadCloser, error) { return os.Open(part.Path) },
		},
		Base: base,
		Run:  p.o.Run, Fetched: fetched, Cause: "204", Shape: shape.ID(), OnEmpty: partition.GuardEmpty,
		Again: p.o.Rules.IgnoreLedger,
		Warn:  func(err error) { p.o.Log.Warn("the sink has a remark", "job", p.o.Job, "run", p.o.Run, "status", err) },
	})
	if err != nil {
		return out, err
	}
	out.Rows, out.ParquetBytes = part.Rows, size
	out.Count(state)
	return out, nil
}

// part makes the Parquet file of a snapshot.
func (k *Kind) part(ctx context.Context, day civil.Date, list []adjust.Event) (table.Part, error) {
	conv, err := table.New(table.Options{
		Columns: columns, Partitions: []civil.Date{day}, Dir: k.o.SpoolDir, Codec: k.o.Codec, Budget: k.o.Budget,
		Metadata: map[string]string{
			"table": k.o.Table, "fingerprint": k.shape().FingerprintID(), "fetch": rand.Text(), // as in a report's files
		},
	})
	if err != nil {
		return table.Part{}, err
	}
	defer conv.Abort()
	if err := conv.Rows(ctx, rows(day, list)); err != nil {
		return table.Part{}, err
	}
	parts, err := conv.Finish()
	if err != nil {
		return table.Part{}, err
	}
	return parts[0], nil
}
