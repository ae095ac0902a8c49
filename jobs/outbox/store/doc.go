// Package store keeps the state of each row of each file that was pushed. Without it, a run that is
// killed would lose what is known about the rows that it sent, and the next run would send a
// night's records again.
//
// A [Push] is a file's name with one content. All pushes of a table are in the ledger below
// pushes/:
//
//	{table}.json            the document: the [Lease] and its holder, and a [Head] of each push,
//	                        in order; replaced by compare-and-swap
//	{table}/000001.json     the log: segments of all pushes, created once, each under the next
//	{table}/000002.json     number. A segment holds the rows that changed state, or, every so
//	                        often, all that is known of a push. The document names the last one
//	                        that it includes
//	{table}/{push}.records  an index of what is to be sent: an [Item] of 28 bytes a row, sorted by
//	                        ID; written before anything is sent
//
// A row's [State] changes as follows; Doubt is a flag besides it, for rows that may have been sent
// more than once:
//
//	None ─ Pending ─┬─ Unknown (a segment lets it be sent) ─┬─ Accepted
//	                ├─ Waiting, for an earlier record       ├─ Rejected, by the service
//	                ├─ Refused, by the kind                 └─ Unknown, for a later run or a person
//	                └─ Duplicate or Conflict, with another row or file
//
// A process that takes the lease over from one that hasn't released it reads the log and creates
// the segment with the next number. So when two processes push, one of them finds its number taken,
// and stops with ledger.ErrLost before it sends anything more. A segment is kept until its file has
// ended and its records are no longer remembered, because a process that slept could otherwise
// create its number anew. A [Spool] holds the same items on a local disk while a file is read;
// neither a spool nor an index is ever in memory as a whole.
package store
