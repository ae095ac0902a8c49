package emulator

import (
	"database/sql"
	"net/http"
	"slices"
)

// reportColumn is a column of a report's answer. JSON and Parquet always head it by its slug.
type reportColumn struct {
	slug  string // as a drift fault leaves it
	cell  int    // of a row; -1 for the zeros of a drift's extra column
	text  bool   // a dimension
	whole bool   // a metric of integers
	unit  unit
}

// reportColumns lays out an answer's columns after the request's drift fault, if it has one.
func (q *request) reportColumns(units []unit, f *fault) []reportColumn {
	slugs, _ := q.names()
	var out []reportColumn
	for i, slug := range slugs {
		c := reportColumn{slug: slug, cell: i, text: i < len(q.dimensions)}
		if !c.text {
			c.unit = units[i-len(q.dimensions)]
			c.whole = c.unit == whole
		}
		out = append(out, c)
	}
	drift := q.driftColumn(f)
	switch {
	case f.drifts(driftRename):
		out[drift].slug += "_v2"
	case f.drifts(driftMissing):
		out = slices.Delete(out, drift, drift+1)
	case f.drifts(driftExtra):
		out = append(out, reportColumn{slug: "extra", cell: -1, whole: true})
	}
	return out
}

// value is the column's cell of a row: a string, an int64 or a float64.
func (c reportColumn) value(row []any) any {
	if c.cell < 0 {
		return int64(0)
	}
	return row[c.cell]
}

// eachRow hands over the rows, the first of which rows already stands on. The slice is used again for the next row.
func eachRow(rows *sql.Rows, width int, use func(row []any) error) error {
	row := make([]any, width)
	into := make([]any, width)
	for i := range row {
		into[i] = &row[i]
	}
	for more := true; more; more = rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if err := use(row); err != nil {
			return err
		}
	}
	return rows.Err()
}

// readRows reads the request of a report that isn't served in bulk mode; after nil it is answered.
func (s *reportService) readRows(x *exchange, r *http.Request) *request {
	if s.opts.bulk > 0 {
		x.fail(badRequest("%s isn't served in bulk mode: only csv_report is", r.URL.Path))
		return nil
	}
	return s.read(x, r)
}
