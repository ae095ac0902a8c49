package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/partition"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// A column is a column of the table and, when it is an event's, the selector that chose the event.
type column struct {
	table.Column
	event      string
	many       bool // of a selector of many events
	everywhere bool // it adds up over all dimensions
	cohort     bool // it is dated by the install
}

// columns is the whole table. Rows are routed by the finest date dimension.
type columns struct {
	partition.Definition
	totalled []table.Column   // those whose sums are compared with the service's totals
	within   partition.Shares // how far some of them may be from those
	numbers  []table.Column   // those that the service is asked for the totals of
	all      []column         // without those about the fetch
	// Names of those that the config doesn't ask for, and that recorded partitions have values in.
	kept []string
}

// fixedColumns are the dimensions and metrics that the config names. None of them needs the
// service. It refuses a table that can't be, by these, and by the columns of events whose names the
// config tells.
func fixedColumns(o Options) ([]column, error) {
	cols, err := configColumns(o)
	if err != nil {
		return nil, err
	}
	known := slices.Clone(cols)
	for _, s := range o.Events {
		if s.As == "" && s.Slug == "" { // the config may name columns that only the service knows
			o.Warehouse.ClusterBy, o.Warehouse.Indexes = nil, nil
			continue
		}
		for _, metric := range s.Metrics {
			known = append(known, column{Column: table.Column{Name: s.column(s.Slug, metric), Type: catalog.Int64},
				event: s.String()})
		}
	}
	return cols, o.fits(known)
}

// fits refuses columns when readers would take two of them for one, and a table that a sink can't
// keep.
func (o Options) fits(cols []column) error {
	if err := unique(append(slices.Clone(cols), o.stamps()...)); err != nil {
		return err
	}
	return partition.Fits(o.Targets, o.Table, (&Kind{o: o}).define(cols).Schema)
}

func configColumns(o Options) ([]column, error) {
	var cols []column
	for _, name := range o.Query.Dimensions {
		f, _ := catalog.Dimension(name) // one that the catalogue lacks is a string, the zero type
		cols = append(cols, column{Column: table.Column{Name: o.named(name, name), Source: name, Type: f.Type,
			Dimension: true}})
	}
	for _, slug := range o.Query.Metrics {
		f, known := catalog.Metric(slug)
		if !known {
			f, known = catalog.Guess(slug)
		}
		name := catalog.ColumnName(slug)
		typ, declared := o.Types[name]
		if !known && !declared {
			return nil, fmt.Errorf("unknown metric %q: declare its type under `types`", slug)
		}
		if !declared {
			typ = f.Type
		}
		cols = append(cols, column{
			Column: table.Column{Name: o.named(slug, name), Source: slug, Type: typ, Additive: o.summable(f, typ),
				Rounds: f.Modelled() && typ == catalog.Int64},
			everywhere: f.Additive == catalog.Everywhere, cohort: f.OfCohort(),
		})
	}
	return cols, nil
}

// named is the name of a dimension's or a metric's column: what the config says, or the usual one.
func (o Options) named(source, usual string) string { return cmp.Or(o.Rename[source], usual) }

// renamedTo is the name that the config gives by now to what a recorded column is of; empty: it is
// the same, or the config doesn't have it.
func (k *Kind) renamedTo(was ledger.Column) string {
	i := slices.IndexFunc(k.fixed, func(c column) bool { return c.Source == was.Source })
	if was.Event != "" || i < 0 || k.fixed[i].Name == was.Name {
		return ""
	}
	return k.fixed[i].Name
}

// summable tells whether a sum over the rows of a partition means something, which needs a metric
// that adds up over every dimension that varies inside a partition. Of the date dimensions that is
// the hour alone.
func (o Options) summable(f catalog.Field, typ catalog.Type) bool {
	return typ != catalog.String && !slices.ContainsFunc(o.Query.Dimensions, func(name string) bool {
		d, _ := catalog.Dimension(name)
		return !d.Type.IsDate() && !f.AdditiveOver(name)
	})
}

// resolve gives the whole table. It looks events up once a run.
func (p *plan) resolve(ctx context.Context, slugs Slugs) (*columns, error) {
	if err := p.resolving.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer p.resolving.Release(1)
	if c := p.columns.Load(); c != nil {
		return c, nil
	}
	cols := slices.Clone(p.fixed)
	recorded, known, err := p.table.LastShape(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range cols {
		p.o.sayName("metrics", c, recorded)
	}
	if len(p.o.Events) > 0 {
		events, err := eventColumns(ctx, p.o, slugs, recorded)
		if errors.Is(err, ledger.ErrRefused) {
			err = fmt.Errorf("%w: %w", jobs.ErrStop, err)
		}
		if err != nil {
			return nil, fmt.Errorf("resolve events: %w", err)
		}
		cols = append(cols, events...)
	}
	c := p.define(cols)
	if known {
		err := p.checkShape(recorded, c.Shape)
		if err == nil {
			err = p.checkContract(ctx, c.Shape)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := p.table.SaveShape(ctx, c.Shape); err != nil {
		return nil, err
	}
	p.columns.Store(c)
	return c, nil
}

// stamps are the columns about the fetch; they come last.
func (o Options) stamps() (cols []column) {
	for _, s := range o.Stamps {
		cols = append(cols, column{Column: table.Stamped(s)})
	}
	return cols
}

// define makes the table of its columns, to which it adds those about the fetch.
func (k *Kind) define(cols []column) *columns {
	cols = renamed(cols)
	stamped := append(slices.Clone(cols), k.o.stamps()...)
	c := newColumns(shapeOf(k.o, stamped))
	c.all, c.within, c.Strict = cols, partition.Shares{}, k.o.Frozen
	for _, col := range stamped {
		c.add(col.Column)
		if col.totalled() {
			c.totalled = append(c.totalled, col.Column)
			if col.cohort {
				c.within[col.Name] = k.o.Cohorts
			}
		}
		if k.hasTotal(col) {
			col.Additive = true // one row has the total
			c.numbers = append(c.numbers, col.Column)
		}
	}
	c.Rules = k.o.Rules
	c.Rules.FinalAfter = k.o.finalAfter(c.Shape)
	c.Complete(k.o.warehouse(), k.o.Rules.Period.String(), usual, k.o.describe)
	return c
}

// renamed leaves out a column that only old partitions have when readers would take it for another,
// and what it holds is asked for under a name of its own by now.
func renamed(cols []column) []column {
	return slices.DeleteFunc(slices.Clone(cols), func(c column) bool {
		return c.Source != "" && slices.ContainsFunc(cols, func(other column) bool {
			return other.Name != c.Name &&
				catalog.SameWord(other.Name, c.Name)
		}) &&
			slices.ContainsFunc(cols, func(other column) bool {
				return other.Source == c.Source &&
					!catalog.SameWord(other.Name, c.Name)
			})
	})
}

func newColumns(s ledger.Shape) *columns {
	return &columns{Definition: partition.Definition{Shape: s, Route: table.NoRoute}}
}

func (c *columns) add(col table.Column) {
	if col.Dimension && col.Type.IsTime() && (c.Route == table.NoRoute || finer(col.Type, c.Columns[c.Route].Type)) {
		c.Route = len(c.Columns)
	}
	c.Columns = append(c.Columns, col)
}

// as gives the columns as a record has them or, if shared, only those that the table still has.
func (c *columns) as(recorded ledger.Shape, shared bool) *columns {
	out := newColumns(recorded)
	for _, was := range recorded.Columns {
		col := table.Column{Name: was.Name, Source: was.Source, Stamp: table.Stamp(was.Stamp)}
		i := slices.IndexFunc(c.Columns, func(is table.Column) bool { return is.Name == was.Name })
		switch {
		case i >= 0:
			col = c.Columns[i]
			col.Source = was.Source // empty for an event that had vanished by then
		case shared || col.Type.UnmarshalText([]byte(was.Type)) != nil:
			continue // of a type that only a later version knows: the hash will differ
		}
		out.add(col)
	}
	return out
}

// finer tells whether a divides time more finely than b.
func finer(a, b catalog.Type) bool {
	order := []catalog.Type{catalog.Hour, catalog.Day, catalog.Week, catalog.Month, catalog.Quarter, catalog.Year}
	return slices.Index(order, a) < slices.Index(order, b)
}

// unique refuses two columns of one name, whose case doesn't matter, as to most readers and
// warehouses it doesn't: two selectors may choose the same event, and slugs may differ in signs.
func unique(cols []column) error {
	by := map[string]column{catalog.PartitionKey: {}}
	for _, c := range cols {
		other, taken := by[catalog.Fold(c.Name)]
		named := c.Name
		switch {
		case !taken:
			by[catalog.Fold(c.Name)] = c
			continue
		case other.Name == "":
			return fmt.Errorf("a column can't be named %s, which is the partition's own key: from %s; set as: on it",
				c.Name, origin(c))
		case other.Name != c.Name:
			named = other.Name + " and " + c.Name + ", which readers take for one"
		}
		way := "; set as: on one of them"
		if c.many && other.many {
			way = "; choose one of the two events by slug besides, with as: for a name of its own"
		}
		return fmt.Errorf("two columns are named %s: from %s and from %s%s", named, origin(other), origin(c), way)
	}
	return nil
}

func origin(c column) string {
	if c.many {
		return c.event + " (" + c.Source + ")"
	}
	if c.event != "" {
		return c.event
	}
	if c.Stamp != "" {
		return "columns: " + string(c.Stamp)
	}
	return "metric or dimension " + c.Source
}

// metrics are the slugs to ask for, each once.
func (c *columns) metrics() []string {
	var slugs []string
	for _, col := range c.Columns {
		if !col.Dimension && col.Source != "" && !slices.Contains(slugs, col.Source) {
			slugs = append(slugs, col.Source)
		}
	}
	return slugs
}

// shapeOf is what the ledger keeps of the table's meaning.
func shapeOf(o Options, cols []column) ledger.Shape {
	q := o.Query
	if q.Zone != nil {
		q.TimezoneID = q.Zone.String()
	}
	s := ledger.Shape{Fingerprint: map[string]string{
		"account": o.Account, "dimensions": joined(q.Dimensions), "currency": q.Currency, "utc_offset": q.UTCOffset,
		"timezone_id":            q.TimezoneID,
		ledger.FingerprintPeriod: o.Rules.Period.String(),
	}}
	// By which readers know rows, so that both names side by side would be two tables.
	for _, name := range q.Dimensions {
		if to := o.named(name, name); to != name {
			s.Fingerprint["name of "+name] = to
		}
	}
	for name, values := range q.Parameters {
		s.Fingerprint[name] = joined(values)
	}
	for name, values := range q.Filters {
		s.Fingerprint["filter "+name] = joined(values)
	}
	for _, c := range cols {
		s.Columns = append(s.Columns, ledger.Column{
			Name: c.Name, Type: c.Type.String(), Source: c.Source, Event: c.event, Stamp: string(c.Stamp),
		})
	}
	return s
}

// joined writes a set as text, sorted because its order means nothing.
func joined(set []string) string {
	sorted := slices.Clone(set)
	slices.Sort(sorted)
	return strings.Join(sorted, ",")
}

// schema is the table's definition, events included, which the service is asked for.
func (p *plan) Schema(ctx context.Context) (*sinks.Schema, error) {
	cols, err := p.resolve(ctx, p.o.Client)
	if err != nil {
		return nil, err
	}
	return cols.Schema, nil
}

// finalAfter says of each metric of the table how many days after a period's end the service
// changes it no more. Of one that the catalogue lacks the slug tells the period of a cohort;
// without one it is taken for one that is restated like others.
func (o Options) finalAfter(s ledger.Shape) map[string]int {
	days := map[string]int{}
	for _, c := range s.Columns {
		if c.Source == "" || slices.Contains(o.Query.Dimensions, c.Source) {
			continue // NULLs stay NULLs
		}
		after, ever := metric(c.Source).FinalAfter(o.adSpendMode())
		switch {
		case o.FinalAfter > 0:
			after = o.FinalAfter
		case !ever:
			after = refresh.Never
		}
		days[c.Name] = after
	}
	return days
}
