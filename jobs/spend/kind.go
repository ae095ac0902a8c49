package spend

import (
	"context"
	"time"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/outbox/files"
)

// Options describe one spend job.
type Options struct {
	files.Options

	Client *adjust.Client // at the ad spend host, with a limiter of its own

	Columns, Constants map[string]string // of files.Mapping
	Format             files.Format      // its Zone is set from Zone
	More               []string          // currency codes beside those of ISO 4217
	Zone               *time.Location    // of times in files that have none
	SendConflicts      bool
}

// Kind is the kind of a spend job.
type Kind struct {
	o       Options
	mapping files.Mapping
	check   *checker
	outbox  *outbox.Outbox
}

// New makes the kind. Nothing is read yet.
func New(o Options) *Kind {
	o.Format.Zone = o.Zone
	m := mapping(o.Columns, o.Constants, o.Format)
	return &Kind{
		o: o, mapping: m, check: newChecker(m.Has(names[engagedAt]), o.More, o.Zone),
		outbox: o.Outbox(),
	}
}

// Outbox is what is known of the job's files.
func (k *Kind) Outbox() *outbox.Outbox { return k.outbox }

// Plan wants the files that are due, all of them as one unit.
func (k *Kind) Plan(ctx context.Context, now time.Time) (jobs.Plan, error) {
	due, later, err := k.o.Shelf.Due(ctx, k.outbox, now)
	if err == nil {
		err = k.MayPush(ctx, due, now)
	}
	if err != nil {
		return jobs.Plan{}, err
	}
	return k.o.Plan(k.outbox, due, later, now, func(ctx context.Context, c *ledger.Claim) (ledger.Outcome, error) { return k.do(ctx, c, due) }), nil
}

// MayPush refuses files whose records would be sent twice.
func (k *Kind) MayPush(ctx context.Context, due []files.Path, now time.Time) error {
	return k.o.MayPush(ctx, k.outbox, due, now, k.Check)
}

// Due gives the files that a run would push.
func (k *Kind) Due(ctx context.Context, now time.Time) ([]files.Path, error) {
	due, _, err := k.o.Shelf.Due(ctx, k.outbox, now)
	return due, err
}
