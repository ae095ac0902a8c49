package blobsink

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"strings"

	"github.com/reportferry/reportferry/sinks"
)

// A dataset is what the object beside a table's folder says: what the table is, and what each
// column means. It lies beside the folder and not in it, because some readers take every object of
// a folder for a part: Polars, and external tables of BigQuery.
type dataset struct {
	Table     string          `json:"table"`
	WrittenBy string          `json:"written_by"` // tells it from somebody's own file of the same name
	About     string          `json:"about"`
	Job       string          `json:"job"`
	Currency  string          `json:"currency,omitempty"`
	Zone      string          `json:"zone,omitempty"`
	Period    string          `json:"period"`                  // of one file
	On        string          `json:"period_column,omitempty"` // the column whose value names a row's file
	Files     string          `json:"files"`                   // relative to this object
	DuckDB    string          `json:"duckdb"`
	Mixed     string          `json:"two_meanings,omitempty"`
	Columns   []datasetColumn `json:"columns"`
}

// A datasetColumn is what a dataset says of a column.
type datasetColumn struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Nullable    bool   `json:"nullable"`
	Unit        string `json:"unit,omitempty"`
	Additive    string `json:"additive,omitempty"`
	Final       string `json:"final,omitempty"`
	Description string `json:"description,omitempty"`
}

// writtenBy is the value of a dataset's WrittenBy.
const writtenBy = "reportferry"

// datasetSuffix follows the name of the table in the key of its dataset.
const datasetSuffix = ".dataset.json"

// sqlTypes has DuckDB's name of each column type.
var sqlTypes = map[sinks.ColumnType]string{
	sinks.String: "VARCHAR", sinks.Date: "DATE", sinks.DateTime: "TIMESTAMP", sinks.Instant: "TIMESTAMP WITH TIME ZONE",
	sinks.Int64: "BIGINT", sinks.Decimal: "DECIMAL(18,6)", sinks.Double: "DOUBLE",
}

// TypeName returns what DuckDB calls a column's type, or "" for a type that no column has.
func TypeName(t sinks.ColumnType) string { return sqlTypes[t] }

// dataset returns the key under which a table is described. If the layout has a date before the
// table, the key has no folder, only the table's name.
func (k keyTemplate) dataset(table string) string {
	before, _, _ := strings.Cut(string(k), "{table}")
	if strings.Contains(before, "{date}") {
		before = ""
	}
	return before + table + datasetSuffix
}

// mixed is what a dataset says when the table's partitions have two meanings.
const mixed = "a rebaseline isn't finished: files whose state in the table of partitions is 'other meaning' are of " +
	"another currency, zone, filter or type"

// datasetOf returns the description of a table.
func (s *Sink) datasetOf(table string, schema *sinks.Schema) dataset {
	files := strings.NewReplacer("{table}", table, "{date}", "*").Replace(string(s.key))
	if at := strings.LastIndex(s.key.dataset(table), "/"); at >= 0 {
		files = strings.TrimPrefix(files, s.key.dataset(table)[:at+1])
	}
	d := dataset{
		Table: table, WrittenBy: writtenBy, About: schema.About.Text, Job: schema.About.Job,
		Currency: schema.About.Currency,
		Zone:     schema.About.Zone, Period: schema.Period, On: schema.On, Files: files,
		DuckDB: fmt.Sprintf("SELECT * FROM read_parquet('%s', hive_partitioning=true, union_by_name=true)",
			strings.ReplaceAll(files, "'", "''")),
	}
	for _, c := range schema.Columns {
		d.Columns = append(d.Columns, datasetColumn{
			Name: c.Name, Type: sqlTypes[c.Type], Nullable: !c.Required, Unit: c.Unit, Additive: c.Additive,
			Final: c.Final, Description: c.Description,
		})
	}
	return d
}

// Mixed notes in a table's description, if there is one, whether the table's partitions have two
// meanings. Later descriptions keep that note.
func (s *Sink) Mixed(ctx context.Context, table string, are bool) error {
	err := s.changeDataset(ctx, s.key.dataset(table), func(was dataset) dataset {
		if was.Mixed = ""; are {
			was.Mixed = mixed
		}
		return was
	})
	if errors.Is(err, sinks.ErrForeign) {
		return nil
	}
	return err
}

// describe writes the description of a part's table beside the table's folder, unless it is there
// already, once for each definition of the table. A failure gives a warning and does no harm: the
// part is there, and a later run tries again. A conflict gives none, because another writer at the
// same time writes the same description.
func (s *Sink) describe(ctx context.Context, p sinks.Part) {
	if p.Schema == nil || p.Schema.About == nil {
		return
	}
	s.mu.Lock()
	before := s.described[p.Table]
	s.described[p.Table] = p.Schema
	s.mu.Unlock()
	if before == p.Schema || reflect.DeepEqual(before, p.Schema) {
		return
	}
	key := s.key.dataset(p.Table)
	if err := s.changeDataset(ctx, key, func(was dataset) dataset {
		d := s.datasetOf(p.Table, p.Schema)
		d.Mixed = was.Mixed
		return d
	}); err != nil && !conditionUnmet(err) && p.Warn != nil {
		p.Warn(fmt.Errorf("describe the columns of %s in %s, key %s: %w; its rows are there all the same", p.Table,
			s.url, key, err))
	}
}

// changeDataset replaces a description by what change makes of it. If there is none, change gets
// the zero dataset; if it returns the zero dataset, nothing is written. If another writer is
// faster, changeDataset tries again, and returns the conflict after the third attempt.
func (s *Sink) changeDataset(ctx context.Context, key string, change func(was dataset) dataset) (err error) {
	for range 3 {
		if err = s.putDataset(ctx, key, change); !conditionUnmet(err) {
			break
		}
	}
	return err
}

// putDataset makes one attempt of changeDataset. The same description gives the same bytes, so that
// writers don't replace each other's for nothing.
func (s *Sink) putDataset(ctx context.Context, key string, change func(was dataset) dataset) error {
	have, version, err := s.bucket.Get(ctx, key)
	over := sinks.Condition{Version: version}
	var was dataset
	switch {
	case errors.Is(err, fs.ErrNotExist):
		over.Absent = true
	case err != nil:
		return err
	case json.Unmarshal(have, &was) != nil || was.WrittenBy != writtenBy:
		return fmt.Errorf("%w; it stays", sinks.ErrForeign)
	}
	now := change(was)
	if now.Table == "" {
		return nil
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(now); err != nil || bytes.Equal(have, text.Bytes()) {
		return err
	}
	_, err = s.bucket.Put(ctx, key, text.Bytes(), over)
	return err
}
