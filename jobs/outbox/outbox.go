// Package outbox pushes files of records to a service that takes them one by one, and remembers
// what became of each. Without it, a crash in the middle of a file would lose its rest or send its
// beginning twice, and a file that repeats last night's records would send them twice.
//
// The caller, a kind of job, provides the file and the function that sends one record; [Do] pushes
// the records that haven't been sent, under the one lease of the table. The file is read twice:
// once to check every row and to find what was sent before, and once to send.
//
//	read ─ validate ─ dedupe ─────────────── read again ─ queue ─ segment ─ send ─ acknowledge ─ segment ─┬─ rejects file
//	         │          │                                   │        │                              │     └─ ended
//	         │          └ duplicates, conflicts             │        └ may be sent from here on     └ on record
//	         └ refused, of the same content as before       └ with Order: one record of an ID at a time
//
// A segment of the ledger releases records before they are sent, and a later segment says what
// became of them. A run that is killed therefore leaves in doubt the records that were released and
// whose result wasn't written: at most eight times InFlight. The outbox itself repeats no request:
// Send does that, as far as the service allows. A record that is in doubt after Send is left for a
// later run or, with ParkUnknown, for a person.
//
// The words: a file has rows; a row that can be sent is a record, with an ID and a content; a
// record on its way is a delivery, in flight until the service acknowledges it; a push is what
// package store keeps of a file's name with one content.
package outbox

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"gocloud.dev/blob"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox/store"
)

// Options describe the outbox of one table.
type Options struct {
	Ledger *ledger.Ledger
	Table  string
	Run    string // the run's ID

	SpoolDir string       // folder for temporary files: 28 bytes for each record of the file that is pushed
	Rejects  *blob.Bucket // where rejects files go; nil: nowhere

	Keep      time.Duration // how long records are remembered, so that no other file sends them again; 0: nine days
	ReadAhead int           // records read ahead of those in flight, so that one slow ID holds up no others; 0: 1,000
	Flush     time.Duration // the longest time until an acknowledged record is in the ledger; 0: two seconds
	Log       *slog.Logger  // nil: nothing is logged
}

// An Outbox pushes the files of one table, and knows what the ledger has about those pushed before.
// Files are pushed one after the other, under the table's lease, so that a record that two of them
// have in common is sent once. It is safe for concurrent use.
type Outbox struct {
	options Options
	table   *store.Table
}

// New makes the outbox. Nothing is read yet.
func New(o Options) *Outbox {
	if o.Keep == 0 {
		o.Keep = Recent
	}
	if o.ReadAhead == 0 {
		o.ReadAhead = 1000
	}
	if o.Flush == 0 {
		o.Flush = 2 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Outbox{
		options: o, table: store.Open(o.Ledger, o.Table),
	}
}

// A File describes one push: a name with one content. Each row is counted in one of the numbers
// from Pending to Conflicts; Partly and Doubtful count some of the same rows again.
type File struct {
	Name    string    `json:"name"`
	Version string    `json:"version"`
	Digest  string    `json:"digest"`
	Run     string    `json:"run"` // the last run that worked on it
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	// Last is when the ledger was last written for it; once it has ended, when it ended.
	Last       time.Time            `json:"last"`
	Rows       int64                `json:"rows"`
	Skipped    int64                `json:"skipped"` // not among Rows: totals, notes and empty rows
	Pending    int64                `json:"pending"` // to be sent
	Accepted   int64                `json:"accepted"`
	Rejected   int64                `json:"rejected"`         // by the service
	Partly     int64                `json:"partly,omitempty"` // among Rejected: the service took a part of them
	Unknown    int64                `json:"unknown"`          // in doubt: the service may have them
	Refused    int64                `json:"refused"`          // by the kind, before they were sent
	Duplicates int64                `json:"duplicates"`       // sent from another row or file
	Conflicts  int64                `json:"conflicts"`        // sent from another row or file with other content
	Doubtful   int64                `json:"doubtful"`         // rows of any state that may have been sent twice or more
	Sums       map[string]store.Sum `json:"sums,omitempty"`
	Rejects    string               `json:"rejects,omitempty"` // key of the rejects file; empty: there is none
	Reasons    []store.Reason       `json:"reasons,omitempty"` // why rows aren't taken, those with most rows first
	// Error says why nothing of it is sent, or nothing more; empty: nothing is wrong.
	Error string `json:"error,omitempty"`
}

// Recent is how long rows of a file that weren't taken are reported to people: as long as its
// records are remembered.
const Recent = 9 * 24 * time.Hour

// Latest returns the latest push of each name from a result of Files, the latest first.
func Latest(all []File) (list []File) {
	known := map[string]bool{}
	for _, f := range all {
		if !known[f.Name] {
			known[f.Name] = true
			list = append(list, f)
		}
	}
	return list
}

// Open tells whether the push hasn't ended, so that something is left to do.
func (f File) Open() bool { return f.Ended.IsZero() }

// NotTaken returns how many rows weren't taken: refused by the kind, rejected by the service, or in
// conflict with another row.
func (f File) NotTaken() int64 { return f.Refused + f.Rejected + f.Conflicts }

// Begun tells whether the service may have any record of the file.
func (f File) Begun() bool { return f.Accepted+f.Rejected+f.Unknown+f.Doubtful > 0 }

// Files returns what is known about all pushes, the latest first, without Sums. A file that changed
// is in it several times.
func (o *Outbox) Files(ctx context.Context) ([]File, error) {
	return o.files(ctx, func(*store.Push) bool { return false })
}

// Summed returns the same as Files, with Sums. It takes another call of the ledger's bucket for
// each file.
func (o *Outbox) Summed(ctx context.Context) ([]File, error) {
	return o.files(ctx, func(*store.Push) bool { return true })
}

// files reads all pushes, the latest first; deep says which of them are read with their sums.
func (o *Outbox) files(ctx context.Context, deep func(*store.Push) bool) (files []File, err error) {
	pushes, err := o.table.Pushes(ctx, deep)
	for _, p := range slices.Backward(pushes) {
		files = append(files, fileOf(p))
	}
	return files, err
}

// fileOf describes a push as it is known now.
func fileOf(p *store.Push) File {
	h, c, last := p.Head, p.Head.Counts, p.Head.Ended
	if p.Open() {
		last = h.At
	}
	return File{
		Name: h.Name, Version: h.Version, Digest: h.Digest, Run: h.Run, Started: h.Started, Ended: h.Ended, Last: last,
		Rows: h.Rows, Skipped: h.Skipped,
		Pending: c.Pending, Accepted: c.Accepted, Rejected: c.Rejected, Partly: h.Partly, Unknown: c.Unknown,
		Refused:    c.Refused,
		Duplicates: c.Duplicates, Conflicts: c.Conflicts, Doubtful: c.Doubtful, Sums: maps.Clone(p.Sums),
		Rejects: h.Rejects, Error: h.Error,
		Reasons: h.Reasons,
	}
}
