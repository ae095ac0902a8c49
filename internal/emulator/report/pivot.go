package report

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/reportferry/reportferry/internal/emulator/metrics"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// servePivot answers GET /pivot_report: the rows of report under the value of one dimension, its
// index, and totals by the values of every dimension. Source: the service's documents of 2024, and
// clients that read it. Two things are guessed: an index of several dimensions is refused, and each
// value of the index is an element of rows.
func (s *Service) servePivot(x *wire.Exchange, r *http.Request) {
	v := r.URL.Query()
	index := splitList(v.Get("index"))
	if len(index) != 1 {
		bad := &wire.Error{Status: http.StatusUnprocessableEntity, Code: wire.CodeValidation,
			Desc:    "Request validation failed",
			Details: []wire.FieldError{{Loc: []any{"index"}, Msg: "Field required"}}}
		if len(index) > 1 {
			bad = wire.BadRequest("index: this emulator nests rows by one dimension, not by %d", len(index))
		}
		x.Fail(bad)
		return
	}
	q := s.readUnlessBulk(x, indexedBy(r, v, index[0]))
	if q == nil {
		return
	}
	// Sort by the index, and compute the totals before the rows: see serveJSON.
	q.evenEmpty = true
	if len(q.Sort) == 0 || q.Sort[0].Column != 1 {
		q.Sort = slices.Insert(q.Sort, 0, metrics.SortKey{Column: 1})
	}
	whole, err := s.totals(r, q, wholePeriod, x.Fault)
	if err != nil {
		s.end(x, r, err)
		return
	}
	totalsBy := make([]map[string]string, len(q.Dimensions))
	for i, d := range q.Dimensions {
		if totalsBy[i], err = s.totals(r, q, d, x.Fault); err != nil {
			s.end(x, r, err)
			return
		}
	}
	s.end(x, r, s.stream(x, r, q, func(st metrics.Statement, rows *answerRows) error {
		body := x.Body(r, "application/json")
		columns := q.reportColumns(st.Units, x.Fault)
		w := &jsonWriter{out: body, columns: columns[1:], ids: s.dependencies(q), numbers: true}
		w.add(`{"rows":[`)
		// Write the rows, in one array for each value of the index.
		last := ""
		err := rows.each(func(row []any) error {
			if label := columns[0].value(row).(string); w.rows == 0 || label != last { // dimensions are texts
				if w.rows > 0 {
					w.add("]}},")
				}
				w.add("{")
				w.value(label)
				w.add(`:{"rows":[`)
				w.rows, last = 0, label
			}
			return w.row(row)
		})
		if err != nil {
			return err
		}
		if w.rows > 0 {
			w.add("]}}")
		}
		// Write the totals.
		w.add(`],"totals":` + cmp.Or(whole[wholePeriod.Slug], "{}") + `,"totals_per_dimension":{`)
		for i, values := range totalsBy {
			if i > 0 {
				w.add(",")
			}
			w.value(q.Dimensions[i].Slug)
			w.add(":{")
			for n, value := range slices.Sorted(maps.Keys(values)) {
				if n > 0 {
					w.add(",")
				}
				w.value(value)
				w.add(":" + values[value])
			}
			w.add("}")
		}
		w.add("}")
		if err := w.finish(q, false); err != nil {
			return err
		}
		return body.Close()
	}))
}

// indexedBy returns the request for the report whose first dimension is the pivot's index.
func indexedBy(r *http.Request, v url.Values, index string) *http.Request {
	v.Del("index")
	v.Set("dimensions", index+","+v.Get("dimensions"))
	r = r.Clone(r.Context())
	r.URL.RawQuery = v.Encode()
	return r
}
