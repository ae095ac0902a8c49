package bqtest

import (
	"regexp"
	"slices"
	"strings"

	bq "google.golang.org/api/bigquery/v2"
)

// A statement is one of the few that the sink sends, parsed. There is no SQL engine here:
// .ci/views.py runs the views' SQL in another one.
type statement struct {
	kind     string             // DELETE or SELECT
	table    *bq.TableReference // nil if the statement is about no table
	column   string             // the column of the range; empty for all rows
	literal  string             // the type of the range's ends
	from, to string             // the ends as rows hold them; to is outside of the range
}

// probeStatement is the statement by which the sink finds out whether it may run jobs.
const probeStatement = "SELECT 1"

// The forms of the statements about tables.
var (
	deleteAll   = regexp.MustCompile("^DELETE FROM `([^`.]+)\\.([^`.]+)\\.([^`.]+)` WHERE TRUE$")
	deleteRange = regexp.MustCompile("^DELETE FROM `([^`.]+)\\.([^`.]+)\\.([^`.]+)` WHERE " +
		"`(\\w+)` >= (DATE|DATETIME) '([0-9: -]+)' AND `(\\w+)` < (DATE|DATETIME) '([0-9: -]+)'$")
	selectPartitions = regexp.MustCompile("^SELECT partition_id, total_rows FROM " +
		"`([^`.]+)\\.([^`.]+)\\.INFORMATION_SCHEMA\\.PARTITIONS` WHERE table_name = '(\\w+)'$")
)

// parseStatement parses one of the sink's statements, and refuses every other.
func parseStatement(text string) (*statement, *refusal) {
	if text == probeStatement {
		return &statement{kind: "SELECT"}, nil
	}
	if m := deleteAll.FindStringSubmatch(text); m != nil {
		return &statement{kind: "DELETE", table: &bq.TableReference{ProjectId: m[1], DatasetId: m[2], TableId: m[3]}},
			nil
	}
	if m := selectPartitions.FindStringSubmatch(text); m != nil {
		return &statement{kind: "SELECT", table: &bq.TableReference{ProjectId: m[1], DatasetId: m[2], TableId: m[3]}},
			nil
	}
	m := deleteRange.FindStringSubmatch(text)
	if m == nil || m[4] != m[7] || m[5] != m[8] {
		return nil, refuse("notImplemented", "bqtest runs the sink's own statements only, and this is none of them: %s",
			text)
	}
	return &statement{
		kind: "DELETE", table: &bq.TableReference{ProjectId: m[1], DatasetId: m[2], TableId: m[3]}, column: m[4],
		literal: m[5],
		from:    strings.Replace(m[6], " ", "T", 1), to: strings.Replace(m[9], " ", "T", 1),
	}, nil
}

// checkQuery refuses a configuration that is wrong whatever the data are, and returns the job's
// location.
func (s *Server) checkQuery(q *bq.JobConfigurationQuery, location string) (string, *refusal) {
	switch {
	case strings.TrimSpace(q.Query) == "":
		return "", refuse("invalid", "Required parameter is missing: configuration.query.query")
	case q.UseLegacySql == nil || *q.UseLegacySql:
		return "", refuse("notImplemented", "bqtest has no legacy SQL: set useLegacySql to false")
	case q.DestinationTable != nil || len(q.QueryParameters) > 0 || len(q.TableDefinitions) > 0 ||
		q.TimePartitioning != nil:
		return "", refuse("notImplemented",
			"bqtest has no destination tables, parameters or external tables of queries")
	}
	st, r := parseStatement(q.Query)
	if r != nil {
		return "", r
	}
	if location == "" && st.table != nil {
		if d := s.datasets[st.table.ProjectId+"."+st.table.DatasetId]; d != nil {
			location = d.Doc.Location
		}
	}
	if location == "" {
		location = s.opts.Location
	}
	return location, nil
}

// query does the work of a query job, or sets the job's errors.
func (s *Server) query(j *job) {
	st, r := parseStatement(j.Config.Query.Query)
	if r == nil {
		j.Statement = st.kind
		switch {
		case st.kind == "DELETE":
			r = s.deleteRows(j, st)
		case st.table != nil:
			r = s.countPartitions(j, st)
		}
	}
	if r != nil {
		j.Errors = []*bq.ErrorProto{r.proto()}
		j.Errors[0].Location = "query"
	}
}

// deleteRows deletes the rows of a range, or all of them.
// https://cloud.google.com/bigquery/docs/reference/standard-sql/dml-syntax#delete_statement
func (s *Server) deleteRows(j *job, st *statement) *refusal {
	if _, r := s.jobLocation(st.table.ProjectId, st.table.DatasetId, j.Ref.Location); r != nil {
		return r
	}
	t, r := s.findTable(st.table.ProjectId, st.table.DatasetId, st.table.TableId)
	if r != nil {
		return r
	}
	if t.isView() {
		return refuse("invalidQuery", "Cannot modify %s: it is a view", legacyName(st.table))
	}
	// https://cloud.google.com/bigquery/docs/querying-partitioned-tables#require_a_partition_filter_in_queries
	if p := t.partitioned(); t.Doc.RequirePartitionFilter && !strings.EqualFold(st.column, p.Field) {
		return refuse("invalidQuery",
			"Cannot query over table '%s' without a filter over column(s) '%s' that can be used for partition "+
				"elimination", t.key(), p.Field)
	}
	before := len(t.rows)
	if st.column == "" {
		t.rows = nil
	} else {
		fields := t.Doc.Schema.Fields
		i := slices.IndexFunc(fields, func(f *bq.TableFieldSchema) bool { return strings.EqualFold(f.Name, st.column) })
		switch {
		case i < 0:
			return refuse("invalidQuery", "Unrecognized name: %s", st.column)
		case fields[i].Type != st.literal:
			return refuse("invalidQuery", "No matching signature for operator >= for argument types: %s, %s",
				fields[i].Type, st.literal)
		}
		// Dates and times as texts sort by time. NULL is in no range.
		t.rows = slices.DeleteFunc(slices.Clone(t.rows), func(r row) bool {
			value, ok := r.cell(i).(string)
			return ok && value >= st.from && value < st.to
		})
	}
	j.Deleted = int64(before - len(t.rows))
	s.saveTable(t)
	return nil
}
