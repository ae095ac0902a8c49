package bqsink

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/bigquery"
	"cloud.google.com/go/civil"
	"google.golang.org/api/iterator"

	"github.com/reportferry/reportferry/sinks"
)

// List returns the table as one object, with the time at which it was made and its number of rows,
// by one call of tables.get (https://cloud.google.com/bigquery/docs/reference/rest/v2/tables#Table,
// creationTime, numRows and timePartitioning). BigQuery says nothing about single partitions there;
// Count does.
func (s *Sink) List(ctx context.Context, table string) ([]sinks.Object, error) {
	name := sinks.Flat(table)
	if !tableName().MatchString(name) {
		return nil, nil // Put says so
	}
	have, err := s.getTable(ctx, name)
	if hasStatus(err, http.StatusNotFound) {
		return nil, s.tables.noteListed(ctx, name, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("list %s in %s: %w", name, s.url, s.explain(err))
	}
	if err := s.tables.noteListed(ctx, name, have); err != nil {
		return nil, err
	}
	o := sinks.Object{Key: name, Version: version(have), Counted: true, Rows: int64(have.NumRows)}
	if have.TimePartitioning == nil {
		o.Partition = sinks.Whole
	} else {
		o.Table, o.Oldest = true, oldest(have.TimePartitioning, time.Now())
	}
	return []sinks.Object{o}, nil
}

// noteListed stores a table as it was just looked up in listed, and forgets the one that ensure has
// checked, because it may have been replaced since. have is nil if there is no such table.
func (t *tables) noteListed(ctx context.Context, name string, have *bigquery.TableMetadata) error {
	k := t.named(name)
	if err := k.lock(ctx); err != nil {
		return err
	}
	defer k.unlock()
	k.table, k.listed, k.absent = nil, have, have == nil
	return nil
}

// version returns what the receipts of a table's partitions have in common: when the table was
// made. BigQuery doesn't say whether a table that is replaced as a whole counts as made anew, so a
// table without partitions has no version.
func version(t *bigquery.TableMetadata) string {
	if t.TimePartitioning == nil {
		return ""
	}
	return strconv.FormatInt(t.CreationTime.UnixMilli(), 10)
}

// Count returns the partitions that have rows, by a query
// (https://cloud.google.com/bigquery/docs/information-schema-partitions). The query needs
// bigquery.tables.list, and is charged as one of 10 MB. If once isn't empty, the job's ID contains
// it: the query is made once for each value of once, and a repeated call fails with ErrCounted.
func (s *Sink) Count(ctx context.Context, table, once string) ([]sinks.Object, error) {
	name := sinks.Flat(table)
	list, err := s.count(ctx, name, once)
	if err != nil {
		return nil, fmt.Errorf("count the partitions of %s in %s: %w", name, s.url, err)
	}
	return list, nil
}

func (s *Sink) count(ctx context.Context, name, once string) (list []sinks.Object, err error) {
	if _, err := s.locateDataset(ctx); err != nil {
		return nil, err
	}
	q := s.client.Query(fmt.Sprintf("SELECT partition_id, total_rows FROM `%s.%s.INFORMATION_SCHEMA.PARTITIONS` "+
		"WHERE table_name = '%s'", s.project, s.dataset, name))
	q.Location, q.Labels = s.datasetInfo.location, map[string]string{ownLabel: labelText(s.datasetLabel()),
		tableLabel: labelText(name)}
	if once != "" {
		q.JobID = fmt.Sprintf(jobPrefix+"%s_%s_counted_%s", labelText(s.datasetLabel()), labelText(name),
			labelText(once))
	}
	var job *bigquery.Job
	err = repeat(ctx, func() (err error) {
		job, err = q.Run(ctx)
		return err
	})
	if hasStatus(err, http.StatusConflict) {
		return nil, sinks.ErrCounted
	}
	if err == nil {
		err = s.wait(ctx, job)
	}
	if err == nil {
		err = repeat(ctx, func() (err error) {
			list, err = counts(ctx, name, job)
			return err
		})
	}
	slices.SortFunc(list, func(a, b sinks.Object) int { return strings.Compare(a.Key, b.Key) })
	return list, s.explain(err)
}

// counts reads the answer to the query. Rows without a date are in no partition that a put could
// replace, so their object has no Partition.
func counts(ctx context.Context, name string, job *bigquery.Job) (list []sinks.Object, err error) {
	rows, err := job.Read(ctx)
	if err != nil {
		return nil, err
	}
	for {
		var row struct {
			Partition bigquery.NullString `bigquery:"partition_id"`
			Rows      int64               `bigquery:"total_rows"`
		}
		if err := rows.Next(&row); errors.Is(err, iterator.Done) {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		o := sinks.Object{Key: name + "$" + row.Partition.StringVal, Counted: true, Rows: row.Rows}
		for _, layout := range []string{"20060102", "200601", "2006"} {
			if day, err := time.Parse(layout, row.Partition.StringVal); err == nil {
				o.Partition = civil.DateOf(day)
			}
		}
		if row.Rows > 0 {
			list = append(list, o)
		}
	}
}
