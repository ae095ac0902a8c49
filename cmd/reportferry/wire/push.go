package wire

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gocloud.dev/blob"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/config/kinds"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/adjust/transport"
	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/outbox/files"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// A Pusher is a kind that pushes files record by record, with what the commands of spend and
// sharing need.
type Pusher interface {
	jobs.Kind
	// Due returns the files that a push would read.
	Due(ctx context.Context, now time.Time) ([]files.Path, error)
	// MayPush returns an error when a push of these files would be refused.
	MayPush(ctx context.Context, due []files.Path, now time.Time) error
	// Check reads a file as a push would, and sends nothing.
	Check(ctx context.Context, p files.Path) (files.Checked, error)
	// Outbox returns what keeps the state of each record.
	Outbox() *outbox.Outbox
}

// A PushAsk holds what the commands of spend and sharing ask of a job.
type PushAsk struct {
	Now     bool     // ignore the schedule
	Files   []string // the only files to push, by path or URL; none: those of the job's source that are due
	First   bool     // send old files although the ledger has no record of an earlier push of the job
	ShowIDs bool     // sharing only: log the devices whose records weren't taken
}

// PushJobOfRun makes a job of a kind that pushes, which has no past to fetch.
func PushJobOfRun(ctx context.Context, s *Session, c config.Job, a Ask) (jobs.Job, error) {
	if err := a.refuseRange(c, "kind "+c.Kind+" has no past to fetch"); err != nil {
		return jobs.Job{}, err
	}
	return PushJob(ctx, s, c, PushAsk{Now: a.Now})
}

// PushJob makes a job of a kind that pushes, with what the kind's own commands ask.
func PushJob(ctx context.Context, s *Session, c config.Job, a PushAsk) (jobs.Job, error) {
	if c.Kind == "sharing" {
		return s.sharing(ctx, c, a)
	}
	return s.spend(ctx, c, a)
}

// pushParts translates the part of an entry that both kinds have, opens its buckets, and makes the
// client of the host that the records go to. The client has a rate limit of its own and never sends
// the API token; host sets its address and credential.
func (s *Session) pushParts(ctx context.Context, c config.Job, p kinds.Push, a PushAsk,
	host func(*adjust.Options) error) (out files.Options, client *adjust.Client, err error) {
	refuse := func(err error) error { return fmt.Errorf("job %s: %w", c.Name, text.RefusedError(err)) }
	out = files.Options{
		Job: c.Name, Table: c.Table, Run: s.RunID, Ledger: s.Ledger,
		MaxRejects:  &outbox.Most{Count: int64(p.MaxRejects.Count), Share: float64(p.MaxRejects.Share)},
		ParkUnknown: p.OnUnknown == "park", InFlight: max(1, p.InFlight/max(1, s.Task.count)),
		SpoolDir: s.Spool, Log: s.Log, First: p.First || a.First, Others: map[string]files.Source{},
	}
	// The sources of other jobs whose files may have the same Cost IDs.
	for _, other := range s.Config.Jobs {
		if c.Spend == nil || other.Spend == nil || other.Name == c.Name ||
			costColumn(other.Spend) != costColumn(c.Spend) {
			continue
		}
		if out.Others[other.Name], err = files.ParseSource(other.Spend.Source); err != nil {
			return out, nil, refuse(fmt.Errorf("source of %s: %w", other.Name, err))
		}
	}
	// Where and when to look for files, and the files that the command names.
	lookup := &out.Inbox
	lookup.Window, lookup.IgnoreSchedule = p.WindowDays, a.Now
	if lookup.Schedule, err = refresh.ParseSchedule(c.Schedule, c.Zone); err != nil {
		return out, nil, refuse(err)
	}
	if lookup.Zone, err = time.LoadLocation(c.Zone); err != nil {
		return out, nil, refuse(fmt.Errorf("zone: %w", err))
	}
	if lookup.Source, err = files.ParseSource(p.Source); err != nil {
		return out, nil, refuse(fmt.Errorf("source: %w", err))
	}
	if len(a.Files) == 0 { // a command without names gives an empty list, not nil
		out.Quiet = p.Quiet
	}
	if lookup.Bucket, err = s.bucket(ctx, lookup.Source.Bucket); err != nil {
		return out, nil, fmt.Errorf("job %s: source: %w", c.Name, err)
	}
	if out.Rejects, err = s.bucket(ctx, p.Rejects); err != nil {
		return out, nil, fmt.Errorf("job %s: rejects: %w", c.Name, err)
	}
	for _, arg := range a.Files {
		file, err := s.pushFile(ctx, arg, lookup.Source, lookup.Bucket)
		if err != nil {
			return out, nil, err
		}
		lookup.Files = append(lookup.Files, file)
	}
	if s.RunID == "" { // only a run sends anything, and needs the credential
		return out, nil, nil
	}
	// The client of the host.
	service := s.Config.Service
	o := adjust.Options{Options: transport.Options{
		Rate: p.Rate, InFlight: p.InFlight, Share: s.Task.share(), Attempts: service.Attempts,
		Patience: service.Patience,
		Logger:   s.Log, UserAgent: "reportferry/" + s.Version,
	}}
	if service.Embedded {
		o.HTTP = s.Embedded.Client()
	}
	if err = host(&o); err == nil {
		client, err = adjust.New(o)
	}
	if err != nil {
		return out, nil, fmt.Errorf("job %s: %w", c.Name, err)
	}
	return out, s.watched(c.Name, client), nil
}

// costColumn returns the name of the column from which a job takes Cost IDs.
func costColumn(s *kinds.Spend) string { return cmp.Or(s.Columns["cost_id"], "cost_id") }

// bucketSchemes lists the URL schemes of places that hold files: sources, rejects, ledgers and raw
// answers are such places, and not every sink is.
var bucketSchemes = []string{"file", "gs", "s3", "azblob"}

// bucket opens a bucket until the session is closed, once for all jobs that name it.
func (s *Session) bucket(ctx context.Context, rawURL string) (*blob.Bucket, error) {
	if err := s.Task.checkLasting(rawURL); err != nil {
		return nil, err
	}
	if scheme, _, _ := strings.Cut(rawURL, "://"); !slices.Contains(bucketSchemes, scheme) {
		return nil, fmt.Errorf("%w: no bucket is opened by %s://; want one of %s", ledger.ErrRefused, scheme,
			strings.Join(bucketSchemes, ", "))
	}
	if b := s.buckets[rawURL]; b != nil {
		return b, nil
	}
	opened, err := bucket.Open(ctx, rawURL)
	if err != nil {
		return nil, text.RefusedError(err)
	}
	s.onClose(opened.Close)
	if s.buckets == nil {
		s.buckets = map[string]*blob.Bucket{}
	}
	s.buckets[rawURL] = opened.Blob()
	return opened.Blob(), nil
}

// pushFile finds the file that a command line names by its path or URL. A file of the job's own
// source gets the name that it has there, so that the ledger knows it again; any other is named
// by-hand/...
func (s *Session) pushFile(ctx context.Context, arg string, source files.Source, own *blob.Bucket) (files.Path, error) {
	name, dir := arg, ""
	if u, err := url.Parse(arg); err == nil && u.Scheme == "file" {
		if dir, err = bucket.Folder(arg); err != nil {
			return files.Path{}, text.RefusedError(err)
		}
		name = dir
	}
	if !strings.Contains(name, "://") {
		return s.localFile(ctx, name, source, own)
	}
	plain, query, _ := strings.Cut(name, "?")
	mine, _, _ := strings.Cut(source.Bucket, "?")
	if key, ok := strings.CutPrefix(plain, strings.TrimSuffix(mine, "/")+"/"); ok {
		return files.Path{Name: key, Bucket: own, Key: key}, nil
	}
	_, rest, _ := strings.Cut(plain, "://")
	folder, base := path.Split(plain)
	if base == "" || strings.HasSuffix(folder, "://") {
		return files.Path{}, fmt.Errorf("%w: want the URL of one file", ledger.ErrRefused)
	}
	bucket, err := s.bucket(ctx, strings.TrimSuffix(folder+"?"+query, "?"))
	return files.Path{Name: "by-hand/" + rest, Bucket: bucket, Key: base}, err
}

// localFile does what pushFile does, for a path in the file system.
func (s *Session) localFile(ctx context.Context, name string, source files.Source, own *blob.Bucket) (files.Path,
	error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return files.Path{}, err
	}
	if info, err := os.Stat(abs); err != nil || info.IsDir() {
		return files.Path{}, fmt.Errorf("%w: %s: there is no such file", ledger.ErrRefused, name)
	}
	if dir, err := bucket.Folder(source.Bucket); err == nil && dir != "" {
		if rel, err := filepath.Rel(dir, abs); err == nil && filepath.IsLocal(rel) {
			key := filepath.ToSlash(rel)
			return files.Path{Name: key, Bucket: own, Key: key}, nil
		}
	}
	bucket, err := s.bucket(ctx, (&url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Dir(abs))}).String())
	return files.Path{Name: "by-hand" + filepath.ToSlash(abs), Bucket: bucket, Key: filepath.Base(abs)}, err
}

// login reads the credential of a host now, so that a missing one is found before anything is
// leased or sent. key names it in errors. A host without a token gets no credential at all.
func login(ctx context.Context, l config.Login, key string, getenv func(string) string) (auth adjust.RecordAuth,
	err error) {
	if l.Token == "" {
		return auth, nil
	}
	auth.Header, auth.Parameter = l.Header, l.Parameter
	if auth.Key, err = transport.ParseToken(l.Token, getenv); err == nil {
		_, err = auth.Key.Token(ctx)
	}
	if err != nil {
		return auth, fmt.Errorf("service.%s.token: %w", key, text.RefusedError(err))
	}
	return auth, nil
}
