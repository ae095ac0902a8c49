package spend

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"gocloud.dev/blob"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/outbox"
)

// Options describe one spend job.
type Options struct {
	Job, Table string
	Run        string // the run's ID

	Client *adjust.Client // at the ad spend host, with a limiter of its own
	Ledger *jobs.Ledger
	Lease  time.Duration

	Source  Source
	Bucket  *blob.Bucket // Source.Bucket, opened
	Window  int          // files of so many days back are looked at
	Mapping Mapping
	More    []string       // currency codes beside those of ISO 4217
	Zone    *time.Location // of the schedule, of {date}, and of times in files that have none
	Rejects *blob.Bucket

	MaxRejects    *outbox.Most
	ParkUnknown   bool
	SendConflicts bool
	Quiet         time.Duration // a file that was modified more recently waits for the next run
	InFlight      int

	Files          []Path        // these and no others, asked for by a person; nil: those of Source
	Schedule       cron.Schedule // nil: always
	IgnoreSchedule bool

	SpoolDir string
	Log      *slog.Logger
}

// Kind is the kind of a spend job. It lives for one run.
type Kind struct {
	o      Options
	check  *checker
	outbox *outbox.Outbox
	files  map[string]Path // by the names of their units
}

// A Path is where one file is, and how it is called in every run.
type Path struct {
	Name   string // in the ledger, in logs, and before RejectsSuffix
	Bucket *blob.Bucket
	Key    string
}

// New makes the kind. Nothing is read yet.
func New(o Options) *Kind {
	return &Kind{
		o: o, check: newChecker(o.Mapping, o.More, o.Zone), files: map[string]Path{},
		outbox: outbox.New(outbox.Options{
			Ledger: o.Ledger, Table: o.Table, Run: o.Run, Lease: o.Lease, SpoolDir: o.SpoolDir, Rejects: o.Rejects,
			Keep: time.Duration(max(o.Window, 7)+2) * 24 * time.Hour, Log: o.Log,
		}),
	}
}

// Outbox is what is known of the job's files.
func (k *Kind) Outbox() *outbox.Outbox { return k.outbox }

// Requeue makes the records of a file pending again of which nobody knows whether they were taken; an empty name means
// all files. It gives their number.
func (k *Kind) Requeue(ctx context.Context, name string) (int64, error) {
	return k.outbox.Requeue(ctx, name)
}

// Plan wants the files of the window that are new, have changed, or weren't finished. A file waits for the schedule to
// fire after its last change; one that was begun doesn't.
func (k *Kind) Plan(ctx context.Context, now time.Time) ([]jobs.Unit, error) {
	var units []jobs.Unit
	if k.o.Files != nil {
		for _, p := range k.o.Files {
			units = append(units, k.unit(p))
		}
		return units, nil
	}
	known, err := k.outbox.Files(ctx)
	if err != nil {
		return nil, err
	}
	latest := map[string]outbox.File{}
	for _, f := range known { // the latest first
		if _, newer := latest[f.Name]; !newer {
			latest[f.Name] = f
		}
	}
	first := now.In(k.o.Zone).AddDate(0, 0, -k.o.Window)
	found, err := list(ctx, k.o.Bucket, k.o.Source, first, now.In(k.o.Zone))
	if err != nil {
		return nil, err
	}
	for _, key := range found {
		p := Path{Name: key, Bucket: k.o.Bucket, Key: key}
		due, err := k.due(ctx, p, latest[key], now)
		if err != nil {
			return nil, err
		}
		if due {
			units = append(units, k.unit(p))
		}
	}
	return units, nil
}

// due tells whether there is something to do for a file.
func (k *Kind) due(ctx context.Context, p Path, known outbox.File, now time.Time) (bool, error) {
	stat, err := k.source(p).Stat(ctx)
	switch {
	case err != nil:
		return false, err
	case known.Name != "" && known.Open():
		return true, nil
	case known.Version == stat.Version:
		return false, nil
	}
	return k.o.IgnoreSchedule || jobs.Fired(k.o.Schedule, stat.Modified, now), nil
}

// unit is the unit of pushing one file, which Do then knows.
func (k *Kind) unit(p Path) jobs.Unit {
	name := unitName(p.Name)
	k.files[name] = p
	return jobs.Unit{Name: name}
}

// unitName makes one folder's name of a file's name, which may have several.
func unitName(file string) string {
	sum := sha256.Sum256([]byte(file))
	plain := strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, file)
	return fmt.Sprintf("%s-%x", plain[max(0, len(plain)-80):], sum[:4])
}

// Describe says which file a unit is.
func (k *Kind) Describe(u jobs.Unit) string { return cmp.Or(k.files[u.Name].Name, u.Name) }

func (k *Kind) source(p Path) *file {
	return &file{bucket: p.Bucket, key: p.Key, check: k.check, spool: k.o.SpoolDir, now: time.Now()}
}

// Finish drops what is known of records that no file of the window can repeat.
func (k *Kind) Finish(ctx context.Context) error {
	err := k.outbox.Prune(ctx, time.Now())
	var held *jobs.HeldError
	if errors.As(err, &held) { // the other run does it
		return nil
	}
	return err
}
