package emulator

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"slices"
)

const csvType = "text/csv; charset=utf-8"

// serveReport answers GET /csv_report.
func (s *Server) serveReport(x *exchange, r *http.Request) {
	q, bad := s.parseQuery(r.URL.Query(), s.now())
	if bad != nil {
		x.fail(bad)
		return
	}
	if pairs := q.period.days() * len(q.apps); s.opts.MaxPairs > 0 && pairs > s.opts.MaxPairs {
		x.fail(&serviceError{status: http.StatusGatewayTimeout, code: codeService,
			desc: fmt.Sprintf("The query took too long: %d apps over %d days", len(q.apps), q.period.days())})
		return
	}
	if s.opts.Bulk > 0 {
		s.streamBulk(x, r, q)
		return
	}
	if err := s.streamReport(x, r, q); err != nil && r.Context().Err() == nil {
		s.opts.Logger.Error("csv_report failed", "query", r.URL.RawQuery, "error", err)
		if x.status != 0 {
			panic(http.ErrAbortHandler) // a broken answer must not look like a whole one
		}
		x.fail(&serviceError{status: http.StatusInternalServerError, code: codeService, desc: err.Error()})
	}
}

// streamReport makes the facts that the query needs, then sends rows as SQLite yields them.
func (s *Server) streamReport(x *exchange, r *http.Request, q *query) error {
	days := q.utcDays()
	if err := s.store.ensure(q.apps, max(days.from, s.firstDay), min(days.to, q.today)); err != nil {
		return err
	}
	st, err := s.formulas.build(q)
	if err != nil {
		return err
	}
	return s.store.query(r.Context(), st, func(rows *sql.Rows) error {
		if !rows.Next() {
			if err := rows.Err(); err != nil {
				return err
			}
			x.WriteHeader(http.StatusNoContent)
			return nil
		}
		return writeRows(x, r, q, st.units, rows)
	})
}

// query runs a statement on one of the readers' connections.
func (s *store) query(ctx context.Context, st statement, use func(*sql.Rows) error) error {
	var conn *sql.Conn
	select {
	case conn = <-s.read:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { s.read <- conn }()
	rows, err := conn.QueryContext(ctx, st.text, st.args...)
	if err != nil {
		return fmt.Errorf("query facts: %w", err)
	}
	defer func() { _ = rows.Close() }()
	return use(rows)
}

// writeRows sends the header and all rows; rows already stands on the first one.
func writeRows(x *exchange, r *http.Request, q *query, units []unit, rows *sql.Rows) error {
	skip := q.dropped(x.fault)
	body := x.body(r, csvType)
	w := &csvWriter{out: body}
	q.writeHeader(w, x.fault)
	nd := len(q.dimensions)
	cells := make([]any, nd+len(units))
	into := make([]any, len(cells))
	for i := range cells {
		into[i] = &cells[i]
	}
	for more := true; more; more = rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for i, c := range cells {
			if i == skip {
				continue
			}
			switch v := c.(type) {
			case string:
				w.text(v)
			case float64:
				w.real(v)
			case int64:
				if units[i-nd] == micros {
					w.micros(v)
				} else {
					w.whole(v)
				}
			default:
				return fmt.Errorf("column %d is a %T", i+1, c)
			}
		}
		if x.fault.drifts(DriftExtra) {
			w.whole(0)
		}
		if err := w.endLine(); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if err := w.flush(); err != nil {
		return err
	}
	return body.Close()
}

func (q *query) writeHeader(w *csvWriter, f *Fault) {
	names, labels := q.names()
	if q.readable {
		names = labels
	}
	drift := q.driftColumn(f)
	for i, name := range names {
		switch {
		case i != drift || f.drifts(DriftExtra):
			w.text(name)
		case f.drifts(DriftRename):
			w.text(name + "_v2")
		}
	}
	if f.drifts(DriftExtra) {
		w.text("extra")
	}
	_ = w.endLine() // the error stays in w
}

// names are the columns' slugs and readable names, dimensions first.
func (q *query) names() (slugs, labels []string) {
	for _, d := range q.dimensions {
		slugs, labels = append(slugs, d.slug), append(labels, d.label)
	}
	for _, m := range q.metrics {
		slugs, labels = append(slugs, m.slug), append(labels, m.label())
	}
	return slugs, labels
}

func (f *Fault) drifts(how string) bool { return f != nil && f.Kind == FaultDrift && f.Drift == how }

// driftColumn is the index of the column that a drift fault is about, or -1.
func (q *query) driftColumn(f *Fault) int {
	if f == nil || f.Kind != FaultDrift {
		return -1
	}
	slugs, _ := q.names()
	if i := slices.Index(slugs, f.Column); i >= 0 {
		return i
	}
	return len(slugs) - 1
}

// dropped is the index of the column that a drift fault leaves out, or -1.
func (q *query) dropped(f *Fault) int {
	if f.drifts(DriftMissing) {
		return q.driftColumn(f)
	}
	return -1
}
