// Package ask has the commands that ask the service once and print its answer: report and events;
// and the command that lists what a report can have: dimensions, metrics, and the metrics of
// events. Without it, a person would need another program to look at a number before a job is
// written for it. Nothing here reads or writes the ledger.
//
// Without Fields, one would have to read the catalogue's source to know what a metric is called,
// whether its rows may be summed, and since when a value is final.
//
//	catalogue ─┐
//	           ├─ list ── search ── table, JSON, or one field in whole
//	service ───┘  (filters_data and events, where there is a token)
package ask
