package state

import (
	"context"
	"fmt"
	"strconv"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/jobs/partition"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// changeColumns are those of the table of restatements. Its numbers are doubles, because sums of a
// day can have more digits than the decimals of a table; the ledger has the exact ones.
var changeColumns = []column{
	key("month", catalog.Month, "Month of partition_date; 1970-01-01 for a table without periods"),
	key("table_name", catalog.String, "Table that the row tells of"),
	value("partition_date", catalog.Day, "First day of the partition; NULL for a table without periods"),
	key("metric", catalog.String, "Metric whose sum over the partition changed; rows: the number of rows"),
	value("before", catalog.Double, "What it was"),
	value("after", catalog.Double, "What it became"),
	value("delta", catalog.Double, "after less before"),
	value("fetched_before", catalog.Hour, "UTC; when the old content was fetched last"),
	value("fetched", catalog.Hour, "UTC; when the new content was fetched first"),
	key("state_before", catalog.String, "partial, restating or final, of the old content"),
	key("reason", catalog.String, "Why it was fetched again"),
	key("run", catalog.String, "ID of the run that brought the new content"),
	value("seq", catalog.Int64, "Sequence number of the record of the new content"),
}

// restatements brings the table of restatements up to date for some months, ascending, as far as
// the ledger keeps history. Months without any change have no rows, and are left alone.
func (s *Tables) restatements(ctx context.Context, to *partition.Table, months []civil.Date) error {
	first, last := months[0], months[len(months)-1]
	until := refresh.Month.Next(last)
	if first == monthOf(sinks.Whole) {
		first, until = civil.Date{}, civil.Date{} // the partition without a date lies before all others
	}
	// The changes of these months, and the months that have any.
	history, err := s.Of.History(ctx, first, until)
	if err != nil {
		return err
	}
	wanted := map[civil.Date]bool{}
	for _, month := range months {
		wanted[month] = true
	}
	var rows [][]any
	var changed []civil.Date
	for _, change := range refresh.Changes(history) {
		month := monthOf(change.Partition)
		if !wanted[month] {
			continue
		}
		row, err := s.changeRow(month, change)
		if err != nil {
			return err
		}
		rows = append(rows, row)
		if len(changed) == 0 || changed[len(changed)-1] != month {
			changed = append(changed, month)
		}
	}
	if len(changed) == 0 {
		return nil
	}
	if _, err := to.FindChanged(ctx); err != nil {
		return err
	}
	return to.PutRows(ctx, s.definition(Restatements, changeColumns), changed, rows, s.Now)
}

// changeRow returns the row of a change.
func (s *Tables) changeRow(month civil.Date, c refresh.Change) ([]any, error) {
	row := []any{month, s.Of.Name(), dateOf(c.Partition), c.Metric}
	for _, text := range []string{c.Was, c.Is, c.Delta} {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("%s of %s: %q is no number: %w", c.Metric, c.Partition, text, err)
		}
		row = append(row, n)
	}
	return append(row, timeOf(c.Before), timeOf(c.Now), c.Finality, c.Reason, c.Run, int64(c.Seq)), nil
}
