package report

import (
	"context"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/sinks"
)

// schema is the table's definition, events included, which the service is asked for.
func (p *plan) schema(ctx context.Context) (*sinks.Schema, error) {
	cols, err := p.resolve(ctx, p.o.Client)
	if err != nil {
		return nil, err
	}
	return cols.Schema, nil
}

// usual are the dimensions that dashboards filter by most.
var usual = []string{"app_token", "app", "network", "partner_name", "campaign", "country_code", "os_name"}

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
