package partition

import (
	"context"
	"fmt"
	"slices"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// noteOldest remembers that a target keeps no partition before oldest.
func (t *Table) noteOldest(target ledger.Target, oldest civil.Date) {
	l := t.listingOf(target)
	l.table.Oldest = oldest
	t.setListing(target, l)
}

// dropTooOld returns the window without the partitions that no target would keep. These are logged.
// If nothing else is due, it is an error when one of them is missing, asked for by a person, or new
// to a target.
func (t *Table) dropTooOld(w refresh.Window) (refresh.Window, error) {
	var left, old []refresh.Due
	oldest := t.Oldest()
	for _, d := range w.Due {
		if d.Partition.Before(oldest) {
			old = append(old, d)
		} else {
			left = append(left, d)
		}
	}
	if len(old) == 0 {
		return w, nil
	}
	w.Due = left
	err := fmt.Errorf("fetch %s of %s: %w; it isn't fetched", old[0].Partition, t.Name(), &sinks.NotKept{
		Oldest: oldest, Because: "the table deletes them because of their age; let it keep them for longer, or " +
			"begin later",
	})
	asked := func(d refresh.Due) bool {
		e, _ := t.Record(d.Partition)
		return slices.Contains([]refresh.Reason{refresh.Missing, refresh.Forced, refresh.NewSink}, d.Reason) ||
			d.Reason == refresh.Interrupted && e.Unfetched()
	}
	if len(left) == 0 && slices.ContainsFunc(old, asked) {
		return w, err
	}
	t.o.Log.Warn("partitions are too old for the table", "job", t.o.Job, "partitions", len(old), "error", err)
	return w, nil
}

// configure brings the settings of the targets' tables in line with the schema, as a put would have
// done. A failure is only reported with warn, because this can wait.
func (t *Table) configure(ctx context.Context, schema *sinks.Schema, warn func(error)) {
	for _, target := range t.o.Targets {
		if sink, ok := target.Sink.(sinks.Configurer); ok {
			if err := sink.Configure(ctx, t.Name(), schema, warn); err != nil && ctx.Err() == nil {
				warn(err)
			}
		}
	}
}
