package dbt

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/formula"
	"github.com/reportferry/reportferry/internal/lazy"
	"github.com/reportferry/reportferry/internal/views"
	"github.com/reportferry/reportferry/sinks"
)

// The parts of semantic models and metrics (https://docs.getdbt.com/docs/build/semantic-models).
type (
	semanticModel struct {
		Name          string      `yaml:"name"`
		Description   string      `yaml:"description"`
		Model         string      `yaml:"model"`
		Defaults      defaults    `yaml:"defaults"`
		PrimaryEntity string      `yaml:"primary_entity"`
		Dimensions    []dimension `yaml:"dimensions"`
		Measures      []measure   `yaml:"measures"`
	}
	defaults struct {
		AggTimeDimension string `yaml:"agg_time_dimension"`
	}
	dimension struct {
		Name        string      `yaml:"name"`
		Description string      `yaml:"description,omitempty"`
		Type        string      `yaml:"type"`
		Expr        string      `yaml:"expr"`
		TypeParams  *timeParams `yaml:"type_params,omitempty"`
	}
	timeParams struct {
		Granularity string `yaml:"time_granularity"`
	}
	measure struct {
		Name         string       `yaml:"name"`
		Label        string       `yaml:"label"`
		Description  string       `yaml:"description"`
		Agg          string       `yaml:"agg"`
		Expr         string       `yaml:"expr"`
		NonAdditive  *nonAdditive `yaml:"non_additive_dimension,omitempty"`
		CreateMetric bool         `yaml:"create_metric"`
	}
	nonAdditive struct {
		Name   string `yaml:"name"`
		Window string `yaml:"window_choice"`
	}
	metric struct {
		Name        string       `yaml:"name"`
		Label       string       `yaml:"label"`
		Description string       `yaml:"description"`
		Type        string       `yaml:"type"`
		TypeParams  metricParams `yaml:"type_params"`
	}
	metricParams struct {
		Numerator   string              `yaml:"numerator,omitempty"`
		Denominator string              `yaml:"denominator,omitempty"`
		Expr        string              `yaml:"expr,omitempty"`
		Metrics     []map[string]string `yaml:"metrics,omitempty"`
	}
)

// reportDate is the name of the time dimension of every semantic model: day, week and the like are
// reserved names in MetricFlow.
const reportDate = "report_date"

// semantic returns the semantic models of the tables that have a date and something to sum, and the
// metrics that are computed from their measures.
func (p *project) semantic() (list []semanticModel, metrics []metric) {
	for _, t := range p.tables {
		if t.sums.Sums == nil {
			continue
		}
		if t.schema.On == "" {
			p.leftOut = append(p.leftOut, t.Table+": a semantic model, which needs a date")
			continue
		}
		m := semanticModel{
			Name: metricFlowName(t.Table), Description: t.schema.About.Text, Model: refTo(stagedModel(t.Table)),
			Defaults: defaults{reportDate}, PrimaryEntity: metricFlowName(t.Table),
		}
		notAdditive := map[string]bool{} // columns that can't be added over time: their last period counts
		for _, c := range t.schema.Columns {
			if c.Required {
				m.Dimensions = append(m.Dimensions, p.dimension(c, t.schema.On))
			}
			if !slices.Contains(t.sums.Sums, c.Name) {
				continue
			}
			s := measure{
				Name:  metricFlowName(t.Table + "_" + c.Name),
				Label: p.label(c, t.Table), Description: c.Text(), Agg: "sum",
				Expr: p.expr(c.Name), CreateMetric: true,
			}
			if c.Additive != "yes" {
				s.NonAdditive, notAdditive[c.Name] = &nonAdditive{reportDate, "max"}, true
			}
			m.Measures = append(m.Measures, s)
		}
		list = append(list, m)
		for _, r := range t.sums.Ratios {
			if made, ok := p.ratio(t, r, notAdditive); ok {
				metrics = append(metrics, made)
			}
		}
	}
	return list, metrics
}

// plainName matches a column's name that SQL takes without quotes.
var plainName = lazy.Regexp(`^[a-z][a-z0-9_]*$`)

// expr returns a column's name as SQL has it, quoted if it must be.
func (p *project) expr(column string) string {
	if plainName().MatchString(column) {
		return column
	}
	return p.Quote(column)
}

// label returns a label for a column's metric: the name that people know it by, and the table. If
// another metric has that label already, the column's own name is used.
func (p *project) label(c sinks.Column, table string) string {
	label, _, _ := strings.Cut(c.Description, " = ")
	if label == "" || p.labels[label+", "+table] {
		label = c.Name
	}
	label += ", " + table
	p.labels[label] = true
	return label
}

// dimension returns the dimension of a column, by which measures are grouped. A week has the
// granularity of a day: MetricFlow begins its weeks on Monday and the service on Sunday, so its
// weeks would move the dates.
func (p *project) dimension(c sinks.Column, on string) dimension {
	d := dimension{Name: metricFlowName(c.Name), Description: c.Description, Type: "categorical", Expr: p.expr(c.Name)}
	if c.Type != sinks.Date && c.Type != sinks.DateTime {
		return d
	}
	d.Type, d.Name, d.TypeParams = "time", "report_"+d.Name, &timeParams{"day"}
	if c.Name == on {
		d.Name = reportDate
	}
	if slices.Contains([]string{"hour", "month", "quarter", "year"}, c.Slug()) {
		d.TypeParams.Granularity = c.Slug()
	}
	return d
}

// ratio returns the metric of a formula. A formula with unique users has none (ok is false): it is
// right in a single period only, as in the model of sums, because over several periods the sum of
// all would be divided by the users of the last one.
func (p *project) ratio(t table, r views.Ratio, notAdditive map[string]bool) (m metric, ok bool) {
	e, err := parser.ParseExpr(r.Formula)
	if err != nil {
		return m, false // it was reported when the view of sums was made
	}
	var parts []string
	ast.Inspect(e, func(n ast.Node) bool {
		if id, is := n.(*ast.Ident); is && id.Name != "abs" && !slices.Contains(parts, id.Name) {
			parts = append(parts, id.Name)
		}
		return true
	})
	if slices.ContainsFunc(parts, func(name string) bool { return notAdditive[name] }) {
		p.leftOut = append(p.leftOut, fmt.Sprintf(
			"%s: the metric %s, which over several periods would be by the users of "+
				"the last one; "+
				"the model of sums has it", t.Table, r.Name))
		return m, false
	}
	c := t.schema.Columns[slices.IndexFunc(t.schema.Columns, func(c sinks.Column) bool { return c.Name == r.Name })]
	of := func(name string) string { return metricFlowName(t.Table + "_" + name) }
	m = metric{Name: of(r.Name), Label: p.label(c, t.Table), Description: c.Text(), Type: "ratio"}
	if quotient, is := e.(*ast.BinaryExpr); is && quotient.Op == token.QUO {
		over, above := quotient.X.(*ast.Ident)
		under, below := quotient.Y.(*ast.Ident)
		if above && below {
			m.TypeParams = metricParams{Numerator: of(over.Name), Denominator: of(under.Name)}
			return m, true
		}
	}
	d := p.Dialect.Dialect
	d.Sum = of
	m.Type = "derived"
	if m.TypeParams.Expr, err = formula.SQL(r.Formula, d); err != nil {
		return m, false // reported then, too
	}
	for _, name := range parts {
		m.TypeParams.Metrics = append(m.TypeParams.Metrics, map[string]string{"name": of(name)})
	}
	return m, true
}

// spines returns the units of the time spines, the tables of times that MetricFlow joins metrics
// to, with the SQL type of each unit's column: day, and hour if a table is by hour. A project that
// has time spines of its own disables these.
func (p *project) spines() map[string]string {
	units := map[string]string{"day": p.place.typeName(sinks.Date)}
	for _, t := range p.tables {
		if slices.ContainsFunc(t.schema.Columns, func(c sinks.Column) bool {
			return c.Name == t.schema.On &&
				c.Type == sinks.DateTime
		}) {
			units["hour"] = p.place.typeName(sinks.DateTime)
		}
	}
	return units
}

// spine returns the time spine of a unit, as dbt lists it.
func spine(unit string) model {
	return model{
		Name: sourceName + "_" + unit + "s", Description: "Every " + unit + " from 2015 until a year from now.",
		Spine:   map[string]string{"standard_granularity_column": "date_" + unit},
		Columns: []map[string]string{{"name": "date_" + unit, "granularity": unit}},
	}
}

// spineSQL has the SQL of a time spine by dialect, with places for the column's type and the unit.
var spineSQL = map[string]string{
	views.BigQuery.Name: "SELECT CAST(d AS %s) AS date_%s\n" +
		"FROM UNNEST(GENERATE_TIMESTAMP_ARRAY(TIMESTAMP '2015-01-01', TIMESTAMP_ADD(CURRENT_TIMESTAMP(), INTERVAL " +
		"366 DAY), INTERVAL 1 %[2]s)) AS d",
	views.Postgres.Name: "SELECT CAST(d AS %s) AS date_%s\n" +
		"FROM generate_series(TIMESTAMP '2015-01-01', CURRENT_DATE + INTERVAL '366 days', INTERVAL '1 %[2]s') AS s(d)",
	views.DuckDB.Name: "SELECT CAST(range AS %s) AS date_%s\n" +
		"FROM range(TIMESTAMP '2015-01-01', CAST(current_date + INTERVAL 366 DAY AS TIMESTAMP), INTERVAL 1 %[2]s)",
}
