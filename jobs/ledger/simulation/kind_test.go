package simulation

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing/iotest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/partition"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/state"
	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/blobsink"
)

const table = "installs"

// work is one run of the program: it plans what is due, and does it.
func (p *process) work(ctx context.Context) {
	books := p.openLedger()
	defer books.Close() //nolint:errcheck // a simulated one
	sink, err := blobsink.Open(ctx, lakeURL)
	if err != nil {
		p.finish([]error{err}, ledger.Outcome{})
		return
	}
	defer sink.Close() //nolint:errcheck // as above
	k := &kind{process: p, ledger: books, targets: []ledger.Target{{Name: lakeURL, Sink: serial{sink.(*blobsink.Sink)},
		Store: sink.Store()}}}
	list := []jobs.Job{{Name: table, Table: table, Kind: k, Targets: k.targets}}
	runner := &jobs.Runner{Run: p.name, Lease: lasting, Parallel: 1, Log: slog.New(slog.DiscardHandler)}
	wall, _ := p.clock()
	res := runner.RunJobs(ctx, list, jobs.PlanJobs(ctx, list, wall))[0]
	p.finish(res.Errs, res.Outcome)
}

// serial puts one part after the other: the order of several is nobody's, and a seed is to repeat
// itself.
type serial struct{ *blobsink.Sink }

func (serial) Together() int { return 1 }

// openLedger opens the ledger as one process sees it, by its own clocks.
func (p *process) openLedger() *ledger.Ledger {
	return ledger.Open(ledger.Options{
		Store: bucket.New("sim://ledger", &link{p, p.world.ledger}), Clock: p.clock, Lease: lasting, Task: p.task,
		History: p.world.fate.history, Unindexed: p.world.fate.unindexed,
	})
}

// finish says what came of the run.
func (p *process) finish(errs []error, out ledger.Outcome) {
	p.outcome = fmt.Sprintf("written %d, unchanged %d, empty %d, failed %d, held %d, errors %d",
		out.Written, out.Unchanged, out.Empty, out.Failed, out.Held, len(errs))
	err := errors.Join(errs...)
	if err != nil {
		p.outcome += ": " + strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	if errors.Is(err, ledger.ErrLost) {
		p.world.stats.leases++
	}
	var damaged *ledger.DamagedError
	switch {
	case p.bereft && !errors.As(err, &damaged):
		p.world.violate("a month that is gone is damage", "%s", p.outcome)
	case p.clean && !p.bereft && (err != nil || out.Held > 0):
		p.world.violate("one clean run suffices", "%s", p.outcome)
	}
}

// A kind does what package report does with a window: it leases what is due, asks, and publishes
// day by day.
type kind struct {
	process *process
	ledger  *ledger.Ledger
	targets []ledger.Target
	table   *partition.Table
	states  *state.Tables
	due     map[civil.Date]bool
}

var shape = ledger.Shape{Fingerprint: map[string]string{ledger.FingerprintPeriod: "day"},
	Columns: []ledger.Column{{Name: "installs"}}}

func (k *kind) Plan(ctx context.Context, now time.Time) (p jobs.Plan, err error) {
	if k.table, err = partition.Open(ctx, partition.Options{Ledger: k.ledger, Name: table, Targets: k.targets,
		Run: k.process.name, Codec: "snappy"}); err != nil {
		return p, err
	}
	if _, _, err := k.table.LastShape(ctx); err != nil {
		return p, err
	}
	changed, err := k.table.FindChanged(ctx)
	if err != nil {
		return p, err
	}
	rules := refresh.Rules{
		Period: refresh.Day, Page: k.process.page, Start: firstDay,
		Through:  firstDay.AddDays(len(k.process.world.truth.days) - 1),
		Lookback: 300, Location: time.UTC, Targets: k.targets, Changed: changed, IgnoreSchedule: true,
		IgnoreLedger: k.process.force,
	}
	k.due = maps.Clone(changed)
	prefix := ""
	if k.process.world.fate.states {
		prefix = state.Prefix
	}
	k.states = state.New(state.Tables{
		Prefix: prefix, Job: table, Of: k.table, Now: now, Ledger: k.ledger,
		Rules: func(context.Context) (refresh.Rules, error) { return rules, nil },
	})
	p.Ending = k
	p.Records = 1 << 20 // more than may stay in memory: each unit reads the table again
	for _, w := range refresh.Plan(now, rules, k.table.Records()) {
		for _, d := range w.Due {
			k.due[d.Partition] = true
		}
		p.Units = append(p.Units, jobs.Unit{
			Name: w.Name(), Due: w.Due, Do: func(ctx context.Context) (ledger.Outcome, error) { return k.do(ctx, w) },
		})
	}
	return p, nil
}

func (k *kind) Finish(ctx context.Context, done ledger.Outcome, _ ledger.Past) (ledger.Result, error) {
	err := k.states.Finish(ctx, done)
	k.process.world.annals.lookUp(ctx, k.table.Table)
	return ledger.Result{}, err
}

func (k *kind) Release(context.Context) error {
	k.table.Release(k.due)
	return nil
}

func (k *kind) do(ctx context.Context, window refresh.Window) (out ledger.Outcome, err error) {
	p, w := k.process, k.process.world
	since := w.tick
	window, lease, err := k.table.Begin(ctx, window)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, lease.End(ctx)) }()
	w.books.begun(p, window, since)
	if len(window.Due) == 0 {
		return out, nil
	}
	p.working = true
	defer func() { p.working = false }()
	defer func() { w.annals.lookUp(ctx, k.table.Table) }()
	if err := k.table.SaveShape(ctx, shape); err != nil {
		out.Failed = len(window.Due)
		return out, err
	}
	var errs []error
	for _, row := range window.Runs() {
		err := k.publish(ctx, lease, row, window.Base, &out)
		errs = append(errs, err)
		if errors.Is(err, ledger.ErrLost) || ctx.Err() != nil {
			break
		}
	}
	return out, errors.Join(errs...)
}

func (k *kind) publish(ctx context.Context, l *ledger.Lease, row []civil.Date, base ledger.Records,
	out *ledger.Outcome) error {
	p, w := k.process, k.process.world
	fetched, _ := p.clock()
	res := p.call(ctx, nil, request{op: "ask", key: row[0].String()})
	if res.err != nil {
		out.Failed += len(row)
		return res.err
	}
	var list []partition.Publication
	for _, a := range res.truth {
		if slices.Contains(row, a.day) {
			list = append(list, k.publication(a, base[a.day], fetched))
		}
	}
	if w.chance(0.3) {
		_ = k.table.Refresh(ctx) // another window of the process looks what is recorded
	}
	since := w.tick
	var errs []error
	for i, r := range k.table.PublishAll(context.WithValue(ctx, publishing{}, true), l, list) {
		if r.Err != nil {
			out.Failed++
			errs = append(errs, r.Err)
		} else {
			out.Count(r.State)
		}
		w.books.published(p, list[i].Base, list[i].Part.Partition, r.Err, since)
	}
	return errors.Join(errs...)
}

func (k *kind) publication(a answer, base ledger.Record, fetched time.Time) partition.Publication {
	// Each file is another one, as package report's are.
	file := slices.Concat([]byte("fetch "+rand.Text()+"\n"), a.data)
	return partition.Publication{
		Part: sinks.Part{
			Table: table, Partition: a.day, Rows: a.rows, Size: int64(len(file)), Hash: a.hash, Run: k.process.name,
			Open: func() (io.ReadCloser, error) { return k.process.spooled(file), nil },
		},
		Base: base, Run: k.process.name, Fetched: fetched, Cause: "204", Shape: shape.ID(),
		OnEmpty: partition.ClearEmpty,
		Sums:    map[string]string{"restatement": fmt.Sprint(a.restatement)}, Again: k.process.force,
	}
}

// spooled reads a file, to its end or half of it.
func (p *process) spooled(file []byte) io.ReadCloser {
	if w := p.world; w.chance(w.fate.torn) {
		w.stats.torn++
		return io.NopCloser(io.MultiReader(bytes.NewReader(file[:len(file)/2]),
			iotest.ErrReader(errors.New("the spool can't be read"))))
	}
	return io.NopCloser(bytes.NewReader(file))
}
