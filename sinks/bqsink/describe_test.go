package bqsink

import (
	"fmt"
	"testing"
	"time"

	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/bqsink/bqtest"
)

type loadedRow struct {
	Day      int32   `parquet:"day,date"`
	Campaign string  `parquet:"campaign"`
	Loaded   *int64  `parquet:"_loaded_at,optional,timestamp(microsecond:utc)"`
	Run      *string `parquet:"_run,optional"`
}

// The descriptions of a table and of its columns say what numbers mean, also of columns that are
// added later. When rows were loaded is a TIMESTAMP.
func TestTableIsDescribed(t *testing.T) {
	server := newServer(t, bqtest.Options{})
	s := openOn(t, server, testURL)
	narrow := testSchema()
	narrow.About = &sinks.About{Text: "A report.", Job: "nightly"}
	narrow.Columns[2].Unit, narrow.Columns[2].Additive, narrow.Columns[2].Final = "count", "yes",
		"7 days after the period"
	p := testPart("2026-01-30", "run", "a")
	p.Schema = narrow
	mustPut(t, s, p)
	got := server.Tables()["proj.ds.installs"]
	if want := "Installs (count; additive: yes; final: 7 days after the period)"; got.Description != "A report." ||
		got.Schema.Fields[2].Description != want {
		t.Errorf("%q, %q; want %q", got.Description, got.Schema.Fields[2].Description, want)
	}

	loaded := testSchema()
	loaded.Columns = append(loaded.Columns[:2:2], sinks.Column{Name: "_loaded_at", Type: sinks.Instant,
		Description: "When"}, sinks.Column{Name: "_run", Type: sinks.String})
	at, run := time.Date(2026, 2, 1, 6, 0, 0, 5000, time.UTC).UnixMicro(), "run-2"
	day := int32(date("2026-01-31").In(time.UTC).Unix() / 86400)
	mustPut(t, s, filePart("2026-01-31", "run-2", loaded, []loadedRow{{day, "b", &at, &run}}))
	rows, err := server.Rows("proj.ds.installs")
	want := fmt.Sprintf("[[2026-01-30 a 1 1.5 0.25 ␀ ␀] [2026-01-31 b ␀ ␀ ␀ %d run-2]]", at)
	if err != nil || fmt.Sprint(rows) != want {
		t.Errorf("%v %v\nwant %s", rows, err, want)
	}
	if f := server.Tables()["proj.ds.installs"].Schema.Fields[5]; f.Name != "_loaded_at" || f.Type != "TIMESTAMP" ||
		f.Description != "When" {
		t.Errorf("%+v", f)
	}
}
