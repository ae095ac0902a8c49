// Package store keeps what became of each row of each file that was pushed; without it a run that
// is killed would lose what the run before it knew, and send a night's records again.
//
// A [Push] is a file's name with one content. All of a table are in the ledger below pushes/:
//
//	{table}.json            the document: the [Lease] and its holder, and a [Head] of each push, in order; swapped on its version
//	{table}/000001.json     the log: segments of all pushes, created once, each under the next number: which rows changed their
//	{table}/000002.json     state, and every so often all that is known of a push; the document says up to which it has them
//	{table}/{push}.records  an index: what is to be sent, an [Item] of 28 bytes a row, sorted by ID; written before anything is sent
//
// A row's [State] goes this way; Doubt is a flag beside it, of rows that may have been sent more
// than once:
//
//	None ─ Pending ─┬─ Unknown (a segment lets it be sent) ─┬─ Accepted
//	                ├─ Waiting, for an earlier record       ├─ Rejected, by the service
//	                ├─ Refused, by the kind                 └─ Unknown, for a later run or a person
//	                └─ Duplicate or Conflict, with another row or file
//
// Who takes the lease over from a process that hasn't given it back reads the log and takes its
// next number. So of two processes that push, one finds its number taken, and loses with
// ledger.ErrLost before it sends anything more. No segment is dropped before its file has ended for
// as long as records are remembered: a process that slept would create its number anew. A [Spool]
// is the same items on a local disk while a file is read; neither it nor an index is ever in memory
// as a whole.
package store
