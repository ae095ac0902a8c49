// Package store keeps what became of each row of each file that was pushed; without it a run that is killed would lose what
// the run before it knew, and send a night's records again.
//
// A [Push] is a file's name with one content. It lies in the ledger below tables/{table}/outbox/{push}/:
//
//	records        an index: what is to be sent, an [Item] of 28 bytes a row, sorted by ID; written once, before anything is sent
//	000001.json    a segment: which rows changed their state; every so often one says all that is known, and those before
//	000002.json    it are dropped
//	...
//
// A row's [State] goes this way; Doubt is a flag beside it, of rows that may have been sent more than once:
//
//	None ─ Pending ─┬─ Unknown (a segment lets it be sent) ─┬─ Accepted
//	                ├─ Waiting, for an earlier record       ├─ Rejected, by the service
//	                ├─ Refused, by the kind                 └─ Unknown, for a later run or a person
//	                └─ Duplicate or Conflict, with another row or file
//
// Segments are numbered, and created only where there is none: of two processes that write the same number, one loses, with
// ledger.ErrLost. A [Spool] is the same items on a local disk while a file is read; neither it nor an index is ever in memory
// as a whole.
package store
