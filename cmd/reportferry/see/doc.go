// Package see has the commands that show what is recorded: runs, histories of numbers, objects of
// the ledger, and the config as it is understood. It also has what is printed about a run when the
// run ends. Without it, what a run printed at night would be lost with its terminal.
//
//	run ──── ledger.Run ────> WriteResult                  the closing table of each job
//	            │ runs/MONTH.json of the ledger
//	            └── Runs ───> a line for each run, or one in whole, by the same table
//
// After the closing tables, WriteEnd says what the tables hold and when the next run is due.
// Without it, a newcomer whose first run went well would have to search the documentation for where
// the rows are, and for a command that reads them.
//
//	rows of each table, and where they are ─ a command that reads them ─ when the next run is due
//
// History and Changes say what the tables' numbers were before. Without them, nobody could say why
// a number isn't what it was last week, and a dashboard's reader would find out by chance that it
// has changed.
//
//	history   how the numbers of each partition came to be what they are
//	changes   which numbers of all tables moved since last night, the biggest moves first
//
// Both read the ledger alone: its records, and the history of those that were replaced.
//
// Ledger shows what is in the ledger. Without it, whoever has to find out what a damaged, lost or
// restored object means would need to know how the ledger encodes objects.
//
// Config has the command config show, which writes the config as it was understood. Without it,
// what a default, a merge key or a variable comes to would be known only by what a run then does.
//
//	file ── config.Show ──> keys with values ──┬─ draft.Keys ──> YAML, which is a config itself
//	                                           └─ configObject ──> JSON
package see
