// Package emutest opens an emulated service for a test and sends it requests, as net/http/httptest
// does for servers. Without it, each part of the emulator would have its own helpers for what all
// their tests do: open an emulator, ask for a report, read its columns, post spend, look into its
// database file.
//
//	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2})
//	answer := emutest.Report(t, s, "day,app", "installs", "date_period=-3d:-1d")
//	sum := answer.Sum(t, "installs") // in millionths
package emutest

import (
	"context"
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/metrics"
	"github.com/reportferry/reportferry/internal/emulator/reading"
)

// Noon is the data's clock in tests that name dates: Saturday, 2026-03-14.
var Noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// AtNoon is Options.Now for a clock that stands at Noon.
func AtNoon() time.Time { return Noon }

var readings = flag.String("readings", "",
	"readings that tests' emulators follow: a row's number, or choices such as app-absent=404,apps-list=denied")

// With returns o for a test: names are hostile, unknown parameters are refused so that no test asks
// for what nobody answers, and the readings of the flag -readings apply. The flag is for tests that
// must pass under each reading: go test ./jobs/apps -args -readings 2. Choices in o override those
// of the flag, and these override the refusal.
func With(o emulator.Options) emulator.Options {
	o.Hostile = true
	o.Readings = slices.Concat([]string{reading.UnknownParameters + "=refuse"}, Chosen(), o.Readings)
	return o
}

// Chosen returns the choices of the flag -readings, for an emulator in another process.
func Chosen() []string {
	if n, err := strconv.Atoi(*readings); err == nil {
		return reading.Row(n)
	}
	return strings.FieldsFunc(*readings, func(r rune) bool { return r == ',' })
}

// Open opens an emulator with the options of With, without a rate limit unless Options.Rate sets
// one, and closes it at the test's end.
func Open(tb testing.TB, o emulator.Options) *emulator.Server {
	tb.Helper()
	if o.Rate == 0 {
		o.Rate = -1
	}
	s, err := emulator.New(With(o))
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

// Ask sends a GET for a path below /reports-service/ straight to the handler.
func Ask(s *emulator.Server, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "/reports-service/"+path, nil)
	r.Header.Set("Authorization", "Bearer x")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// Get is Ask for an answer that must have this status; it returns the body.
func Get(tb testing.TB, s *emulator.Server, path string, status int) string {
	tb.Helper()
	w := Ask(s, path)
	if w.Code != status {
		tb.Fatalf("%s: status %d, want %d: %.300s", path, w.Code, status, w.Body)
	}
	return w.Body.String()
}

// Answer is a report's table. Its first Dims columns are dimensions.
type Answer struct {
	Header []string
	Rows   [][]string
	Dims   int
}

// Report asks for a report by these dimensions and metrics; more is the rest of the query. No rows
// (204) is an empty answer.
func Report(tb testing.TB, s *emulator.Server, dims, metrics, more string) Answer {
	tb.Helper()
	w := Ask(s, "csv_report?dimensions="+dims+"&metrics="+metrics+"&"+more)
	a := Answer{Dims: strings.Count(dims, ",") + 1}
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
	a.Header, a.Rows = all[0], all[1:]
	return a
}

// key returns what tells a row from others: its dimensions.
func (a Answer) key(row []string) string { return strings.Join(row[:a.Dims], "\x00") }

// Column maps each row's key to its cell of a column.
func (a Answer) Column(tb testing.TB, name string) map[string]string {
	tb.Helper()
	for i, h := range a.Header {
		if h == name {
			out := make(map[string]string, len(a.Rows))
			for _, r := range a.Rows {
				if _, double := out[a.key(r)]; double {
					tb.Fatalf("two rows of %q", r[:a.Dims])
				}
				out[a.key(r)] = r[i]
			}
			return out
		}
	}
	tb.Fatalf("no column %q in %q", name, a.Header)
	return nil
}

// Exact returns a count or an amount as a whole number of millionths.
func Exact(tb testing.TB, cell string) int64 {
	tb.Helper()
	whole, frac, _ := strings.Cut(cell, ".")
	n, err := strconv.ParseInt(whole+(frac + "000000")[:6], 10, 64)
	if err != nil || len(frac) > 6 {
		tb.Fatalf("%q is not a decimal of at most six places", cell)
	}
	return n
}

// Double returns a cell as a float64.
func Double(tb testing.TB, cell string) float64 {
	tb.Helper()
	x, err := strconv.ParseFloat(cell, 64)
	if err != nil {
		tb.Fatal(err)
	}
	return x
}

// Sum adds up a column's cells, in millionths.
func (a Answer) Sum(tb testing.TB, name string) int64 {
	tb.Helper()
	var total int64
	for _, cell := range a.Column(tb, name) {
		total += Exact(tb, cell)
	}
	return total
}

// Desc reads an error body: error_code and error_desc.
func Desc(tb testing.TB, body io.Reader) (code, text string) {
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

// Fetch sends a GET through a client and reads the whole answer. Its error may also come from a
// broken body.
func Fetch(c *http.Client, url, token string) (*http.Response, []byte, error) {
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

// Start opens an emulator, usually on a file; stop closes it before the test's end.
func Start(t *testing.T, o emulator.Options) (s *emulator.Server, stop func()) {
	t.Helper()
	s, err := emulator.New(With(o))
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

// fileURI returns a file's URI, escaped so that no character of the path counts as a parameter.
func fileURI(file string) string {
	return "file:" + (&url.URL{Path: filepath.ToSlash(file)}).EscapedPath() + "?_pragma=busy_timeout(10000)"
}

// Scan reads one row straight from an emulator's database file.
func Scan(tb testing.TB, file, query string, into ...any) {
	tb.Helper()
	db, err := sql.Open("sqlite", fileURI(file))
	if err == nil {
		err = errors.Join(db.QueryRowContext(context.Background(), query).Scan(into...), db.Close())
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// Change runs a statement straight on an emulator's database file.
func Change(tb testing.TB, file, statement string) {
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

// CountFacts counts the rows of facts of an emulator's file.
func CountFacts(tb testing.TB, file string) (n int) {
	tb.Helper()
	Scan(tb, file, "SELECT count(*) FROM facts", &n)
	return n
}

// GlossaryOf returns the metrics of an account with the default seed.
func GlossaryOf(s *emulator.Server) *metrics.Glossary {
	return metrics.NewGlossary(&facts.New(7, len(s.Apps()), 0, facts.Hostile).Account().Catalog)
}
