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
	m := mapping(o.Columns, o.Constants)
	return &Kind{
		o: o, mapping: m, check: newChecker(m.Has(names[engagedAt]), o.More, o.Zone),
		outbox: o.Outbox(),
	}
}

// Outbox is what is known of the job's files.
func (k *Kind) Outbox() *outbox.Outbox { return k.outbox }

// atOnce is how many files are under way side by side: each takes memory, and one alone keeps the limiter busy.
const atOnce = 4

// Plan wants the files that are due, each as a unit.
func (k *Kind) Plan(ctx context.Context, now time.Time) (jobs.Plan, error) {
	due, err := k.Due(ctx, now)
	plan := jobs.Plan{AtOnce: atOnce, Tidy: func(ctx context.Context) error { return k.outbox.Prune(ctx, time.Now()) }}
	for _, p := range due {
		plan.Files = append(plan.Files, p.Name)
		plan.Units = append(plan.Units, jobs.Unit{
			Name: files.UnitName(p.Name),
			Do:   func(ctx context.Context, _ ledger.Hold) (ledger.Outcome, error) { return k.do(ctx, p) },
		})
	}
	return plan, err
}

// Due gives the files that a run would push.
func (k *Kind) Due(ctx context.Context, now time.Time) ([]files.Path, error) {
	return k.o.Shelf.Due(ctx, k.outbox, now)
}
