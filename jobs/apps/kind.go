package apps

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/robfig/cron/v3"
	"golang.org/x/sync/errgroup"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/panics"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// Options describe one job of kind apps.
type Options struct {
	Job, Table string
	Run        string // the run's ID

	Client *adjust.Client
	Ledger *ledger.Ledger

	Apps []App
	Only []string // IDs of the apps to look at; nil means all

	Migrate   bool     // copy the template again even if nothing differs
	NewTicket []string // IDs of apps that get a new job at once, whatever became of the last one

	TicketWait time.Duration // how long to wait for one migration, before it is left for the next run
	FirstPoll  time.Duration // how long after a request its ticket is asked for; 0 means the client's default

	Schedule       cron.Schedule // nil fires always
	IgnoreSchedule bool

	Tell func(Report) // called after each app, from several goroutines, but not at once; may be nil
	Log  *slog.Logger
}

// Kind is the kind of a job that keeps apps as they are declared.
type Kind struct {
	o        Options
	document *ledger.Document[progress]
}

// New returns the kind. It reads nothing yet.
func New(o Options) *Kind {
	if o.Tell == nil {
		o.Tell = func(Report) {}
	}
	const cost = "the next run would compare every field again, and ask for migrations that were done"
	return &Kind{o: o, document: ledger.NewDocument[progress](o.Ledger, "apps/"+o.Table+".json", cost)}
}

// unit is the one unit of a job: the declared apps.
const unit = "apps"

// Plan has the unit of the apps when the declarations have changed, when an app isn't as declared
// yet, or when the schedule has fired since all of them were. It asks the service nothing.
func (k *Kind) Plan(ctx context.Context, now time.Time) (plan jobs.Plan, err error) {
	p, _, err := k.document.Load(ctx)
	if err != nil {
		return plan, err
	}
	last := p.Checked
	if k.o.Only == nil && !k.o.IgnoreSchedule && last.Sum != "" && last.Sum == k.sum(last.Salt) &&
		!refresh.Fired(k.o.Schedule, last.At, now) {
		return plan, nil
	}
	plan.Units = []jobs.Unit{{Name: unit, Do: k.do}}
	return plan, nil
}

// sum returns a checksum of all declarations.
func (k *Kind) sum(salt string) string {
	c := &comparison{salt: salt}
	var all []any
	for _, a := range k.o.Apps {
		all = append(all, a.declared())
	}
	return c.sum(all...)
}

// chosen returns the apps to look at: all in the order of the file, or those of Only in its order.
func (k *Kind) chosen() ([]App, error) {
	if k.o.Only == nil {
		return k.o.Apps, nil
	}
	var list []App
	for _, id := range k.o.Only {
		i := slices.IndexFunc(k.o.Apps, func(a App) bool { return a.ID() == id })
		if i < 0 {
			return nil, fmt.Errorf("%w: no app %s is declared", ledger.ErrRefused, id)
		}
		list = append(list, k.o.Apps[i])
	}
	return list, nil
}

// atOnce is how many apps are under way at once. Nearly all of them wait for a migration; the
// client limits the requests.
const atOnce = 256

// each calls do for every chosen app, several at once, and returns the reports in the order of
// chosen. When the token proves to be refused for everything, the other apps are given up.
func (k *Kind) each(ctx context.Context, p progress, do func(context.Context, App, record) Report) ([]Report, error) {
	list, err := k.chosen()
	if err != nil {
		return nil, err
	}
	reports := make([]Report, len(list))
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	g := &errgroup.Group{}
	g.SetLimit(atOnce)
	for i, a := range list {
		known := p.recordOf(a)
		g.Go(func() error {
			if ctx.Err() != nil {
				reports[i] = Report{ID: a.ID(), Name: a.Name, Err: ctx.Err()}
				return nil
			}
			if err := panics.Caught("apply "+a.ID(),
				func() error { reports[i] = do(ctx, a, known); return nil }); err != nil {
				reports[i] = Report{ID: a.ID(), Name: a.Name, Err: err}
			}
			if reports[i].refused() {
				stop()
			}
			return nil
		})
	}
	_ = g.Wait() // errors are in the reports
	return reports, nil
}

// Diff compares every app with the service, and sends nothing.
func (k *Kind) Diff(ctx context.Context) ([]Report, error) {
	f := &finder{client: k.o.Client}
	p, _, err := k.document.Load(ctx)
	if err != nil {
		return nil, err
	}
	return k.each(ctx, p, func(ctx context.Context, a App, known record) Report {
		rep := Report{ID: a.ID(), Name: a.Name, Result: Unchanged, Ticket: known.Ticket}
		s, err := f.read(ctx, a, known.Token)
		if err != nil {
			rep.Err = fmt.Errorf("compare app %s: %w", a.ID(), err)
			return rep
		}
		rep.Token = s.details.AppToken
		rep.addSeen(a.scrub(s.unclear))
		if s.refusal != nil {
			rep.Err, rep.readRefused = fmt.Errorf("compare app %s: %w", a.ID(), s.refusal), true
			return rep
		}
		_, staying := differences(a, s, known)
		rep.Changes, rep.Otherwise = unsent(a, s, known), visible(staying)
		rep.Unfinished = known.State != "" && known.State != Done
		switch {
		case !s.exists:
			rep.Result = Created
		case len(rep.Changes) > 0 || rep.Unfinished:
			rep.Result = Changed
		}
		if !s.exists || rep.Unfinished || slices.ContainsFunc(rep.Changes, ofApp) {
			rep.Warning = s.warning(a)
		}
		return rep
	})
}

// do brings the apps to their declared state. The next run does what failed or wasn't reached.
func (k *Kind) do(ctx context.Context) (out ledger.Outcome, err error) {
	var m adjust.Meter
	client := k.o.Client.Metered(&m)
	var calling sync.Mutex
	f := &finder{client: client}
	p, to, err := k.open(ctx)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, to.end(ctx)) }()
	reports, err := k.each(ctx, p, func(ctx context.Context, a App, known record) Report {
		rep := (&attempt{kind: k, app: a, record: known, writer: to, client: client, finder: f}).do(ctx)
		calling.Lock()
		defer calling.Unlock()
		k.log(rep)
		k.o.Tell(rep)
		return rep
	})
	out.Measure(m.Totals())
	errs := []error{err}
	denied := slices.ContainsFunc(reports, Report.refused) || len(reports) > 0 &&
		!slices.ContainsFunc(reports, func(r Report) bool { return !errors.Is(r.Err, adjust.ErrAuth) })
	for _, rep := range reports {
		switch {
		case rep.Err == nil && rep.Result == Unchanged:
			out.Unchanged++
		case rep.Err == nil:
			out.Written++
		case denied || !errors.Is(rep.Err, context.Canceled):
			out.Failed++
			errs = append(errs, rep.Err)
		}
	}
	switch {
	case denied:
		return out, fmt.Errorf("%w: %w", jobs.ErrDenied, firstDenied(errs))
	case ctx.Err() != nil:
		return out, ctx.Err()
	case errors.Join(errs...) != nil:
		return out, errors.Join(errs...)
	case k.o.Only != nil:
		return out, nil
	}
	salt := rand.Text()
	return out, to.write(ctx, func(p *progress) {
		p.Checked = lastCheck{At: time.Now().UTC(), Salt: salt,
			Sum: k.sum(salt)}
	})
}

// firstDenied returns the error of the refusal, for which the other apps were given up.
func firstDenied(errs []error) error {
	i := slices.IndexFunc(errs, func(err error) bool { return errors.Is(err, adjust.ErrAuth) })
	return errs[i]
}

// log logs the result for an app. It doesn't log a failure as an error: the runner does that.
func (k *Kind) log(rep Report) {
	log := k.o.Log.With("job", k.o.Job, "run", k.o.Run, "app", rep.ID)
	if len(rep.Sections) > 0 {
		log.Info("app's sections", "sections", rep.Sections)
	}
	if rep.Warning != "" {
		log.Warn(rep.Warning)
	}
	if len(rep.Seen) > 0 {
		log.Warn("the service's answers don't tell all", "seen", rep.Seen)
	}
	if rep.Err != nil {
		log.Info("app failed", "error", rep.Err)
		return
	}
	log.Info("app over", "result", rep.Result, "ticket", rep.Ticket, "changes", len(rep.Changes))
	if len(rep.Otherwise) > 0 && rep.Result != Unchanged {
		log.Warn("the service took values and shows others", "fields", paths(rep.Otherwise))
	}
}
