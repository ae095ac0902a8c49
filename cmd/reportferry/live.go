package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/report"
)

// metricLists are the service's own lists of metrics.
var metricLists = []string{"overview_metrics", "cohort_metrics", "event_metrics", "cost_metrics", "skad_metrics"}

// live asks the service.
func (c *checker) live(ctx context.Context, list []jobs.Job) error {
	events, err := c.client.Events(ctx, adjust.EventsQuery{})
	if err != nil {
		return err
	}
	fmt.Fprintf(c.out, "service: the token is good, the account has %s\n", plural(len(events), "event"))
	formatting, err := c.formatting(ctx)
	if err != nil {
		// Outside the interface document: an account without it is none the worse.
		fmt.Fprintf(c.out, "service: its list of metrics can't be had: %v\n", err)
	}
	for _, job := range list {
		kind, ok := job.Kind.(*report.Kind)
		if !ok {
			continue
		}
		if err := c.compare(ctx, job, kind); err != nil {
			return err
		}
		for _, d := range kind.Disagreements(formatting) {
			fmt.Fprintf(c.out, "%s live: %s is %s here, %s to the service\n", job.Name, d.Metric, d.Type, terminal.Line(d.Formatting))
			fmt.Fprintf(c.out, "  nothing is changed by that; to change it: types: {%s: ...}\n", d.Metric)
		}
	}
	return nil
}

// formatting is the service's word for the kind of each metric that it lists.
func (c *checker) formatting(ctx context.Context) (map[string]string, error) {
	lists, err := c.client.FiltersData(ctx, metricLists)
	if err != nil {
		return nil, err
	}
	formatting := map[string]string{}
	for _, items := range lists {
		for _, item := range items {
			formatting[item.ID] = item.Formatting
		}
	}
	return formatting, nil
}

// compare fetches some settled partitions of a job again.
func (c *checker) compare(ctx context.Context, job jobs.Job, kind *report.Kind) error {
	found, err := kind.Compare(ctx, time.Now(), c.sample, c.dice)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		fmt.Fprintf(c.out, "%s live: nothing to compare, everything recorded is restated still\n", job.Name)
		return nil
	}
	same := slices.DeleteFunc(slices.Clone(found), func(x report.Comparison) bool { return !x.Same })
	var days []string
	for _, x := range same {
		days = append(days, rangeOf(x.Partition, x.Partition))
	}
	if len(days) > 0 {
		fmt.Fprintf(c.out, "%s live: as recorded: %s\n", job.Name, strings.Join(days, ", "))
	}
	for _, x := range found {
		switch {
		case x.Err != nil:
			c.wrong++
			fmt.Fprintf(c.out, "%s live: error: %v\n", job.Name, x.Err)
		case !x.Same:
			c.wrong++
			fmt.Fprintf(c.out, "%s live: %s has %s rows now, recorded are %s with other values on %s\n", job.Name,
				rangeOf(x.Partition, x.Partition), count(x.Rows), count(x.Recorded.Rows), x.Recorded.Fetched.UTC().Format(time.DateOnly))
		}
	}
	return nil
}
