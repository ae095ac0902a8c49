package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"cloud.google.com/go/civil"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/reportferry/reportferry/cmd/reportferry/exit"
	"github.com/reportferry/reportferry/cmd/reportferry/human"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/partition"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/status"
	"github.com/reportferry/reportferry/sinks"
)

// Check makes the command check.
func Check(p *wire.Program) *cobra.Command {
	var live bool
	var sample int
	var seed uint64
	cmd := &cobra.Command{
		Use:   "check [job...]",
		Short: "Try all that a run needs, and hold the sinks against the ledger",
		Long: `Try each step of a run, and say which works: the config; the room in the spool
folder; the ledger and each sink, by writing, reading and deleting a probe, in
BigQuery a table and a query; the service's token and account; each dimension,
metric and event of the reports against the service's own lists, in one request.
What isn't in the lists is asked for by a report of one day.

Then read every recorded part back from its sink: its rows and its content hash
must be those of the ledger. In a database the rows of each partition are
counted, in BigQuery by a query. What can't be compared is named. With --live
also hold all partitions that are restated no more against the service's totals,
fetch some of them again, chosen at random, and hold the types of columns
against the service's list of metrics.

The exit code is 2 when the config asks for what can't be, 5 when credentials
are refused, 1 when another step fails, and 3 when something isn't as recorded.
Nothing that is recorded or published is changed.`,
		ValidArgsFunction: p.CompleteJobs,
		RunE: func(cmd *cobra.Command, names []string) error {
			return (&checker{dice: rand.New(rand.NewPCG(seed, seed)), sample: sample}).run(cmd, p, names, live)
		},
	}
	cmd.Flags().BoolVar(&live, "live", false, "ask the service too")
	cmd.Flags().IntVar(&sample, "sample", 3, "with --live: partitions of each job to fetch again")
	cmd.Flags().Uint64Var(&seed, "seed", rand.Uint64(), "chooses the sample; default: another each time")
	cmd.Flags().Lookup("seed").DefValue = "0" // the help text must not change from call to call, and 0 isn't shown
	return cmd
}

// Config does what the command check does, for a command that has written a config.
func Config(cmd *cobra.Command, p *wire.Program) error { return (&checker{}).run(cmd, p, nil, false) }

// run checks, and gives the exit code as an error.
func (c *checker) run(cmd *cobra.Command, p *wire.Program, names []string, live bool) error {
	return p.WithService(cmd, func(ctx context.Context, s *wire.Session) error {
		c.Session, c.out, c.flag = s, cmd.OutOrStdout(), p.Again()
		if p.JSON() {
			c.tell = s.Log
		}
		if err := c.check(ctx, names, live); err != nil {
			return err
		}
		if code := c.exit(); code != jobs.ExitDone {
			return exit.Silent(code)
		}
		if !p.JSON() {
			all := "All of it works"
			if c.apart > 0 {
				all = "All that was tried works, and " + human.Plural(c.apart, "table") + " not compared"
			}
			fmt.Fprintf(c.out, "%s. Next, what a run would fetch, and the run:\n  reportferry plan%[2]s\n  reportferry run%[2]s\n", all, c.flag)
		}
		return nil
	})
}

// A checker writes what it finds to out and counts what is wrong.
type checker struct {
	*wire.Session
	out    io.Writer
	dice   *rand.Rand
	flag   string // " --config FILE" for commands that are suggested; empty for the default
	sample int
	wrong  int
	apart  int          // tables in sinks that couldn't be held against the ledger
	tell   *slog.Logger // receives failed steps as well; may be nil
	codes  []int        // the exit codes of failed steps

	table refresh.Inspection  // that is compared
	named map[civil.Date]bool // partitions of it that were named when a sink was compared
	past  ledger.Past         // the last runs, of which failures are known
}

// check tries everything that a run needs, one step after the other, and then compares the sinks with the ledger:
//
//	config ─ room ─ ledger ─ service ─ sinks ─ queries ─ parts of each table ─ some partitions live
//
// A failed step doesn't end it, unless a later one can't do without.
func (c *checker) check(ctx context.Context, names []string, live bool) error {
	chosen, err := c.Choose(names)
	if err != nil {
		return err
	}
	c.Warn(names)
	c.step("config", nil, human.Plural(len(c.Config.Jobs), "job"))
	c.room()
	c.store(ctx)
	lists := c.account(ctx)
	list, good := c.places(ctx, chosen)
	if lists != nil {
		c.queries(ctx, list, lists)
	}
	if c.Ledger != nil {
		if c.past, err = c.Past(ctx, wire.LastRuns); err != nil {
			c.step("runs", err, "")
		}
	}
	for _, job := range list {
		if c.Ledger == nil || ctx.Err() != nil {
			break
		}
		if err := c.readBack(ctx, job, good); err != nil {
			c.step(job.Name, err, "")
		}
	}
	for _, j := range chosen {
		if live && (j.Spend != nil || j.Sharing != nil) {
			fmt.Fprintf(c.out, "%s: the service offers nothing harmless to try;\n  the first push is the trial: begin with a file of one record\n", j.Name)
		}
	}
	if live && lists != nil && c.Ledger != nil && ctx.Err() == nil {
		return c.live(ctx, list, lists)
	}
	return ctx.Err()
}

// readBack reads back all parts of a job's table, from those of its sinks that passed their probe.
func (c *checker) readBack(ctx context.Context, job jobs.Job, good map[string]bool) error {
	t, err := c.Ledger.Table(ctx, job.Table)
	if err != nil {
		return err
	}
	shapes, err := t.Shapes(ctx)
	if err != nil {
		return err
	}
	chosen, err := c.Choose([]string{job.Name})
	if err != nil {
		return err
	}
	// Planning refuses a config that contradicts the ledger, or what sinks hold, as run would. Those that can't be looked at have been
	// reported.
	bad := slices.ContainsFunc(job.Targets, func(target ledger.Target) bool { return !good[target.Name] })
	var in refresh.Inspection
	switch {
	case chosen[0].Sinks == nil:
	case bad:
		in, _, err = c.Inspect(ctx, chosen[0], c.past)
	default:
		var plan jobs.Plan
		if plan, err = job.Kind.Plan(ctx, time.Now()); err == nil {
			in, err = plan.Inspect(ctx, c.past)
		}
	}
	if err != nil {
		c.step(job.Name, err, "")
	}
	c.table, c.named = in, map[civil.Date]bool{}
	err = c.targets(ctx, job, t, shapes, good)
	c.problems(job)
	return err
}

// problems writes what is wrong with the table, without the days that a comparison with a sink has named.
func (c *checker) problems(job jobs.Job) {
	list := slices.DeleteFunc(c.table.Problems, func(p ledger.Problem) bool { return !p.Wrong })
	if len(list) == 0 {
		return
	}
	c.wrong++
	for i, p := range list {
		unnamed := func(e refresh.Entry) bool { return string(e.Condition) == p.Condition && !c.named[e.Partition] }
		if status.OfSinks(p) && !slices.ContainsFunc(c.table.Calendar, unnamed) {
			list[i].Days = nil
		}
	}
	fmt.Fprintln(c.out, job.Name)
	human.Problems(c.out, "  ", list, mostDays)
}

// targets holds the sinks of a job that passed their probe against the ledger.
func (c *checker) targets(ctx context.Context, job jobs.Job, t *ledger.Table, shapes map[string]ledger.Shape, good map[string]bool) (err error) {
	for _, target := range job.Targets {
		if !good[target.Name] {
			continue // its failed probe has been reported
		}
		switch parts := target.Sink.(type) {
		case sinks.Reader:
			err = c.sink(ctx, job, t, shapes, target, parts)
		case sinks.Holdings:
			err = c.rows(ctx, job, target, parts)
		default:
			c.uncompared(job, target, "nobody can ask it what it holds")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// uncompared says that what a sink holds can't be held against the ledger.
func (c *checker) uncompared(job jobs.Job, target ledger.Target, why any) {
	c.apart++
	fmt.Fprintf(c.out, "%s in %s: not compared: %v\n", job.Name, target.Name, why)
}

// rows holds the number of rows in each partition of a database against the ledger.
func (c *checker) rows(ctx context.Context, job jobs.Job, target ledger.Target, store sinks.Holdings) error {
	t, err := partition.Open(ctx, partition.Options{Ledger: c.Ledger, Name: job.Table, Targets: []ledger.Target{target}, Job: job.Name})
	if err != nil {
		return err
	}
	wrong, err := t.Discrepancies(ctx, target, store)
	if err != nil {
		c.uncompared(job, target, err)
		return ctx.Err()
	}
	held := slices.DeleteFunc(heldBy(t.Sorted(), target), func(e ledger.Record) bool { return e.Partition.Before(t.Oldest()) })
	if len(wrong) == 0 {
		fmt.Fprintf(c.out, "%s in %s: %s, whose rows are as many as recorded\n", job.Name, target.Name, human.Plural(len(held), "partition"))
		return nil
	}
	title := fmt.Sprintf("%d not as recorded, of %s", len(wrong), human.Plural(len(held), "partition"))
	c.differences(job, target, title, wrong, mostDays, "a run fetches again what differs:\n    reportferry run "+job.Name)
	return nil
}

// differences writes what of a sink isn't as recorded, in so many rows at most (0: in as many as it takes), and how to mend it unless a problem
// of the table says that. Partitions that follow one another are in one row when the same is to be said of them.
func (c *checker) differences(job jobs.Job, target ledger.Target, title string, list []partition.Discrepancy, most int, mend string) {
	c.wrong += len(list)
	fmt.Fprintf(c.out, "%s in %s: %s\n", job.Name, target.Name, title)
	if slices.ContainsFunc(list, func(d partition.Discrepancy) bool {
		return !slices.ContainsFunc(c.table.Calendar, func(e refresh.Entry) bool {
			return e.Partition == d.Partition && slices.ContainsFunc(c.table.Problems, func(p ledger.Problem) bool { return p.Wrong && p.Condition == string(e.Condition) })
		})
	}) {
		defer fmt.Fprintf(c.out, "  %s%s\n", mend, c.flag)
	}
	for rows := 0; len(list) > 0; rows++ {
		if most > 0 && rows == most {
			fmt.Fprintf(c.out, "  and %d more\n", len(list))
			break
		}
		n := 1
		for n < len(list) && list[n-1].Partition.IsValid() && list[n].Partition == c.table.Period.Next(list[n-1].Partition) && list[n].Text == list[0].Text {
			n++
		}
		first, last := list[0], list[n-1]
		name := first.Key
		if first.Partition.IsValid() {
			name = human.Range(first.Partition, last.Partition)
		}
		fmt.Fprintf(c.out, "  %s  %s\n", terminal.Line(name), first.Text)
		for _, d := range list[:n] {
			c.named[d.Partition] = true
		}
		list = list[n:]
	}
}

// heldBy are the records of what a target has given a receipt for.
func heldBy(all []ledger.Record, target ledger.Target) []ledger.Record {
	return slices.DeleteFunc(all, func(e ledger.Record) bool { return !slices.ContainsFunc(e.Receipts, target.Gave) })
}

// sink reads back the parts that one sink has receipts for.
func (c *checker) sink(ctx context.Context, job jobs.Job, t *ledger.Table, shapes map[string]ledger.Shape, target ledger.Target, parts sinks.Reader) error {
	name := target.Name
	held := heldBy(t.Sorted(), target)
	found := make([]string, len(held)) // what is wrong with each entry; empty when nothing is
	var broken error
	var mu sync.Mutex
	g := &errgroup.Group{}
	g.SetLimit(4) // each part is copied to the spool folder as a whole
	for i, e := range held {
		g.Go(func() error {
			text, err := "", partition.ReadBack(ctx, parts, c.Spool, job.Table, e, shapes[e.Shape], nil)
			if differs := (*partition.NotAsRecorded)(nil); errors.As(err, &differs) {
				text, err = differs.Why, nil
			}
			mu.Lock()
			defer mu.Unlock()
			found[i], broken = text, errors.Join(broken, err)
			return nil
		})
	}
	_ = g.Wait() // the functions return none; their errors are in broken
	if broken != nil {
		return broken
	}
	var wrong []partition.Discrepancy
	for i, text := range found {
		if text != "" {
			wrong = append(wrong, partition.Discrepancy{Partition: held[i].Partition, Text: text})
		}
	}
	if len(wrong) == 0 {
		fmt.Fprintf(c.out, "%s in %s: %s, as recorded\n", job.Name, name, human.Plural(len(held), "part"))
		return c.strangers(ctx, job, held, target, parts)
	}
	title := fmt.Sprintf("%d of %s not as recorded", len(wrong), human.Plural(len(held), "part"))
	c.differences(job, target, title, wrong, 0, "to put one again:\n    reportferry backfill "+job.Name+" --from DAY --to DAY --force")
	return c.strangers(ctx, job, held, target, parts)
}

// strangers lists the files below the table's prefix that no record names. Readers take them for parts, so that their rows
// count twice.
func (c *checker) strangers(ctx context.Context, job jobs.Job, held []ledger.Record, target ledger.Target, parts sinks.Reader) error {
	name := target.Name
	objects, err := parts.List(ctx, job.Table)
	if err != nil {
		return err
	}
	recorded := map[string]bool{}
	for _, e := range held {
		for _, r := range e.Receipts {
			if target.Gave(r) {
				recorded[r.Key] = true
			}
		}
	}
	var keys []string
	for _, o := range objects {
		if !recorded[o.Key] {
			keys = append(keys, o.Key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	c.wrong += len(keys)
	fmt.Fprintf(c.out, "%s in %s: %s that no record names\n", job.Name, name, human.Plural(len(keys), "file"))
	for i, key := range keys {
		if i == 5 {
			fmt.Fprintf(c.out, "  and %d more\n", len(keys)-i)
			break
		}
		fmt.Fprintf(c.out, "  %s\n", terminal.Line(key))
	}
	if len(held) == 0 {
		fmt.Fprintf(c.out, "  another config may fill this table; what a run would do:\n    reportferry plan %s%s\n", job.Name, c.flag)
	}
	return nil
}
