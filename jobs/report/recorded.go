package report

import (
	"slices"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// recordedColumns gives the table's columns without asking the service: those of events are the ones that were recorded last, in their
// order. An event that was never found has none.
func (p *plan) recordedColumns(recorded ledger.Shape) ([]column, error) {
	cols := slices.Clone(p.fixed)
	for _, s := range p.o.Events {
		for _, was := range recorded.Columns {
			metric, gave := s.gaveIt(was)
			c := column{Column: table.Column{Name: was.Name, Source: was.Source}, event: s.String()}
			if !gave || c.Type.UnmarshalText([]byte(was.Type)) != nil {
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
			c.Additive, c.everywhere, c.cohort = p.o.summable(f, c.Type), f.Additive == catalog.Everywhere, f.OfCohort()
			cols = append(cols, c)
		}
	}
	return cols, unique(append(slices.Clone(cols), p.o.stamps()...))
}

// gaveIt tells which of the selector's metrics a recorded column is of.
func (s Selector) gaveIt(was ledger.Column) (metric string, gave bool) {
	for _, m := range s.Metrics {
		fits := was.Event == s.String() && s.gave(was, m)
		if s.As != "" || s.Slug != "" {
			fits = was.Event != "" && was.Name == s.column(s.Slug, m)
		}
		// A name may end with several metrics, such as revenue and cohort_revenue: the longest one is meant.
		if fits && (metric == "" || metric == self || m != self && len(m) > len(metric)) {
			metric, gave = m, true
		}
	}
	return metric, gave
}
