package emulator

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"
)

// reportsPrefix begins the path of every report.
const reportsPrefix = "/reports-service/"

// reportOptions say how reports are served. Their fields are those of Options.
type reportOptions struct {
	maxPairs int
	bulk     int
	settle   func() error // brings the facts up to date before a report reads them
	now      func() time.Time
	logger   *slog.Logger
}

// reportService answers what is under /reports-service/ from a world's facts.
type reportService struct {
	opts     reportOptions
	world    *world
	glossary *glossary
}

func newReports(w *world, o reportOptions) *reportService {
	return &reportService{opts: o, world: w, glossary: newGlossary(&w.catalog)}
}

// serve answers a request under /reports-service/, whose last element says what is asked for.
func (s *reportService) serve(x *exchange, r *http.Request) {
	switch strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, reportsPrefix), "/") {
	case "events":
		s.serveEvents(x, r)
	case "csv_report":
		s.serveCSV(x, r)
	case "report":
		s.serveJSON(x, r)
	case "parquet_report":
		s.serveParquet(x, r)
	case "filters_data":
		s.serveFiltersData(x, r)
	case "pivot_report":
		x.fail(badRequest("%s is not yet served by this emulator", r.URL.Path))
	default:
		x.fail(notFound(r))
	}
}

// serveCSV answers GET /csv_report.
func (s *reportService) serveCSV(x *exchange, r *http.Request) {
	q := s.read(x, r)
	switch {
	case q == nil:
	case s.opts.bulk > 0:
		s.streamBulk(x, r, q)
		s.end(x, r, r.Context().Err())
	default:
		s.end(x, r, s.stream(x, r, q, func(st statement, rows *sql.Rows) error {
			return writeRows(x, r, q, st.units, rows)
		}))
	}
}

// read reads and checks the request of a report; after nil it is answered.
func (s *reportService) read(x *exchange, r *http.Request) *request {
	q, bad := s.parse(r.URL.Query(), s.opts.now())
	if bad != nil {
		x.fail(bad)
		return nil
	}
	if pairs := q.period.days() * len(q.apps); s.opts.maxPairs > 0 && pairs > s.opts.maxPairs {
		x.fail(&serviceError{status: http.StatusGatewayTimeout, code: codeService,
			desc: fmt.Sprintf("The query took too long: %d apps over %d days", len(q.apps), q.period.days())})
		return nil
	}
	return q
}

// stream makes the facts that the query needs, then hands the rows over as SQLite yields them, standing on the first
// one. A report without rows is answered here.
func (s *reportService) stream(x *exchange, r *http.Request, q *request, write func(statement, *sql.Rows) error) error {
	return s.run(r.Context(), &q.query, func(st statement, rows *sql.Rows) error {
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

func (s *reportService) run(ctx context.Context, q *query, use func(statement, *sql.Rows) error) error {
	for _, part := range q.spans() {
		days := part.utcDays()
		if err := s.world.ensure(q.apps, max(days.from, s.world.firstDay), min(days.to, q.today)); err != nil {
			return err
		}
	}
	if err := s.opts.settle(); err != nil {
		return err
	}
	st, err := s.glossary.build(q)
	if err != nil {
		return err
	}
	return s.world.store.query(ctx, st.text, st.args, func(rows *sql.Rows) error { return use(st, rows) })
}

// end answers an error of stream.
func (s *reportService) end(x *exchange, r *http.Request, err error) {
	if err == nil {
		return
	}
	gone := r.Context().Err() != nil // the client is, or this server is being closed
	if !gone {
		s.opts.logger.Error("report failed", "path", r.URL.Path, "query", r.URL.RawQuery, "error", err)
	}
	if gone || x.status != 0 {
		panic(http.ErrAbortHandler) // a broken answer must not look like a whole one
	}
	x.fail(failed(err.Error()))
}

// writeRows sends the header and all rows; rows already stands on the first one.
func writeRows(x *exchange, r *http.Request, q *request, units []unit, rows *sql.Rows) error {
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

func (q *request) writeHeader(w *csvWriter, f *fault) {
	names, labels := q.names()
	if q.readable {
		names = labels
	}
	drift := q.driftColumn(f)
	for i, name := range names {
		switch {
		case i != drift || f.drifts(driftExtra):
			w.text(name)
		case f.drifts(driftRename):
			w.text(name + "_v2")
		}
	}
	if f.drifts(driftExtra) {
		w.text("extra")
	}
	_ = w.endLine() // the error stays in w
}

// driftColumn is the index of the column that a drift fault is about, or -1.
func (q *request) driftColumn(f *fault) int {
	if f == nil || f.Kind != faultDrift {
		return -1
	}
	slugs, _ := q.names()
	if i := slices.Index(slugs, f.Column); i >= 0 {
		return i
	}
	return len(slugs) - 1
}

// dropped is the index of the column that a drift fault leaves out, or -1.
func (q *request) dropped(f *fault) int {
	if f.drifts(driftMissing) {
		return q.driftColumn(f)
	}
	return -1
}
