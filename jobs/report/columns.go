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
	event      string // the selector as text; empty: it isn't an event's
	manyEvents bool   // the selector may choose many events
	addsUp     bool   // it adds up over all dimensions
	cohort     bool   // its numbers are dated by the install
}

// columns holds all columns of the table. Rows are routed to partitions by the finest date
// dimension.
type columns struct {
	partition.Definition
	totalled    []table.Column   // columns whose sums over the rows are compared with the service's totals
	tolerances  partition.Shares // by which share of the total some sums may differ from it
	askedTotals []table.Column   // columns whose totals the service is asked for
	all         []column         // all columns without the stamps, which are about the fetch
	// kept names the columns that the config doesn't ask for, but recorded partitions have values
	// in.
	kept []string
}

// fixedColumns returns the columns of the dimensions and metrics that the config names, which are
// known without the service. It refuses an impossible table, by these columns and by those of
// events whose names the config tells.
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

// fits returns an error when readers would take two of the columns for one, or when a sink can't
// keep the table.
func (o Options) fits(cols []column) error {
	if err := unique(append(slices.Clone(cols), o.stamps()...)); err != nil {
		return err
	}
	return partition.Fits(o.Targets, o.Table, (&Kind{o: o}).define(cols).Schema)
}

// configColumns returns the columns of the dimensions and metrics that the config names.
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
			addsUp: f.Additive == catalog.Everywhere, cohort: f.OfCohort(),
		})
	}
	return cols, nil
}

// named returns the name of a dimension's or a metric's column: that of the config, or the usual
// one.
func (o Options) named(source, usual string) string { return cmp.Or(o.Rename[source], usual) }

// renamedTo returns the new name of a recorded column whose dimension or metric the config calls
// something else by now. It is empty when the name is the same, or when the config doesn't have the
// dimension or metric.
func (k *Kind) renamedTo(was ledger.Column) string {
	i := slices.IndexFunc(k.fixed, func(c column) bool { return c.Source == was.Source })
	if was.Event != "" || i < 0 || k.fixed[i].Name == was.Name {
		return ""
	}
	return k.fixed[i].Name
}

// summable tells whether the sum of a metric over the rows of a partition means something: the
// metric must add up over every dimension that varies inside a partition. Of the date dimensions,
// only the hour does.
func (o Options) summable(f catalog.Field, typ catalog.Type) bool {
	return typ != catalog.String && !slices.ContainsFunc(o.Query.Dimensions, func(name string) bool {
		d, _ := catalog.Dimension(name)
		return !d.Type.IsDate() && !f.AdditiveOver(name)
	})
}

// resolve returns all columns of the table. It looks events up once a run.
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
		p.o.logNewName("metrics", c, recorded)
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

// stamps returns the columns about the fetch, which come last.
func (o Options) stamps() (cols []column) {
	for _, s := range o.Stamps {
		cols = append(cols, column{Column: table.Stamped(s)})
	}
	return cols
}

// define defines the table by its columns, to which it adds the stamps.
func (k *Kind) define(cols []column) *columns {
	cols = withoutRenamed(cols)
	stamped := append(slices.Clone(cols), k.o.stamps()...)
	c := newColumns(shapeOf(k.o, stamped))
	c.all, c.tolerances, c.Strict = cols, partition.Shares{}, k.o.Frozen
	for _, col := range stamped {
		c.add(col.Column)
		if col.totalled() {
			c.totalled = append(c.totalled, col.Column)
			if col.cohort {
				c.tolerances[col.Name] = k.o.Cohorts
			}
		}
		if k.hasTotal(col) {
			col.Additive = true // one row has the total
			c.askedTotals = append(c.askedTotals, col.Column)
		}
	}
	c.Rules = k.o.Rules
	c.Rules.FinalAfter = k.o.finalAfter(c.Shape)
	c.Complete(k.o.warehouse(), k.o.Rules.Period.String(), usualDimensions, k.o.describe)
	return c
}

// withoutRenamed leaves out columns that only old partitions have: those that readers would take
// for another column, while what they hold has a column of another name by now.
func withoutRenamed(cols []column) []column {
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

// newColumns returns an empty list of columns for rows of a recorded shape.
func newColumns(s ledger.Shape) *columns {
	return &columns{Definition: partition.Definition{Shape: s, Route: table.NoRoute}}
}

// add adds a column, and routes rows by it if it is the finest date dimension so far.
func (c *columns) add(col table.Column) {
	if col.Dimension && col.Type.IsTime() && (c.Route == table.NoRoute || finer(col.Type, c.Columns[c.Route].Type)) {
		c.Route = len(c.Columns)
	}
	c.Columns = append(c.Columns, col)
}

// recordedAs returns the columns that a recorded shape has or, if shared, only those of them that
// the table still has.
func (c *columns) recordedAs(recorded ledger.Shape, shared bool) *columns {
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

// unique returns an error when two columns have the same name. It ignores case, as most readers and
// warehouses do. Names may clash because two selectors may choose the same event, and because slugs
// may differ only in signs that column names don't have.
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
		if c.manyEvents && other.manyEvents {
			way = "; choose one of the two events by slug besides, with as: for a name of its own"
		}
		return fmt.Errorf("two columns are named %s: from %s and from %s%s", named, origin(other), origin(c), way)
	}
	return nil
}

// origin says in an error message where a column comes from.
func origin(c column) string {
	if c.manyEvents {
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

// metrics returns the slugs to ask for, each once.
func (c *columns) metrics() []string {
	var slugs []string
	for _, col := range c.Columns {
		if !col.Dimension && col.Source != "" && !slices.Contains(slugs, col.Source) {
			slugs = append(slugs, col.Source)
		}
	}
	return slugs
}

// shapeOf returns the shape of the table that the ledger records: its columns, and a fingerprint of
// all else that gives its numbers their meaning.
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
	// Readers tell rows apart by dimensions, so a table in which a dimension has two names would be
	// two tables.
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

// Schema returns the table's definition, including the columns of events, for which it asks the
// service.
func (p *plan) Schema(ctx context.Context) (*sinks.Schema, error) {
	cols, err := p.resolve(ctx, p.o.Client)
	if err != nil {
		return nil, err
	}
	return cols.Schema, nil
}

// finalAfter returns, for each metric of the table, how many days after a period's end the service
// no longer changes it. For a metric that the catalogue lacks, the slug tells the period of a
// cohort; if it has none, the metric is assumed to be restated like others.
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
