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
	q := s.readReport(x, r)
	switch {
	case q == nil:
	case s.opts.Bulk > 0:
		s.streamBulk(x, r, q)
		s.endReport(x, r, r.Context().Err())
	default:
		s.endReport(x, r, s.stream(x, r, q, func(st statement, rows *sql.Rows) error {
			return writeRows(x, r, q, st.units, rows)
		}))
	}
}

// readReport reads and checks the request of a report; after nil it is answered.
func (s *Server) readReport(x *exchange, r *http.Request) *query {
	q, bad := s.parseQuery(r.URL.Query(), s.now())
	if bad != nil {
		x.fail(bad)
		return nil
	}
	if pairs := q.period.days() * len(q.apps); s.opts.MaxPairs > 0 && pairs > s.opts.MaxPairs {
		x.fail(&serviceError{status: http.StatusGatewayTimeout, code: codeService,
			desc: fmt.Sprintf("The query took too long: %d apps over %d days", len(q.apps), q.period.days())})
		return nil
	}
	return q
}

// stream makes the facts that the query needs, then hands the rows over as SQLite yields them, standing on the first
// one. A report without rows is answered here.
func (s *Server) stream(x *exchange, r *http.Request, q *query, write func(statement, *sql.Rows) error) error {
	return s.run(r.Context(), q, func(st statement, rows *sql.Rows) error {
		if !rows.Next() {
			if err := rows.Err(); err != nil {
				return err
			}
			x.WriteHeader(http.StatusNoContent)
			return nil
		}
		return write(st, rows)
	})
}

func (s *Server) run(ctx context.Context, q *query, use func(statement, *sql.Rows) error) error {
	for _, part := range q.spans() {
		days := part.utcDays()
		if err := s.store.ensure(q.apps, max(days.from, s.store.firstDay), min(days.to, q.today)); err != nil {
			return err
		}
	}
	if err := s.books.publish(s.store); err != nil {
		return fmt.Errorf("write spend: %w", err)
	}
	st, err := s.formulas.build(q)
	if err != nil {
		return err
	}
	return s.store.query(ctx, st, func(rows *sql.Rows) error { return use(st, rows) })
}

// endReport answers an error of stream.
func (s *Server) endReport(x *exchange, r *http.Request, err error) {
	if err == nil {
		return
	}
	gone := r.Context().Err() != nil // the client, or this server is being closed
	if !gone {
		s.opts.Logger.Error("report failed", "path", r.URL.Path, "query", r.URL.RawQuery, "error", err)
	}
	if gone || x.status != 0 {
		panic(http.ErrAbortHandler) // a broken answer must not look like a whole one
	}
	x.fail(&serviceError{status: http.StatusInternalServerError, code: codeService, desc: err.Error()})
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
	columns := q.reportColumns(units, x.fault)
	body := x.body(r, csvType)
	w := &csvWriter{out: body}
	q.writeHeader(w, x.fault)
	err := eachRow(rows, len(q.dimensions)+len(units), func(row []any) error {
		for _, c := range columns {
			if text, ok := c.value(row).(string); ok {
				w.text(text)
			} else if err := w.number(c.value(row), c.unit); err != nil {
				return fmt.Errorf("column %s: %w", c.slug, err)
			}
		}
		return w.endLine()
	})
	if err != nil {
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
