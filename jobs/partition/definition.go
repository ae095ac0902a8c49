package partition

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// A Definition says what a table's files look like: the same columns for the converter, for the
// ledger and for sinks that keep tables.
type Definition struct {
	Columns []table.Column
	Ignored []string // sources that answers have and the table doesn't
	Strict  bool     // any other source that no column is made of is an error
	Route   int      // index of the column whose value names a row's partition, or table.NoRoute
	Shape   ledger.Shape
	Schema  *sinks.Schema
	Rules   refresh.Rules // what makes a fetch of these columns final: period, zone and FinalAfter
}

// asked tells whether the service is asked for a column, rather than the column made of NULLs.
func (d Definition) asked(name string) bool {
	i := slices.IndexFunc(d.Columns, func(c table.Column) bool { return c.Name == name })
	return i >= 0 && d.Columns[i].Source != ""
}

// units returns the units of the metrics' columns as a JSON object.
func (d Definition) units() (string, error) {
	units := map[string]string{}
	if d.Schema != nil {
		for _, c := range d.Schema.Columns {
			if c.Unit != "" {
				units[c.Name] = c.Unit
			}
		}
	}
	text, err := json.Marshal(units)
	return string(text), err
}

// falling returns the names of the columns whose metrics are differences, which may fall.
func (d Definition) falling() (names []string) {
	for _, c := range d.Columns {
		if f, known := catalog.Metric(c.Source); known && f.Subtracts() {
			names = append(names, c.Name)
		}
	}
	return names
}

// columnTypes maps the types of columns to those in a table of a sink. All types that aren't here
// are dates, and become sinks.Date.
var columnTypes = map[catalog.Type]sinks.ColumnType{
	catalog.String: sinks.String, catalog.Hour: sinks.DateTime, catalog.Int64: sinks.Int64,
	catalog.Decimal: sinks.Decimal, catalog.Double: sinks.Double, catalog.Instant: sinks.Instant,
}

// mostClustered is how many columns a sink's table may sort its rows by.
const mostClustered = 4

// Complete fills in the schema. warehouse has what the config says of tables, and overrides the
// defaults. usual are the columns that readers filter by most, in the order of their importance.
// describe returns what a column means.
func (d *Definition) Complete(warehouse sinks.Schema, period string, usual []string,
	describe func(table.Column) sinks.Column) {
	s := warehouse
	s.Period = period
	if d.Route != table.NoRoute {
		s.On = d.Columns[d.Route].Name
	}
	for _, c := range d.Columns {
		typ, ok := columnTypes[c.Type]
		if !ok {
			typ = sinks.Date
		}
		described := describe(c)
		described.Name, described.Type, described.Required = c.Name, typ, c.Dimension
		s.Columns = append(s.Columns, described)
	}
	if s.ClusterBy == nil {
		s.ClusterBy = d.clusters(usual)
	}
	d.Schema = &s
}

// clusters returns the columns that rows are sorted by when the config doesn't say: text
// dimensions, the usual ones first.
func (d *Definition) clusters(usual []string) (out []string) {
	texts := map[string]bool{}
	names := slices.Clone(usual)
	for _, c := range d.Columns {
		texts[c.Name] = c.Dimension && c.Type == catalog.String
		if i := slices.Index(usual, c.Source); i >= 0 {
			names[i] = c.Name
		}
		names = append(names, c.Name)
	}
	for _, name := range names {
		if texts[name] && len(out) < mostClustered && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// fitter is an optional interface of sinks that have rules for names and tables, which each part
// must follow.
type fitter interface {
	// Fits refuses, without asking the store, a table that the sink could never keep.
	Fits(table string, s *sinks.Schema) error
}

// Fits refuses a table that one of the targets could never keep, before anything is fetched for it.
func Fits(targets []ledger.Target, name string, s *sinks.Schema) error {
	var errs []error
	for _, target := range targets {
		if sink, ok := target.Sink.(fitter); ok {
			if err := sink.Fits(name, s); err != nil {
				errs = append(errs, fmt.Errorf("table %s in %s: %w", name, target.Name, err))
			}
		}
	}
	return errors.Join(errs...)
}
