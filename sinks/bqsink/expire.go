package bqsink

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/bigquery"
	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/sinks"
)

// oldest returns the first day of the oldest partition that a table still has, given its
// partitioning and expiration. That partition is the next to be deleted. BigQuery counts the
// expiration from the partition's end, in UTC
// (https://cloud.google.com/bigquery/docs/managing-partitioned-tables#partition-expiration); other
// pages say from its beginning. The date is zero when the table keeps all partitions.
func oldest(p *bigquery.TimePartitioning, now time.Time) civil.Date {
	if p == nil || p.Expiration == 0 {
		return civil.Date{}
	}
	day := civil.DateOf(now.UTC().Add(-p.Expiration))
	switch p.Type {
	case byMonth:
		day.Day = 1
	case byYear:
		day.Month, day.Day = time.January, 1
	}
	return day
}

// checkAge refuses a partition that BigQuery would delete at once.
func checkAge(at place, table *bigquery.TableMetadata, now time.Time) error {
	if first := oldest(table.TimePartitioning, now); at.first.Before(first) {
		return &sinks.NotKept{Oldest: first,
			Because: fmt.Sprintf("the table deletes a partition after %s; set expire_days to more, or begin later",
				days(table.TimePartitioning.Expiration))}
	}
	return nil
}

// setExpiration makes a table keep its partitions for as long as the job's config says. If the
// config says nothing, the dataset's default, which a new table gets, stays and is reported,
// because somebody may have meant it for all tables. Without warn nothing is changed, because
// nobody would hear of it.
func (s *Sink) setExpiration(ctx context.Context, name string, have *bigquery.TableMetadata, wanted time.Duration,
	warn func(error)) (*bigquery.TableMetadata, error) {
	tell := func(format string, args ...any) { warn(fmt.Errorf(format, args...)) }
	if warn == nil {
		return have, nil
	}
	if !have.ExpirationTime.IsZero() {
		tell("BigQuery deletes the table %s as a whole on %s; bq update --expiration 0 %s:%s.%s ends that", name,
			have.ExpirationTime.UTC().Format(time.DateOnly), s.project, s.dataset, name)
	}
	p := have.TimePartitioning
	if p == nil || p.Expiration == wanted {
		return have, nil
	}
	switch usual, err := s.isDatasetDefault(ctx, p.Expiration, wanted); {
	case err != nil:
		return nil, err
	case usual:
		tell("BigQuery deletes a partition of the table %s after %s, as is the default of its dataset; expire_days "+
			"in the job's config says otherwise", name, days(p.Expiration))
		return have, nil
	}
	changed, filter := *p, have.RequirePartitionFilter
	changed.Expiration, changed.RequirePartitionFilter = wanted, filter
	made, err := s.patch(ctx, name, have, bigquery.TableMetadataToUpdate{TimePartitioning: &changed,
		RequirePartitionFilter: filter}, "change how long the table keeps a partition")
	if err == nil {
		tell("the table %s keeps a partition %s from now on, as expire_days says, and not %s", name, days(wanted),
			days(p.Expiration))
	}
	return made, err
}

// isDatasetDefault tells whether the config asks for no expiration (wanted is 0), and the table's
// is the default of the dataset.
func (s *Sink) isDatasetDefault(ctx context.Context, expiration, wanted time.Duration) (bool, error) {
	if wanted != 0 {
		return false, nil
	}
	_, err := s.locateDataset(ctx)
	return err == nil && expiration == s.datasetInfo.defaultExpiration, err
}

// Oldest returns the oldest partition that a table keeps, or will keep under the config's
// expiration. It goes by the table as it was last seen, and looks up the dataset's default once if
// the config says nothing.
func (s *Sink) Oldest(ctx context.Context, table string, expiration time.Duration) (civil.Date, error) {
	k := s.tables.named(sinks.Flat(table))
	if err := k.lock(ctx); err != nil {
		return civil.Date{}, err
	}
	have := cmp.Or(k.table, k.listed)
	k.unlock()
	if have == nil || have.TimePartitioning == nil {
		return civil.Date{}, nil
	}
	p := *have.TimePartitioning
	usual, err := s.isDatasetDefault(ctx, p.Expiration, expiration)
	if err == nil && !usual {
		p.Expiration = expiration
	}
	return oldest(&p, time.Now()), err
}

// days writes for how long a partition is kept.
func days(d time.Duration) string {
	switch {
	case d == 0:
		return "for ever"
	case d%(24*time.Hour) != 0:
		return d.String()
	}
	return fmt.Sprintf("%d days", d/(24*time.Hour))
}

// Configure brings the settings of a table in line with the schema, as a put does. It does nothing
// if the table hasn't been seen yet.
func (s *Sink) Configure(ctx context.Context, table string, schema *sinks.Schema, warn func(error)) error {
	name := sinks.Flat(table)
	k := s.tables.named(name)
	if err := k.lock(ctx); err != nil {
		return err
	}
	known := k.listed != nil || k.table != nil
	k.unlock()
	if !known {
		return nil
	}
	if _, err := s.ensure(ctx, name, schema, warn); err != nil {
		return fmt.Errorf("configure %s in %s: %w", name, s.url, err)
	}
	return nil
}
