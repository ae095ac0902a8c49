package files

import (
	"context"
	"time"

	"github.com/robfig/cron/v3"
	"gocloud.dev/blob"

	"github.com/reportferry/reportferry/internal/lazy"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// A Shelf is where the files of a job are.
type Shelf struct {
	Source Source
	Bucket *blob.Bucket   // Source.Bucket, opened
	Window int            // files of so many days back are looked at
	Zone   *time.Location // of {date}

	Files          []Path        // these and no others, asked for by a person; nil: those of Source
	Schedule       cron.Schedule // nil: always
	IgnoreSchedule bool
}

// Due gives the files that are new, have changed, or weren't finished. A new or changed file waits until the schedule has
// fired after its last change, and is one of later; one that was begun is due at once.
func (s Shelf) Due(ctx context.Context, o *outbox.Outbox, now time.Time) (paths []Path, later int, err error) {
	if s.Files != nil {
		return s.Files, 0, nil
	}
	known, err := o.Files(ctx)
	if err != nil {
		return nil, 0, err
	}
	latest := map[string]outbox.File{}
	for _, f := range known { // the latest first
		if _, newer := latest[f.Name]; !newer {
			latest[f.Name] = f
		}
	}
	found, err := s.found(ctx, now)
	if err != nil {
		return nil, 0, err
	}
	for _, p := range found {
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

// found gives all files of the source, due or not.
func (s Shelf) found(ctx context.Context, now time.Time) (paths []Path, err error) {
	now = now.In(s.Zone)
	keys, err := list(ctx, s.Bucket, s.Source, now.AddDate(0, 0, -s.Window), now)
	for _, key := range keys {
		paths = append(paths, Path{Name: key, Bucket: s.Bucket, Key: key})
	}
	return paths, err
}

// due tells whether there is something to do for a file, and whether now.
func (s Shelf) due(ctx context.Context, p Path, known outbox.File, now time.Time) (isNew, due bool, err error) {
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

var date = lazy.Regexp(`\d{4}-\d{2}-\d{2}`)

// DayOf is the day, such as 2026-01-31, that a file's name has in it; empty when it has none.
func DayOf(key string) string {
	for _, s := range date().FindAllString(key, -1) {
		if _, err := time.Parse(time.DateOnly, s); err == nil {
			return s
		}
	}
	return ""
}
