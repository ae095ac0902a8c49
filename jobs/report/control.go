package report

import (
	"context"
	"errors"
	"slices"
	"strings"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/panics"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/internal/telemetry/step"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/partition"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// Reconcile says what happens to a partition whose rows don't add up to the service's own totals.
type Reconcile string

// The choices.
const (
	ReconcileWarn Reconcile = "warn" // it is published, and the record says so
	ReconcileFail Reconcile = "fail" // it fails, and the old rows stay
	ReconcileOff  Reconcile = "off"  // no totals are asked for
)

// Unchecked says why the job's rows can't be compared with the service's totals. It returns an
// empty text when they can. A job with events passes, because its metrics are known only after the
// service was asked.
func (k *Kind) Unchecked() string {
	return k.unchecked(len(k.o.Events) > 0 || slices.ContainsFunc(k.fixed, column.totalled))
}

// unchecked does the work of Unchecked. additive tells whether some metric adds up over all
// dimensions.
func (k *Kind) unchecked(additive bool) string {
	switch why := k.incomparable(); {
	case why != "":
		return why
	case !additive:
		return "none of its metrics adds up over all dimensions"
	case k.o.Reconcile == ReconcileOff:
		return "reconcile is off"
	}
	return ""
}

// incomparable says why the service's totals count other rows than the table has. It returns an
// empty text when they count the same rows.
func (k *Kind) incomparable() string {
	for name := range k.o.Query.Filters {
		if slices.Contains([]string{"lt", "lte", "gt", "gte", "eq", "ne"}, name[strings.LastIndex(name, "__")+2:]) {
			return "the filter " + name + " leaves rows out that a total counts"
		}
	}
	if slices.Contains(k.o.Query.Parameters["cohort_maturity"], "fully_mature") {
		return "cohort_maturity: fully_mature leaves rows out that a total counts"
	}
	return ""
}

// asksTotals tells whether the service is asked for totals when rows are fetched.
func (k *Kind) asksTotals() bool {
	return k.o.Reconcile != ReconcileOff && k.incomparable() == "" &&
		(len(k.o.Events) > 0 || slices.ContainsFunc(k.fixed, k.hasTotal))
}

// hasTotal tells whether a column has a total that can be compared with a later one. For a table
// without periods, totals are added up over years, which is meaningless for a ratio.
func (k *Kind) hasTotal(c column) bool {
	return c.number() && (c.addsUp || k.o.Rules.Period != refresh.Whole)
}

// totalled tells whether the service's total of a column is the sum over any rows.
func (c column) totalled() bool { return c.addsUp && c.number() }

// additive returns the slugs of the metrics that may be added up over any rows, such as those of
// two hours. If all metrics are among them, whole rows may be added.
func (c *columns) additive() []string {
	var slugs []string
	for _, col := range c.Columns {
		if !col.Dimension && col.Source != "" &&
			((column{Column: col, addsUp: metric(col.Source).Additive == catalog.Everywhere}).totalled() ||
				slices.ContainsFunc(c.all, func(known column) bool {
					return known.Name == col.Name &&
						known.totalled()
				})) {
			slugs = append(slugs, col.Source)
		}
	}
	return slugs
}

// number tells whether a column is of a metric that is a number.
func (c column) number() bool {
	return !c.Dimension && c.Source != "" && (c.Type == catalog.Int64 || c.Type == catalog.Decimal ||
		c.Type == catalog.Double)
}

// A control is a request for the totals of a row of partitions. It runs beside that for the rows,
// so that it takes no extra time. A nil control stands for no request.
type control struct {
	first  *firstQuery // the run's first query for totals
	cancel context.CancelFunc
	done   chan struct{} // closed when the answer, or an error, is there
	totals map[civil.Date]table.Part
	err    error
}

// control starts asking for the totals of a row of partitions, if they can be compared.
func (f *fetch) control(ctx context.Context, row []civil.Date) *control {
	if !f.asksTotals() || len(f.cols.askedTotals) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	c := &control{first: f.totalsFirst, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		ctx, about := step.Begin(ctx, step.Reconcile)
		c.err = panics.Caught("ask for totals",
			func() (err error) { c.totals, err = f.sharedTotals(ctx, row); return err })
		about.End(c.err)
	}()
	return c
}

// waitAccepted waits until the service has accepted a query for totals. A query that it refuses
// there needn't be sent for rows.
func (c *control) waitAccepted(ctx context.Context) error {
	if c == nil {
		return nil
	}
	select {
	case <-c.first.done():
	case <-c.done:
		if errors.Is(c.err, jobs.ErrStop) {
			return c.err
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// wait waits for the totals and returns them.
func (c *control) wait() (map[civil.Date]table.Part, error) {
	if c == nil {
		return nil, nil
	}
	<-c.done
	return c.totals, c.err
}

// end cancels the request if it still runs.
func (c *control) end() {
	if c != nil {
		c.cancel()
		<-c.done
	}
}

// compareWithTotals compares parts with the service's totals, and returns the result for each
// partition. unknown is the error when the totals couldn't be fetched.
func (f *fetch) compareWithTotals(parts []table.Part, totals map[civil.Date]table.Part,
	unknown error) map[civil.Date]*ledger.Control {
	these := map[civil.Date]table.Part{}
	for _, p := range parts {
		these[p.Partition] = totals[p.Partition]
	}
	differing, controls := partition.Compare(f.cols.totalled, byPartition(parts), these, f.cols.tolerances),
		map[civil.Date]*ledger.Control{}
	for _, p := range parts {
		total, differences := these[p.Partition], differing[p.Partition]
		c := &ledger.Control{State: ledger.Reconciled}
		switch {
		case f.unchecked != "":
			c.State, c.Why = ledger.Unchecked, f.unchecked
		case unknown != nil:
			c.State, c.Why = ledger.Unreconciled, unknown.Error()
		case differences != nil && f.unfinished(p.Partition):
			c.State, c.Why, c.Differences = ledger.Unchecked,
				"the period isn't over, so that its numbers move between two answers", differences
		case differences != nil:
			c.State, c.Differences = ledger.Unreconciled, differences
		default:
			c.Why, c.Differences = partition.Near(f.cols.totalled, p, total, f.cols.tolerances)
		}
		if totals != nil {
			c.Totals = f.otherTotals(p, total)
		}
		controls[p.Partition] = c
	}
	return controls
}

// otherTotals returns the totals of a partition that a record must have besides the sums over the
// rows: those that differ from the sum, and those of metrics that don't add up.
func (f *fetch) otherTotals(rows, total table.Part) map[string]string {
	said := map[string]string{}
	for _, c := range f.cols.askedTotals {
		sum, adds := rows.Sums[c.Name]
		if text, has := total.Sums[c.Name]; has && total.Rows+rows.Rows > 0 && (!adds || !partition.Equal(sum, text)) {
			said[c.Name] = ledger.Plain(text)
		}
	}
	return said
}

// unfinished tells whether the service may still count something in a partition from one moment to
// the next.
func (f *fetch) unfinished(partition civil.Date) bool {
	if f.rules.Period == refresh.Whole {
		return f.rules.Today
	}
	return f.rules.Period.Next(partition).After(civil.DateOf(f.now.In(f.rules.Location)))
}

// byPartition finds parts by their partitions.
func byPartition(parts []table.Part) map[civil.Date]table.Part {
	by := map[civil.Date]table.Part{}
	for _, p := range parts {
		by[p.Partition] = p
	}
	return by
}
