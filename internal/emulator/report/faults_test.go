package report_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/slow"
)

const twoDays = "dimensions=day,app&metrics=installs,cost&date_period=2026-03-10:2026-03-11"

func TestReportLimit(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 3})
	whole := emutest.Report(t, s, "day,app", "installs,cost", twoDays) // 6 rows
	for _, c := range []struct {
		limit string
		rows  int
		cut   bool
	}{{"1", 1, true}, {"5", 5, true}, {"6", 6, false}, {"7", 6, false}} {
		j := decodeReport(t, emutest.Get(t, s, "report?"+twoDays+"&limit="+c.limit, 200))
		if len(j.Rows) != c.rows || len(j.DataWarnings) == 1 != c.cut || len(j.Warnings) != len(j.DataWarnings) ||
			c.cut && j.Warnings[0]["type"] != "limit_rows" {
			t.Errorf("limit %s: %d rows, warnings %v %v", c.limit, len(j.Rows), j.Warnings, j.DataWarnings)
		}
		if want := whole.Sum(t, "installs"); int64(j.Totals["installs"])*facts.Million != want {
			t.Errorf("limit %s: total %v, want %d millionths", c.limit, j.Totals["installs"], want)
		}
		_, _, rows := readParquet(t, []byte(emutest.Get(t, s, "parquet_report?"+twoDays+"&limit="+c.limit, 200)))
		if len(rows) != c.rows || strings.Join(rows[0], "|") != strings.Join(whole.Rows[0], "|") {
			t.Errorf("limit %s: %q as Parquet", c.limit, rows)
		}
	}
	for _, path := range []string{"report", "parquet_report"} {
		for _, limit := range []string{"0", "-1", "x", "1.5"} {
			emutest.Get(t, s, path+"?"+twoDays+"&limit="+limit, 400)
		}
	}
}

func TestReportFormatsRefuseWhatCSVRefuses(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 3, MaxPairs: 10, Token: "x"})
	bulk := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Bulk: 10})
	for path, without := range map[string]int{"report?": 200, "pivot_report?index=day&": 200, "parquet_report?": 204} {
		for query, status := range map[string]int{
			twoDays: 200, "": 400, twoDays + "&currency=QQQ": 400, "dimensions=day&metrics=nope&date_period=today": 400,
			"dimensions=day&metrics=installs&date_period=2026-03-01:2026-03-09": 504,
			"dimensions=day&metrics=installs&date_period=2019-03-01:2019-03-02": without,
		} {
			emutest.Get(t, s, path+query, status)
		}
		if w := emutest.Ask(bulk, path+twoDays); w.Code != 400 || !strings.Contains(w.Body.String(), "bulk") {
			t.Errorf("%s in bulk mode: %d %s", path, w.Code, w.Body)
		}
	}
	emutest.Get(t, s, "report?include_attr_dependency=perhaps&"+twoDays, 400)
}

func TestReportFormatsUnderFaults(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 3})
	for _, path := range []string{"report", "parquet_report"} {
		url := "http://x/reports-service/" + path + "?" + twoDays
		_, whole, err := emutest.Fetch(s.Client(), url, "x")
		if err != nil {
			t.Fatal(err)
		}
		for _, after := range []int64{0, 1, 40, int64(len(whole)) - 1, 1 << 30} {
			s.SetFaults([]emulator.Fault{{Kind: emulator.FaultCut, AfterBytes: after, Path: path}})
			_, body, err := emutest.Fetch(s.Client(), url, "x")
			if !errors.Is(err, io.ErrUnexpectedEOF) || !bytes.HasPrefix(whole, body) || len(body) >= len(whole) {
				t.Errorf("%s cut after %d: %d of %d bytes, %v", path, after, len(body), len(whole), err)
			}
			if f, err := file.NewParquetReader(bytes.NewReader(body)); path == "parquet_report" && err == nil {
				t.Errorf("cut after %d of %d bytes it is a file of %d rows", after, len(whole), f.NumRows())
			}
		}
		s.SetFaults([]emulator.Fault{{Kind: emulator.FaultStatus, Status: 429, RetryAfter: 2}})
		emutest.Get(t, s, path+"?"+twoDays, 429)
		for drift, want := range map[string]string{emulator.DriftRename: "day app installs_v2 cost",
			emulator.DriftMissing: "day app cost", emulator.DriftExtra: "day app installs cost extra"} {
			s.SetFaults([]emulator.Fault{{Kind: emulator.FaultDrift, Drift: drift, Column: "installs"}})
			body := emutest.Get(t, s, path+"?"+twoDays, 200)
			got := ""
			if path == "report" {
				row := decodeReport(t, body).Rows[0]
				for _, slug := range strings.Fields(want) {
					if _, ok := row[slug]; ok {
						got += " " + slug
					}
				}
				if len(row) != len(strings.Fields(want))+1 {
					t.Errorf("drift %s: row %v", drift, row)
				}
			} else {
				names, _, _ := readParquet(t, []byte(body))
				got = " " + strings.Join(names, " ")
			}
			if got != " "+want {
				t.Errorf("%s: drift %s: columns%s, want %s", path, drift, got, want)
			}
		}
	}
}

// A Parquet report larger than a row group streams and stays whole.
func TestParquetReportOfManyRows(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Days: 60})
	const query = "dimensions=hour,app,country_code,campaign,creative&metrics=installs,cost,ctr&date_period=-60d:-0d"
	a := emutest.Report(t, s, "hour,app,country_code,campaign,creative", "installs,cost,ctr", query)
	body := []byte(emutest.Get(t, s, "parquet_report?"+query, 200))
	if len(a.Rows) < 20_000 {
		t.Fatalf("only %d rows", len(a.Rows))
	}
	compareParquet(t, query, a, body)
}

// closing tells that Close has begun: requests are refused from then on.
func closing(s *emulator.Server) (refused bool) {
	defer func() { refused = recover() != nil }()
	s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/nowhere", nil))
	return false
}

// closer closes the server in the middle of an answer.
type closer struct {
	*httptest.ResponseRecorder
	s    *emulator.Server
	once sync.Once
}

func (c *closer) Write(b []byte) (int, error) {
	c.once.Do(func() {
		go func() { _ = c.s.Close() }() // it waits for this answer; the test closes again
		for !closing(c.s) {
			time.Sleep(time.Millisecond)
		}
	})
	return c.ResponseRecorder.Write(b)
}

func TestClosingBreaksAnswersOff(t *testing.T) {
	const query = "?dimensions=hour,app,campaign,country_code,creative&metrics=installs,cost" +
		"&date_period=2026-01-01:2026-03-14"
	for _, path := range []string{"csv_report", "report", "parquet_report", "bulk"} {
		o := emulator.Options{Now: emutest.AtNoon, Apps: 12}
		if path == "bulk" {
			path, o.Bulk = "csv_report", 100_000
		}
		s := emutest.Open(t, o)
		r := httptest.NewRequest(http.MethodGet, "/reports-service/"+path+query, nil)
		r.Header.Set("Authorization", "Bearer x")
		w := &closer{ResponseRecorder: httptest.NewRecorder(), s: s}
		func() {
			defer func() {
				if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
					t.Errorf("%s, bulk %d: closing left an answer of %d bytes, status %d, that ended with %v", path,
						o.Bulk, w.Body.Len(), w.Code, err)
				}
			}()
			s.ServeHTTP(w, r)
		}()
	}
}
