package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"cloud.google.com/go/civil"
	"golang.org/x/sync/semaphore"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/partition"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// A block is a group of adjacent windows whose totals are fetched by one request. The first window
// that needs them makes the request for all.
type block struct {
	asking *semaphore.Weighted // held while the totals are being fetched
	row    []civil.Date        // from the first partition in it that was due or changed to the last
	totals map[civil.Date]table.Part
	err    error
}

// block returns the block that has all of a row of partitions, for the given columns. It returns
// nil when the plan has no such block.
func (p *plan) block(row []civil.Date, c *columns) *block {
	p.mu.Lock()
	defer p.mu.Unlock()
	from := p.rules.Block(row[0], p.firstDue)
	key := c.Shape.ID() + from.String()
	b := p.blocks[key]
	if b == nil {
		b = &block{asking: semaphore.NewWeighted(1)}
		due := slices.DeleteFunc(slices.Collect(maps.Keys(p.due)),
			func(d civil.Date) bool { return p.rules.Block(d, p.firstDue) != from })
		if len(due) > 0 {
			b.row = p.rules.Period.Row(slices.MinFunc(due, civil.Date.Compare), slices.MaxFunc(due, civil.Date.Compare))
		}
		p.blocks[key] = b
	}
	if !slices.Contains(b.row, row[0]) || !slices.Contains(b.row, row[len(row)-1]) {
		return nil
	}
	return b
}

// sharedTotals returns the service's totals of a row of partitions, from the answer that the
// windows of its block share. After an error, recheck asks for the totals of the row alone. An
// error that stops the whole job is returned to one window only; the others keep waiting for the
// semaphore until the runner cancels them.
func (f *fetch) sharedTotals(ctx context.Context, row []civil.Date) (map[civil.Date]table.Part, error) {
	b := f.block(row, f.cols)
	if b == nil {
		b = &block{asking: semaphore.NewWeighted(1), row: row}
	}
	if err := b.asking.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	stopped := false // keep the semaphore, so that no other window asks again
	defer func() {
		if !stopped { // also when asking has panicked
			b.asking.Release(1)
		}
	}()
	if b.totals == nil && b.err == nil {
		if err := f.totalsFirst.begin(ctx); err != nil {
			stopped = true
			return nil, err
		}
		parts, err := f.firstTotals(ctx, b.row)
		if err = f.totalsFirst.answered(err); errors.Is(err, jobs.ErrStop) {
			stopped = true
			return nil, err
		}
		if ctx.Err() == nil {
			b.totals, b.err = byPartition(parts), err
		}
	}
	return b.totals, errors.Join(b.err, ctx.Err())
}

// requests returns how many requests are needed for the rows of a row of partitions, or for their
// totals, as far as that is known before the service is asked.
func (f *fetch) requests(row []civil.Date, totals bool) (n int) {
	cut := f.cutAtOffsets(row)
	if totals && f.query(row).Summable {
		cut = [][]civil.Date{row}
	}
	for _, run := range cut {
		q := f.query(run)
		if totals {
			q.Dimensions = []string{f.cols.period()[0].Source}
		}
		n += f.o.Client.Requests(q)
	}
	return n
}

// firstTotals does what totals does, with one exception: the newest block of a new table whose rows
// are fetched without a list of apps. Its totals are fetched with the list of apps that the service
// gives. That way, rows without a list are compared with totals by list, and no further request is
// needed to find out whether one of the two leaves something out. Where they differ, recheck asks
// for the totals without a list.
func (f *fetch) firstTotals(ctx context.Context, row []civil.Date) ([]table.Part, error) {
	apps := f.scope.now.Apps
	if !f.newTable || f.o.Listed || len(f.o.Query.Filters[appTokenIn]) > 0 || len(apps) == 0 || f.unchecked != "" ||
		f.rules.Period == refresh.Whole ||
		row[len(row)-1] != slices.MaxFunc(slices.Collect(maps.Keys(f.due)), civil.Date.Compare) {
		return f.totals(ctx, row)
	}
	parts, err := f.totalsOf(ctx, row, apps)
	var refused *adjust.Error
	switch {
	case err == nil:
		f.mu.Lock()
		defer f.mu.Unlock()
		f.totalsOtherWay = byPartition(parts)
		return parts, nil
	case ctx.Err() != nil, errors.As(err, &refused) && refused.Metric != "":
		return nil, err
	}
	return f.totals(ctx, row)
}

// totals fetches the totals of a row of partitions. When the rows are fetched with a list of apps,
// it fetches the totals with the list and without it, and takes the greater number of each: so what
// one of the two leaves out shows as a difference from the rows.
func (f *fetch) totals(ctx context.Context, row []civil.Date) ([]table.Part, error) {
	named := f.o.Query.Filters[appTokenIn]
	parts, err := f.totalsOf(ctx, row, named)
	if err != nil || len(named) > 0 || len(f.apps()) == 0 {
		return parts, err
	}
	listed, err := f.totalsOf(ctx, row, f.apps())
	if err != nil {
		f.o.Log.Debug("totals by the list of apps can't be had", "job", f.o.Job, "run", f.o.Run, "window", span(row),
			"error", err)
		return parts, ctx.Err()
	}
	with := byPartition(listed)
	for i, p := range parts {
		other := with[p.Partition]
		for name, sum := range other.Sums {
			totalled := slices.ContainsFunc(f.cols.totalled, func(c table.Column) bool { return c.Name == name })
			a, _ := rational(p.Sums[name])
			b, _ := rational(sum)
			if !totalled || a == nil || b != nil && b.Cmp(a) > 0 {
				p.Sums[name], p.Decimals[name] = sum, other.Decimals[name]
			}
		}
		parts[i].Rows = max(p.Rows, other.Rows)
	}
	return parts, nil
}

// totalsOf fetches the totals of a row of partitions. When the service is too slow, it halves the
// row, and a single partition's apps. Apps that the service refuses are left out. A total of money
// that is too large for the column's decimal type is read as a double. A partition whose total
// can't be read even so has none.
func (f *fetch) totalsOf(ctx context.Context, row []civil.Date, apps []string) ([]table.Part, error) {
	filters := f.o.Query.Filters
	if len(apps) > 0 {
		filters = withFilter(filters, appTokenIn, apps)
	}
	parts, err := f.totalsBy(ctx, row, nil, f.cols.askedTotals, filters)
	if named, _ := refusedApps(err); len(named) > 0 && len(named) < len(apps) {
		return f.totalsOf(ctx, row, without(apps, named))
	}
	unread := f.unreadable(err)
	if unread {
		doubles := slices.Clone(f.cols.askedTotals)
		for i := range doubles {
			if doubles[i].Type == catalog.Decimal {
				doubles[i].Type = catalog.Double
			}
		}
		parts, err = f.totalsBy(ctx, row, nil, doubles, filters)
		if unread = f.unreadable(err); unread && len(row) == 1 {
			return nil, nil
		}
	}
	for _, p := range parts {
		p.Remove() // the sums are all that is needed of it
	}
	if !unread && !errors.Is(err, adjust.ErrTooSlow) || len(row) == 1 && len(apps) < 2 {
		return parts, err
	}
	// The service is too slow, or a total of several partitions can't be read: half at a time.
	if half := len(row) / 2; half > 0 {
		first, err := f.totalsOf(ctx, row[:half], apps)
		if err != nil {
			return nil, err
		}
		rest, err := f.totalsOf(ctx, row[half:], apps)
		return append(first, rest...), err
	}
	// One partition: half of the apps at a time. A half whose apps are all refused adds nothing.
	half := halves(apps)
	first, err := f.totalsOf(ctx, row, half[0])
	_, none := refusedApps(err)
	if err != nil && !none {
		return nil, err
	}
	rest, failed := f.totalsOf(ctx, row, half[1])
	if _, no := refusedApps(failed); no && err == nil {
		return first, nil
	}
	if none {
		return rest, failed
	}
	if err = failed; err != nil || len(first) == 0 || len(rest) == 0 {
		return nil, err
	}
	return []table.Part{partition.Add(f.cols.totalled, first[0], rest[0])}, nil
}

// unreadable tells whether an answer has a number that a column can't hold.
func (f *fetch) unreadable(err error) bool {
	var cell *table.CellError
	return errors.As(err, &cell) && slices.ContainsFunc(f.cols.askedTotals,
		func(c table.Column) bool { return strings.EqualFold(c.Source, cell.Column) })
}

// totalsBudget is the memory for an answer with totals, in bytes.
const totalsBudget = 1 << 20

// totalsBy makes one request for totals, grouped by the period and by the dimensions in by. The
// query is that of the rows, with other columns and with filters that may narrow it.
func (f *fetch) totalsBy(ctx context.Context, row []civil.Date, by []string, metrics []table.Column,
	filters map[string][]string) (parts []table.Part, err error) {
	if cut := f.cutAtOffsets(row); len(cut) > 1 && !f.query(row).Summable {
		for _, run := range cut {
			some, err := f.totalsBy(ctx, run, by, metrics, filters)
			if parts = append(parts, some...); err != nil {
				return parts, err
			}
		}
		return parts, nil
	}
	if err := f.further.take(); err != nil {
		return nil, err
	}
	columns, route := f.cols.period(), 0
	if f.cols.Route == table.NoRoute {
		route = table.NoRoute
	}
	q := f.query(row)
	q.Dimensions, q.Metrics, q.Filters, q.Splittable = []string{columns[0].Source}, nil, filters, true
	for _, name := range by {
		q.Dimensions = append(q.Dimensions, name)
		columns = append(columns, table.Column{Name: name, Source: name, Dimension: true})
	}
	for _, c := range metrics {
		columns = append(columns, c)
		if !slices.Contains(q.Metrics, c.Source) {
			q.Metrics = append(q.Metrics, c.Source)
		}
	}
	conv, err := table.New(table.Options{
		Columns: columns, Route: route, Partitions: row, Dir: f.o.SpoolDir, Hold: table.HoldSmall, Codec: "none",
		Budget:  table.NewBudget(totalsBudget),
		Mending: f.table.Mending(),
	})
	if err != nil {
		return nil, err
	}
	defer conv.Abort()
	if _, err = f.client.CSVReport(ctx, q, func(r io.Reader) error {
		err := conv.Read(ctx, r)
		if err != nil {
			conv.Abort() // the next attempt begins anew
		}
		return err
	}); err != nil {
		return nil, fmt.Errorf("ask for totals: %w", err)
	}
	return conv.Finish()
}

// period returns the column by which totals are grouped: the table's period, or the day when that
// is the hour. A table without periods has the year, and the years are added up.
func (c *columns) period() []table.Column {
	switch {
	case c.Route == table.NoRoute:
		return []table.Column{{Name: "year", Source: "year", Type: catalog.Year, Dimension: true}}
	case c.Columns[c.Route].Type == catalog.Hour:
		return []table.Column{{Name: "day", Source: "day", Type: catalog.Day, Dimension: true}}
	}
	return []table.Column{c.Columns[c.Route]}
}
