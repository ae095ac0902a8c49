package bqtest

import (
	"strconv"
	"time"

	bq "google.golang.org/api/bigquery/v2"
)

// mostPage bounds the rows of a page, so that a test can reach a second one. BigQuery bounds a page
// by its bytes.
const mostPage = 10000

// listRows answers tabledata.list, by which tests read a table without a query.
// https://cloud.google.com/bigquery/docs/reference/rest/v2/tabledata/list
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
	var rows []row
	for _, r := range t.rows {
		if !decorated || r.partition == decorator {
			rows = append(rows, r)
		}
	}
	list := &bq.TableDataList{Kind: "bigquery#tableDataList", Etag: t.Doc.Etag, TotalRows: int64(len(rows))}
	rows = rows[min(from, len(rows)):]
	if len(rows) > most {
		rows = rows[:most]
		list.PageToken = strconv.Itoa(from + most)
	}
	inMicros := c.query.Get("formatOptions.useInt64Timestamp") == "true"
	for _, r := range rows {
		made := &bq.TableRow{}
		for i, f := range t.Doc.Schema.Fields {
			cell := &bq.TableCell{ForceSendFields: []string{"V"}}
			switch v := r.cell(i); {
			case v == nil:
			case f.Type == typeTimestamp && !inMicros:
				seconds := float64(v.(int64)) / float64(time.Second/time.Microsecond)
				cell.V = strconv.FormatFloat(seconds, 'E', -1, 64)
			default:
				cell.V = canonicalText(v)
			}
			made.F = append(made.F, cell)
		}
		list.Rows = append(list.Rows, made)
	}
	return list, nil
}

// page returns where a page begins and how many rows it has at most.
func (c *call) page() (from, most int, r *refusal) {
	most = mostPage
	for _, p := range []struct {
		name string
		into *int
	}{{"startIndex", &from}, {"pageToken", &from}, {"maxResults", &most}} {
		if text := c.query.Get(p.name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 {
				return 0, 0, refuse("invalid", "Invalid value \"%s\" of %s", text, p.name)
			}
			*p.into = n
		}
	}
	return from, min(most, mostPage), nil
}
