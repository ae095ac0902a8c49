package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/see"
	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/apps"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks/bqsink"
)

// newPlan makes the command plan, which asks the service for nothing and leases nothing.
func newPlan(p *wire.Program) *cobra.Command {
	var a wire.Ask
	var form *wire.Output
	cmd := &cobra.Command{
		Use:               "plan [job...]",
		Short:             "Show what run would do, and why, without asking the service",
		ValidArgsFunction: p.CompleteJobs,
		RunE: func(cmd *cobra.Command, names []string) error {
			return showPlans(cmd, p, form, names, func(ctx context.Context, s *wire.Session) ([]jobs.Job,
				error) {
				return s.Jobs(ctx, names, a)
			})
		},
	}
	cmd.Flags().BoolVar(&a.Now, "now", false, "as run --now")
	cmd.Flags().BoolVar(&a.Force, "force", false, "as run --force")
	cmd.Flags().BoolVar(&a.Rebaseline, "rebaseline", false, "as run --rebaseline")
	form = p.AddOutput(cmd, "one object a job", plannedJob{})
	return cmd
}

// showPlans shows what a run would do for the jobs that list returns. Nothing is asked of the
// service, leased or written.
func showPlans(cmd *cobra.Command, p *wire.Program, form *wire.Output, names []string,
	list func(context.Context, *wire.Session) ([]jobs.Job, error)) error {
	return p.WithLedger(cmd, func(ctx context.Context, s *wire.Session) error {
		list, err := list(ctx, s)
		if err != nil {
			return err
		}
		s.Warn(names)
		past, err := s.Past(ctx, wire.LastRuns)
		if err != nil {
			return err
		}
		chosen, err := s.Choose(names)
		if err != nil {
			return err
		}
		if !form.JSON() {
			for _, line := range wire.Spread(chosen) {
				fmt.Fprintln(cmd.OutOrStdout(), line)
			}
		}
		var failed []error
		var idle []jobs.Job
		plans := jobs.PlanJobs(ctx, list, time.Now())
		for i, planned := range plans {
			in, err := refresh.Inspection{Problems: planned.Problems}, planned.Err
			if err == nil && planned.Table != nil {
				in, err = planned.Table.Inspect(ctx, past)
			}
			switch {
			case err != nil:
			case form.JSON():
				err = writePlanJSON(cmd.OutOrStdout(), s.Config.Service, list[i], planned.Plan, in)
			default:
				writePlan(cmd.OutOrStdout(), s.Config.Service, list[i], planned.Plan, in.Rest.Lacking)
				writeProblems(cmd.OutOrStdout(), s.Again(), planned.Plan, in)
				if len(planned.Units) == 0 {
					idle = append(idle, list[i])
				}
			}
			failed = append(failed, err)
		}
		if len(idle) > 0 {
			fmt.Fprintln(cmd.OutOrStdout(), text.Fold(see.NextRun(s, idle, time.Now()), 80))
		}
		return errors.Join(append(failed, quotas(s.Log, list, plans))...)
	})
}

// quotas compares the load jobs of the plans with BigQuery's quotas. It warns about plans that
// together exceed a day's quota, and sets an error on a plan that no quota ever covers.
func quotas(log *slog.Logger, list []jobs.Job, plans []jobs.Planned) error {
	var all []bqsink.Load
	var refused []error
	for i, p := range plans {
		var loads []bqsink.Load
		for _, target := range list[i].Targets {
			if !strings.HasPrefix(target.Name, "bigquery:") {
				continue
			}
			for _, u := range p.Units {
				for _, d := range u.Due {
					loads = append(loads, bqsink.Load{Table: list[i].Table, Partition: d.Partition})
				}
			}
		}
		if _, err := bqsink.Quota(loads); err != nil {
			plans[i].Err = fmt.Errorf("%w: %w", ledger.ErrRefused, err)
			refused = append(refused, plans[i].Err)
			continue
		}
		all = append(all, loads...)
	}
	warnings, _ := bqsink.Quota(all) // plans that must be refused are left out already
	for _, w := range warnings {
		log.Warn(w)
	}
	return errors.Join(refused...)
}

// writePlan writes what a run would do of one job. The form depends on whether the job's units have
// partitions, files or neither.
func writePlan(w io.Writer, service config.Service, job jobs.Job, p jobs.Plan, lacking ledger.Lacking) {
	if len(p.Units) == 0 {
		fmt.Fprintf(w, "%s: nothing is due\n", job.Name)
		return
	}
	if files := p.Units[0].Files; files != nil {
		writePushPlan(w, job.Name, files)
		return
	}
	if p.Table == nil {
		if _, ok := job.Kind.(*apps.Kind); ok {
			fmt.Fprintf(w, "%s: apps to be compared with the service: see apps plan\n", job.Name)
			return
		}
		fmt.Fprintf(w, "%s: %s\n", job.Name, text.Plural(len(p.Units), "unit"))
		return
	}
	windows, partitions, requests := 0, 0, 0
	for _, u := range p.Units {
		if u.Compares == 0 {
			windows++
		}
		partitions += len(u.Due)
		requests += u.Requests
	}
	fmt.Fprintf(w, "%s: %s, %s, %s", job.Name, text.Plural(windows, "window"),
		text.Plural(partitions, "partition"), text.Plural(requests, "request"))
	if wait := limiterTime(service, requests); wait >= time.Second {
		fmt.Fprintf(w, ", at least %s at this rate", wait)
	}
	fmt.Fprintln(w)
	for _, u := range p.Units {
		if u.Compares > 0 {
			fmt.Fprintf(w, "  %s  %d to compare with the service's totals\n", u.Name, u.Compares)
			continue
		}
		writeWindow(w, u, lacking)
	}
}

// writeWindow writes a window and why it is due: on one line, or with a line for each reason when a
// terminal has no room for it.
func writeWindow(w io.Writer, u jobs.Unit, lacking ledger.Lacking) {
	line := fmt.Sprintf("  window %s  %s", u.Name, text.DayRange(u.Due[0].Partition, u.Due[len(u.Due)-1].Partition))
	why := reasons(u.Due, lacking)
	if all := line + "  " + strings.Join(why, ", "); len(all) <= 80 {
		fmt.Fprintln(w, all)
		return
	}
	fmt.Fprintln(w, line)
	for _, reason := range why {
		fmt.Fprintf(w, "    %s\n", reason)
	}
}

// writeProblems writes what is wrong with a job's table, and notes about it. It leaves out missing
// days that aren't wrong, and the list of missing days where the plan's windows already show
// exactly those days.
func writeProblems(w io.Writer, again string, p jobs.Plan, in refresh.Inspection) {
	if p.Table == nil {
		text.Problems(w, "  ", again, in.Problems, 0)
		return
	}
	list := slices.DeleteFunc(in.Problems, func(p ledger.Problem) bool {
		return p.Condition == string(refresh.Absent) &&
			!p.Wrong
	})
	for i, problem := range list {
		if problem.Condition == string(refresh.Absent) && problem.Partitions == countMissing(in.Period, p.Units) {
			list[i].Days = nil
		}
	}
	text.Problems(w, "  ", again, list, 0)
}

// countMissing counts the partitions of those windows in which every due partition is missing, and
// the due partitions follow each other without a gap.
func countMissing(period refresh.Period, units []jobs.Unit) (n int) {
	for _, u := range units {
		if why := reasons(u.Due, ledger.Lacking{}); len(why) == 1 && u.Due[0].Reason == refresh.Missing &&
			len(refresh.Window{Period: period, Due: u.Due}.Runs()) == 1 {
			n += len(u.Due)
		}
	}
	return n
}

// A plannedJob is the plan of a job as JSON.
type plannedJob struct {
	Job     string          `json:"job"`
	Account string          `json:"account,omitempty"`
	Seconds float64         `json:"limiter_seconds"` // what limiterTime returns for the requests
	Windows []plannedWindow `json:"windows"`
	Lacking ledger.Lacking  `json:"lacking,omitzero"`

	Problems []ledger.Problem `json:"problems,omitempty"`
}

// A plannedWindow is one window of a plan, or one file to push.
type plannedWindow struct {
	Window string        `json:"window"`
	Due    []refresh.Due `json:"due"`

	Compares int `json:"compares,omitempty"` // how many final partitions are compared with the service's totals
}

// writePlanJSON writes the plan of one job as a JSON object on one line.
func writePlanJSON(w io.Writer, service config.Service, job jobs.Job, p jobs.Plan, in refresh.Inspection) error {
	plan := plannedJob{Job: job.Name, Account: job.Account, Lacking: in.Rest.Lacking, Problems: in.Problems}
	requests := 0
	for _, u := range p.Units {
		requests += u.Requests
		for _, file := range u.Files {
			plan.Windows = append(plan.Windows, plannedWindow{Window: terminal.Line(file)})
		}
		if u.Files == nil {
			plan.Windows = append(plan.Windows, plannedWindow{u.Name, u.Due, u.Compares})
		}
	}
	plan.Seconds = limiterTime(service, requests).Seconds()
	return json.NewEncoder(w).Encode(plan)
}

// limiterTime returns how long the rate limit alone makes this number of requests last. The first
// burst goes at once, because the token bucket is full at the start.
func limiterTime(service config.Service, requests int) time.Duration {
	wait := float64(requests-service.Burst) / service.Rate
	return max(0, time.Duration(wait*float64(time.Second))).Round(100 * time.Millisecond)
}

// reasonWords holds words that follow a count, for reasons whose own name wouldn't read well there.
var reasonWords = map[refresh.Reason]string{
	refresh.Lookback: "in the lookback", refresh.NewSink: "for a new sink", refresh.Rebased: "to rebaseline",
	refresh.Doubtful:   "to ask again, because they differ from the totals or are empty",
	refresh.Dropped:    "with columns to drop or rename",
	refresh.NewColumns: "for an added column", refresh.Drifted: "moved though final",
	refresh.Horizon: "whose numbers are final by now",
}

// reasons counts why partitions are due: "2 in the lookback", "5 missing". It doesn't call a column
// "added" when its name may be misspelt.
func reasons(due []refresh.Due, lacking ledger.Lacking) []string {
	unknown := slices.IndexFunc(lacking.Columns, func(name string) bool { return catalog.Doubt(name) != "" })
	counts := map[refresh.Reason]int{}
	for _, d := range due {
		counts[d.Reason]++
	}
	var out []string
	for reason, n := range counts {
		words := cmp.Or(reasonWords[reason], string(reason))
		if reason == refresh.NewColumns && unknown >= 0 {
			words = "for " + lacking.Columns[unknown] + ", which the catalogue doesn't know"
		}
		out = append(out, fmt.Sprintf("%d %s", n, words))
	}
	slices.Sort(out)
	return out
}

// writePushPlan names the files that a run would push.
func writePushPlan(w io.Writer, job string, due []string) {
	fmt.Fprintf(w, "%s: %s\n", job, text.Plural(len(due), "file"))
	for _, name := range due {
		fmt.Fprintf(w, "  file %s\n", terminal.Line(name))
	}
}
