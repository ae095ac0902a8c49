package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/civil"
	"gocloud.dev/blob"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/rooted"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/blobsink"
)

// A Session is one run of an engine, or one command. Closing it closes what its jobs opened, and
// leaves the engine open.
type Session struct {
	*Engine
	RunID    string    // empty for a command that sends and records nothing
	ReadOnly bool      // sinks stay closed, because only the ledger is read
	Spool    string    // the folder of the session's part files, after OpenSpool
	Progress io.Writer // receives lines for people while a run goes on
	Log      *slog.Logger
	Asked    Ask // what the command asks of the session's jobs

	waits     map[string]*adjust.Waits // what requests wait for, by job
	buckets   map[string]*blob.Bucket  // opened buckets of files, by URL
	openSinks map[string]sinks.Sink    // opened sinks, by URL
	apps      map[string]*visibleApps  // apps that a token shows, by account
	closers
}

// Close closes what the session opened.
func (s *Session) Close() error { return s.closers.Close() }

// Jobs makes the jobs that are named, or all of them, in the config's order. The error gives the
// reason for each job that can't be made.
func (s *Session) Jobs(ctx context.Context, names []string, a Ask) ([]jobs.Job, error) {
	chosen, err := s.Choose(names)
	if err != nil {
		return nil, err
	}
	s.Asked = a
	var list []jobs.Job
	var errs []error
	for _, c := range chosen {
		job, err := s.Job(ctx, c, a)
		list, errs = append(list, job), append(errs, err)
	}
	return list, errors.Join(errs...)
}

// JobsApart makes the jobs that are named. The plan of a job that can't be made fails with the
// reason, so that the others are done.
func (s *Session) JobsApart(ctx context.Context, names []string) ([]jobs.Job, error) {
	chosen, err := s.Choose(names)
	if err != nil {
		return nil, err
	}
	var list []jobs.Job
	for _, c := range chosen {
		job, err := s.Job(ctx, c, s.Asked)
		if err == nil && c.AsksService() {
			err = s.Credential(ctx, c.Account)
		}
		if err != nil {
			job = jobs.Job{Name: c.Name, Table: c.Table, Account: c.Account, Kind: unmadeKind{err}}
		}
		list = append(list, job)
	}
	return list, nil
}

// An unmadeKind is the kind of a job that couldn't be made.
type unmadeKind struct{ err error }

// Plan returns the reason.
func (u unmadeKind) Plan(context.Context, time.Time) (jobs.Plan, error) { return jobs.Plan{}, u.err }

// Job makes one job from its entry of the config and what the command asks.
func (s *Session) Job(ctx context.Context, c config.Job, a Ask) (jobs.Job, error) {
	return s.Kinds[c.Kind](ctx, s, c, a)
}

// Waits returns what the requests of a job wait for at the moment. It is nil for a job that sends
// no requests.
func (s *Session) Waits(job string) *adjust.Waits { return s.waits[job] }

// watched returns a client of the job, which records in waits what its requests wait for.
func (s *Session) watched(job string, c *adjust.Client) *adjust.Client {
	if s.waits == nil {
		s.waits = map[string]*adjust.Waits{}
	}
	if s.waits[job] == nil {
		s.waits[job] = &adjust.Waits{}
	}
	return c.Watched(s.waits[job])
}

// Warn logs a warning for each of the named jobs whose config is allowed but probably not meant. It
// is apart from the config's own warnings, because part of it depends on the day. A run calls it
// only for jobs whose tables begin.
func (s *Session) Warn(names []string) {
	chosen, _ := s.Choose(names) // the error was reported when the jobs were made
	for _, c := range chosen {
		if c.Report == nil {
			continue
		}
		if c.Report.Period == "whole" {
			s.Log.Warn("none of the dimensions is a date, so the table is one partition: each fetch replaces all of "+
				"it, and days aren't "+
				"told apart. Is that meant? If not, add day to dimensions", "job", c.Name)
		}
		location, err := reportZone(c)
		if err != nil {
			continue // making the job reports it
		}
		today := civil.DateOf(time.Now().In(location))
		if start := c.Report.Start.On(today); start.After(today) {
			s.Log.Warn(fmt.Sprintf("the start, %s, is in the future", start), "job", c.Name)
		}
	}
}

// OpenSink opens a sink by its URL until the session is closed. It is opened once for all jobs that
// name it, so that hundreds of them share its connections.
func (s *Session) OpenSink(ctx context.Context, rawURL string) (sinks.Sink, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sink := s.openSinks[rawURL]; sink != nil {
		return sink, nil
	}
	sink, err := sinks.Open(ctx, rawURL, s.Sinks)
	if err == nil {
		s.onClose(sink.Close)
		if s.openSinks == nil {
			s.openSinks = map[string]sinks.Sink{}
		}
		s.openSinks[rawURL] = sink
	}
	return sink, err
}

// targets opens the sinks of a job. It refuses two that are the same place, and two that put the
// table into one folder under different layouts.
func (s *Session) targets(ctx context.Context, c config.Job) ([]ledger.Target, error) {
	if s.ReadOnly {
		return nil, nil
	}
	var targets []ledger.Target
	for _, rawURL := range c.Sinks {
		if err := s.Task.checkLasting(rawURL); err != nil {
			return nil, fmt.Errorf("job %s: sink %w", c.Name, err)
		}
		sink, err := s.OpenSink(ctx, rawURL)
		if err != nil {
			return nil, fmt.Errorf("job %s: %w", c.Name, text.RefusedError(err))
		}
		t := ledger.Target{Name: sinks.Redact(rawURL), Sink: sink, Store: sink.Store(),
			NamesMore: sinks.NamesMore(rawURL)}
		if i := slices.IndexFunc(targets, func(other ledger.Target) bool {
			return s.absolute(other.Store) ==
				s.absolute(t.Store)
		}); i >= 0 {
			return nil, fmt.Errorf("job %s: %w: the sinks %s and %s are one place, %s; leave one of them out", c.Name,
				ledger.ErrRefused, targets[i].Name, t.Name, t.Store)
		}
		if i := slices.IndexFunc(targets, func(other ledger.Target) bool {
			return twoLayouts(other.Sink, t.Sink,
				c.Table)
		}); i >= 0 {
			return nil, fmt.Errorf("job %s: %w: the sinks %s and %s put the table into one folder under two layouts "+
				"(key=), so that readers of it find each row twice; "+
				"give one of them another folder", c.Name, ledger.ErrRefused, targets[i].Name, t.Name)
		}
		targets = append(targets, t)
	}
	return targets, nil
}

// twoLayouts tells whether two sinks write the files of a table into one folder under different
// layouts.
func twoLayouts(one, other sinks.Sink, table string) bool {
	a, ok := one.(*blobsink.Sink)
	b, both := other.(*blobsink.Sink)
	return ok && both && a.Shares(b, table)
}

// absolute makes the path in the identity of a folder's store absolute, for comparisons only.
// Receipts keep a relative path, so that a folder may move together with its ledger.
func (s *Session) absolute(store string) string {
	where, layout, _ := strings.Cut(store, "?")
	if dir, err := bucket.Folder(rooted.URL(s.Config.Root, where)); err == nil && dir != "" {
		return "file://" + dir + "?" + layout
	}
	return store
}

// LastRuns is how many run records are read to find the reasons of what is wrong.
const LastRuns = 20

// Past reads the ledger's records of the newest n runs. A damaged month is left out, with a
// warning that names it.
func (s *Session) Past(ctx context.Context, n int) (ledger.Past, error) {
	past, err := s.Ledger.Past(ctx, n)
	for _, damaged := range past.Damaged {
		s.Log.Warn(damaged.Error() + "; it is left out")
	}
	return past, err
}
