package bqtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	bq "google.golang.org/api/bigquery/v2"
)

// Null is a NULL in what Rows returns.
const Null = "␀"

// Rows returns the rows of a table, "project.dataset.table" or one partition of it, "project.dataset.table$20260101", in
// a canonical text form: cells in the order of the schema, NULL as Null, NUMERIC without zeros at its end, FLOAT64 as
// the shortest text that reads back the same, DATE and DATETIME as in SQL, and the rows sorted. A table that doesn't
// exist, or a view, is an error; a partition without rows has none.
func (s *Server) Rows(name string) ([][]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(context.Background())
	id, decorator, decorated := splitDecorator(name)
	t := s.tables[id]
	if t == nil || t.isView() {
		return nil, fmt.Errorf("rows of %s: no such table; there are %s", name, strings.Join(slices.Sorted(maps.Keys(s.tables)), ", "))
	}
	query, args := selectRows(t), []any{}
	if decorated {
		query, args = query+" WHERE "+partColumn+" = ?", append(args, decorator)
	}
	rows, err := s.store.rows(query, args...)
	if err != nil {
		return nil, fmt.Errorf("rows of %s: %w", name, err)
	}
	texts := make([][]string, len(rows))
	for i, r := range rows {
		for j, f := range t.Doc.Schema.Fields {
			texts[i] = append(texts[i], canonical(f.Type, r[j]))
		}
	}
	slices.SortFunc(texts, slices.Compare)
	return texts, nil
}

func selectRows(t *table) string {
	names := []string{}
	for _, f := range t.Doc.Schema.Fields {
		names = append(names, quoted(f.Name))
	}
	if len(names) == 0 {
		names = append(names, "NULL")
	}
	return "SELECT " + strings.Join(names, ", ") + " FROM " + t.Rows
}

func canonical(kind string, value any) string {
	switch v := value.(type) {
	case nil:
		return Null
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case int64:
		switch kind {
		case typeBool:
			return strconv.FormatBool(v != 0)
		case typeFloat: // SQLite keeps a whole REAL as an integer
			return strconv.FormatFloat(float64(v), 'g', -1, 64)
		}
		return strconv.FormatInt(v, 10)
	}
	return fmt.Sprint(value)
}

// Tables returns the tables and views as tables.get answers them, by "project.dataset.table".
func (s *Server) Tables() map[string]*bq.Table {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(context.Background())
	all := map[string]*bq.Table{}
	for key, t := range s.tables {
		all[key] = s.resource(t)
	}
	return all
}

// Jobs returns the jobs as jobs.get answers them, oldest first.
func (s *Server) Jobs() []*bq.Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(context.Background())
	jobs := slices.SortedFunc(maps.Values(s.jobs), func(a, b *job) int { return int(a.Serial - b.Serial) })
	var all []*bq.Job
	for _, j := range jobs {
		all = append(all, j.resource())
	}
	return all
}
