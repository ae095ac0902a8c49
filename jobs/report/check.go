package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// A Comparison compares a recorded partition with what the service says about it now.
type Comparison struct {
	Partition civil.Date
	Recorded  ledger.Record
	Totals    string // how its totals differ; empty if they don't, or if its rows were fetched again
	Rows      int64  // how many rows were fetched again
	Same      bool   // the fetched rows are the recorded ones
	Err       error  // why its rows, or the totals of partitions from this one on, couldn't be fetched
}

// Compare compares all settled partitions, which the service doesn't restate any more, with its
// totals of today. It returns those that differ, and the number that it could compare. Of the
// partitions whose totals don't differ, it fetches up to n again, chosen at random by dice, and
// compares their rows. It publishes nothing. Errors about a partition are in its comparison; the
// error that is returned concerns all of them, as one of the ledger does.
func (k *Kind) Compare(ctx context.Context, now time.Time, n int, dice *rand.Rand) (list []Comparison, totals int,
	err error) {
	p, err := k.plan(ctx, now)
	if err != nil {
		return nil, 0, err
	}
	rules := p.rules
	rules.LaterColumns = true // columns that a partition lacks don't change those that it has
	settled := slices.DeleteFunc(p.table.Sorted(), func(e ledger.Record) bool {
		return e.State != ledger.Written && e.State != ledger.Empty || !rules.Settled(now, e)
	})
	var m adjust.Meter
	f := &fetch{plan: p, client: k.o.Client.Metered(&m)}
	if k.o.Listed {
		p.scope.now = k.o.Visible(ctx, f.client)
	}
	cols, err := p.resolve(ctx, f.client)
	if err != nil {
		return nil, 0, err
	}
	shapes, err := p.table.Shapes(ctx)
	if err != nil {
		return nil, 0, err
	}
	if rules.Period != refresh.Whole && k.incomparable() == "" {
		list, totals = f.compareTotals(ctx, settled)
	}
	settled = slices.DeleteFunc(settled, func(e ledger.Record) bool {
		return slices.ContainsFunc(list, func(c Comparison) bool { return c.Partition == e.Partition })
	})
	dice.Shuffle(len(settled), func(i, j int) { settled[i], settled[j] = settled[j], settled[i] })
	chosen := settled[:min(n, len(settled))]
	slices.SortFunc(chosen, func(a, b ledger.Record) int { return a.Partition.Compare(b.Partition) })
	for _, e := range chosen {
		list = append(list, f.compare(ctx, e, shapes[e.Shape], cols))
	}
	return list, totals, nil
}

// compareTotals compares partitions, which ascend, with the totals of today. It takes no more
// requests than a run does.
func (f *fetch) compareTotals(ctx context.Context, settled []ledger.Record) (list []Comparison, compared int) {
	blocks := map[civil.Date][]civil.Date{}
	for _, e := range settled {
		from := f.rules.Block(e.Partition, settled[0].Partition)
		blocks[from] = append(blocks[from], e.Partition)
	}
	for _, from := range slices.SortedFunc(maps.Keys(blocks), civil.Date.Compare) {
		differing, n, err := f.compareFinals(ctx, blocks[from])
		if compared += n; err != nil {
			list = append(list, Comparison{Partition: blocks[from][0],
				Err: fmt.Errorf("totals from %s on: %w", blocks[from][0], err)})
		}
		for _, partition := range slices.SortedFunc(maps.Keys(differing), civil.Date.Compare) {
			e, _ := f.table.Record(partition)
			list = append(list, Comparison{Partition: partition, Recorded: e, Totals: onRecord(differing[partition])})
		}
	}
	return list, compared
}

// compare fetches a partition again and compares it with its record. It asks for the columns that
// the record has, because its hash is over those. If the service refuses these and the table lacks
// some of them by now, it asks only for the ones that the table still has, and compares the number
// of rows and the sums of additive metrics.
func (f *fetch) compare(ctx context.Context, e ledger.Record, recorded ledger.Shape, cols *columns) Comparison {
	c := Comparison{Partition: e.Partition, Recorded: e}
	part, err := f.askAs(ctx, e.Partition, cols.recordedAs(recorded, false))
	var refused *adjust.Error
	if err == nil {
		c.Same = part.Rows == e.Rows && (part.Rows == 0 || part.Hash == e.Hash)
	} else if errors.As(err, &refused) && refused.Status == http.StatusBadRequest && cols.Shape.Lacks(recorded) != nil {
		part, err = f.askAs(ctx, e.Partition, cols.recordedAs(recorded, true))
		c.Same = part.Rows == e.Rows
		for name, sum := range part.Sums {
			c.Same = c.Same && (part.Rows == 0 || sum == e.Sums[name])
		}
	}
	if c.Rows = part.Rows; err != nil {
		c.Err = fmt.Errorf("fetch %s/%s: %w", f.o.Table, e.Partition, err)
	}
	return c
}

// askAs fetches a partition with the given columns in place of the table's, which f then goes on
// with, and keeps only what the part says about the content, not the content itself.
func (f *fetch) askAs(ctx context.Context, partition civil.Date, cols *columns) (table.Part, error) {
	f.cols = cols
	a, err := f.ask(ctx, []civil.Date{partition}, nil)
	if err != nil {
		return table.Part{}, err
	}
	a.Parts[0].Remove()
	return a.Parts[0], nil
}

// A Disagreement is a metric whose type in the service's own list isn't that of the table's column.
type Disagreement struct {
	Metric     string
	Type       catalog.Type // of the column
	Formatting string       // the service's word
}

// Disagreements compares the metrics of the config with the service's own lists, by slug. It
// ignores metrics that aren't in the lists.
func (k *Kind) Disagreements(lists map[string]adjust.Filter) []Disagreement {
	var out []Disagreement
	for _, c := range k.fixed {
		item, listed := lists[c.Source]
		if c.Dimension || !listed {
			continue
		}
		if typ, known := catalog.ForFormatting(item.Formatting); known && typ != c.Type {
			out = append(out, Disagreement{c.Source, c.Type, item.Formatting})
		}
	}
	return out
}

// Try finds out whether the service takes the columns that the job asks for, and counts them.
// Columns that the service's own lists don't have, such as hidden metrics, are tried by a report of
// one day. So are names in filters that neither the lists nor the catalogue have, because nothing
// would show that the service ignores a filter.
func (k *Kind) Try(ctx context.Context, lists map[string]adjust.Filter) (dimensions, metrics int, err error) {
	cols := slices.Clone(k.fixed)
	if len(k.o.Events) > 0 {
		events, err := k.eventsNow(ctx)
		if err != nil {
			return 0, 0, fmt.Errorf("resolve events: %w", err)
		}
		cols = append(cols, events...)
	}
	q := k.o.Query
	q.Dimensions, q.Metrics = nil, nil
	for _, c := range cols {
		_, listed := lists[c.Source]
		switch {
		case c.Source == "": // a column of NULLs
		case c.Dimension:
			if dimensions++; !listed {
				q.Dimensions = append(q.Dimensions, c.Source)
			}
		default:
			if metrics++; !listed {
				q.Metrics = append(q.Metrics, c.Source)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(q.Filters)) {
		at := strings.LastIndex(name, "__")
		to, subject := &q.Dimensions, name[:at]
		if slices.Contains([]string{"lt", "lte", "gt", "gte", "eq", "ne"}, name[at+2:]) {
			to = &q.Metrics
		}
		if _, listed := lists[subject]; !listed && foreign(subject) && !slices.Contains(*to, subject) {
			*to = append(*to, subject)
		}
	}
	if len(q.Dimensions)+len(q.Metrics) == 0 {
		return dimensions, metrics, nil
	}
	if len(q.Dimensions) == 0 {
		q.Dimensions = k.o.Query.Dimensions[:1]
	}
	if len(q.Metrics) == 0 {
		q.Metrics = k.o.Query.Metrics[:min(1, len(k.o.Query.Metrics))]
	}
	if len(q.Metrics) == 0 { // all of them are events', and listed
		q.Metrics = []string{"installs"}
	}
	q.Until = civil.DateOf(time.Now().UTC())
	q.From = q.Until.AddDays(-1)
	_, err = k.o.Client.CSVReport(ctx, q, func(r io.Reader) error {
		_, err := io.Copy(io.Discard, r)
		return err
	})
	var refused *adjust.Error
	if errors.As(err, &refused) && refused.AnyDays {
		err = fmt.Errorf("%w: %w%s", ledger.ErrRefused, err, (&fetch{plan: &plan{Kind: k}}).advice(err))
	}
	return dimensions, metrics, err
}

// foreign tells whether the catalogue knows neither a dimension nor a metric of this name.
func foreign(name string) bool {
	_, dimension := catalog.Dimension(name)
	_, metric := catalog.Metric(name)
	_, guessed := catalog.Guess(name)
	return !dimension && !metric && !guessed
}

// eventsNow returns the columns of today's events, and of events that are gone from the service but
// recorded in the ledger.
func (k *Kind) eventsNow(ctx context.Context) ([]column, error) {
	var recorded ledger.Shape
	if k.o.Ledger != nil {
		t, err := k.o.Ledger.Table(ctx, k.o.Table)
		if err != nil {
			return nil, err
		}
		if recorded, _, err = t.LastShape(ctx); err != nil {
			return nil, err
		}
	}
	return eventColumns(ctx, k.o, k.o.Client, recorded)
}
