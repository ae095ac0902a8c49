package bqsink

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	bq "google.golang.org/api/bigquery/v2"

	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/bqsink/bqtest"
	"github.com/reportferry/reportferry/sinks/sinktest"
)

// handled calls a handler in the caller's goroutine, so that a whole warehouse fits into a synctest
// bubble.
type handled struct{ http.Handler }

func (h handled) RoundTrip(r *http.Request) (answer *http.Response, err error) {
	defer func() {
		if recover() != nil {
			answer, err = nil, syscall.ECONNRESET
		}
		if r.Body != nil {
			_ = r.Body.Close()
		}
	}()
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

func newServer(t *testing.T, o bqtest.Options) *bqtest.Server {
	t.Helper()
	o.Datasets, o.Location = append(o.Datasets, "proj.ds"), "EU"
	server, err := bqtest.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

const testURL = "bigquery://proj/ds?location=EU"

func openOn(t *testing.T, server http.Handler, rawURL string) *Sink {
	t.Helper()
	s, err := OpenOver(t.Context(), rawURL, handled{server})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

type testRow struct {
	Day      int32   `parquet:"day,date"`
	Campaign string  `parquet:"campaign"`
	Installs *int64  `parquet:"installs,optional"`
	Cost     *int64  `parquet:"cost,optional,decimal(6:18)"`
	Ratio    float64 `parquet:"ratio"`
}

func testSchema() *sinks.Schema {
	return &sinks.Schema{
		Period: "day", On: "day", ClusterBy: []string{"campaign"},
		Columns: []sinks.Column{
			{Name: "day", Type: sinks.Date, Required: true, Description: "Day in the report's zone"},
			{Name: "campaign", Type: sinks.String, Required: true, Description: "Campaign"},
			{Name: "installs", Type: sinks.Int64, Description: "Installs"},
			{Name: "cost", Type: sinks.Decimal, Description: "Spend"},
			{Name: "ratio", Type: sinks.Double},
		},
	}
}

var date = sinktest.Date

// testPart is a part of one row for each name.
func testPart(day, run string, names ...string) sinks.Part {
	var rows []testRow
	for i, name := range names {
		installs, cost := int64(i+1), int64(1_500_000)
		rows = append(rows, testRow{int32(date(day).In(time.UTC).Unix() / 86400), name, &installs, &cost, 0.25})
	}
	return filePart(day, run, testSchema(), rows)
}

func mustPut(t *testing.T, s *Sink, parts ...sinks.Part) {
	t.Helper()
	for _, p := range parts {
		if _, err := s.Put(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
}

// campaigns are the names visible in a partition, or in a table.
func campaigns(t *testing.T, server *bqtest.Server, table string) string {
	t.Helper()
	rows, err := server.Rows("proj.ds." + table)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range rows {
		names = append(names, r[1])
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func mustHold(t *testing.T, server *bqtest.Server, table, want string) {
	t.Helper()
	if got := campaigns(t, server, table); got != want {
		t.Errorf("%s holds %q, want %q", table, got, want)
	}
}

// asked are the calls of a name that the server saw.
func asked(server *bqtest.Server, call string) (found []bqtest.Request) {
	for _, r := range server.Requests() {
		if r.Call == call {
			found = append(found, r)
		}
	}
	return found
}

func theJob(t *testing.T, server *bqtest.Server) *bq.Job {
	t.Helper()
	jobs := server.Jobs()
	if len(jobs) != 1 {
		t.Fatalf("%d jobs, want one", len(jobs))
	}
	return jobs[0]
}

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	sinktest.Golden(t, name, got, *update)
}

func mustContain(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("no %q in: %v", w, err)
		}
	}
}

// filePart is a part that is put under a lease with the run's name.
func filePart[R any](day, run string, schema *sinks.Schema, rows []R) sinks.Part {
	p := sinktest.FilePart(day, schema, rows)
	p.Run, p.Lease = run, run
	return p
}
