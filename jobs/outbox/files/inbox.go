package files

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/robfig/cron/v3"
	"gocloud.dev/blob"

	"github.com/reportferry/reportferry/internal/lazy"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// An Inbox is where a job looks for its files.
type Inbox struct {
	Source Source
	Bucket *blob.Bucket   // Source.Bucket, opened
	Window int            // how many days back files are looked for
	Zone   *time.Location // the zone of the days in {date}

	Files          []Path        // if not nil, only these files, named by a person; nil: the files of Source
	Schedule       cron.Schedule // nil: files are due at any time
	IgnoreSchedule bool          // if set, files are due at any time
}

// Due returns the files that are new, have changed, or weren't finished. A new or changed file
// isn't due until the schedule has fired after its last change; later counts such files. A file
// that was begun is due at once.
func (s Inbox) Due(ctx context.Context, o *outbox.Outbox, now time.Time) (paths []Path, later int, err error) {
	if s.Files != nil {
		return s.Files, 0, nil
	}
	known, err := o.Files(ctx)
	if err != nil {
		return nil, 0, err
	}
	latest := map[string]outbox.File{}
	for _, f := range outbox.Latest(known) {
		latest[f.Name] = f
	}
	all, err := s.files(ctx, now)
	if err != nil {
		return nil, 0, err
	}
	for _, p := range all {
		isNew, due, err := s.due(ctx, p, latest[p.Key], now.In(s.Zone))
		switch {
		case err != nil:
			return nil, 0, err
		case due:
			paths = append(paths, p)
		case isNew:
			later++
		}
	}
	return paths, later, nil
}

// files returns all files of the source, due or not.
func (s Inbox) files(ctx context.Context, now time.Time) (paths []Path, err error) {
	now = now.In(s.Zone)
	keys, err := list(ctx, s.Bucket, s.Source, now.AddDate(0, 0, -s.Window), now)
	for _, key := range keys {
		paths = append(paths, Path{Name: key, Bucket: s.Bucket, Key: key})
	}
	return paths, err
}

// due reports whether there is something to do for a file, and whether it is due now.
func (s Inbox) due(ctx context.Context, p Path, known outbox.File, now time.Time) (isNew, due bool, err error) {
	stat, err := p.Stat(ctx)
	switch {
	case err != nil:
		return false, false, err
	case known.Name != "" && known.Open():
		return true, true, nil
	case known.Version == stat.Version:
		return false, false, nil
	}
	return true, s.IgnoreSchedule || refresh.Fired(s.Schedule, stat.Modified, now), nil
}

// date matches what may be a day in a file's name.
var date = lazy.Regexp(`\d{4}-\d{2}-\d{2}`)

// DayOf returns the day in a file's name, such as 2026-01-31, or an empty string if there is none.
func DayOf(key string) string {
	for _, s := range date().FindAllString(key, -1) {
		if _, err := time.Parse(time.DateOnly, s); err == nil {
			return s
		}
	}
	return ""
}

// mostAged is how much older a file may be than the first push on record, if the job is to send it
// without being told to.
const mostAged = 24 * time.Hour

// mayPush returns an error where records would be sent twice:
//
//   - files that another job finds too
//   - files not on record that were changed more than mostAged before the first push on record
//   - files not on record that are old, when there is no push on record: the ledger was lost, or
//     the job was renamed
//
// A file of an earlier day may come late. check reads a file without sending it.
func (o Options) mayPush(ctx context.Context, out *outbox.Outbox, due []Path, now time.Time,
	check func(context.Context, Path) (Checked, error)) error {
	if err := o.checkOtherJobs(ctx, due, now); err != nil || len(due) == 0 {
		return err
	}
	known, err := out.Files(ctx)
	if err != nil {
		return err
	}

	// Find when the first push on record began, and count the old files that aren't on record.
	since, names := now, map[string]bool{}
	for _, f := range known {
		if names[f.Name] = true; f.Begun() && f.Started.Before(since) {
			since = f.Started
		}
	}
	nothing := !slices.ContainsFunc(known, outbox.File.Begun)
	if nothing {
		clear(names)
	}
	old := 0
	for _, p := range due {
		if names[p.Name] {
			continue
		}
		stat, err := p.Stat(ctx)
		if err != nil {
			return err
		}
		day, err := time.ParseInLocation(time.DateOnly, DayOf(p.Key), o.Inbox.Zone)
		if since.Sub(stat.Modified) > mostAged || nothing && err == nil && o.Inbox.Source.dated() &&
			since.Sub(day.AddDate(0, 0, 1)) > mostAged {
			old++
		}
	}
	switch {
	case old == 0 && o.First && !nothing:
		o.Log.Warn("first: true says nothing any more; take it out of the job: as long as it is there, a lost "+
			"ledger isn't noticed, and all is sent again", "job", o.Job)
		return nil
	case old == 0, o.First:
		return nil
	}

	// Say in the error how many records would be sent, and what else may have sent them.
	records, unread := int64(0), ""
	same := map[string]bool{} // names and digests of the due files
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
	elsewhere, err := o.inOtherTables(ctx, same)
	if err != nil {
		return err
	}
	what := "nothing that it has pushed is on record. Files older than a day"
	if !nothing {
		what = fmt.Sprintf("what it has pushed is on record since %s. Files that are older by more than a day",
			since.In(o.Inbox.Zone).Format("2006-01-02 15:04 MST"))
	}
	return fmt.Errorf("%w: %s: %d of %d; records that would go: %d%s, also those that were sent before. %s"+
		"If nothing of them was ever sent, say so by push --first, or for the first run by first: true in the job. "+
		"If the ledger was lost, restore it, or move the files that were pushed out of the source for good",
		ledger.ErrRefused, what, old, len(due), records, unread, elsewhere)
}

// inOtherTables returns a text on other tables of the ledger that have files of these names or
// digests; empty if there are none.
func (o Options) inOtherTables(ctx context.Context, same map[string]bool) (text string, err error) {
	tables, err := outbox.Tables(ctx, o.Ledger)
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
			text += fmt.Sprintf("The table %s of this ledger has %d of these files: if the job had another name, "+
				"table: %[1]s goes on with it. ", table, n)
		}
	}
	return text, err
}

// checkOtherJobs returns an error for files that another job finds too and whose records it sends
// as well.
func (o Options) checkOtherJobs(ctx context.Context, due []Path, now time.Time) error {
	for _, other := range slices.Sorted(maps.Keys(o.Others)) {
		if !o.Inbox.Source.mayOverlap(o.Others[other]) {
			continue
		}
		all, err := o.Inbox.files(ctx, now)
		if err != nil {
			return err
		}
		for _, p := range append(all, due...) {
			if p.Bucket == o.Inbox.Bucket && o.Others[other].matches(o.Inbox.Source.bucketURL()+p.Key) {
				return fmt.Errorf("%w: the job %s finds %s, too, and takes cost_id from the same column: each of "+
					"its records would be sent twice; narrow the source of one of the two", ledger.ErrRefused, other,
					p.Name)
			}
		}
	}
	return nil
}
