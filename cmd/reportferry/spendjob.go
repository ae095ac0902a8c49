package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"gocloud.dev/blob"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/spend"
	"github.com/reportferry/reportferry/sinks/blobsink"
)

// quiet is how long a file of spend must not have changed. Whoever writes one in several goes does so in less.
const quiet = 5 * time.Minute

// spendJob makes a spend job from its config entry.
func spendJob(ctx context.Context, e *engine, c config.Job) (jobs.Job, error) {
	if e.ask.from.IsValid() || e.ask.only != nil {
		return jobs.Job{}, fmt.Errorf("job %s: %w: a job of spend has nothing to fetch", c.Name, jobs.ErrRefused)
	}
	kind, err := spendKind(ctx, e, c)
	if err != nil {
		return jobs.Job{}, err
	}
	return jobs.Job{Name: c.Name, Table: c.Table, Kind: kind, Finish: kind.Finish}, nil
}

func spendKind(ctx context.Context, e *engine, c config.Job) (*spend.Kind, error) {
	s := c.Spend
	refuse := func(err error) error { return fmt.Errorf("job %s: %w", c.Name, refused(err)) }
	schedule, err := jobs.ParseSchedule(c.Schedule, c.Zone)
	if err != nil {
		return nil, refuse(err)
	}
	zone, err := time.LoadLocation(c.Zone)
	if err != nil {
		return nil, refuse(fmt.Errorf("zone: %w", err))
	}
	source, err := spend.ParseSource(s.Source)
	if err != nil {
		return nil, refuse(fmt.Errorf("source: %w", err))
	}
	o := spend.Options{
		Job: c.Name, Table: c.Table, Run: e.run, Ledger: e.ledger, Lease: e.config.Lease,
		Source: source, Window: s.WindowDays, Mapping: spend.Mapping{Columns: s.Columns.Map(), Constants: s.Constants.Map()},
		More: s.Currencies, Zone: zone, MaxRejects: &outbox.Most{Count: int64(s.MaxRejects.Count), Share: s.MaxRejects.Share},
		ParkUnknown: s.ParkDoubt, SendConflicts: s.SendOther, InFlight: max(1, s.InFlight/max(1, e.task.count)),
		Schedule: schedule, IgnoreSchedule: e.ask.now, SpoolDir: e.spool, Log: e.log,
	}
	if s.Quiet && e.ask.files == nil {
		o.Quiet = quiet
	}
	if o.Bucket, err = e.bucket(ctx, source.Bucket); err != nil {
		return nil, fmt.Errorf("job %s: source: %w", c.Name, err)
	}
	if o.Rejects, err = e.bucket(ctx, s.Rejects); err != nil {
		return nil, fmt.Errorf("job %s: rejects: %w", c.Name, err)
	}
	for _, arg := range e.ask.files {
		file, err := e.spendFile(ctx, arg, source, o.Bucket)
		if err != nil {
			return nil, err
		}
		o.Files = append(o.Files, file)
	}
	if e.run != "" { // else nothing is sent
		if o.Client, err = e.spendClient(ctx, s); err != nil {
			return nil, fmt.Errorf("job %s: %w", c.Name, err)
		}
	}
	return spend.New(o), nil
}

// spendClient makes the client of the ad spend host: with a limiter of its own, and never with the API token.
func (e *engine) spendClient(ctx context.Context, s *config.Spend) (*adjust.Client, error) {
	service := e.config.Service
	o := adjust.Options{
		CostURL: service.CostURL, Rate: s.Rate, Burst: max(1, int(s.Rate/4)), // of a quarter of a second: rate is what a person reckons with
		InFlight: s.InFlight, Share: e.task.share(), Attempts: service.Attempts,
		Patience: service.Patience, Logger: e.log, UserAgent: "reportferry/" + version(),
	}
	key, getenv := service.Spend.Token, os.Getenv
	if service.Embedded {
		o.CostURL, o.HTTP = "http://embedded", e.embedded.Client()
		key, getenv = "${KEY}", func(string) string { return "embedded" }
	}
	var err error
	if o.SpendAuth.Key, err = adjust.ParseToken(key, getenv); err != nil {
		return nil, fmt.Errorf("service.spend.token: %w", refused(err))
	}
	if _, err := o.SpendAuth.Key.Token(ctx); err != nil { // before anything is claimed or sent
		return nil, fmt.Errorf("service.spend.token: %w", refused(err))
	}
	o.SpendAuth.Header = service.Spend.Header
	return adjust.New(o)
}

// bucket opens a bucket that the engine closes.
func (e *engine) bucket(ctx context.Context, rawURL string) (*blob.Bucket, error) {
	if err := e.task.lasting(rawURL); err != nil {
		return nil, err
	}
	if scheme, _, _ := strings.Cut(rawURL, "://"); openers[scheme] == nil || scheme == "bigquery" {
		return nil, fmt.Errorf("%w: no bucket is opened by %s://; want file, gs, s3 or azblob", jobs.ErrRefused, scheme)
	}
	b, err := blobsink.OpenBucket(ctx, rawURL)
	if err != nil {
		return nil, refused(err)
	}
	e.close = append(e.close, b.Close)
	return b, nil
}

// spendFile finds the file that a command line names, by a path or a URL. One of the job's own source has the name that
// it has there, so that it is known to be the same.
func (e *engine) spendFile(ctx context.Context, arg string, source spend.Source, own *blob.Bucket) (spend.Path, error) {
	name, dir := arg, ""
	if u, err := url.Parse(arg); err == nil && u.Scheme == "file" {
		if dir, err = blobsink.LocalDir(arg); err != nil {
			return spend.Path{}, refused(err)
		}
		name = dir
	}
	if !strings.Contains(name, "://") {
		return e.localFile(ctx, name, source, own)
	}
	plain, query, _ := strings.Cut(name, "?")
	mine, _, _ := strings.Cut(source.Bucket, "?")
	if key, ok := strings.CutPrefix(plain, strings.TrimSuffix(mine, "/")+"/"); ok {
		return spend.Path{Name: key, Bucket: own, Key: key}, nil
	}
	_, rest, _ := strings.Cut(plain, "://")
	folder, base := path.Split(plain)
	if base == "" || strings.HasSuffix(folder, "://") {
		return spend.Path{}, fmt.Errorf("%w: want the URL of one file", jobs.ErrRefused)
	}
	bucket, err := e.bucket(ctx, strings.TrimSuffix(folder+"?"+query, "?"))
	return spend.Path{Name: "by-hand/" + rest, Bucket: bucket, Key: base}, err
}

func (e *engine) localFile(ctx context.Context, name string, source spend.Source, own *blob.Bucket) (spend.Path, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return spend.Path{}, err
	}
	if info, err := os.Stat(abs); err != nil || info.IsDir() {
		return spend.Path{}, fmt.Errorf("%w: %s: there is no such file", jobs.ErrRefused, name)
	}
	if dir, err := blobsink.LocalDir(source.Bucket); err == nil && dir != "" {
		if rel, err := filepath.Rel(dir, abs); err == nil && filepath.IsLocal(rel) {
			key := filepath.ToSlash(rel)
			return spend.Path{Name: key, Bucket: own, Key: key}, nil
		}
	}
	bucket, err := e.bucket(ctx, (&url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Dir(abs))}).String())
	return spend.Path{Name: "by-hand" + filepath.ToSlash(abs), Bucket: bucket, Key: filepath.Base(abs)}, err
}
