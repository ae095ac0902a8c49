package report

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// recordedColumns returns the table's columns without asking the service: the columns of events are
// those that were recorded last, in their order. An event that was never found has none.
func (p *plan) recordedColumns(recorded ledger.Shape) ([]column, error) {
	cols := slices.Clone(p.fixed)
	for _, s := range p.o.Events {
		for _, was := range recorded.Columns {
			metric, ours := s.metricOf(was)
			c := column{Column: table.Column{Name: was.Name, Source: was.Source}, event: s.String()}
			if !ours || c.Type.UnmarshalText([]byte(was.Type)) != nil {
				continue
			}
			f, known := catalog.EventMetric(metric)
			typ, declared := p.o.Types[was.Name]
			switch {
			case declared:
				c.Type = typ
			case known:
				c.Type = f.Type
			case c.Type == catalog.Int64: // an event's own value is a count
				f.Additive = catalog.Everywhere
			}
			c.Additive, c.addsUp, c.cohort = p.o.summable(f, c.Type), f.Additive == catalog.Everywhere, f.OfCohort()
			cols = append(cols, c)
		}
	}
	return cols, unique(append(slices.Clone(cols), p.o.stamps()...))
}

// metricOf returns which of the selector's metrics a recorded column holds. ok is false when the
// column isn't one of this selector's. A selector with as or a slug gives each metric one column,
// whose name can be told in advance. The columns of others are named after the events that they
// chose then, so the record says which selector a column is from.
func (s Selector) metricOf(was ledger.Column) (metric string, ok bool) {
	for _, m := range s.Metrics {
		fits := was.Event == s.String() && s.belongs(was, m)
		if s.As != "" || s.Slug != "" {
			fits = was.Event != "" && was.Name == s.column(s.Slug, m)
		}
		// The end of a name may match several metrics, such as revenue and cohort_revenue: the
		// longest one is meant. self, the event's own value, matches any name, so it comes last.
		if fits && (metric == "" || metric == self || m != self && len(m) > len(metric)) {
			metric, ok = m, true
		}
	}
	return metric, ok
}

// evolveAdvice ends the error messages about a broken contract.
const evolveAdvice = "; undo the change, or let a run with contract: evolve take it into the table"

// checkContract refuses columns that differ from those of the newest partition, if the config
// freezes columns. Older partitions may have others, of metrics that ended before. A rebaseline,
// which a person asked for explicitly, may change any columns.
func (p *plan) checkContract(ctx context.Context, now ledger.Shape) error {
	if !p.o.Frozen || p.o.Rebaseline {
		return nil
	}
	for _, e := range slices.Backward(p.table.Sorted()) {
		if e.State == ledger.Publishing {
			continue // its shape belongs to rows that readers may not have yet
		}
		contract, err := p.table.ShapeOf(ctx, e)
		if err != nil {
			return err
		}
		if breaks := contract.Breaks(now); breaks != nil {
			return fmt.Errorf("table %s: %w: %s%s", p.o.Table, jobs.ErrContract, strings.Join(breaks, "; "),
				evolveAdvice)
		}
		return nil
	}
	return nil
}

// asNamed returns a record's result of the comparison with totals, with columns under the names
// that they have by now.
func (k *Kind) asNamed(was *ledger.Control, recorded ledger.Shape) *ledger.Control {
	if was == nil {
		return nil
	}
	c := *was
	c.Totals, c.Differences = maps.Clone(was.Totals), slices.Clone(was.Differences)
	for _, column := range recorded.Columns {
		to := k.renamedTo(column)
		if to == "" {
			continue
		}
		if total, said := c.Totals[column.Name]; said {
			delete(c.Totals, column.Name)
			c.Totals[to] = total
		}
		for i, d := range c.Differences {
			if d.Metric == column.Name {
				c.Differences[i].Metric = to
			}
		}
	}
	return &c
}
