package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/human"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/report"
)

// live compares some final partitions of each report job, and the types of its columns, with what the service says today.
func (c *checker) live(ctx context.Context, list []jobs.Job, lists map[string]adjust.Filter) error {
	for _, job := range list {
		kind, ok := job.Kind.(*report.Kind)
		if !ok {
			continue
		}
		if err := c.compare(ctx, job, kind); err != nil {
			return err
		}
		for _, d := range kind.Disagreements(lists) {
			fmt.Fprintf(c.out, "%s live: %s is %s here, the service says %s\n", job.Name, d.Metric, d.Type, terminal.Line(d.Formatting))
			fmt.Fprintf(c.out, "  the table stays as it is; another type: types: {%s: ...}\n", d.Metric)
		}
	}
	return nil
}

// compare fetches a sample of a job's final partitions again.
func (c *checker) compare(ctx context.Context, job jobs.Job, kind *report.Kind) error {
	found, err := kind.Compare(ctx, time.Now(), c.sample, c.dice)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		fmt.Fprintf(c.out, "%s live: nothing to compare, all of it may still be restated\n", job.Name)
		return nil
	}
	same := slices.DeleteFunc(slices.Clone(found), func(x report.Comparison) bool { return !x.Same })
	var days []string
	for _, x := range same {
		days = append(days, human.Range(x.Partition, x.Partition))
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
			fmt.Fprintf(c.out, "%s live: %s has %s rows now; the ledger has %s with other values, of %s\n", job.Name,
				human.Range(x.Partition, x.Partition), human.Count(x.Rows), human.Count(x.Recorded.Rows), x.Recorded.Fetched.UTC().Format(time.DateOnly))
		}
	}
	return nil
}
