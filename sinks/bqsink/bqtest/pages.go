package bqtest

import (
	"strconv"
	"time"

	bq "google.golang.org/api/bigquery/v2"
)

// runQuery is jobs.query: insert and the first page in one call. A repeated requestId is the same job.
// https://cloud.google.com/bigquery/docs/reference/rest/v2/jobs/query
func (s *Server) runQuery(c *call) (any, *refusal) {
	var q bq.QueryRequest
	if r := decode(c.body, &q); r != nil {
		return nil, r
	}
	config := &bq.JobConfiguration{JobType: "QUERY", Labels: q.Labels, Query: &bq.JobConfigurationQuery{
		Query: q.Query, UseLegacySql: q.UseLegacySql, DefaultDataset: q.DefaultDataset, QueryParameters: q.QueryParameters,
	}}
	if q.DryRun || q.CreateSession {
		return nil, refuse("notImplemented", "bqtest has no dry runs or sessions")
	}
	var j *job
	for _, earlier := range s.jobs {
		if q.RequestId != "" && earlier.Request == q.RequestId && earlier.Config.Query.Query == q.Query {
			j = earlier
		}
	}
	if j == nil {
		location, r := s.checkQuery(c, config.Query, q.Location)
		if r != nil {
			return nil, r
		}
		if j, r = s.begin(c, bq.JobReference{ProjectId: c.project, Location: location}, config, nil); r != nil {
			return nil, r
		}
		j.Request = q.RequestId
		s.settle(c.r.Context())
	}
	if r := j.failure(); r != nil {
		return nil, r
	}
	most := int64(-1)
	if q.MaxResults > 0 {
		most = q.MaxResults
	}
	inMicros := q.FormatOptions != nil && q.FormatOptions.UseInt64Timestamp
	p := pageOf(j.Result, 0, most, inMicros)
	answer := &bq.QueryResponse{
		Kind: "bigquery#queryResponse", JobReference: &j.Ref, JobComplete: j.Done, Location: j.Ref.Location,
		Schema: p.schema, Rows: p.rows, TotalRows: p.total, PageToken: p.next,
	}
	if j.Result != nil && j.Statement == "DELETE" {
		answer.NumDmlAffectedRows, answer.DmlStats = j.Result.Affected, &bq.DmlStatistics{DeletedRowCount: j.Result.Affected}
	}
	return answer, nil
}

// failure is a failed job as the answer to who asks for its rows.
func (j *job) failure() *refusal {
	if !j.Done || len(j.Errors) == 0 {
		return nil
	}
	return refuse(j.Errors[0].Reason, "%s", j.Errors[0].Message)
}

// queryResults: https://cloud.google.com/bigquery/docs/reference/rest/v2/jobs/getQueryResults
func (s *Server) queryResults(c *call) (any, *refusal) {
	j, r := s.findJob(c.project, c.job, c.query.Get("location"))
	if r != nil {
		return nil, r
	}
	if j.Config.Query == nil {
		return nil, refuse("invalid", "Job %s is not a query job", j.key())
	}
	if r := j.failure(); r != nil {
		return nil, r
	}
	from, most, r := c.page()
	if r != nil {
		return nil, r
	}
	p := pageOf(j.Result, from, most, c.query.Get("formatOptions.useInt64Timestamp") == "true")
	answer := &bq.GetQueryResultsResponse{
		Kind: "bigquery#getQueryResultsResponse", JobReference: &j.Ref, JobComplete: j.Done,
		Schema: p.schema, Rows: p.rows, TotalRows: p.total, PageToken: p.next,
	}
	if j.Result != nil && j.Statement == "DELETE" {
		answer.NumDmlAffectedRows = j.Result.Affected
	}
	return answer, nil
}

// listRows: https://cloud.google.com/bigquery/docs/reference/rest/v2/tabledata/list
func (s *Server) listRows(c *call) (any, *refusal) {
	id, decorator, decorated := splitDecorator(c.table)
	t, r := s.findTable(c.project, c.dataset, id)
	if r != nil {
		return nil, r
	}
	if t.isView() {
		return nil, refuse("invalid", "Cannot list a table of type VIEW.")
	}
	from, most, r := c.page()
	if r != nil {
		return nil, r
	}
	query, args := selectRows(t), []any{}
	if decorated {
		query, args = query+" WHERE "+partColumn+" = ?", append(args, decorator)
	}
	rows, err := s.store.rows(query, args...)
	broken(err)
	all := &result{Schema: t.Doc.Schema}
	for _, row := range rows {
		all.Rows = append(all.Rows, cellTexts(t.Doc.Schema.Fields, row))
	}
	p := pageOf(all, from, most, c.query.Get("formatOptions.useInt64Timestamp") == "true")
	return &bq.TableDataList{Kind: "bigquery#tableDataList", Etag: t.Doc.Etag, Rows: p.rows, TotalRows: int64(p.total), PageToken: p.next}, nil
}

// page reads where a page begins and how long it is at most; -1 is all that is left.
func (c *call) page() (from, most int64, r *refusal) {
	most = -1
	for _, p := range []struct {
		name string
		into *int64
	}{{"startIndex", &from}, {"pageToken", &from}, {"maxResults", &most}} {
		if text := c.query.Get(p.name); text != "" {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || n < 0 {
				return 0, 0, refuse("invalid", "Invalid value \"%s\" of %s", text, p.name)
			}
			*p.into = n
		}
	}
	return from, most, nil
}

type page struct {
	schema *bq.TableSchema
	rows   []*bq.TableRow
	total  uint64
	next   string
}

// mostPage bounds a page by rows, so that a test can reach a second one; BigQuery bounds it by bytes.
const mostPage = 10000

func pageOf(all *result, from, most int64, inMicros bool) page {
	if all == nil {
		return page{}
	}
	p := page{schema: all.Schema, total: uint64(len(all.Rows))}
	rest := all.Rows[min(from, int64(len(all.Rows))):]
	if most < 0 || most > mostPage {
		most = mostPage
	}
	if int64(len(rest)) > most {
		rest = rest[:most]
		p.next = strconv.FormatInt(from+most, 10)
	}
	for _, cells := range rest {
		row := &bq.TableRow{}
		for i, text := range cells {
			cell := &bq.TableCell{ForceSendFields: []string{"V"}}
			if text != nil {
				cell.V = *text
				if all.Schema.Fields[i].Type == typeTimestamp && !inMicros {
					cell.V = seconds(*text)
				}
			}
			row.F = append(row.F, cell)
		}
		p.rows = append(p.rows, row)
	}
	return p
}

// seconds is how a TIMESTAMP is written unless useInt64Timestamp is set.
func seconds(micros string) string {
	n, err := strconv.ParseInt(micros, 10, 64)
	broken(err)
	return strconv.FormatFloat(float64(n)/float64(time.Second/time.Microsecond), 'E', -1, 64)
}
