package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/slugs"
)

// Drift says how final partitions are watched for numbers that change all the same.
type Drift struct {
	Days int  // how many days of final partitions a run compares with the service's totals; 0: none
	Warn bool // only warn of partitions that moved, and don't fetch them again
}

// WhyNotWatched says why final partitions can't be watched. It returns an empty text when they can,
// or when the config doesn't ask for it.
func (k *Kind) WhyNotWatched() string {
	if k.o.Drift.Days == 0 || k.o.Rules.Period == refresh.Whole {
		return ""
	}
	compared := k.hasTotal
	if k.o.Reconcile == ReconcileOff {
		compared = column.totalled // the ledger has no totals of other columns
	}
	if why := k.incomparable(); why != "" || len(k.o.Events) > 0 || slices.ContainsFunc(k.fixed, compared) {
		return why
	}
	return "none of its metrics adds up over all dimensions"
}

// notes returns the ledger's document about the checks. If the document is lost, final partitions
// are only checked again.
func (k *Kind) notes() *ledger.Document[slugs.Notes] { return slugs.NotesOf(k.o.Ledger, k.o.Table, "") }

// readDriftChecks reads which final partitions were checked, and when.
func (k *Kind) readDriftChecks(ctx context.Context) (refresh.DriftChecks, error) {
	n, _, err := k.notes().Load(ctx)
	return n.DriftChecks, err
}

// watching tells whether this run checks final partitions. A run that was asked for only some
// partitions doesn't.
func (p *plan) watching() bool {
	r := p.rules
	return p.o.Drift.Days > 0 && p.WhyNotWatched() == "" && r.Only == nil && !r.Through.IsValid() && !r.IgnoreLedger &&
		!p.o.Rebaseline
}

// watch returns the unit that checks final partitions, or false when there are none to check.
func (p *plan) watch(checks refresh.DriftChecks) (jobs.Unit, bool) {
	if !p.watching() {
		return jobs.Unit{}, false
	}
	w, ok := p.nextWatch(checks)
	if !ok {
		return jobs.Unit{}, false
	}
	var moved []jobs.Unit
	return jobs.Unit{
		Name: "finals " + span(w.Finals), Compares: len(w.Finals), Requests: 1,
		Do: func(ctx context.Context) (out ledger.Outcome, err error) {
			out, moved, err = p.compareWatched(ctx, w)
			return out, err
		},
		More: func() []jobs.Unit { return moved },
	}, true
}

// nextWatch returns the final partitions to check next.
func (p *plan) nextWatch(checks refresh.DriftChecks) (refresh.Watch, bool) {
	return p.rules.Watch(p.now, p.o.Drift.Days, p.table.Records(), checks)
}

// compareWatched compares the final partitions of a cell with the service's totals, and returns the
// units that fetch those that have moved. It records them as due before any of them is fetched, so
// that a later run goes on with them. A check that fails doesn't fail the run's other work: it is
// counted, and the next run tries again.
func (p *plan) compareWatched(ctx context.Context, planned refresh.Watch) (out ledger.Outcome, moved []jobs.Unit,
	err error) {
	if err = p.table.Refresh(ctx); err != nil {
		return out, nil, err
	}
	checks, err := p.readDriftChecks(ctx)
	if err != nil {
		return out, nil, err
	}
	w, ok := p.nextWatch(checks)
	if !ok || w.Cell.From != planned.Cell.From {
		return out, nil, nil // another run has checked them
	}
	check := w.Cell
	check.At = time.Now()
	var m adjust.Meter
	f := &fetch{plan: p, client: p.o.Client.Metered(&m)}
	if err = p.checkVisible(ctx, f.client); err != nil {
		return out, nil, err
	}
	changed, compared, err := f.compareFinals(ctx, w.Finals)
	out.Measure(m.Totals())
	log := p.o.Log.With("job", p.o.Job, "run", p.o.Run)
	switch {
	case errors.Is(err, adjust.ErrAuth):
		return out, nil, fmt.Errorf("%w: %w", jobs.ErrDenied, err)
	case err != nil && ctx.Err() != nil:
		return out, nil, err
	case err != nil:
		check.Failed, out.Unseen = true, len(w.Finals)
		log.Warn("final partitions couldn't be compared with the service's totals; the next run tries again", "window",
			span(w.Finals), "error", err)
	default:
		if out.Compared = compared; compared < len(w.Finals) {
			log.Warn("final partitions have no sums that a total could be compared with", "window", span(w.Finals),
				"partitions", len(w.Finals)-compared)
		}
	}
	for _, partition := range w.Finals {
		if differences := changed[partition]; differences != nil {
			check.Moved = append(check.Moved, partition)
			log.Warn("numbers have moved that were final", "window", partition.String(), "difference",
				onRecord(differences))
		}
	}
	add := ledger.Change[slugs.Notes]{Apply: func(n *slugs.Notes) error {
		if slices.ContainsFunc(n.DriftChecks, func(o refresh.DriftCheck) bool {
			return o.From == check.From &&
				o.Until == check.Until && !o.At.Before(check.At)
		}) {
			return ledger.ErrNothing // this check, or a later one, is there already
		}
		n.DriftChecks = n.DriftChecks.With(check)
		return nil
	}}
	if err = p.notes().Change(ctx, add); err != nil || p.o.Drift.Warn {
		out.Drifted = len(check.Moved)
		return out, nil, err
	}
	rules := p.rules
	rules.Moved, rules.Only, rules.IgnoreSchedule = refresh.DriftChecks{check}.Moved(),
		[]refresh.Reason{refresh.Drifted}, true
	for _, window := range refresh.Plan(time.Now(), rules, p.table.Records()) {
		moved = append(moved, f.unit(window))
	}
	return out, moved, nil
}

// compareFinals compares final partitions with the service's totals of today, by one request unless
// the service is too slow for it. It returns the differences of those that have moved, and the
// number that it could compare.
func (f *fetch) compareFinals(ctx context.Context, partitions []civil.Date) (changed map[civil.Date][]ledger.Difference,
	compared int, err error) {
	if f.cols, err = f.resolve(ctx, f.client); err != nil || len(f.cols.askedTotals) == 0 {
		return nil, 0, err
	}
	totals, err := f.totals(ctx, f.rules.Period.Row(partitions[0], partitions[len(partitions)-1]))
	if err != nil {
		return nil, 0, err
	}
	records := ledger.Records{}
	for _, p := range partitions {
		// Another unit is publishing it, and compares its rows with the totals.
		if e, _ := f.table.Record(p); e.State == ledger.Publishing {
			compared++
		} else {
			records[p] = e
		}
	}
	changed, had, err := f.changedTotals(ctx, records, byPartition(totals))
	return changed, compared + len(had), err
}

// onRecord says in words how totals of today differ from the recorded ones.
func onRecord(differences []ledger.Difference) string {
	var words []string
	for _, d := range differences {
		words = append(words, fmt.Sprintf("%s %s by the service's total, %s on record", d.Metric,
			cmp.Or(ledger.Plain(d.Total), "nothing"), ledger.Plain(d.Rows)))
	}
	return strings.Join(words, "; ")
}
