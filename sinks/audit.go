package sinks

import "context"

// An Auditor keeps tables of what runs have done, beside the tables that they filled.
type Auditor interface {
	// Append adds rows to a table, once for a run: repeating it is harmless.
	Append(ctx context.Context, table string, schema *Schema, run string, rows []map[string]any) error
}
