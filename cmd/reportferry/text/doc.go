// Package text has what people and alerts read of a run: exit codes, numbers and tables, help, the
// log, plots and progress. Without it, each command would write the same count, the same day or the
// same table in another way. It imports none of the packages of commands.
//
// An error becomes the exit code of the process, and the word by which alerts recognize a kind of
// failure. Without these, a scheduler couldn't tell a wrong config from a refused token or an
// outage, and alerts would match the wording of messages.
//
//	error ── WithExitCode ── *ExitError ── exit code of the process   (wording.Codes lists them)
//	  └───── FailureReason ─────────────── "reason" of the log's line (FailureReasons lists them)
//
// Numbers, periods, times and tables are for people who read 80 columns.
//
//	Grid       rows under headings, in columns as wide as their widest cell
//	Labeled    a label and what there is to say under it, two spaces in
//	Count, Bytes, Plural, DayRange, Ago     one value in a sentence
//	Fold, FirstLine                         a text that may be too long
//
// Everything is written through a terminal.Writer by the commands, so these functions needn't
// escape what they are given; Grid does so for its cells, because a row is one line whatever a
// campaign is called.
//
// ExplainUsage and PlainFlagError say what is wrong with a command line. Without them, people would
// read the messages of the library that parses it, which say how many arguments a command accepts
// and received, but not what they are; and a misspelt command of a group would print the group's
// help and end as if all were well.
//
//	root ── ExplainUsage ──▶ every command: arguments by name, with an example
//	                         every group:   no such command, did you mean
//	                         every flag:    no such flag, did you mean; a value of the wrong kind
//	error of a command line ── PlainFlagError ──▶ flags that exclude or need each other
//
// NewLogHandler writes the log for machines: one object of JSON a line, whose fields have one type
// and one unit each. Without it, a query over last month's logs would find a duration as a number
// here and as a text there, and miss lines that lack a field.
//
// Plot draws numbers by period on a terminal. Without it a day that is half of the others would be
// a number among many, on a machine that has no browser.
//
// Bars draw a bar for each job of a run on a terminal. Without them, somebody who waits would see
// that something is done, but neither how long the rest takes nor what the run is waiting for.
//
//	campaigns_daily [==>---] 12/40 windows   ETA 1m30s  back-off 12 s: 429
//
// The last column shows what the job waits for or, when it waits for nothing, how many rows it has
// fetched.
package text
