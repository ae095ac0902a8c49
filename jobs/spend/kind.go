package spend

import (
	"cmp"
	"context"
	"time"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/outbox/files"
)

// Options describe one spend job.
type Options struct {
	files.Options

	Client *adjust.Client // at the ad spend host, with a limiter of its own

	Columns, Constants map[string]string // of files.Mapping
	More               []string          // currency codes beside those of ISO 4217
	Zone               *time.Location    // of times in files that have none
	SendConflicts      bool
}

// Kind is the kind of a spend job. It lives for one run.
type Kind struct {
	o       Options
	mapping files.Mapping
	check   *checker
	outbox  *outbox.Outbox
	files   map[string]files.Path // by the names of their units
}

// New makes the kind. Nothing is read yet.
func New(o Options) *Kind {
	m := mapping(o.Columns, o.Constants)
	return &Kind{
		o: o, mapping: m, check: newChecker(m.Has(names[engagedAt]), o.More, o.Zone), files: map[string]files.Path{},
		outbox: o.Outbox(),
	}
}

// Outbox is what is known of the job's files.
func (k *Kind) Outbox() *outbox.Outbox { return k.outbox }

// Plan wants the files that are due, each as a unit.
func (k *Kind) Plan(ctx context.Context, now time.Time) ([]jobs.Unit, error) {
	due, err := k.Due(ctx, now)
	var units []jobs.Unit
	for _, p := range due {
		name := files.UnitName(p.Name)
		k.files[name] = p
		units = append(units, jobs.Unit{Name: name})
	}
	return units, err
}

// Due gives the files that a run would push.
func (k *Kind) Due(ctx context.Context, now time.Time) ([]files.Path, error) {
	return k.o.Shelf.Due(ctx, k.outbox, now)
}

// Describe says which file a unit is.
func (k *Kind) Describe(u jobs.Unit) string { return cmp.Or(k.files[u.Name].Name, u.Name) }

// Finish drops what is known of records that no file of the window can repeat.
func (k *Kind) Finish(ctx context.Context) error {
	return k.outbox.Prune(ctx, time.Now())
}
