package files

import (
	"log/slog"
	"time"

	"gocloud.dev/blob"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox"
)

// Options are those that every kind that pushes files has.
type Options struct {
	Job, Table string
	Run        string // the run's ID

	Ledger *ledger.Ledger
	Lease  time.Duration

	Shelf   Shelf
	Rejects *blob.Bucket

	MaxRejects  *outbox.Most
	ParkUnknown bool
	Quiet       time.Duration // a file that was modified more recently waits for the next run
	InFlight    int

	SpoolDir string
	Log      *slog.Logger
}

// Outbox makes the outbox of the job's table. It knows records for longer than a file of theirs may be due.
func (o Options) Outbox() *outbox.Outbox {
	return outbox.New(outbox.Options{
		Ledger: o.Ledger, Table: o.Table, Run: o.Run, Lease: o.Lease, SpoolDir: o.SpoolDir, Rejects: o.Rejects,
		Keep: time.Duration(max(o.Shelf.Window, 7)+2) * 24 * time.Hour, Log: o.Log,
	})
}
