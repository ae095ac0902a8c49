package bqtest

import (
	"fmt"
	"strings"

	bq "google.golang.org/api/bigquery/v2"
)

// Columns of every SQLite table of rows besides the table's own; BigQuery reserves the prefix, so they can't collide.
const (
	partColumn  = `"__root__part"`  // partition ID
	bytesColumn = `"__root__bytes"` // logical size
)

// sqliteTypes are the types that SQLite must not convert: NUMERIC, DATE and DATETIME are kept as text.
var sqliteTypes = map[string]string{
	typeString: "TEXT", typeNumeric: "TEXT", typeDate: "TEXT", typeDateTime: "TEXT",
	typeInteger: "INTEGER", typeTimestamp: "INTEGER", typeBool: "INTEGER", typeFloat: "REAL",
}

func quoted(name string) string { return `"` + name + `"` }

func (s *Server) createRows(t *table) error {
	columns := []string{partColumn + " TEXT NOT NULL", bytesColumn + " INTEGER NOT NULL"}
	for _, f := range t.Doc.Schema.Fields {
		columns = append(columns, quoted(f.Name)+" "+sqliteTypes[f.Type])
	}
	if _, err := s.store.exec("CREATE TABLE " + t.Rows + " (" + strings.Join(columns, ", ") + ")"); err != nil {
		return err
	}
	_, err := s.store.exec("CREATE INDEX " + t.Rows + "_part ON " + t.Rows + " (" + partColumn + ")")
	return err
}

func (s *Server) addColumns(t *table, added []*bq.TableFieldSchema) error {
	for _, f := range added {
		if _, err := s.store.exec("ALTER TABLE " + t.Rows + " ADD COLUMN " + quoted(f.Name) + " " + sqliteTypes[f.Type]); err != nil {
			return err
		}
	}
	return nil
}

// A row is its cells in the order of the table's schema and the partition it goes to.
type row struct {
	part  string
	bytes int64
	cells []any
}

func (s *Server) insertRows(t *table, rows []row) error {
	names := []string{partColumn, bytesColumn}
	for _, f := range t.Doc.Schema.Fields {
		names = append(names, quoted(f.Name))
	}
	query := "INSERT INTO " + t.Rows + " (" + strings.Join(names, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(names)-1) + ")"
	insert, err := s.store.tx.Prepare(query)
	if err != nil {
		return fmt.Errorf("%w in %s", err, query)
	}
	for _, r := range rows {
		if _, err := insert.Exec(append([]any{r.part, r.bytes}, r.cells...)...); err != nil {
			_ = insert.Close()
			return fmt.Errorf("%w in %s", err, query)
		}
	}
	return insert.Close()
}

// logicalBytes is the size of a value. https://cloud.google.com/bigquery/pricing#data
func logicalBytes(kind string, value any) int64 {
	if value == nil {
		return 0
	}
	switch kind {
	case typeString:
		return 2 + int64(len(value.(string)))
	case typeNumeric:
		return 16
	case typeBool:
		return 1
	}
	return 8
}

// partitions are the IDs of the table's partitions that have rows.
func (s *Server) partitions(t *table) (map[string]bool, error) {
	rows, err := s.store.rows("SELECT DISTINCT " + partColumn + " FROM " + t.Rows)
	if err != nil {
		return nil, fmt.Errorf("list partitions: %w", err)
	}
	ids := map[string]bool{}
	for _, r := range rows {
		ids[r[0].(string)] = true
	}
	return ids, nil
}
