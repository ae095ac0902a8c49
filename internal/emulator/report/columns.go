package report

import (
	"net/http"
	"slices"

	"github.com/reportferry/reportferry/internal/emulator/metrics"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// column is a column of a report's answer. JSON and Parquet always head it by its slug.
type column struct {
	slug  string              // with the change of a drift fault
	head  string              // in the CSV's first line
	cell  int                 // its index in a row; -1 for the extra column of a drift fault, which has zeros
	show  func(string) string // writes a dimension's value in the service's form; nil: it stays as it is
	text  bool                // the column is a dimension
	whole bool                // the column is a metric of integers
	unit  metrics.Unit
}

// reportColumns returns the columns of an answer, changed by the drift fault f if that is one.
func (q *request) reportColumns(units []metrics.Unit, f *wire.Fault) []column {
	slugs, labels := q.Names()
	var out []column
	for i, slug := range slugs {
		c := column{slug: slug, head: slug, cell: i, text: i < len(q.Dimensions)}
		if q.readable {
			c.head = labels[i]
		}
		if c.text {
			c.show = q.labelWriter(i)
		} else {
			c.unit = units[i-len(q.Dimensions)]
			c.whole = c.unit == metrics.Whole
		}
		out = append(out, c)
	}
	drift := q.driftColumn(f)
	switch {
	case f.Drifts(wire.DriftRename):
		out[drift].slug += "_v2"
		out[drift].head += "_v2"
	case f.Drifts(wire.DriftMissing):
		out = slices.Delete(out, drift, drift+1)
	case f.Drifts(wire.DriftExtra):
		out = append(out, column{slug: "extra", head: "extra", cell: -1, whole: true})
	}
	return out
}

// value returns the column's cell of a row: a string, an int64 or a float64.
func (c column) value(row []any) any {
	if c.cell < 0 {
		return int64(0)
	}
	if text, ok := row[c.cell].(string); ok && c.show != nil {
		return c.show(text)
	}
	return row[c.cell]
}

// readUnlessBulk reads the request for a report, and refuses it in bulk mode. If it returns nil, it
// has already answered with an error.
func (s *Service) readUnlessBulk(x *wire.Exchange, r *http.Request) *request {
	if s.opts.Bulk > 0 {
		x.Fail(wire.BadRequest("%s isn't served in bulk mode: only csv_report is", r.URL.Path))
		return nil
	}
	return s.read(x, r)
}
