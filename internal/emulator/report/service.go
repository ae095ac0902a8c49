package report

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/metrics"
	"github.com/reportferry/reportferry/internal/emulator/reading"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// Prefix begins the path of every report.
const Prefix = "/reports-service/"

// Options say how reports are served. Fields without a comment mean what those of emulator.Options
// do.
type Options struct {
	MaxPairs int // most pairs of app and day in a query, a greater one gets a 504; 0: any number
	Bulk     int
	Settle   func() error // brings the facts up to date before a report reads them
	Readings reading.Set  // how the service does what its document leaves open
	Now      func() time.Time
	Logger   *slog.Logger
}

// Service answers what is under /reports-service/ from a world's facts. Each request is answered by
// a copy of it, with the account and the glossary of the moment at which the request came.
type Service struct {
	opts     Options
	world    *facts.World
	account  *facts.Account
	glossary *metrics.Glossary
}

// New makes the endpoints over a world, whose database is open.
func New(w *facts.World, o Options) *Service {
	return &Service{opts: o, world: w, glossary: metrics.NewGlossary(nil)}
}

// Serve answers a request under /reports-service/, whose last element says what is asked for.
func (s *Service) Serve(x *wire.Exchange, r *http.Request) {
	account := s.world.Account()
	s = &Service{s.opts, s.world, account, s.glossary.With(&account.Catalog)}
	switch strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, Prefix), "/") {
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
		s.servePivot(x, r)
	default:
		x.Fail(wire.NotFound(r))
	}
}

// serveCSV answers GET /csv_report.
func (s *Service) serveCSV(x *wire.Exchange, r *http.Request) {
	q := s.read(x, r)
	switch {
	case q == nil:
	case s.opts.Bulk > 0:
		s.streamBulk(x, r, q)
		s.end(x, r, r.Context().Err())
	default:
		s.end(x, r, s.stream(x, r, q, func(st metrics.Statement, rows *answerRows) error {
			return writeRows(x, r, q, st.Units, rows)
		}))
	}
}

// read parses and checks the query of a report. When it returns nil, it has already answered with
// the error.
func (s *Service) read(x *wire.Exchange, r *http.Request) *request {
	q, bad := s.parse(r.URL.Query(), s.opts.Now())
	if bad != nil {
		x.Fail(bad)
		return nil
	}
	if pairs := q.Period.Days() * len(q.Apps); s.opts.MaxPairs > 0 && pairs > s.opts.MaxPairs {
		x.Fail(&wire.Error{Status: http.StatusGatewayTimeout, Code: wire.CodeService,
			Desc: fmt.Sprintf("The query took too long: %d apps over %d days", len(q.Apps), q.Period.Days())})
		return nil
	}
	return q
}

// stream generates the facts that the query needs, and calls write with its rows, which stand on
// the first one. Rows come as SQLite yields them, or falsified when a silent fault is scripted. A
// report without rows is answered here, unless q.evenEmpty is set.
func (s *Service) stream(x *wire.Exchange, r *http.Request, q *request,
	write func(metrics.Statement, *answerRows) error) error {
	s.leaveOutApp(q, r.URL.Query(), x.Fault)
	return s.run(r.Context(), &q.Query, func(st metrics.Statement, sqlRows *sql.Rows) error {
		rows := newRows(sqlRows, len(q.Dimensions)+len(st.Units), q.silentFault(x.Fault))
		rows.drifts, rows.percent = q.cohortDrift(x.Readings, r.URL.Query().Get("dimensions"))
		if !rows.next() && rows.err != nil {
			return rows.err
		}
		if !rows.some && !q.evenEmpty {
			return s.noRows(x, r, q, st)
		}
		return write(st, rows)
	})
}

// noRows answers a report without rows.
func (s *Service) noRows(x *wire.Exchange, r *http.Request, q *request, st metrics.Statement) error {
	if x.Readings.Is(reading.ReportEmpty, "204") || !strings.HasPrefix(r.URL.Path, Prefix+"csv_report") {
		x.WriteHeader(http.StatusNoContent)
		return nil
	}
	body := x.Body(r, wire.CSV)
	w := newCSV(body, x.Readings)
	w.header(arranged(q.reportColumns(st.Units, x.Fault), x.Readings))
	if err := w.end(); err != nil {
		return err
	}
	return body.Close()
}

// run generates the facts of the query's days, brings posted spend up to date, and calls use with
// the rows of the query's SQL.
func (s *Service) run(ctx context.Context, q *metrics.Query, use func(metrics.Statement, *sql.Rows) error) error {
	for _, part := range q.Spans() {
		days := part.UTCDays()
		if err := s.world.Ensure(q.Apps, max(days.From, s.world.FirstDay), min(days.To, q.Today)); err != nil {
			return err
		}
	}
	if err := s.opts.Settle(); err != nil {
		return err
	}
	st, err := s.glossary.Build(q)
	if err != nil {
		return err
	}
	return s.world.Store.Query(ctx, st.Text, st.Args, func(rows *sql.Rows) error { return use(st, rows) })
}

// end handles an error of stream: it answers with it, or breaks the connection off when part of the
// answer was already sent or the client has gone.
func (s *Service) end(x *wire.Exchange, r *http.Request, err error) {
	if err == nil {
		return
	}
	gone := r.Context().Err() != nil // the client has gone, or this server is being closed
	if !gone {
		s.opts.Logger.Error("report failed", "path", r.URL.Path, "query", r.URL.RawQuery, "error", err)
	}
	if gone || x.Status != 0 {
		panic(http.ErrAbortHandler) // a broken answer must not look like a whole one
	}
	x.Fail(wire.Failed(err.Error()))
}

// writeRows sends the header and all rows; rows already stands on the first one.
func writeRows(x *wire.Exchange, r *http.Request, q *request, units []metrics.Unit, rows *answerRows) error {
	columns := arranged(q.reportColumns(units, x.Fault), x.Readings)
	body := x.Body(r, wire.CSV)
	w := newCSV(body, x.Readings)
	w.header(columns)
	err := rows.each(func(row []any) error {
		for _, c := range columns {
			if text, ok := c.value(row).(string); ok {
				// Under the reading cut-texts=cut, names of campaigns end with half a character.
				if w.form.cut && c.slug == "campaign" {
					text += "\xc3"
				}
				w.text(text)
			} else if err := w.number(c.value(row), c.unit); err != nil {
				return fmt.Errorf("column %s: %w", c.slug, err)
			}
		}
		// Under the reading more-columns=one, each line has a cell of the column note.
		if w.form.more {
			w.text("-")
		}
		return w.endLine()
	})
	if err != nil {
		return err
	}
	if err := w.end(); err != nil {
		return err
	}
	return body.Close()
}

// driftColumn returns the index of the column that a fault changes: the one that it names, or the
// last one when the report doesn't have that. Without a fault it is -1.
func (q *request) driftColumn(f *wire.Fault) int {
	if f == nil {
		return -1
	}
	slugs, _ := q.Names()
	if i := slices.Index(slugs, f.Column); i >= 0 {
		return i
	}
	return len(slugs) - 1
}

// droppedColumn returns the index of the column that a drift fault leaves out, or -1.
func (q *request) droppedColumn(f *wire.Fault) int {
	if f.Drifts(wire.DriftMissing) {
		return q.driftColumn(f)
	}
	return -1
}
