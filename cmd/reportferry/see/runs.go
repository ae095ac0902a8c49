package see

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// Runs makes the command runs.
func Runs(p *wire.Program) *cobra.Command {
	var count int
	var job string
	var form *wire.Output
	cmd := &cobra.Command{
		Use:   "runs [ID|last]",
		Short: "List the last runs, or show one of them in whole",
		Long: `List the last runs that the ledger has a record of, the newest first: how long
ago each began, what started it, its jobs, what came of it and its exit code.
The ledger keeps them for 90 days. Of runs that did nothing it keeps the last
one of each job, and counts the others.

With an ID, or with the first part of one, that run is shown in whole: for each
job, what it wrote, what that cost, what was left out and every error. last is
the newest run. Nothing is asked of the service.`,
		Example: `  reportferry runs
  reportferry runs last
  reportferry runs --job campaigns_daily -n 5`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.FixedCompletions([]string{"last"}, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			if count < 1 {
				return text.UsageError(fmt.Errorf("-n %d: want the number of runs, 1 or more", count))
			}
			return p.WithLedger(cmd, func(ctx context.Context, s *wire.Session) error {
				read := count
				if job != "" || len(args) == 1 && args[0] != "last" {
					read = math.MaxInt
				}
				past, err := s.Past(ctx, read)
				if err != nil {
					return err
				}
				all := past.Runs
				if job != "" {
					all = slices.DeleteFunc(all, func(r ledger.Run) bool { return !hasJob(r, job) })
				}
				w, asJSON := cmd.OutOrStdout(), form.JSON()
				if len(args) == 1 {
					return writeOneRun(w, s, all, args[0], job, asJSON)
				}
				all = all[:min(count, len(all))]
				switch {
				case asJSON:
					return text.JSONLines(w, all)
				case len(all) == 0 && job != "":
					fmt.Fprintf(w, "No run of %s is recorded.\n", job)
				case len(all) == 0:
					fmt.Fprintln(w, "No run is recorded yet; reportferry run makes the first.")
				default:
					writeRuns(w, all, time.Now())
					if job == "" {
						writeIdle(w, past, time.Now())
					}
				}
				return nil
			})
		},
	}
	cmd.Flags().IntVarP(&count, "count", "n", 20, "how many runs are listed")
	cmd.Flags().StringVar(&job, "job", "", "only runs that had this `job`")
	form = p.AddOutput(cmd, "one object a run", ledger.Run{})
	_ = cmd.RegisterFlagCompletionFunc("job", p.CompleteJobs)
	return cmd
}

// hasJob tells whether a run has a result of the job.
func hasJob(r ledger.Run, job string) bool {
	return slices.ContainsFunc(r.Results, func(res ledger.Result) bool { return res.Job == job })
}

// writeOneRun writes the run with an ID, or with the first part of one.
func writeOneRun(w io.Writer, s *wire.Session, all []ledger.Run, id, job string, asJSON bool) error {
	r, err := findRun(all, id)
	if err != nil {
		return text.UsageError(err)
	}
	if asJSON {
		return text.JSON(w, r)
	}
	writeRun(w, s.Again(), r, UnitNames(s.Config), job)
	return nil
}

// findRun returns the run with an ID, with the first part of one, or the newest for "last". all has
// the newest run first.
func findRun(all []ledger.Run, id string) (ledger.Run, error) {
	if len(all) == 0 {
		return ledger.Run{}, errors.New("no such run is recorded; reportferry runs lists all")
	}
	if id == "last" {
		return all[0], nil
	}
	matches := slices.Collect(func(yield func(ledger.Run) bool) {
		for _, r := range all {
			if strings.HasPrefix(r.ID, id) && !yield(r) {
				return
			}
		}
	})
	switch len(matches) {
	case 0:
		return ledger.Run{}, fmt.Errorf("no run begins with %q; reportferry runs -n 1000 lists more", id)
	case 1:
		return matches[0], nil
	}
	return ledger.Run{}, fmt.Errorf("%d runs begin with %q; say more of the ID", len(matches), id)
}
