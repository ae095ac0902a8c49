package inspect

import (
	"context"
	"fmt"
	"slices"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/partition"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// compareRows compares the number of rows in each partition of a database with the ledger.
func (c *checker) compareRows(ctx context.Context, job jobs.Job, target ledger.Target, store sinks.Lister) error {
	t, err := partition.Open(ctx, partition.Options{Ledger: c.Ledger, Name: job.Table, Targets: []ledger.Target{target},
		Job: job.Name})
	if err != nil {
		return err
	}
	wrong, err := t.Discrepancies(ctx, target, store)
	if err != nil {
		c.uncompared(job, target, err)
		return ctx.Err()
	}
	held := slices.DeleteFunc(heldBy(t.Sorted(), target),
		func(e ledger.Record) bool { return e.Partition.Before(t.Oldest()) })
	if len(wrong) == 0 {
		fmt.Fprintf(c.out, "%s in %s: %s, whose rows are as many as recorded\n", job.Name, target.Name,
			text.Plural(len(held), "partition"))
		return nil
	}
	title := fmt.Sprintf("%d not as recorded, of %s", len(wrong), text.Plural(len(held), "partition"))
	c.differences(job, target, title, wrong, mostDays,
		"a run fetches again what differs:\n    reportferry run "+job.Name)
	return nil
}

// differences writes which partitions in a sink aren't as recorded. most bounds the rows; 0 is no
// limit. Then it writes how to mend that, unless the table's problems say so for each partition.
// Consecutive partitions with the same text share a row.
func (c *checker) differences(job jobs.Job, target ledger.Target, title string, list []partition.Discrepancy, most int,
	mend string) {
	c.wrong += len(list)
	fmt.Fprintf(c.out, "%s in %s: %s\n", job.Name, target.Name, title)
	if slices.ContainsFunc(list, func(d partition.Discrepancy) bool {
		return !slices.ContainsFunc(c.table.Calendar, func(e refresh.Entry) bool {
			return e.Partition == d.Partition && slices.ContainsFunc(c.table.Problems,
				func(p ledger.Problem) bool { return p.Wrong && p.Condition == string(e.Condition) })
		})
	}) {
		defer fmt.Fprintf(c.out, "  %s%s\n", mend, c.configFlag)
	}
	for rows := 0; len(list) > 0; rows++ {
		if most > 0 && rows == most {
			fmt.Fprintf(c.out, "  and %d more\n", len(list))
			break
		}
		n := 1
		for n < len(list) && list[n-1].Partition.IsValid() &&
			list[n].Partition == c.table.Period.Next(list[n-1].Partition) && list[n].Text == list[0].Text {
			n++
		}
		first, last := list[0], list[n-1]
		name := first.Key
		if first.Partition.IsValid() {
			name = text.DayRange(first.Partition, last.Partition)
		}
		fmt.Fprintf(c.out, "  %s  %s\n", terminal.Line(name), first.Text)
		for _, d := range list[:n] {
			c.listed[d.Partition] = true
		}
		list = list[n:]
	}
}

// heldBy returns the records that have a receipt of the target.
func heldBy(all []ledger.Record, target ledger.Target) []ledger.Record {
	return slices.DeleteFunc(all, func(e ledger.Record) bool { return !slices.ContainsFunc(e.Receipts, target.Gave) })
}
