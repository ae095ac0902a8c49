package inspect

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"

	"cloud.google.com/go/civil"
	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
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

// Config does what the command check does without --live, for a command that has written a config.
func Config(cmd *cobra.Command, p *wire.Program) error { return (&checker{}).run(cmd, p, nil, false) }

// run makes all checks, writes what to do next, and returns the exit code as an error.
func (c *checker) run(cmd *cobra.Command, p *wire.Program, names []string, live bool) error {
	return p.WithService(cmd, func(ctx context.Context, s *wire.Session) error {
		c.Session, c.out, c.configFlag = s, cmd.OutOrStdout(), p.Again()
		if p.JSON() {
			c.errorLog = s.Log
		}
		if err := c.check(ctx, names, live); err != nil {
			return err
		}
		if code := c.exitCode(); code != jobs.ExitDone {
			return text.SilentExit(code)
		}
		if !p.JSON() {
			all := "All of it works"
			if c.notCompared > 0 {
				all = "All that was tried works, and " + text.Plural(c.notCompared, "table") + " not compared"
			}
			fmt.Fprintf(c.out, "%s. Next, what a run would fetch, and the run:\n  reportferry plan%[2]s\n  "+
				"reportferry run%[2]s\n", all, c.configFlag)
		}
		return nil
	})
}

// A checker writes what it finds to out and counts what is wrong.
type checker struct {
	*wire.Session
	out         io.Writer
	dice        *rand.Rand   // chooses the sample
	configFlag  string       // " --config FILE" for commands that are suggested; empty for the default
	sample      int          // partitions of each job to fetch again
	wrong       int          // partitions, files and tables that aren't as recorded, or as they should be
	notCompared int          // tables in sinks that couldn't be compared with the ledger
	errorLog    *slog.Logger // receives failed steps as well; may be nil
	codes       []int        // the exit codes of failed steps

	table  refresh.Inspection  // of the table that is being compared
	listed map[civil.Date]bool // its partitions that a comparison with a sink has listed
	past   ledger.Past         // the last runs, with what failed
}

// check tries everything that a run needs, one step after the other, and then compares the sinks
// with the ledger:
//
//	config ─ addresses ─ spool folder ─ ledger ─ service ─ sinks ─ queries ─ each table ─ --live
//
// A failed step doesn't end the check; only later steps that can't do without it are left out.
func (c *checker) check(ctx context.Context, names []string, live bool) error {
	chosen, err := c.Choose(names)
	if err != nil {
		return err
	}
	c.Warn(names)
	c.step("config", nil, text.Plural(len(c.Config.Jobs), "job"))
	for _, line := range wire.Spread(chosen) {
		fmt.Fprintln(c.out, line)
	}
	c.tryReceivers(ctx)
	c.warnOfPlainHTTP()
	c.trySpool()
	c.tryLedger(ctx)
	lists := c.serviceLists(ctx, chosen)
	list, good := c.trySinks(ctx, chosen)
	c.tryQueries(ctx, list, lists)
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
		if live && !j.AsksService() {
			fmt.Fprintf(c.out, "%s: the service offers nothing harmless to try;\n  the first push is the trial: "+
				"begin with a file of one record\n", j.Name)
		}
	}
	if live && c.Ledger != nil && ctx.Err() == nil {
		return c.compareLive(ctx, list, lists)
	}
	return ctx.Err()
}
