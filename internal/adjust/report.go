package adjust

import (
	"context"
	"io"
)

// CSVReport asks for one report and hands each attempt's body, CSV in UTF-8 under a header of slugs, to read. When the
// answer breaks half way the whole attempt is repeated: read must start anew each time it is called, and what it made
// of an earlier call is void. Nothing is accepted before read has returned nil and the end of the answer was seen.
// An error of read that isn't the answer's fault ends the call at once. A 204 answers with Empty and never calls read.
func (c *Client) CSVReport(ctx context.Context, q ReportQuery, read func(io.Reader) error) (Answer, error) {
	op := "csv_report " + q.period()
	v, err := q.values()
	if err != nil {
		return Answer{}, &Error{Op: op, Err: err}
	}
	return c.do(ctx, request{
		op:    op,
		url:   c.reports("csv_report") + "?" + v.Encode(),
		types: csvTypes,
		never: "<{", csv: true, metrics: q.Metrics, splittable: q.Splittable, read: read,
	})
}

var csvTypes = []string{"text/csv", "application/csv", "text/comma-separated-values", "text/plain", "application/octet-stream"}
