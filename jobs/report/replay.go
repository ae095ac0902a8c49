package report

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// A Replay says which partitions are made again from the kept answers that their records name.
type Replay struct {
	From, Through civil.Date // only the periods between them, both included; zero: all
	// The number that the content has in the history of the one partition; 0: the current content.
	Seq int
}

// Replay returns a kind for the same job that publishes what the service said before, and asks it
// for nothing. Types, sinks and layout are those of today. So are the columns, as far as the kept
// answers have them. A column that they lack becomes one of NULLs and is missing in the recorded
// shape, so that the next run fetches it, as it does after a metric was added.
//
//	records ─ batches ─▶ unit ─ raw answers ─ convert ─ partition.Deliver
//
// The time of the fetch remains that of the answer, so that planning goes on from there: a day that
// was young then is fetched again.
func (k *Kind) Replay(ask Replay) jobs.Kind { return replay{k, ask} }

// A replay is the kind that Replay returns.
type replay struct {
	*Kind
	ask Replay
}

// Plan plans one unit for each cell of the grid with partitions that can be made again, and one
// unit that fails and names all other partitions.
func (r replay) Plan(ctx context.Context, now time.Time) (jobs.Plan, error) {
	p, recorded, known, err := r.openRaw(ctx, now)
	if err != nil || !known {
		return jobs.Plan{}, err
	}
	if p.rules.Changed, err = p.table.FindChanged(ctx); err != nil {
		return jobs.Plan{}, err
	}
	if err := p.table.CheckOthers(ctx, p.knownShape, r.o.Rules.IgnoreLedger); err != nil {
		return jobs.Plan{}, err
	}
	sources, err := r.sources(ctx, p)
	if err != nil {
		return jobs.Plan{}, err
	}
	cols, err := p.recordedColumns(recorded)
	if err != nil {
		return jobs.Plan{}, fmt.Errorf("job %s: %w: %w", r.o.Job, ledger.ErrRefused, err)
	}
	var units []jobs.Unit
	list := batchesOf(sources)
	if last := len(list) - 1; last >= 0 && list[last].keys == nil {
		units = append(units, p.unkept(list[last]))
		list = list[:last]
	}
	for _, unit := range replayUnits(p.rules, list, p.table.Records()) {
		units = append(units, jobs.Unit{
			Name: unit.window.Name(), Number: p.rules.Number(unit.window), Due: unit.window.Due,
			Do: func(ctx context.Context) (ledger.Outcome, error) { return p.replay(ctx, unit, cols) },
		})
	}
	return p.jobPlan(units), nil
}

// openRaw does what open does, for work that needs kept answers. It refuses a job that keeps none,
// and a config whose numbers mean something else than those of the answers.
func (k *Kind) openRaw(ctx context.Context, now time.Time) (p *plan, recorded ledger.Shape, known bool, err error) {
	if k.o.Raw == nil {
		return nil, recorded, false,
			fmt.Errorf("job %s: %w: its answers aren't kept; the key raw in the config, as in raw: file://./raw, "+
				"keeps those of later runs", k.o.Job, ledger.ErrRefused)
	}
	if p, recorded, known, err = k.open(ctx, now); err == nil && known {
		err = ledger.CheckReplay(k.o.Table, recorded, p.knownShape)
	}
	return p, recorded, known, err
}

// sources returns, for each partition that is asked for, the record of the content to make again.
// For a partition that was being published, this is the last content before, from its history.
func (r replay) sources(ctx context.Context, p *plan) (list []ledger.Record, err error) {
	from, until := r.ask.From, civil.Date{}
	if from.IsValid() {
		if p.rules.Period == refresh.Whole {
			return nil, fmt.Errorf("job %s: %w: its table has no periods; leave the range out", r.o.Job,
				ledger.ErrRefused)
		}
		from, until = p.rules.Period.Start(from), p.rules.Period.Next(r.ask.Through)
	}
	if r.ask.Seq > 0 {
		return p.numbered(ctx, from, until, r.ask.Seq)
	}
	var history []ledger.Record
	for _, e := range p.table.Sorted() {
		if from.IsValid() && (e.Partition.Before(from) || !e.Partition.Before(until)) {
			continue
		}
		if e.State == ledger.Publishing {
			if history == nil {
				if history, err = p.table.History(ctx, from, until); err != nil {
					return nil, err
				}
			}
			for _, had := range history {
				if had.Partition == e.Partition {
					e = had
				}
			}
		}
		list = append(list, e)
	}
	return list, nil
}

// numbered returns the content that has a number in a partition's history.
func (p *plan) numbered(ctx context.Context, from, until civil.Date, seq int) ([]ledger.Record, error) {
	history, err := p.table.History(ctx, from, until)
	if err != nil {
		return nil, err
	}
	return contentOf(p.o.Table, history, seq)
}

// contentOf finds the content with a number in the history of one partition.
func contentOf(table string, history []ledger.Record, seq int) ([]ledger.Record, error) {
	if n := len(history); n > 0 && history[n-1].Partition != history[0].Partition {
		return nil, fmt.Errorf("%w: a number is of one partition, and the range has several; name one day",
			ledger.ErrRefused)
	}
	var numbers []int
	for _, e := range history {
		if e.Seq == seq {
			return []ledger.Record{e}, nil
		}
		numbers = append(numbers, e.Seq)
	}
	if numbers == nil {
		return nil, fmt.Errorf("%w: nothing is recorded of that partition of %s", ledger.ErrRefused, table)
	}
	return nil, fmt.Errorf("%w: %s/%s has had no content of number %d; its contents are %v", ledger.ErrRefused, table,
		span([]civil.Date{history[0].Partition}), seq, numbers)
}

// unkept returns a unit that only fails, with an error that names the partitions whose answers
// weren't kept.
func (p *plan) unkept(e batch) jobs.Unit {
	return jobs.Unit{Name: "unkept", Do: func(context.Context) (ledger.Outcome, error) {
		return ledger.Outcome{Failed: len(e.records)}, fmt.Errorf("replay %s/%s: %w; the rows stay as they are",
			p.o.Table, e.spans(p.rules.Period), errUnkept)
	}}
}

// errUnkept says that a partition can't be made again from kept answers.
var errUnkept = errors.New("no raw answer of it is recorded")
