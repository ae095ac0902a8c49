package report

import (
	"bytes"
	"cmp"
	"database/sql"
	"encoding/json"
	"net/http"

	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/metrics"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// serveJSON answers GET /report: the rows of csv_report as objects whose metrics are strings, then
// what a dashboard wants beside them. Fields and their types: the service's OpenAPI description;
// what is in data_warnings, immature_cohorts and attr_dependency beyond its examples is a guess.
func (s *Service) serveJSON(x *wire.Exchange, r *http.Request) {
	q := s.readUnlessBulk(x, r)
	if q == nil {
		return
	}
	withIDs, bad := boolParam(r.URL.Query(), "include_attr_dependency", true)
	if bad != nil {
		x.Fail(bad)
		return
	}
	// The totals come before the rows, because they take a database connection of their own: if
	// each report held one already, many reports could wait for each other without end.
	q.evenEmpty = true
	totals, err := s.totals(r, q, wholePeriod, x.Fault)
	if err != nil {
		s.end(x, r, err)
		return
	}
	var ids *dependencies
	if withIDs {
		ids = s.dependencies(q)
	}
	limit := q.Limit
	if limit > 0 {
		q.Limit++ // one more, to know whether there are more
	}
	s.end(x, r, s.stream(x, r, q, func(st metrics.Statement, rows *answerRows) error {
		body := x.Body(r, "application/json")
		w := &jsonWriter{out: body, columns: q.reportColumns(st.Units, x.Fault), ids: ids}
		w.add(`{"rows":[`)
		count := 0
		err := rows.each(func(row []any) error {
			if count++; count > limit && limit > 0 {
				return nil
			}
			return w.row(row)
		})
		if err != nil {
			return err
		}
		w.add(`],"totals":` + cmp.Or(totals[wholePeriod.Slug], "{}"))
		if err := w.finish(q, count > limit && limit > 0); err != nil {
			return err
		}
		return body.Close()
	}))
}

// finish appends what follows the rows and totals of a report; cut says that its limit left rows
// out.
func (w *jsonWriter) finish(q *request, cut bool) error {
	warnings := "[]"
	if cut {
		warnings = `[{"type":"limit_rows","message":"The report has more rows than its limit"}]`
	}
	w.add(`,"warnings":` + warnings + `,"data_warnings":` + warnings + `,"currencies":`)
	w.value([]string{q.Currency.Code})
	w.add(`,"immature_cohorts":`)
	w.value(q.immatureCohorts())
	w.add(`,"pagination":null}` + "\n")
	return w.flush()
}

// jsonWriter writes rows as objects, in large pieces. It keeps the first error of out, or of a
// value that can't be encoded.
type jsonWriter struct {
	out     interface{ Write([]byte) (int, error) }
	columns []column
	ids     *dependencies // written as attr_dependency; nil: not written
	numbers bool          // metrics are numbers, not strings
	buf     []byte
	rows    int // rows since the array began
	err     error
}

// add appends text as it is.
func (w *jsonWriter) add(text string) { w.buf = append(w.buf, text...) }

// value appends a value as JSON.
func (w *jsonWriter) value(v any) {
	b, err := appendJSON(w.buf, v)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.buf = b
}

// appendJSON writes v without turning <, > and & into escapes.
func appendJSON(b []byte, v any) ([]byte, error) {
	out := bytes.NewBuffer(b)
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// row appends a row as an object: dimensions are strings, and so are metrics unless they are
// numbers.
func (w *jsonWriter) row(row []any) error {
	if w.rows++; w.rows > 1 {
		w.add(",")
	}
	w.add("{")
	for i, c := range w.columns {
		if i > 0 {
			w.add(",")
		}
		w.value(c.slug)
		w.add(":")
		if c.text {
			w.value(c.value(row))
			continue
		}
		if err := w.number(c, row, !w.numbers); err != nil {
			return err
		}
	}
	if w.ids != nil {
		w.add(`,"attr_dependency":`)
		w.value(w.ids.forRow(row))
	}
	w.add("}")
	if len(w.buf) >= csvPiece {
		return w.flush()
	}
	return w.err
}

// number appends a metric's value, between quotes if it is a string. A number has a decimal point,
// as in the service's examples.
func (w *jsonWriter) number(c column, row []any, quoted bool) (err error) {
	if quoted {
		w.add(`"`)
		defer func() { w.add(`"`) }()
	}
	if w.buf, err = appendNumber(w.buf, c.value(row), c.unit); err == nil && !quoted && c.whole {
		w.add(".0")
	}
	return err
}

// flush writes out what has gathered, and returns the first error of any write.
func (w *jsonWriter) flush() error {
	if w.err == nil {
		_, w.err = w.out.Write(w.buf)
	}
	w.buf = w.buf[:0]
	return w.err
}

// immatureCohorts returns, for each cohort metric of the report, the days whose installs haven't
// completed the metric's period yet.
func (q *request) immatureCohorts() map[string][]string {
	out := map[string][]string{}
	for _, m := range q.Metrics {
		if !m.Def.IsCohort() {
			continue
		}
		for day := max(q.Period.From, q.ZoneToday-m.Period.End); day <= min(q.Period.To, q.ZoneToday); day++ {
			out[m.Slug] = append(out[m.Slug], facts.DayTime(day).Format("2006-01-02"))
		}
	}
	return out
}

// wholePeriod is the dimension of a report over everything: one group, whatever the local time.
var wholePeriod = metrics.Dimension{Slug: "all", Text: -1, Time: &metrics.TimeForm{SQL: "'all'%.0[1]s"}}

// totals returns the report's metrics over the rows of each value of a dimension, as objects of
// numbers. They include rows that metric filters and the limit leave out. Under fully_mature, which
// leaves out groups, they are those of mature.
func (s *Service) totals(r *http.Request, q *request, by metrics.Dimension, f *wire.Fault) (map[string]string, error) {
	all := q.Query
	all.Dimensions, all.Sort, all.Bounds, all.Limit = []metrics.Dimension{by}, nil, nil, 0
	if all.Maturity == "fully_mature" {
		all.Maturity = "mature"
	}
	out := map[string]string{}
	err := s.run(r.Context(), &all, func(st metrics.Statement, sqlRows *sql.Rows) error {
		rows := newRows(sqlRows, 1+len(st.Units), nil)
		if !rows.next() {
			return rows.err
		}
		return rows.each(func(row []any) error {
			w := &jsonWriter{}
			for _, c := range q.reportColumns(st.Units, f) {
				if c.text {
					continue
				}
				if len(w.buf) > 0 {
					w.add(",")
				}
				w.value(c.slug)
				w.add(":")
				if c.cell >= 0 {
					c.cell -= len(q.Dimensions) - 1
				}
				if err := w.number(c, row, false); err != nil {
					return err
				}
			}
			label, _ := row[0].(string) // dimensions are texts
			out[label] = "{" + string(w.buf) + "}"
			return w.err
		})
	})
	return out, err
}
