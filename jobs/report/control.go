package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/internal/telemetry/step"
	"github.com/reportferry/reportferry/jobs/partition"
)

// Reconcile says what happens to a partition whose rows don't add up to the service's own totals.
type Reconcile string

// The choices.
const (
	ReconcileWarn Reconcile = "warn" // it is published, and the record says so
	ReconcileFail Reconcile = "fail" // it fails, and the old rows stay
	ReconcileOff  Reconcile = "off"  // no totals are asked for
)

// Unchecked says why the job's rows can't be held against the service's totals; empty: they can. Which metrics events have is
// known only when the service was asked, so that it leaves them the benefit of the doubt.
func (k *Kind) Unchecked() string {
	additive := len(k.o.Events) > 0 || slices.ContainsFunc(k.fixed, column.totalled)
	return k.unchecked(additive)
}

func (k *Kind) unchecked(additive bool) string {
	if why := k.incomparable(additive); why != "" || k.o.Reconcile != ReconcileOff {
		return why
	}
	return "reconcile is off"
}

// incomparable says why totals say nothing about the sums of rows; empty: they do.
func (k *Kind) incomparable(additive bool) string {
	for name := range k.o.Query.Filters {
		if slices.Contains([]string{"lt", "lte", "gt", "gte", "eq", "ne"}, name[strings.LastIndex(name, "__")+2:]) {
			return "the filter " + name + " leaves rows out that a total counts"
		}
	}
	switch {
	case slices.Contains(k.o.Query.Parameters["cohort_maturity"], "fully_mature"):
		return "cohort_maturity: fully_mature leaves rows out that a total counts"
	case !additive:
		return "none of its metrics adds up over all dimensions"
	}
	return ""
}

// totalled tells whether the service's total of a column is the sum over any rows.
func (c column) totalled() bool {
	return c.everywhere && (c.Type == catalog.Int64 || c.Type == catalog.Decimal || c.Type == catalog.Double)
}

// A control is the request for the totals of a row of partitions. It is under way beside the request for the rows, so that it
// takes no time of its own. A nil one is none.
type control struct {
	once   sync.Once
	ask    func() ([]table.Part, error)
	cancel context.CancelFunc
	over   chan struct{}
	totals []table.Part
	err    error
}

func (f *fetch) control(ctx context.Context, row []civil.Date) *control {
	if f.unchecked != "" {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	ask := func() (parts []table.Part, err error) {
		ctx, about := step.Begin(ctx, step.Reconcile)
		defer func() { about.End(err) }()
		return f.totals(ctx, row, f.o.Query.Filters[appTokenIn])
	}
	return &control{ask: ask, cancel: cancel, over: make(chan struct{})}
}

// begin sends it, unless that was done before.
func (c *control) begin(context.Context) error {
	if c != nil {
		c.once.Do(func() {
			go func() {
				defer close(c.over)
				c.totals, c.err = c.ask()
			}()
		})
	}
	return nil
}

// wait gives the totals, when they are there.
func (c *control) wait(ctx context.Context) ([]table.Part, error) {
	_ = c.begin(ctx)
	<-c.over
	return c.totals, c.err
}

// end lets no request of it go on.
func (c *control) end() {
	if c != nil {
		c.cancel()
		c.once.Do(func() { close(c.over) })
		<-c.over
	}
}

// totals asks for the totals of a row of partitions. What the service is too slow for is asked for in halves: of the row, and
// then of the apps.
func (f *fetch) totals(ctx context.Context, row []civil.Date, apps []string) ([]table.Part, error) {
	filters := f.o.Query.Filters
	if len(apps) > 0 {
		filters = withFilter(filters, appTokenIn, apps)
	}
	if err := f.trial.begin(ctx); err != nil {
		return nil, err
	}
	parts, err := f.totalsBy(ctx, row, nil, f.cols.totalled, filters)
	for _, p := range parts {
		p.Remove() // the sums are all that is needed of it
	}
	if !errors.Is(err, adjust.ErrTooSlow) || len(row) == 1 && len(apps) < 2 {
		return parts, err
	}
	if half := len(row) / 2; half > 0 {
		first, err := f.totals(ctx, row[:half], apps)
		if err != nil {
			return nil, err
		}
		rest, err := f.totals(ctx, row[half:], apps)
		return append(first, rest...), err
	}
	first, err := f.totals(ctx, row, apps[:len(apps)/2])
	if err != nil {
		return nil, err
	}
	rest, err := f.totals(ctx, row, apps[len(apps)/2:])
	if err != nil {
		return nil, err
	}
	return []table.Part{partition.Add(f.cols.totalled, first[0], rest[0])}, nil
}

// totalsBudget is the memory for an answer with totals.
const totalsBudget = 1 << 20

// totalsBy makes one request for totals, of the period and of what else they are to be grouped by. The query is that of the rows
// but for its columns, and for filters that narrow it.
func (f *fetch) totalsBy(ctx context.Context, row []civil.Date, by []string, metrics []table.Column, filters map[string][]string) ([]table.Part, error) {
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
		Columns: columns, Route: route, Partitions: row, Dir: f.o.SpoolDir, Hold: table.HoldSmall, Codec: "none", Budget: table.NewBudget(totalsBudget),
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

// period is the column that the table's totals go by: its period, or the year for a table without periods, which adds them up.
func (c *columns) period() []table.Column {
	switch {
	case c.Route == table.NoRoute:
		return []table.Column{{Name: "year", Source: "year", Type: catalog.Year, Dimension: true}}
	case c.Columns[c.Route].Type == catalog.Hour:
		return []table.Column{{Name: "day", Source: "day", Type: catalog.Day, Dimension: true}}
	}
	return []table.Column{c.Columns[c.Route]}
}
