package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/sinks/bqsink"
)

func newPlan(f *flags) *cobra.Command {
	var a ask
	cmd := &cobra.Command{
		Use:               "plan [job...]",
		Short:             "Show what run would do, and why, without asking the service",
		ValidArgsFunction: f.completeJobs,
		RunE: func(cmd *cobra.Command, names []string) (err error) {
			e, err := open(cmd.Context(), f, f.logger(cmd.ErrOrStderr()))
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, e.Close()) }()
			e.ask = a
			list, err := e.jobs(cmd.Context(), names)
			if err != nil {
				return coded(err)
			}
			e.warn(names)
			var failed []error
			plans := jobs.PlanJobs(cmd.Context(), list, time.Now())
			for i, p := range plans {
				err := p.Err
				switch {
				case err != nil:
				case f.logFormat == "json":
					err = e.writePlanJSON(cmd.Context(), cmd.OutOrStdout(), list[i], p.Plan)
				default:
					err = errors.Join(e.writePlan(cmd.OutOrStdout(), list[i], p.Plan),
						writeLacking(cmd.Context(), cmd.OutOrStdout(), list[i], p.Plan))
				}
				failed = append(failed, err)
			}
			return coded(errors.Join(append(failed, e.quotas(list, plans))...))
		},
	}
	cmd.Flags().BoolVar(&a.now, "now", false, "as run --now")
	cmd.Flags().BoolVar(&a.force, "force", false, "as run --force")
	cmd.Flags().BoolVar(&a.rebaseline, "rebaseline", false, "as run --rebaseline")
	return cmd
}

// quotas warns of load jobs that a day doesn't allow, and refuses what no day does.
func (e *engine) quotas(list []jobs.Job, plans []jobs.Planned) error {
	var loads []bqsink.Load
	for i, p := range plans {
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
	}
	warnings, err := bqsink.Quota(loads)
	for _, w := range warnings {
		e.log.Warn(w)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", jobs.ErrRefused, err)
	}
	return nil
}

func (e *engine) writePlan(w io.Writer, job jobs.Job, p jobs.Plan) error {
	if len(p.Units) == 0 {
		fmt.Fprintf(w, "%s: nothing is due\n", job.Name)
		return nil
	}
	if p.Files != nil {
		writePushPlan(w, job.Name, p.Files)
		return nil
	}
	if p.Inspect == nil {
		fmt.Fprintf(w, "%s: apps to be compared with the service: see apps plan\n", job.Name)
		return nil
	}
	partitions, requests := 0, 0
	for _, u := range p.Units {
		partitions += len(u.Due)
		requests += u.Requests
	}
	fmt.Fprintf(w, "%s: %s, %s, %s, %s under the limiter\n", job.Name, plural(len(p.Units), "window"),
		plural(partitions, "partition"), plural(requests, "request"), e.limiterTime(requests))
	for _, u := range p.Units {
		due := u.Due
		fmt.Fprintf(w, "  window %s  %s  %s\n", u.Name, rangeOf(due[0].Partition, due[len(due)-1].Partition), reasons(due))
	}
	return nil
}

// writeLacking says what a run leaves, as the config asks.
func writeLacking(ctx context.Context, w io.Writer, job jobs.Job, p jobs.Plan) error {
	if p.Inspect == nil {
		return nil
	}
	in, err := p.Inspect(ctx, jobs.Past{})
	if l := in.Rest.Lacking; l.Later {
		fmt.Fprintf(w, "  %s\n  %s\n", lacking(l), mending(job.Name, l))
	}
	return err
}

// writePlanJSON writes one object a line for each job.
func (e *engine) writePlanJSON(ctx context.Context, w io.Writer, job jobs.Job, p jobs.Plan) error {
	type window struct {
		Window string     `json:"window"`
		Due    []jobs.Due `json:"due"`
	}
	plan := struct {
		Job     string       `json:"job"`
		Seconds float64      `json:"limiter_seconds"`
		Windows []window     `json:"windows"`
		Lacking jobs.Lacking `json:"lacking,omitzero"`
	}{Job: job.Name}
	if p.Inspect != nil {
		in, err := p.Inspect(ctx, jobs.Past{})
		if err != nil {
			return err
		}
		plan.Lacking = in.Rest.Lacking
	}
	requests := 0
	for _, u := range p.Units {
		requests += u.Requests
		plan.Windows = append(plan.Windows, window{u.Name, u.Due})
	}
	plan.Seconds = e.limiterTime(requests).Seconds()
	return json.NewEncoder(w).Encode(plan)
}

// limiterTime is how long the limiter alone makes so many requests last: what the burst doesn't cover, at the rate.
func (e *engine) limiterTime(requests int) time.Duration {
	s := e.config.Service
	wait := (float64(requests) - 2*s.Rate) / s.Rate
	return max(0, time.Duration(wait*float64(time.Second))).Round(100 * time.Millisecond)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// reasons counts why partitions are due: "missing 5, lookback 2".
func reasons(due []jobs.Due) string {
	counts := map[jobs.Reason]int{}
	for _, d := range due {
		counts[d.Reason]++
	}
	var out []string
	for reason, n := range counts {
		out = append(out, fmt.Sprintf("%s %d", reason, n))
	}
	slices.SortFunc(out, cmp.Compare)
	return strings.Join(out, ", ")
}
