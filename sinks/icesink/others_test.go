package icesink

import (
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// What others do to a table, by the library's own means.

func load(t testing.TB, s *Sink) *table.Table {
	t.Helper()
	of, err := s.load(t.Context(), "installs")
	if err != nil {
		t.Fatal(err)
	}
	return of.Table
}

// commit does something to a table.
func commit(t testing.TB, s *Sink, do func(of *table.Table, tx *table.Transaction) error) {
	t.Helper()
	of := load(t, s)
	tx := of.NewTransaction()
	err := do(of, tx)
	if err == nil {
		_, err = tx.Commit(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// compact rewrites the files of a day, and leaves its rows alone.
func compact(t testing.TB, s *Sink, day string) {
	t.Helper()
	commit(t, s, func(of *table.Table, tx *table.Transaction) error {
		tasks, err := of.Scan(table.WithRowFilter(iceberg.EqualTo(iceberg.Reference("day"),
			day))).PlanFiles(t.Context())
		if err != nil {
			return err
		}
		_, err = tx.RewriteDataFiles(t.Context(), []table.CompactionTaskGroup{{PartitionKey: day, Tasks: tasks}},
			table.RewriteDataFilesOptions{})
		return err
	})
}

// add adds a row to a day.
func add(t testing.TB, s *Sink, day string) {
	t.Helper()
	commit(t, s, func(of *table.Table, tx *table.Transaction) error {
		schema, err := table.SchemaToArrowSchema(of.Schema(), nil, false, false)
		if err != nil {
			return err
		}
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for i, f := range schema.Fields() {
			switch f.Name {
			case "day":
				b.Field(i).(*array.Date32Builder).Append(arrow.Date32(date(day).DaysSince(epoch)))
			case "campaign":
				if err := b.Field(i).AppendValueFromString("somebody's"); err != nil {
					return err
				}
			default:
				b.Field(i).AppendNull()
			}
		}
		rows := array.NewTableFromRecords(schema, []arrow.RecordBatch{b.NewRecordBatch()})
		return tx.AppendTable(t.Context(), rows, 1, nil)
	})
}

// remove deletes the rows of a campaign, in the way that the table's property says.
func remove(t testing.TB, s *Sink, campaign string) {
	t.Helper()
	commit(t, s, func(_ *table.Table, tx *table.Transaction) error {
		return tx.Delete(t.Context(), iceberg.EqualTo(iceberg.Reference("campaign"), campaign), nil)
	})
}

func setProperty(t testing.TB, s *Sink, key, value string) {
	t.Helper()
	commit(t, s, func(_ *table.Table, tx *table.Transaction) error {
		return tx.SetProperties(iceberg.Properties{key: value})
	})
}

// forget removes all snapshots but the last, as a job that tidies tables does.
func forget(t testing.TB, s *Sink) {
	t.Helper()
	commit(t, s, func(_ *table.Table, tx *table.Transaction) error {
		return tx.ExpireSnapshots(table.WithOlderThan(0), table.WithRetainLast(1))
	})
}

func rollBack(t testing.TB, s *Sink, steps int) {
	t.Helper()
	commit(t, s, func(of *table.Table, tx *table.Transaction) error {
		to := of.CurrentSnapshot()
		for range steps {
			to = of.SnapshotByID(*to.ParentSnapshotID)
		}
		return tx.RollbackToSnapshot(to.SnapshotID)
	})
}

// held says which campaigns a reader finds, in their order.
func held(t testing.TB, s *Sink) string { return scanned(t, s, iceberg.AlwaysTrue{}) }

func ofDay(t testing.TB, s *Sink, day string) string {
	return scanned(t, s, iceberg.EqualTo(iceberg.Reference("day"), day))
}

func scanned(t testing.TB, s *Sink, filter iceberg.BooleanExpression) string {
	t.Helper()
	_, batches, err := load(t, s).Scan(table.WithRowFilter(filter)).ToArrowRecords(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for batch, err := range batches {
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(batch.NumRows()) {
			all = append(all, batch.Column(batch.Schema().FieldIndices("campaign")[0]).ValueStr(i))
		}
		batch.Release()
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}
