package inspect

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/status"
	"github.com/reportferry/reportferry/sinks"
)

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
	// Planning refuses a config that contradicts the ledger or the sinks, as run would. When a sink
	// has failed its probe, which has been reported, the table is inspected without a plan.
	bad := slices.ContainsFunc(job.Targets, func(target ledger.Target) bool { return !good[target.Name] })
	var in refresh.Inspection
	switch {
	case chosen[0].Sinks == nil:
	case bad:
		in, _, err = c.Inspect(ctx, chosen[0], c.past)
	default:
		var plan jobs.Plan
		if plan, err = job.Kind.Plan(ctx, time.Now()); err == nil {
			in, err = plan.Table.Inspect(ctx, c.past)
		}
	}
	if err != nil {
		c.step(job.Name, err, "")
	}
	c.table, c.listed = in, map[civil.Date]bool{}
	err = c.compareTargets(ctx, job, t, shapes, good)
	c.problems(job)
	return err
}

// problems writes what is wrong with the table, without the days that a comparison with a sink has
// listed already.
func (c *checker) problems(job jobs.Job) {
	list := slices.DeleteFunc(c.table.Problems, func(p ledger.Problem) bool { return !p.Wrong })
	if len(list) == 0 {
		return
	}
	c.wrong++
	for i, p := range list {
		unlisted := func(e refresh.Entry) bool { return string(e.Condition) == p.Condition && !c.listed[e.Partition] }
		if status.OfSinks(p) && !slices.ContainsFunc(c.table.Calendar, unlisted) {
			list[i].Days = nil
		}
	}
	fmt.Fprintln(c.out, job.Name)
	text.Problems(c.out, "  ", c.configFlag, list, mostDays)
}

// compareTargets compares those sinks of a job that passed their probe with the ledger.
func (c *checker) compareTargets(ctx context.Context, job jobs.Job, t *ledger.Table, shapes map[string]ledger.Shape,
	good map[string]bool) (err error) {
	for _, target := range job.Targets {
		if !good[target.Name] {
			continue // its failed probe has been reported
		}
		switch parts := target.Sink.(type) {
		case sinks.Reader:
			err = c.readBackSink(ctx, job, t, shapes, target, parts)
		case sinks.Lister:
			err = c.compareRows(ctx, job, target, parts)
		default:
			c.uncompared(job, target, "nobody can ask it what it holds")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// uncompared says that a job's table in a sink can't be compared with the ledger, and why.
func (c *checker) uncompared(job jobs.Job, target ledger.Target, why any) {
	c.notCompared++
	fmt.Fprintf(c.out, "%s in %s: not compared: %v\n", job.Name, target.Name, why)
}
