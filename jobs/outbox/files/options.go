package files

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
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

	First  bool              // the job may begin with old files, although nothing of it is on record; a person has said so
	Others map[string]Source // where other jobs find their files, by the jobs' names, that would send the same records of a file

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

// mostAged is how old a file may be that a job without history sends without being told to.
const mostAged = 24 * time.Hour

// MayPush refuses what would send records twice: files that another job finds too, and old files of a job of which nothing is on
// record, because its ledger was lost or its name is another now. check reads a file without sending it.
func (o Options) MayPush(ctx context.Context, out *outbox.Outbox, due []Path, now time.Time, check func(context.Context, Path) (Checked, error)) error {
	if err := o.alone(ctx, due, now); err != nil || o.First || len(due) == 0 {
		return err
	}
	known, err := out.Files(ctx)
	if err != nil || slices.ContainsFunc(known, outbox.File.Begun) {
		return err
	}
	old := 0
	for _, p := range due {
		stat, err := p.Stat(ctx)
		if err != nil {
			return err
		}
		day, err := time.ParseInLocation(time.DateOnly, DayOf(p.Key), o.Shelf.Zone)
		if now.Sub(stat.Modified) > mostAged || err == nil && o.Shelf.Source.dated() && now.Sub(day.AddDate(0, 0, 1)) > mostAged {
			old++
		}
	}
	if old == 0 {
		return nil
	}
	records, unread := int64(0), ""
	same := map[string]bool{} // names and digests
	for _, p := range due {
		c, err := check(ctx, p)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			unread = " and more"
		}
		records += c.Pending
		same[p.Name], same[c.Digest] = true, true
	}
	elsewhere, err := o.elsewhere(ctx, same)
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: nothing that it has pushed is on record. Files older than a day: %d of %d; records that would go: %d%s, also those that were sent before. %s"+
		"If nothing of them was ever sent, say so by first: true in the job, or by push --first; if the ledger was lost, push only files that are new", ledger.ErrRefused, old, len(due), records, unread, elsewhere)
}

// elsewhere says which other tables of the ledger have files of these names or digests.
func (o Options) elsewhere(ctx context.Context, same map[string]bool) (text string, err error) {
	tables, err := o.Ledger.Tables(ctx, outbox.Folder)
	for _, table := range tables {
		if table == o.Table {
			continue
		}
		pushed, err := outbox.New(outbox.Options{Ledger: o.Ledger, Table: table}).Files(ctx)
		if err != nil {
			return "", err
		}
		n := 0
		for _, f := range outbox.Latest(pushed) {
			if f.Begun() && (same[f.Name] || same[f.Digest]) {
				n++
			}
		}
		if n > 0 {
			text += fmt.Sprintf("The table %s of this ledger has %d of these files: if the job had another name, table: %[1]s goes on with it. ", table, n)
		}
	}
	return text, err
}

// alone refuses files that another job finds, too, and sends the same records of.
func (o Options) alone(ctx context.Context, due []Path, now time.Time) error {
	for _, other := range slices.Sorted(maps.Keys(o.Others)) {
		if !o.Shelf.Source.near(o.Others[other]) {
			continue
		}
		found, err := o.Shelf.found(ctx, now)
		if err != nil {
			return err
		}
		for _, p := range append(found, due...) {
			if p.Bucket == o.Shelf.Bucket && o.Others[other].finds(o.Shelf.Source.place()+p.Key) {
				return fmt.Errorf("%w: the job %s finds %s, too, and takes cost_id from the same column: each of its records would be sent twice; narrow the source of one of the two", ledger.ErrRefused, other, p.Name)
			}
		}
	}
	return nil
}
