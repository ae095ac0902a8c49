package report

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// A group holds the partitions of a window that are fetched with the same columns.
type group struct {
	columns *columns
	window  refresh.Window
}

// groups divides a window by columns. A new partition gets those of the config. One that is fetched
// again is also asked for the other columns that it has already, so that when a metric is taken out
// of the config, the older partitions keep their numbers.
func (p *plan) groups(ctx context.Context, w refresh.Window, now *columns) (list []group, err error) {
	at := map[string]int{}
	in := map[civil.Date]int{}
	for _, d := range w.Due {
		cols := now
		if e := w.Base[d.Partition]; e.Rows > 0 {
			recorded, err := p.table.ShapeOf(ctx, e)
			if err != nil {
				return nil, err
			}
			cols = p.withKept(now, recorded)
		}
		id := cols.Shape.ID()
		i, known := at[id]
		if !known {
			if err := p.table.SaveShape(ctx, cols.Shape); err != nil {
				return nil, err
			}
			i = len(list)
			at[id] = i
			list = append(list, group{columns: cols})
		}
		in[d.Partition] = i
	}
	for i := range list {
		list[i].window = w.Without(func(d refresh.Due) bool { return in[d.Partition] != i })
	}
	return list, nil
}

// withKept returns the columns, followed by those that only a recorded partition has values in.
func (k *Kind) withKept(c *columns, recorded ledger.Shape) *columns {
	cols := slices.Clone(c.all)
	var kept []string
	for _, was := range k.valued(recorded) {
		i := slices.IndexFunc(cols, func(is column) bool { return is.Name == was.Name })
		switch {
		case i >= 0 && cols[i].Source ==
			"": // the event is gone from the service's list, which is no reason to lose its numbers
			cols[i].Source = was.Source
		case i >= 0:
			continue
		default:
			col := column{Column: table.Column{Name: was.Name, Source: was.Source}, event: was.Event}
			if col.Type.UnmarshalText([]byte(was.Type)) != nil {
				continue // of a type that only a later version knows
			}
			f := metric(was.Source)
			col.Additive, col.addsUp, col.cohort = k.o.summable(f, col.Type), f.Additive == catalog.Everywhere,
				f.OfCohort()
			cols = append(cols, col)
		}
		kept = append(kept, was.Name)
	}
	if kept == nil {
		return c
	}
	wider := k.define(cols)
	wider.kept = kept
	return wider
}

// valued returns the metrics that files of a shape have values in, except those that the config
// drops, or asks for under another name.
func (k *Kind) valued(s ledger.Shape) []ledger.Column {
	dimensions := strings.Split(s.Fingerprint["dimensions"], ",")
	return slices.DeleteFunc(slices.Clone(s.Columns), func(c ledger.Column) bool {
		return c.Source == "" || slices.Contains(dimensions, c.Source) || slices.Contains(k.o.Drop, c.Name) ||
			k.renamedTo(c) != ""
	})
}

// logEndedColumns logs, for each column that the config no longer asks for, the last partition that
// has it.
func (p *plan) logEndedColumns(ctx context.Context) error {
	shapes, err := p.table.Shapes(ctx)
	if err != nil {
		return err
	}
	type end struct {
		last civil.Date
		n    int
	}
	ends := map[string]end{}
	for _, e := range p.table.Sorted() {
		if e.Rows == 0 {
			continue
		}
		for _, c := range p.valued(shapes[e.Shape]) {
			if !slices.ContainsFunc(p.knownShape.Columns, func(is ledger.Column) bool { return is.Name == c.Name }) {
				ends[c.Name] = end{e.Partition, ends[c.Name].n + 1}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(ends)) {
		p.o.Log.Warn(fmt.Sprintf("%s ends with %s: %d partitions keep it", name, span([]civil.Date{ends[name].last}),
			ends[name].n), "job", p.o.Job)
	}
	return nil
}
