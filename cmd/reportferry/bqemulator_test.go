//go:build bqemulator

package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigquery"
	"cloud.google.com/go/civil"
	"google.golang.org/api/iterator"
	"google.golang.org/api/option"
)

// The runs of this file ask somebody else's BigQuery (https://github.com/goccy/bigquery-emulator,
// whose SQL is analysed by Google's own parser) what our Parquet and our views are to it. bqtest is
// ours, and may share a mistake with the sink.
//
// That emulator takes table$20260130 for the name of a table, so the sink's load jobs are refused
// until the test has made tables of these names; and it gives no job statistics, so even then the
// run ends with the sink's refusal to call a partition put whose rows nobody counted. Both are
// asserted. For the views the same files are loaded by BigQuery's own client into the table that
// the sink made. Nothing is proven of partitions, of replacing, or of exactly once.
//
// It reads Parquet by parquet-go, which we write it with: arrow-go and DuckDB are asked elsewhere.
// It takes a decimal for a double and cuts that to nine decimals, so that from some four millions
// on the sixth decimal is followed by others: greater money is held against arrow-go, in
// internal/table.
const (
	noPartitions   = "` is not found" // `days$20260130`
	notCounted     = "doesn't say how many rows it wrote"
	nothingOfParts = "Table not found: `proj.ds.INFORMATION_SCHEMA.PARTITIONS`"
)

// An elsewhere is the emulator as a process, with an empty dataset.
type elsewhere struct {
	url    string
	client *bigquery.Client
}

func startElsewhere(t *testing.T) *elsewhere {
	t.Helper()
	const variable = "REPORTFERRY_BIGQUERY_EMULATOR"
	binary := os.Getenv(variable)
	if binary == "" {
		t.Fatalf("%s is not set; it names the program that is built in .ci/bqemulator by CGO_ENABLED=0 go build "+
			"github.com/goccy/bigquery-emulator/cmd/bigquery-emulator", variable)
	}
	ports := freePorts(t, 2)
	var said bytes.Buffer
	cmd := exec.Command(binary, "--host", "127.0.0.1", "--port", ports[0], "--grpc-port", ports[1], "--project", "proj",
		"--dataset", "ds")
	cmd.Stdout, cmd.Stderr = &said, &said
	began := time.Now()
	check(t, cmd.Start())
	t.Cleanup(func() {
		check(t, cmd.Process.Kill()) // it keeps nothing
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the emulator said: %s", said.String()[max(0, said.Len()-4000):])
		}
	})
	base := "http://127.0.0.1:" + ports[0]
	e := &elsewhere{url: "bigquery://proj/ds?endpoint=" + base}
	var err error
	e.client, err = bigquery.NewClient(context.Background(), "proj", option.WithEndpoint(base+"/bigquery/v2/"),
		option.WithoutAuthentication())
	check(t, err)
	t.Cleanup(func() { check(t, e.client.Close()) })
	for deadline := began.Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		res, err := http.Get(base + "/bigquery/v2/projects/proj/datasets/ds")
		if err == nil {
			check(t, res.Body.Close())
			if res.StatusCode == http.StatusOK {
				break
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("the emulator doesn't answer after two minutes: %v", err)
		}
	}
	t.Logf("the emulator answers after %v", time.Since(began).Round(time.Millisecond))
	return e
}

// freePorts are such that nobody listens on now.
func freePorts(t *testing.T, n int) (ports []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		check(t, err)
		defer func() { check(t, l.Close()) }() // all of them at the end, so that they differ
		_, port, err := net.SplitHostPort(l.Addr().String())
		check(t, err)
		ports = append(ports, port)
	}
	return ports
}

// query gives rows, sorted, in the text form of bqtest.Server.Rows, and the columns' types as the
// query's engine has them. (Listing a table's rows without a query is beyond that emulator: it
// gives the types back by the names that they were made under, such as FLOAT64, where BigQuery says
// FLOAT, and its own client knows no other.)
func (e *elsewhere) query(t *testing.T, sql string) (rows [][]string, types string) {
	t.Helper()
	found, err := e.client.Query(sql).Read(t.Context())
	check(t, err)
	return cells(t, found)
}

func cells(t *testing.T, found *bigquery.RowIterator) (rows [][]string, types string) {
	t.Helper()
	for {
		var values []bigquery.Value
		err := found.Next(&values)
		if errors.Is(err, iterator.Done) {
			break
		}
		check(t, err)
		row := make([]string, len(values))
		for i, v := range values {
			row[i] = cell(t, v)
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, slices.Compare)
	var names []string
	for _, f := range found.Schema {
		names = append(names, f.Name+" "+string(f.Type))
	}
	return rows, strings.Join(names, ", ")
}

func cell(t *testing.T, v bigquery.Value) string {
	t.Helper()
	switch v := v.(type) {
	case nil:
		return "NULL"
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case *big.Rat: // of NUMERIC, which has nine decimals
		return strings.TrimSuffix(strings.TrimRight(v.FloatString(9), "0"), ".")
	case civil.Date, civil.DateTime:
		return fmt.Sprint(v)
	}
	t.Fatalf("%T %v: of no type that a table has", v, v)
	return ""
}

// An answer is what the service says to one job: rows under a header, of which those of the days
// asked for are sent.
type scripted struct {
	header string
	rows   [][]string
}

// serveScripted is a service whose answers are written in the test, by the finest date that is
// asked for.
func serveScripted(t *testing.T, answers map[string]scripted) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		date, _, _ := strings.Cut(q.Get("dimensions"), ",")
		answer, ok := answers[date]
		if header := q.Get("dimensions") + "," + q.Get("metrics"); !ok || header != answer.header {
			http.Error(w, "no answer under "+header, http.StatusBadRequest)
			return
		}
		first, last, _ := strings.Cut(q.Get("date_period"), ":")
		w.Header().Set("Content-Type", "text/csv")
		out := csv.NewWriter(w)
		_ = out.Write(strings.Split(answer.header, ","))
		for _, row := range answer.rows {
			if day := row[0][:len(time.DateOnly)]; day >= first && day <= last {
				_ = out.Write(row)
			}
		}
		out.Flush() // the client finds out when it comes to nothing
	}))
	t.Cleanup(server.Close)
	return server.URL
}

const scriptedConfig = `
service: {base_url: %s, token: "${TEST_TOKEN}", attempts: 1}
ledger: file://%[2]s/ledger
spool_dir: %[2]s/spool
jobs:
  - {name: days, kind: report, sinks: [%[3]s], start: 2026-01-01, currency: USD, dimensions: [day, network, campaign], metrics: [installs, cost, ecpi_all, roas_d7]}
  - {name: hours, kind: report, sinks: [%[3]s], start: 2026-01-01, currency: USD, dimensions: [hour, network], metrics: [installs, cost]}
  - {name: weeks, kind: report, sinks: [%[3]s], start: 2026-01-01, currency: USD, dimensions: [week, network], metrics: [installs]}
`

// Every type with its hardest values: from the service's text through our Parquet to what a reader
// of the table gets.
func TestBigQueryEmulatorHasTheValues(t *testing.T) {
	e := startElsewhere(t)
	dir := t.TempDir()
	service := serveScripted(t, map[string]scripted{
		"day": {"day,network,campaign,installs,cost,ecpi_all,roas_d7", [][]string{
			{"2026-01-30", "", " ", "0", "0", "", ""},
			{"2026-01-30", "Ämter 東京 🛳", "a, \"b\"\n c", "9007199254740993", "-0.000001", "0.0000005", "0.1"},
			{"2026-01-30", "Ämter 東京 🛳", "z", "-9223372036854775808", "999999.999999", "-999999.999999",
				"-1.7976931348623157e308"},
			{"2026-01-31", "NULL", "null", "", "", "1.0000015", "5e-324"},
		}},
		"hour": {"hour,network,installs,cost", [][]string{
			{"2026-01-30T00:00:00", "a", "1", "0.5"}, {"2026-01-30T23:00:00", "a", "2", "-0.25"},
			// Clocks go back: both are kept.
			{"2026-01-30T02:00:00", "a", "3", ""}, {"2026-01-30T02:00:00", "a", "3", ""},
		}},
		"week": {"week,network,installs", [][]string{{"2026-01-25 - 2026-01-31", "a", "7"}}},
	})
	text := fmt.Sprintf(scriptedConfig, service, dir, `"file://`+dir+`/out", "`+e.url+`"`)
	check(t, os.WriteFile(filepath.Join(dir, "reportferry.yml"), []byte(text), 0o600))
	p := &place{t: t, dir: dir, token: "secret-token-of-the-test"}
	for _, c := range []struct {
		job, from, to, types string
		want                 map[string][][]string // by the table that the emulator makes of a partition
	}{
		{"days", "2026-01-30", "2026-01-31",
			"day DATE, network STRING, campaign STRING, installs INTEGER, cost NUMERIC, ecpi_all NUMERIC, roas_d7 " +
				"FLOAT", map[string][][]string{
				"days$20260130": {
					{"2026-01-30", "", " ", "0", "0", "NULL", "NULL"},
					// Half to even.
					{"2026-01-30", "Ämter 東京 🛳", "a, \"b\"\n c", "9007199254740993", "-0.000001", "0", "0.1"},
					{"2026-01-30", "Ämter 東京 🛳", "z", "-9223372036854775808", "999999.999999", "-999999.999999",
						"-1.7976931348623157e+308"},
				},
				"days$20260131": {{"2026-01-31", "NULL", "null", "NULL", "NULL", "1.000002", "5e-324"}},
			}},
		{"hours", "2026-01-30", "2026-01-30", "hour DATETIME, network STRING, installs INTEGER, cost NUMERIC",
			map[string][][]string{
				"hours$20260130": {
					{"2026-01-30T00:00:00", "a", "1", "0.5"}, {"2026-01-30T02:00:00", "a", "3", "NULL"},
					{"2026-01-30T02:00:00", "a", "3", "NULL"}, {"2026-01-30T23:00:00", "a", "2", "-0.25"},
				},
			}},
		{"weeks", "2026-01-25", "2026-01-31", "week DATE, network STRING, installs INTEGER", map[string][][]string{
			"weeks$20260125": {{"2026-01-25", "a", "7"}},
		}},
	} {
		fails := func(why string) {
			out, code := p.run("backfill", c.job, "--from", c.from, "--to", c.to)
			if code != 1 || strings.Count(out, why) < len(c.want) {
				t.Fatalf("%s: exit code %d, want 1 and of %d parts %q: %s", c.job, code, len(c.want), why, out)
			}
		}
		fails(noPartitions)
		made, err := e.client.Dataset("ds").Table(c.job).Metadata(t.Context())
		check(t, err)
		for table := range c.want {
			check(t, e.client.Dataset("ds").Table(table).Create(t.Context(),
				&bigquery.TableMetadata{Schema: made.Schema}))
		}
		fails(notCounted)
		for table, want := range c.want {
			got, types := e.query(t, "SELECT * FROM `proj.ds."+table+"`")
			if !slices.EqualFunc(got, want, slices.Equal) || types != c.types {
				t.Errorf("%s: %s\n%q, want %s\n%q", table, types, got, c.types, want)
			}
		}
	}
}

// The rows of the made-up account are those that the service gives, and so are the sums and ratios
// of the view.
func TestBigQueryEmulatorHasTheViews(t *testing.T) {
	const days = 3
	e := startElsewhere(t)
	s := startService(t, "--days", "30", "--apps", "3")
	p := newPlace(t, s, days, 1, living)
	p.edit(t, "sinks: [file://"+p.dir+"/out]", "sinks: [file://"+p.dir+"/out, \""+e.url+"\"]")
	out, code := p.run("run")
	if code != 1 || !strings.Contains(out, noPartitions) {
		t.Fatalf("exit code %d: %s", code, out)
	}
	files := p.files()
	if len(files) != days {
		t.Fatalf("%d files, want %d", len(files), days)
	}
	table := e.client.Dataset("ds").Table("installs")
	made, err := table.Metadata(t.Context())
	check(t, err)
	for _, data := range files {
		source := bigquery.NewReaderSource(strings.NewReader(data))
		source.SourceFormat, source.Schema = bigquery.Parquet, made.Schema
		load := table.LoaderFrom(source)
		load.CreateDisposition, load.DecimalTargetTypes = bigquery.CreateNever,
			[]bigquery.DecimalTargetType{bigquery.NumericTargetType}
		job, err := load.Run(t.Context())
		check(t, err)
		status, err := job.Wait(t.Context())
		check(t, err)
		check(t, status.Err())
	}
	today := civil.DateOf(time.Now().UTC())
	want := s.truth(t, today.AddDays(-days), today.AddDays(-1))
	got, _ := e.query(t, "SELECT * FROM `proj.ds.installs`")
	if len(got) < 200 || !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%d rows that aren't the %d of the service", len(got), len(want))
	}
	// Made once: where BigQuery answers 409 for a view that is there, the emulator speaks of an
	// error in the query.
	out, code = p.run("views", "installs", "--by", "network", "--apply")
	if code != 1 || !strings.Contains(out, "made proj.ds.installs_by_day_network") ||
		!strings.Contains(out, nothingOfParts) {
		t.Fatalf("exit code %d: %s", code, out)
	}
	e.freshness(t, out)
	got, types := e.query(t, "SELECT day, network, installs, clicks, ecpi_all FROM `proj.ds.installs_by_day_network`")
	want = s.grouped(t, "day,network", "installs,clicks,ecpi_all", today.AddDays(-days), today.AddDays(-1))
	slices.SortFunc(want, slices.Compare)
	if types != "day DATE, network STRING, installs INTEGER, clicks INTEGER, ecpi_all FLOAT" || len(want) < 10 ||
		len(got) != len(want) {
		t.Fatalf("%d rows of %s, want %d", len(got), types, len(want))
	}
	for i, row := range want {
		ecpi, err := strconv.ParseFloat(row[4], 64)
		check(t, err)
		value, err := strconv.ParseFloat(got[i][4], 64)
		if !slices.Equal(got[i][:4], row[:4]) || err != nil || math.Abs(value-ecpi) > 1e-9*max(1, ecpi) {
			t.Errorf("%q, want %q", got[i], row)
		}
	}
}

// freshness asks the view of how fresh tables are, with a table in place of what the emulator
// doesn't have (https://cloud.google.com/bigquery/docs/information-schema-partitions#schema).
func (e *elsewhere) freshness(t *testing.T, printed string) {
	t.Helper()
	e.query(t, `CREATE TABLE ds.known AS
		SELECT 'installs' AS table_name, '20260130' AS partition_id, 3 AS total_rows, TIMESTAMP '2026-02-01 06:00:00+00' AS last_modified_time
		UNION ALL SELECT 'installs', '20260131', 4, TIMESTAMP '2026-02-01 06:00:01+00'
		UNION ALL SELECT 'installs', '20260201', 0, TIMESTAMP_SUB(CURRENT_TIMESTAMP(), INTERVAL 90 MINUTE)
		UNION ALL SELECT 'sessions', CAST(NULL AS STRING), 0, TIMESTAMP '2026-02-01 06:00:00+00'
		UNION ALL SELECT '_reportferry_runs', CAST(NULL AS STRING), 9, TIMESTAMP '2026-02-01 06:00:00+00'`)
	_, sql, found := strings.Cut(printed, "VIEW `proj.ds._reportferry_freshness` AS\n")
	sql, _, whole := strings.Cut(sql, ";\n")
	if !found || !whole {
		t.Fatalf("no view of freshness in %s", printed)
	}
	sql = strings.Replace(sql, "proj.ds.INFORMATION_SCHEMA.PARTITIONS", "proj.ds.known", 1)
	got, types := e.query(t, "SELECT table_name, last_period, row_count, state, table_name = 'installs' AND "+
		"age_minutes NOT BETWEEN 89 AND 95 FROM ("+sql+")")
	want := [][]string{{"installs", "20260131", "7", "filled", "false"}, {"sessions", "NULL", "0", "empty", "false"}}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("freshness: %s\n%q, want\n%q", types, got, want)
	}
}
