package bqtest

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cloud.google.com/go/bigquery"
	"google.golang.org/api/googleapi"
)

// manyInstalls is a file of several chunks of 256 KiB.
func manyInstalls(t *testing.T) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	rows := make([]install, 700)
	for i := range rows {
		app := make([]byte, 900) // not the same in every row, or Parquet writes it once
		for j := range app {
			app[j] = byte('a' + random.IntN(26))
		}
		rows[i] = install{"2026-01-01", string(app), i, "1", float64(i) / 7}
	}
	return installFile(t, rows...)
}

func TestEachWayOfUploadLandsTheSameRows(t *testing.T) {
	small := installFile(t, install{"2026-01-01", "a", 3, "1.500000", 0.25}, install{"2026-01-01", "b", nil, "", 2})
	large := manyInstalls(t)
	if len(large) < 2*chunkUnit {
		t.Fatalf("the large file has %d bytes", len(large))
	}
	for _, c := range []struct {
		name  string
		file  []byte
		chunk int
		rows  int64
		calls []string
	}{
		{"multipart", small, 0, 2, []string{"jobs.insert"}},
		{"multipart, large", large, 0, 700, []string{"jobs.insert"}},
		{"one chunk goes as multipart", small, 1 << 20, 2, []string{"jobs.insert"}},
		{"resumable", large, chunkUnit, 700, []string{"uploads.start", "uploads.chunk", "uploads.chunk",
			"jobs.insert"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, Options{})
			b.createInstalls()
			b.ForgetRequests()
			status := b.mustLoad(load{id: "one", to: "installs$20260101", file: c.file, chunk: c.chunk,
				schema: installSchema})
			details := status.Statistics.Details.(*bigquery.LoadStatistics)
			if details.OutputRows != c.rows || details.InputFiles != 1 ||
				details.InputFileBytes != int64(len(c.file)) || details.OutputBytes == 0 {
				t.Errorf("statistics %+v of %d rows, %d bytes", details, c.rows, len(c.file))
			}
			rows, err := b.Rows("p.d.installs$20260101")
			if err != nil || int64(len(rows)) != c.rows {
				t.Errorf("%d rows, %v", len(rows), err)
			}
			var calls []string
			for _, r := range b.Requests() {
				if r.Method != http.MethodGet {
					calls = append(calls, r.Call)
				}
				if r.Call == "jobs.insert" && (r.Job != "one" || !strings.Contains(string(r.Body),
					`"WRITE_TRUNCATE"`)) {
					t.Errorf("logged %+v", r)
				}
			}
			calls = slices.CompactFunc(calls, func(a, b string) bool { return a == b && a == "uploads.chunk" })
			want := slices.Compact(slices.Clone(c.calls))
			if !slices.Equal(calls, want) {
				t.Errorf("calls %v, want %v", calls, want)
			}
			if c.rows == 2 {
				b.wantRows("installs", "2026-01-01|a|3|1.5|0.25", "2026-01-01|b|␀|␀|2")
			}
		})
	}
}

// The client repeats a chunk by itself: the rows are there once, and one job.
func TestChunksThatAreLostAreRepeated(t *testing.T) {
	for _, f := range []Fault{
		{Call: "uploads.chunk", Kind: FaultStatus, Reason: "backendError"},
		{Call: "uploads.chunk", Kind: FaultLost},
		{Call: "uploads.chunk", Kind: FaultReset},
		{Call: "jobs.insert", Kind: FaultStatus, Status: 503},
		{Call: "jobs.insert", Kind: FaultLost},
		{Call: "jobs.insert", Kind: FaultReset},
	} {
		t.Run(f.Call+" "+string(f.Kind), func(t *testing.T) {
			b := newBench(t, Options{Faults: []Fault{f}})
			b.createInstalls()
			_, err := b.start(load{id: "one", to: "installs$20260101", file: manyInstalls(t), chunk: chunkUnit,
				schema: installSchema})
			if err != nil {
				t.Fatal(err)
			}
			if rows, err := b.Rows("p.d.installs"); err != nil || len(rows) != 700 || len(b.Jobs()) != 1 {
				t.Errorf("%d rows by %d jobs, %v", len(rows), len(b.Jobs()), err)
			}
			struck := 0
			for _, r := range b.Requests() {
				if r.Fault == f.Kind {
					struck++
				}
			}
			if struck != 1 {
				t.Errorf("the fault struck %d times", struck)
			}
		})
	}
}

// post is what no client of Google's sends.
func (b *bench) send(method, path string, header http.Header, body []byte) (int, string, http.Header) {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), method, b.url+path, bytes.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	if header != nil {
		r.Header = header
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil {
		b.Fatal(err)
	}
	return answer.StatusCode, string(text), answer.Header
}

func TestResumableSession(t *testing.T) {
	b := newBench(t, Options{})
	b.createInstalls()
	file := installFile(t, install{"2026-01-01", "a", 3, "1.5", 1})
	job := []byte(
		`{"jobReference":{"jobId":"one","location":"US"},"configuration":{"load":{"sourceFormat":"PARQUET","writeDisposition":"WRITE_TRUNCATE",
		"destinationTable":{"projectId":"p","datasetId":"d","tableId":"installs$20260101"}}}}`)
	status, _, header := b.send("POST", "/resumable/upload/bigquery/v2/projects/p/jobs?uploadType=resumable", nil, job)
	session := strings.TrimPrefix(header.Get("Location"), b.url)
	if status != 200 || session == "" {
		t.Fatalf("start: %d, Location %q", status, session)
	}
	ranged := func(r string) http.Header { return http.Header{"Content-Range": {r}} }
	for _, step := range []struct {
		name   string
		header http.Header
		body   []byte
		status int
		answer string // contained
		have   string // header Range
	}{
		{"how much is here", ranged("bytes */*"), nil, 308, "", ""},
		{"no such range", ranged("bytes 0-9/*"), []byte("abc"), 400, "isn't understood", ""},
		{"a gap", ranged("bytes 262144-262146/*"), []byte("abc"), 400, "0 bytes are here", ""},
		{"a crooked chunk", ranged("bytes 0-2/*"), []byte("abc"), 400, "multiple of 262144", ""},
		{"a chunk", ranged("bytes 0-262143/*"), bytes.Repeat([]byte("x"), chunkUnit), 308, "", "bytes=0-262143"},
		{"the same once more", ranged("bytes 0-262143/*"), bytes.Repeat([]byte("x"), chunkUnit), 308, "",
			"bytes=0-262143"},
		{"from the beginning, whole", ranged(rangeOf(file)), file, 200, `"one"`, ""},
		{"once more: the same answer, not 409", ranged(rangeOf(file)), file, 200, `"one"`, ""},
	} {
		status, answer, header := b.send("PUT", session, step.header, step.body)
		if status != step.status || !strings.Contains(answer, step.answer) || header.Get("Range") != step.have {
			t.Fatalf("%s: %d %s, Range %q", step.name, status, answer, header.Get("Range"))
		}
	}
	b.wantRows("installs", "2026-01-01|a|3|1.5|1")
	for _, bad := range []struct {
		method, path string
		header       http.Header
		status       int
	}{
		{"PUT", "/upload/bigquery/v2/projects/p/jobs?upload_id=unknown", nil, 404},
		{"POST", "/upload/bigquery/v2/projects/p/jobs?uploadType=media", nil, 400},
		{"DELETE", "/upload/bigquery/v2/projects/p/jobs", nil, 400},
		{"POST", "/upload/bigquery/v2/projects/p/jobs?uploadType=multipart",
			http.Header{"Content-Type": {"text/plain"}}, 400},
		{"POST", "/upload/bigquery/v2/projects/p/jobs?uploadType=multipart",
			http.Header{"Content-Type": {"multipart/related; boundary=x"}}, 400},
		{"GET", "/bigquery/v2/projects/p/routines", nil, 404},
	} {
		if status, answer, _ := b.send(bad.method, bad.path, bad.header, nil); status != bad.status ||
			!strings.Contains(answer, `"reason"`) {
			t.Errorf("%s %s: %d %s, want %d", bad.method, bad.path, status, answer, bad.status)
		}
	}
}

func rangeOf(file []byte) string {
	return "bytes 0-" + strconv.Itoa(len(file)-1) + "/" + strconv.Itoa(len(file))
}

// reasonOf is the status and reason of a refused call.
func reasonOf(err error) (int, string) {
	var refused *googleapi.Error
	if !errors.As(err, &refused) || len(refused.Errors) == 0 {
		return 0, ""
	}
	return refused.Code, refused.Errors[0].Reason
}
