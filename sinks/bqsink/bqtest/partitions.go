package bqtest

import (
	"slices"
	"strconv"
	"strings"

	bq "google.golang.org/api/bigquery/v2"
)

// A count is the ID of a partition and its number of rows.
type count struct {
	partition *string // nil if the table has no partitions
	rows      int64
}

// countPartitions answers a query of INFORMATION_SCHEMA.PARTITIONS: a row for each partition, whose
// ID is NULL when the table has none.
// https://cloud.google.com/bigquery/docs/information-schema-partitions
func (s *Server) countPartitions(j *job, st *statement) *refusal {
	for _, needed := range []string{"bigquery.tables.get", "bigquery.tables.list"} {
		if slices.Contains(s.denied, needed) {
			return refuse("accessDenied",
				"Access Denied: Dataset %s:%s: User does not have permission to query INFORMATION_SCHEMA.PARTITIONS "+
					"(%s)", st.table.ProjectId, st.table.DatasetId, needed)
		}
	}
	if _, r := s.jobLocation(st.table.ProjectId, st.table.DatasetId, j.Ref.Location); r != nil {
		return r
	}
	t := s.tables[tableKey(st.table)]
	if t == nil || t.isView() {
		return nil
	}
	rows := map[string]int64{}
	for _, r := range t.rows {
		rows[r.partition]++
	}
	if t.partitioned() == nil {
		j.Counts = []count{{nil, int64(len(t.rows))}}
		return nil
	}
	for id, n := range rows {
		j.Counts = append(j.Counts, count{&id, n})
	}
	slices.SortFunc(j.Counts, func(a, b count) int { return strings.Compare(*a.partition, *b.partition) })
	return nil
}

// getQueryResults answers with the rows of a query that is done.
// https://cloud.google.com/bigquery/docs/reference/rest/v2/jobs/getQueryResults
func (s *Server) getQueryResults(c *call) (any, *refusal) {
	j, r := s.findJob(c.project, c.job, c.query.Get("location"))
	switch {
	case r != nil:
		return nil, r
	case len(j.Errors) > 0:
		return nil, refuse(j.Errors[0].Reason, "%s", j.Errors[0].Message)
	case !j.Done:
		return &bq.GetQueryResultsResponse{Kind: "bigquery#getQueryResultsResponse", JobReference: &j.Ref}, nil
	}
	from, most, r := c.page()
	if r != nil {
		return nil, r
	}
	answer := &bq.GetQueryResultsResponse{
		Kind: "bigquery#getQueryResultsResponse", JobReference: &j.Ref, JobComplete: true,
		TotalRows: uint64(len(j.Counts)),
		Schema: &bq.TableSchema{Fields: []*bq.TableFieldSchema{
			{Name: "partition_id", Type: "STRING", Mode: "NULLABLE"},
			{Name: "total_rows", Type: "INTEGER", Mode: "NULLABLE"},
		}},
	}
	rows := j.Counts[min(from, len(j.Counts)):]
	if len(rows) > most {
		rows = rows[:most]
		answer.PageToken = strconv.Itoa(from + most)
	}
	for _, r := range rows {
		id := &bq.TableCell{ForceSendFields: []string{"V"}}
		if r.partition != nil {
			id.V = *r.partition
		}
		answer.Rows = append(answer.Rows, &bq.TableRow{F: []*bq.TableCell{id, {V: strconv.FormatInt(r.rows, 10)}}})
	}
	return answer, nil
}
