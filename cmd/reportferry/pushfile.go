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
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/outbox/files"
	"github.com/reportferry/reportferry/sinks/blobsink"
)

// pushing opens what a job's entry says of files.
func (e *engine) pushing(ctx context.Context, c config.Job, p config.Push) (out files.Options, err error) {
	if e.ask.from.IsValid() || e.ask.only != nil {
		return out, fmt.Errorf("job %s: %w: a job of %s has nothing to fetch", c.Name, jobs.ErrRefused, c.Kind)
	}
	refuse := func(err error) error { return fmt.Errorf("job %s: %w", c.Name, refused(err)) }
	out = files.Options{
		Job: c.Name, Table: c.Table, Run: e.run, Ledger: e.ledger, Lease: e.config.Lease,
		MaxRejects:  &outbox.Most{Count: int64(p.MaxRejects.Count), Share: p.MaxRejects.Share},
		ParkUnknown: p.OnUnknown == "park", InFlight: max(1, p.InFlight/max(1, e.task.count)),
		SpoolDir: e.spool, Log: e.log,
	}
	shelf := &out.Shelf
	shelf.Window, shelf.IgnoreSchedule = p.WindowDays, e.ask.now
	if shelf.Schedule, err = jobs.ParseSchedule(c.Schedule, c.Zone); err != nil {
		return out, refuse(err)
	}
	if shelf.Zone, err = time.LoadLocation(c.Zone); err != nil {
		return out, refuse(fmt.Errorf("zone: %w", err))
	}
	if shelf.Source, err = files.ParseSource(p.Source); err != nil {
		return out, refuse(fmt.Errorf("source: %w", err))
	}
	if e.ask.files == nil {
		out.Quiet = p.Quiet
	}
	if shelf.Bucket, err = e.bucket(ctx, shelf.Source.Bucket); err != nil {
		return out, fmt.Errorf("job %s: source: %w", c.Name, err)
	}
	if out.Rejects, err = e.bucket(ctx, p.Rejects); err != nil {
		return out, fmt.Errorf("job %s: rejects: %w", c.Name, err)
	}
	for _, arg := range e.ask.files {
		file, err := e.pushFile(ctx, arg, shelf.Source, shelf.Bucket)
		if err != nil {
			return out, err
		}
		shelf.Files = append(shelf.Files, file)
	}
	return out, nil
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

// pushFile finds the file that a command line names, by a path or a URL. One of the job's own source has the name that
// it has there, so that it is known to be the same.
func (e *engine) pushFile(ctx context.Context, arg string, source files.Source, own *blob.Bucket) (files.Path, error) {
	name, dir := arg, ""
	if u, err := url.Parse(arg); err == nil && u.Scheme == "file" {
		if dir, err = blobsink.LocalDir(arg); err != nil {
			return files.Path{}, refused(err)
		}
		name = dir
	}
	if !strings.Contains(name, "://") {
		return e.localFile(ctx, name, source, own)
	}
	plain, query, _ := strings.Cut(name, "?")
	mine, _, _ := strings.Cut(source.Bucket, "?")
	if key, ok := strings.CutPrefix(plain, strings.TrimSuffix(mine, "/")+"/"); ok {
		return files.Path{Name: key, Bucket: own, Key: key}, nil
	}
	_, rest, _ := strings.Cut(plain, "://")
	folder, base := path.Split(plain)
	if base == "" || strings.HasSuffix(folder, "://") {
		return files.Path{}, fmt.Errorf("%w: want the URL of one file", jobs.ErrRefused)
	}
	bucket, err := e.bucket(ctx, strings.TrimSuffix(folder+"?"+query, "?"))
	return files.Path{Name: "by-hand/" + rest, Bucket: bucket, Key: base}, err
}

func (e *engine) localFile(ctx context.Context, name string, source files.Source, own *blob.Bucket) (files.Path, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return files.Path{}, err
	}
	if info, err := os.Stat(abs); err != nil || info.IsDir() {
		return files.Path{}, fmt.Errorf("%w: %s: there is no such file", jobs.ErrRefused, name)
	}
	if dir, err := blobsink.LocalDir(source.Bucket); err == nil && dir != "" {
		if rel, err := filepath.Rel(dir, abs); err == nil && filepath.IsLocal(rel) {
			key := filepath.ToSlash(rel)
			return files.Path{Name: key, Bucket: own, Key: key}, nil
		}
	}
	bucket, err := e.bucket(ctx, (&url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Dir(abs))}).String())
	return files.Path{Name: "by-hand" + filepath.ToSlash(abs), Bucket: bucket, Key: filepath.Base(abs)}, err
}
