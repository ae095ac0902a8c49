package main

import (
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/telemetry/collector"
)

// faultyNight is a night with a pause that the service asks for, a window that it is too slow for,
// and rows that it leaves out without a word.
const faultyNight = `[
	{"kind": "status", "status": 429, "retry_after": 1, "path": "csv_report", "query": "dimensions=day,app", "nth": 1},
	{"kind": "status", "status": 504, "path": "csv_report", "query": "dimensions=day,app", "min_days": 2, "nth": 2, "times": 2, "every": 1},
	{"kind": "drop_rows", "path": "csv_report", "query": "dimensions=day,app", "every_row": 3, "nth": 1, "every": 1}]`

// parentID is a span of whoever began the process, in the trace of the same line.
const parentID, traceID = "b7ad6b7169203331", "0af7651916cd43dd8448eb211c80319c"

// watched is a place whose steps are collected.
func watched(t *testing.T, s *service, days int) (*place, *collector.Collector) {
	p, c := newPlace(t, s, days, 1, racing), collector.Start(t)
	p.edit(t, "rate: 1000", "rate: 1000, burst: 1000") // what waits for the limiter depends on the machine
	p.env = []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_EXPORTER_OTLP_HEADERS=authorization=collectors-secret",
		"TRACEPARENT=00-" + traceID + "-" + parentID + "-01",
		"JOB_COMPLETION_INDEX=0", "REPORTFERRY_TASK_COUNT=1", "REPORTFERRY_EXECUTION=nightly-x7",
	}
	return p, c
}

// A faulty run is told in whole: every step below its parent, each retry and wait with its reason,
// and no secret in any of it.
func TestAFaultyRunIsATreeOfSteps(t *testing.T) {
	t.Parallel()
	s := startService(t)
	p, c := watched(t, s, 3)
	s.admin(t, http.MethodPut, "faults", json.RawMessage(faultyNight))
	p.edit(t, "start: -3d", "start: 2026-11-20")
	if out, code := p.run("backfill", "installs", "--from", "2026-11-20", "--to", "2026-11-21", "--log-format",
		"json"); code != 3 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	tree := c.Tree("error.type", "http.response.status_code", "http.request.resend_count", "reportferry.exit_code",
		"reportferry.state")
	// Whether an attempt waits there is a matter of the machine.
	golden(t, "trace", strings.ReplaceAll(tree, " [wait limiter]", ""))
	for _, span := range c.Spans() {
		if hex.EncodeToString(span.TraceId) != traceID || span.Name == "run" &&
			hex.EncodeToString(span.ParentSpanId) != parentID {
			t.Errorf("%s is in trace %x below %x", span.Name, span.TraceId, span.ParentSpanId)
		}
		if url := collector.Texts(span.Attributes)["url.full"]; span.Name == "GET" &&
			(!strings.HasPrefix(url, s.url) || strings.Contains(url, "?") && !strings.Contains(url, "REDACTED")) {
			t.Errorf("a request is said to go to %q", url)
		}
	}
	for key, want := range map[string]string{"service.name": "reportferry", "k8s.job.name": "nightly-x7",
		"reportferry.task.index": "0"} {
		if got := c.Resource()[key]; got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	for _, secret := range []string{p.token, "collectors-secret", "Purchase", "country_code"} {
		if strings.Contains(c.Raw(), secret) {
			t.Errorf("what was sent has %q", secret)
		}
	}
}

// A process that ends sends the gauges of the ledger before, which are those that a scrape would
// have.
func TestAShortRunSendsTheGauges(t *testing.T) {
	t.Parallel()
	p, c := watched(t, startService(t), 3)
	out, code := p.run("run", "--log-format", "json")
	if code != 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	said := func(what string) int64 {
		n, err := strconv.ParseInt(regexp.MustCompile(`"job over".*"` + what + `":(\d+)`).FindStringSubmatch(out)[1],
			10, 64)
		check(t, err)
		return n
	}
	got := map[string]float64{}
	for name, m := range c.Metrics() {
		for _, point := range m.GetGauge().GetDataPoints() {
			if job := collector.Texts(point.Attributes)["job.name"]; job == "installs" || job == "" {
				got[name] = point.GetAsDouble()
			}
		}
	}
	if age := got["reportferry.table.freshness"]; age <= 0 || age > 2*24*3600 ||
		got["reportferry.job.last_success.timestamp"] < 1.7e9 {
		t.Errorf("the gauges are %v", got)
	}
	delete(got, "reportferry.table.freshness")
	delete(got, "reportferry.job.last_success.timestamp")
	want := map[string]float64{
		"reportferry.table.readable": 1, "reportferry.table.wrong_partitions": 0,
		"reportferry.table.missing_partitions": 0, "reportferry.table.due_partitions": 0,
		"reportferry.table.unreconciled_partitions": 0, "reportferry.table.held_back_partitions": 0,
		"reportferry.table.changed_after_final_partitions": 0, "reportferry.table.leased_partitions": 0,
		"reportferry.jobs.unlisted": 0,
	}
	if !maps.Equal(got, want) {
		t.Errorf("the gauges are %v, want %v", got, want)
	}
	for _, name := range []string{"http.client.request.duration", "reportferry.limiter.wait",
		"reportferry.convert.duration", "reportferry.put.duration", "reportferry.unit.duration"} {
		points := c.Metrics()[name].GetHistogram().GetDataPoints()
		if len(points) == 0 || c.Metrics()[name].GetUnit() != "s" {
			t.Errorf("%s has %d series in %q", name, len(points), c.Metrics()[name].GetUnit())
		}
		for _, point := range points {
			if job := collector.Texts(point.Attributes)["job.name"]; (job == "installs") !=
				(name == "reportferry.unit.duration") {
				t.Errorf("%s is told of job %q: only a unit's duration is, so that a scrape of many jobs stays small",
					name, job)
			}
		}
	}
	for name, want := range map[string]int64{"reportferry.requests": said("requests"), "reportferry.rows": said("rows"),
		"reportferry.io": said("csv_bytes") + said("parquet_bytes")} {
		var n int64
		for _, point := range c.Metrics()[name].GetSum().GetDataPoints() {
			n += point.GetAsInt()
		}
		if n != want {
			t.Errorf("%s is %d, want %d", name, n, want)
		}
	}
}

// A run that is interrupted, and one whose credential is refused, send what they have come to, and
// end as they would alone.
func TestRunsThatEndEarlySendTheirSteps(t *testing.T) {
	t.Parallel()
	s := startService(t)
	p, c := watched(t, s, 3)
	p.token = ""
	if out, code := p.run("run"); code != 2 && code != 5 {
		t.Errorf("without a token: exit %d\n%s", code, out)
	}
	if tree := c.Tree("error.type", "reportferry.exit_code"); !strings.HasPrefix(tree, "run error.type=") {
		t.Errorf("without a token:\n%s", tree)
	}
	p, c = watched(t, s, 3)
	s.admin(t, http.MethodPut, "faults",
		json.RawMessage(`[{"kind": "slow", "delay": "30s", "path": "csv_report", "every": 1}]`))
	cmd, out := p.command(t.Context(), "run")
	check(t, cmd.Start())
	asked := func() bool {
		return slices.ContainsFunc(s.requests(t), func(r emulator.Request) bool {
			return strings.HasSuffix(r.Path,
				"csv_report")
		})
	}
	waitFor(nil, asked, 0)
	check(t, cmd.Process.Signal(os.Interrupt))
	_ = cmd.Wait()
	tree := c.Tree("error.type", "reportferry.exit_code", "reportferry.stopped")
	if code := cmd.ProcessState.ExitCode(); code != 130 || !strings.HasPrefix(tree,
		"run reportferry.exit_code=130 reportferry.stopped=true\n") || strings.Contains(tree, "ERROR") {
		t.Errorf("exit %d\n%s\n%s", code, out, tree)
	}
}
