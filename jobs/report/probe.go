package report

import (
	"context"
	"slices"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/partition"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// probe gives the window without the partitions whose totals are still those of their records, if the config asks for that. It
// only leaves out what would be fetched once more before the lookback ends. What it can't compare stays, and when the totals
// can't be had, all of it does.
func (f *fetch) probe(ctx context.Context, w refresh.Window) refresh.Window {
	if !f.o.Probe || f.incomparable(len(f.cols.totalled) > 0) != "" {
		return w
	}
	still := map[civil.Date]bool{}
	for _, row := range w.Without(func(d refresh.Due) bool { return !f.probed(d, w.Base[d.Partition]) }).Runs() {
		totals, err := f.totals(ctx, row, f.o.Query.Filters[appTokenIn])
		if err != nil {
			f.o.Log.Warn("totals can't be had before the fetch, so that it isn't spared", "job", f.o.Job, "run", f.o.Run, "window", span(row), "error", err)
			continue
		}
		now := byPartition(totals)
		for _, day := range row {
			still[day] = !f.moved(w.Base[day], now[day])
		}
	}
	left := w.Without(func(d refresh.Due) bool { return still[d.Partition] })
	f.out.Probed += len(w.Due) - len(left.Due)
	return left
}

// probed tells whether a partition may stay as it is when its totals do: it will be fetched once more before it is final, and its
// record has the sums of the very columns that would be asked for.
func (f *fetch) probed(d refresh.Due, e ledger.Record) bool {
	return d.Reason == refresh.Lookback && f.rules.Period != refresh.Whole && f.rules.InLookback(f.now, d.Partition) && !f.rules.Ripened(f.now, e) &&
		(e.State == ledger.Written || e.State == ledger.Empty) && e.Shape == f.cols.Shape.ID() &&
		(e.Control == nil || e.Control.State != ledger.Unreconciled)
}

// moved tells whether the totals of today aren't the sums that a record has. The service may show fewer decimals than were added
// up; such a partition passes for one that has moved, and costs a fetch.
func (f *fetch) moved(e ledger.Record, total table.Part) bool {
	finest := map[string]int{}
	for _, c := range f.cols.totalled {
		finest[c.Name] = mostDecimals
	}
	then := table.Part{Rows: e.Rows, Sums: e.Sums, Decimals: finest}
	return len(partition.Compare(f.cols.totalled, map[int]table.Part{0: then}, map[int]table.Part{0: total})) > 0 ||
		e.Rows > 0 && slices.ContainsFunc(f.cols.totalled, func(c table.Column) bool { return e.Sums[c.Name] == "" })
}

// mostDecimals is how many decimals a part stores of money.
const mostDecimals = 6
