package pgsink

import (
	"context"
	"fmt"

	"cloud.google.com/go/civil"
	"github.com/jackc/pgx/v5"

	"github.com/reportferry/reportferry/sinks"
)

// undefinedTable is the SQLSTATE of a statement about a table that isn't there
// (https://www.postgresql.org/docs/current/errcodes-appendix.html).
const undefinedTable = "42P01"

// List returns what each partition of a table has, sorted by date, and so by key. One query fetches
// the load of each partition, and the number of rows in the whole table. Only if that isn't the sum
// of the loads, further queries count the rows by partition.
func (s *Sink) List(ctx context.Context, table string) (list []sinks.Object, err error) {
	name := tableName(table)
	err = s.repeat(ctx, func() error {
		// This is a transaction, because it lifts a role's limits, which must not end a count.
		err := s.inTransaction(ctx, func(tx pgx.Tx) (err error) {
			list, err = s.list(ctx, tx, name)
			return err
		})
		if sqlState(err) == undefinedTable {
			list = nil
			_, err = s.mayCreate(ctx, s.pool)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list %s in %s: %w", name, s.url, s.explain(err))
	}
	return list, nil
}

// list does List's queries in one transaction.
func (s *Sink) list(ctx context.Context, tx pgx.Tx, name string) ([]sinks.Object, error) {
	list, total, err := s.queryLoads(ctx, tx, name, "l.rows", "(SELECT count(*) FROM "+s.named(name)+")")
	var loaded int64
	for _, o := range list {
		loaded += o.Rows
	}
	switch {
	case err != nil || total == loaded:
		return list, err
	case len(list) == 1:
		list[0].Rows = total
		return list, nil
	}
	return s.recount(ctx, tx, name, list)
}

// queryLoads returns the loads of a table. each is an SQL expression for the number of rows of a
// load, and all is one for the total.
func (s *Sink) queryLoads(ctx context.Context, tx pgx.Tx, name, each, all string) (list []sinks.Object, total int64,
	err error) {
	rows, err := tx.Query(ctx, "SELECT partition_date::text, sequence, token, bytes, "+each+", "+all+
		" FROM (SELECT *, lead(partition_date) OVER (ORDER BY partition_date) AS next FROM "+s.named(
		loadsTable)+" WHERE table_name = $1) AS l ORDER BY partition_date", name)
	if err != nil {
		return nil, 0, err
	}
	var day string
	var l load
	o := sinks.Object{Counted: true}
	_, err = pgx.ForEachRow(rows, []any{&day, &l.sequence, &l.token, &o.Size, &o.Rows, &total}, func() (err error) {
		o.Partition, err = civil.ParseDate(day)
		o.Key, o.Version = place{table: name, first: o.Partition}.key(), l.version()
		list = append(list, o)
		return err
	})
	return list, total, err
}

// recount counts the rows of each partition. Nothing in the database says which date column
// determines the partition. So recount counts by every candidate, and returns the counts by that
// column which gives the most partitions as many rows as were loaded.
func (s *Sink) recount(ctx context.Context, tx pgx.Tx, name string, loaded []sinks.Object) (best []sinks.Object,
	err error) {
	have, err := s.tableInfo(ctx, tx, name)
	most := -1
	for _, c := range have.columns {
		if of := c.sqlType; !c.required || of != typeNames[sinks.Date] && of != typeNames[sinks.DateTime] {
			continue
		}
		on := "t." + quote(c.name)
		each := "(SELECT count(*) FROM " + s.named(name) + " AS t WHERE " + on + " >= l.partition_date AND (" + on +
			" < l.next OR l.next IS NULL))"
		list, _, err := s.queryLoads(ctx, tx, name, each, "0")
		if err != nil {
			return nil, err
		}
		same := 0
		for i, o := range list {
			if i < len(loaded) && o.Rows == loaded[i].Rows {
				same++
			}
		}
		if same > most {
			best, most = list, same
		}
	}
	return best, err
}
