package report

import (
	"context"
	"errors"
	"slices"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// probe returns the window without the partitions whose totals are still those of their records, if
// the config asks for that. It leaves out only partitions that will be fetched at least once more
// before the lookback ends. Partitions that it can't compare stay in the window, and all of them
// stay when the totals can't be fetched.
func (f *fetch) probe(ctx context.Context, w refresh.Window) (refresh.Window, error) {
	if !f.o.Probe || f.incomparable() != "" || len(f.cols.askedTotals) == 0 {
		return w, nil
	}
	unmoved := map[civil.Date]bool{}
	for _, row := range w.Without(func(d refresh.Due) bool { return !f.mayBeSpared(d, w.Base[d.Partition]) }).Runs() {
		today, err := f.sharedTotals(ctx, row)
		if errors.Is(err, jobs.ErrStop) {
			return w, err
		}
		if err != nil {
			f.o.Log.Warn("totals can't be had before the fetch, so that it isn't spared", "job", f.o.Job, "run",
				f.o.Run, "window", span(row), "error", err)
			continue
		}
		records := ledger.Records{}
		for _, day := range row {
			records[day] = w.Base[day]
		}
		moved, compared, err := f.changedTotals(ctx, records, today)
		if err != nil {
			return w, err
		}
		for _, day := range row {
			unmoved[day] = compared[day] && moved[day] == nil
		}
	}
	left := w.Without(func(d refresh.Due) bool { return unmoved[d.Partition] })
	f.out.Probed += len(w.Due) - len(left.Due)
	return left, nil
}

// mayBeSpared tells whether a partition needn't be fetched if its totals haven't changed: it will
// be fetched once more before it is final, and its record has the sums of the very columns that
// would be asked for.
func (f *fetch) mayBeSpared(d refresh.Due, e ledger.Record) bool {
	return d.Reason == refresh.Lookback && f.rules.Period != refresh.Whole && f.rules.InLookback(f.now, d.Partition) &&
		!f.rules.Ripened(f.now, e) &&
		(e.State == ledger.Written || e.State == ledger.Empty) && e.Shape == f.cols.Shape.ID() &&
		(e.Control == nil || e.Control.State != ledger.Unreconciled) &&
		!slices.ContainsFunc(f.cols.totalled, func(c table.Column) bool { return e.Rows > 0 && e.Sums[c.Name] == "" })
}
