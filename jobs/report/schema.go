package report

import (
	"context"
	"slices"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/sinks"
)

// mostClustered is how many columns a warehouse sorts a table's rows by at most.
const mostClustered = 4

// warehouseTypes are the types of columns in a warehouse.
var warehouseTypes = map[catalog.Type]sinks.ColumnType{
	catalog.String: sinks.String, catalog.Hour: sinks.DateTime, catalog.Int64: sinks.Int64,
	catalog.Decimal: sinks.Decimal, catalog.Double: sinks.Double,
}

// schema is the table's definition for sinks that keep tables. What the config says of warehouses goes before defaults.
func (c *columns) schema(o Options) *sinks.Schema {
	s := o.Warehouse
	s.Period = o.Rules.Period.String()
	if c.route != table.NoRoute {
		s.On = c.list[c.route].Name
	}
	for _, col := range c.list {
		typ, ok := warehouseTypes[col.Type]
		if !ok {
			typ = sinks.Date
		}
		s.Columns = append(s.Columns, sinks.Column{
			Name: col.Name, Type: typ, Required: col.Dimension, Description: describe(col),
		})
	}
	if s.ClusterBy == nil {
		s.ClusterBy = c.clusters()
	}
	return &s
}

// schema is the table's definition, events included, which the service is asked for.
func (p *plan) schema(ctx context.Context) (*sinks.Schema, error) {
	cols, err := p.resolve(ctx, p.o.Client)
	if err != nil {
		return nil, err
	}
	return cols.schema(p.o), nil
}

// clusters are the columns that rows are sorted by when the config doesn't say: those that dashboards filter by most.
func (c *columns) clusters() []string {
	usual := []string{"app_token", "app", "network", "partner_name", "campaign", "country_code", "os_name"}
	var out []string
	add := func(name string) {
		if len(out) < mostClustered && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	texts := map[string]bool{}
	for _, col := range c.list {
		texts[col.Name] = col.Dimension && col.Type == catalog.String
	}
	for _, name := range usual {
		if texts[name] {
			add(name)
		}
	}
	for _, col := range c.list {
		if texts[col.Name] {
			add(col.Name)
		}
	}
	return out
}

// describe is a column's description for people who read the table.
func describe(c table.Column) string {
	if c.Dimension {
		f, _ := catalog.Dimension(c.Source)
		return f.Description
	}
	f, known := catalog.Metric(c.Source)
	if !known {
		f, _ = catalog.Guess(c.Source)
	}
	return f.Description
}
