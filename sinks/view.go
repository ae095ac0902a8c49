package sinks

import "context"

// A Viewer keeps views for dashboards beside its tables.
type Viewer interface {
	// View gives a view's full name and its query, in the warehouse's own SQL.
	View(v View) (name, query string, err error)

	// SaveView makes the view, or replaces it.
	SaveView(ctx context.Context, name, query string) error
}

// A View is what dashboards read of a table: its metrics summed, with ratios computed from the sums.
type View struct {
	Table  string
	On     string   // the date column, kept; empty when the table has none
	By     []string // dimensions that are kept
	Sums   []string // columns that are summed
	Ratios []Ratio

	Freshness bool // instead: how fresh every table of the dataset is; Table and the rest don't matter
}

// A Ratio is a column computed from sums: its formula has names of Sums, numbers, + - * / ( ) and abs( ).
type Ratio struct{ Name, Formula string }
