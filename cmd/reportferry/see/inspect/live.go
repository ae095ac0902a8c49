package inspect

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/report"
)

// compareLive compares the final partitions of each report job, and the types of its columns, with
// what the service says today.
func (c *checker) compareLive(ctx context.Context, list []jobs.Job, lists map[string]listing) error {
	for _, job := range list {
		kind, ok := job.Kind.(*report.Kind)
		if !ok || lists[job.Account] == nil {
			continue
		}
		if err := c.compareJob(ctx, job, kind); err != nil {
			return err
		}
		if said := kind.Scoping(ctx); said != "" {
			fmt.Fprintf(c.out, "%s live: %s\n", job.Name, terminal.Line(said))
		}
		for _, d := range kind.Disagreements(lists[job.Account]) {
			fmt.Fprintf(c.out, "%s live: %s is %s here, the service says %s\n", job.Name, d.Metric, d.Type,
				terminal.Line(d.Formatting))
			fmt.Fprintf(c.out, "  the table stays as it is; another type: types: {%s: ...}\n", d.Metric)
		}
	}
	return nil
}

// compareJob compares a job's final partitions with the service's totals, fetches a sample of them
// again, and prints which differ from the ledger.
func (c *checker) compareJob(ctx context.Context, job jobs.Job, kind *report.Kind) error {
	compared, totals, err := kind.Compare(ctx, time.Now(), c.sample, c.dice)
	if err != nil {
		return err
	}
	if len(compared) == 0 && totals == 0 {
		fmt.Fprintf(c.out, "%s live: nothing to compare, all of it may still be restated\n", job.Name)
		return nil
	}
	var days []string
	var wrong []report.Comparison
	changed := 0
	for _, x := range compared {
		if x.Totals != "" {
			changed++
		}
		if x.Same {
			days = append(days, text.DayRange(x.Partition, x.Partition))
		} else {
			wrong = append(wrong, x)
		}
	}
	if same := totals - changed; same > 0 {
		fmt.Fprintf(c.out, "%s live: totals as recorded: %s\n", job.Name, text.Plural(same, "final partition"))
	}
	if len(days) > 0 {
		fmt.Fprintf(c.out, "%s live: rows as recorded: %s\n", job.Name, strings.Join(days, ", "))
	}
	c.wrong += len(wrong)
	for _, x := range wrong {
		day := text.DayRange(x.Partition, x.Partition)
		switch {
		case x.Err != nil:
			fmt.Fprintf(c.out, "%s live: error: %v\n", job.Name, x.Err)
			continue
		case x.Totals != "":
			fmt.Fprintf(c.out, "%s live: %s: %s\n", job.Name, day, terminal.Line(x.Totals))
		default:
			fmt.Fprintf(c.out, "%s live: %s has %s rows now; the ledger has %s with other values, of %s\n", job.Name,
				day, text.Count(x.Rows), text.Count(x.Recorded.Rows), x.Recorded.Fetched.UTC().Format(time.DateOnly))
		}
		fmt.Fprintf(c.out, "  reportferry backfill %s --from %s --to %s --force%s\n", job.Name, x.Partition,
			x.Partition, c.configFlag)
	}
	return nil
}
