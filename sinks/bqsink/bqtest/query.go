package bqtest

import (
	"strings"
	"time"

	bq "google.golang.org/api/bigquery/v2"
)

// A result is what a query gave: kept with its job, so that its pages can be asked for.
type result struct {
	Schema   *bq.TableSchema
	Rows     [][]*string // cells as the REST answers write them
	Affected int64       // by a DELETE
}

// checkQuery refuses at once what no statement could mend. A statement that is wrong fails the job, not the insert.
func (s *Server) checkQuery(c *call, q *bq.JobConfigurationQuery, location string) (string, *refusal) {
	switch {
	case strings.TrimSpace(q.Query) == "":
		return "", refuse("invalid", "Required parameter is missing: configuration.query.query")
	case q.UseLegacySql == nil || *q.UseLegacySql:
		return "", refuse("notImplemented", "bqtest has no legacy SQL: set useLegacySql to false")
	case q.DestinationTable != nil || len(q.QueryParameters) > 0 || len(q.TableDefinitions) > 0 || q.TimePartitioning != nil:
		return "", refuse("notImplemented", "bqtest has no destination tables, parameters or external tables of queries")
	}
	if location != "" {
		return location, nil
	}
	return s.placeOf(q), nil
}

// placeOf is where a query runs that doesn't say it: where the first dataset is that it names.
func (s *Server) placeOf(q *bq.JobConfigurationQuery) string {
	if st, r := parseStatement(q.Query); r == nil {
		for _, path := range tablesOf(st) {
			parts := strings.Split(path, ".")
			if len(parts) == 3 {
				if d := s.datasets[parts[0]+"."+parts[1]]; d != nil {
					return d.Doc.Location
				}
			}
		}
	}
	if d := q.DefaultDataset; d != nil && s.datasets[d.ProjectId+"."+d.DatasetId] != nil {
		return s.datasets[d.ProjectId+"."+d.DatasetId].Doc.Location
	}
	return s.opts.Location
}

// query does a query job at its end. An error is of the database alone.
func (s *Server) query(j *job) error {
	fail := func(r *refusal) error {
		j.Errors = []*bq.ErrorProto{r.proto()}
		j.Errors[0].Location = "query"
		return nil
	}
	config := j.Config.Query
	st, r := parseStatement(config.Query)
	if r != nil {
		return fail(r)
	}
	c := &compiler{s: s, query: config.Query, defaults: config.DefaultDataset, location: j.Ref.Location, now: s.now(), functions: functionTable()}
	if st.del != nil {
		j.Statement = "DELETE"
		where, t, r := c.tryDeletion(st.del)
		if r != nil {
			return fail(r)
		}
		parts, err := s.store.rows("SELECT DISTINCT " + partColumn + " FROM " + t.Rows + " WHERE " + where)
		if err != nil {
			return fail(evaluation(err))
		}
		n, err := s.store.exec("DELETE FROM " + t.Rows + " WHERE " + where)
		if err != nil {
			return err
		}
		j.Result = &result{Affected: n}
		for _, part := range parts {
			if err := s.touched(t, time.UnixMilli(j.Ends), part[0].(string)); err != nil {
				return err
			}
		}
		return s.keepTable(t)
	}
	j.Statement = "SELECT"
	q, r := c.trySelection(st.query)
	if r != nil {
		return fail(r)
	}
	rows, err := s.store.rows(q.sql)
	if err != nil {
		return fail(evaluation(err))
	}
	j.Result = &result{Schema: &bq.TableSchema{Fields: q.fields}}
	for _, row := range rows {
		j.Result.Rows = append(j.Result.Rows, cellTexts(q.fields, row))
	}
	return nil
}

// cellTexts is a row as the REST answers write it, TIMESTAMP in microseconds.
func cellTexts(fields []*bq.TableFieldSchema, row []any) []*string {
	var texts []*string
	for i, f := range fields {
		if row[i] == nil {
			texts = append(texts, nil)
			continue
		}
		text := canonical(f.Type, row[i])
		texts = append(texts, &text)
	}
	return texts
}

// evaluation is an error of the rows, such as a division by zero.
func evaluation(err error) *refusal {
	return refuse("invalidQuery", "%v", err)
}

func (c *compiler) trySelection(q *selection) (out compiled, r *refusal) {
	defer caught(&r)
	return c.selection(q, nil), nil
}

func (c *compiler) tryDeletion(d *deletion) (where string, t *table, r *refusal) {
	defer caught(&r)
	where, t = c.deletion(d)
	return where, t, nil
}

// viewSchema is what the query of a view, named by its key, gives.
func (s *Server) viewSchema(key, query string) (*bq.TableSchema, *refusal) {
	st, r := parseStatement(query)
	if r != nil {
		return nil, r
	}
	if st.query == nil {
		return nil, refuse("invalidQuery", "A view is made of a SELECT")
	}
	c := &compiler{s: s, query: query, now: time.Unix(0, 0), views: []string{key}, anyPart: true, functions: functionTable()}
	q, r := c.trySelection(st.query)
	return &bq.TableSchema{Fields: q.fields}, r
}
