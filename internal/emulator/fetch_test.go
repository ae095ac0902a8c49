package emulator

import (
	"context"
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/metrics"
)

// noon is the data's clock in tests that name dates: Saturday, 2026-03-14.
var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func atNoon() time.Time { return noon }

func open(tb testing.TB, o Options) *Server {
	tb.Helper()
	if o.Rate == 0 {
		o.Rate = -1
	}
	s, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// ask sends a GET below /reports-service/ straight to the handler.
func ask(s *Server, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "/reports-service/"+path, nil)
	r.Header.Set("Authorization", "Bearer x")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func get(tb testing.TB, s *Server, path string, status int) string {
	tb.Helper()
	w := ask(s, path)
	if w.Code != status {
		tb.Fatalf("%s: status %d, want %d: %.300s", path, w.Code, status, w.Body)
	}
	return w.Body.String()
}

// answer is a report's table.
type answer struct {
	header []string
	rows   [][]string
	dims   int
}

// report asks for a report; no rows (204) is an empty answer.
func reportOf(tb testing.TB, s *Server, dims, metrics, more string) answer {
	tb.Helper()
	w := ask(s, "csv_report?dimensions="+dims+"&metrics="+metrics+"&"+more)
	a := answer{dims: strings.Count(dims, ",") + 1}
	if w.Code == http.StatusNoContent {
		return a
	}
	if w.Code != http.StatusOK {
		tb.Fatalf("%s by %s, %s: status %d: %.300s", metrics, dims, more, w.Code, w.Body)
	}
	all, err := csv.NewReader(w.Body).ReadAll()
	if err != nil {
		tb.Fatal(err)
	}
	a.header, a.rows = all[0], all[1:]
	return a
}

func (a answer) key(row []string) string { return strings.Join(row[:a.dims], "\x00") }

// column maps each row's key to its cell of a column.
func (a answer) column(tb testing.TB, name string) map[string]string {
	tb.Helper()
	for i, h := range a.header {
		if h == name {
			out := make(map[string]string, len(a.rows))
			for _, r := range a.rows {
				if _, double := out[a.key(r)]; double {
					tb.Fatalf("two rows of %q", r[:a.dims])
				}
				out[a.key(r)] = r[i]
			}
			return out
		}
	}
	tb.Fatalf("no column %q in %q", name, a.header)
	return nil
}

// exact reads a count or an amount as an integer number of millionths.
func exact(tb testing.TB, cell string) int64 {
	tb.Helper()
	whole, frac, _ := strings.Cut(cell, ".")
	n, err := strconv.ParseInt(whole+(frac + "000000")[:6], 10, 64)
	if err != nil || len(frac) > 6 {
		tb.Fatalf("%q is not a decimal of at most six places", cell)
	}
	return n
}

func double(tb testing.TB, cell string) float64 {
	tb.Helper()
	x, err := strconv.ParseFloat(cell, 64)
	if err != nil {
		tb.Fatal(err)
	}
	return x
}

// sum adds a column's cells.
func (a answer) sum(tb testing.TB, name string) int64 {
	tb.Helper()
	var total int64
	for _, cell := range a.column(tb, name) {
		total += exact(tb, cell)
	}
	return total
}

func desc(tb testing.TB, body io.Reader) (code, text string) {
	tb.Helper()
	var e struct {
		Code string `json:"error_code"`
		Desc string `json:"error_desc"`
	}
	if err := json.NewDecoder(body).Decode(&e); err != nil {
		tb.Fatal(err)
	}
	return e.Code, e.Desc
}

func fetch(c *http.Client, url, token string) (*http.Response, []byte, error) {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := c.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return resp, body, err
}

// start opens an emulator on a file; stop closes it before the test's end.
func start(t *testing.T, o Options) (s *Server, stop func()) {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s, func() {
		t.Helper()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// fileURI names a file so that no character of its path is taken for a parameter.
func fileURI(file string) string {
	return "file:" + (&url.URL{Path: filepath.ToSlash(file)}).EscapedPath() + "?_pragma=busy_timeout(10000)"
}

// scan reads one row of an emulator's file, past the emulator.
func scan(tb testing.TB, file, query string, into ...any) {
	tb.Helper()
	db, err := sql.Open("sqlite", fileURI(file))
	if err == nil {
		err = errors.Join(db.QueryRowContext(context.Background(), query).Scan(into...), db.Close())
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// change runs a statement on an emulator's file, past the emulator.
func change(tb testing.TB, file, statement string) {
	tb.Helper()
	db, err := sql.Open("sqlite", fileURI(file))
	if err == nil {
		_, err = db.ExecContext(context.Background(), statement)
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// countFacts counts the rows of facts of an emulator's file.
func countFacts(tb testing.TB, file string) (n int) {
	tb.Helper()
	scan(tb, file, "SELECT count(*) FROM facts", &n)
	return n
}

// glossaryOf knows the metrics of an account of the default seed.
func glossaryOf(s *Server) *metrics.Glossary {
	return metrics.NewGlossary(&facts.New(7, len(s.Apps()), 0).Catalog)
}
