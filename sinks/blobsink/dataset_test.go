package blobsink

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/sinks"
)

// describing is a part of a table that is described, in a file of some bytes.
func describing(table string, schema *sinks.Schema, warn func(error)) sinks.Part {
	return sinks.Part{
		Table: table, Partition: civil.Date{Year: 2026, Month: 1, Day: 31}, Rows: 1, Size: 4, Schema: schema,
		Warn: warn,
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("rows")), nil },
	}
}

func campaigns(unit string) *sinks.Schema {
	return &sinks.Schema{
		Period: "day", On: "day", About: &sinks.About{Text: "A <report>.", Job: "nightly", Currency: "USD",
			Zone: "UTC"},
		Columns: []sinks.Column{
			{Name: "day", Type: sinks.Date, Required: true, Description: "Day"},
			{Name: "cost", Type: sinks.Decimal, Unit: unit, Additive: "yes", Final: "14 days after the period"},
			{Name: "_loaded_at", Type: sinks.Instant},
		},
	}
}

// What a table is lies beside its folder, whatever the layout is, and no reader of the folder finds
// it.
func TestDatasetLiesBesideTheTable(t *testing.T) {
	for layout, want := range map[string][2]string{
		"":                              {"campaigns.dataset.json", "campaigns/dt=*/part-0.parquet"},
		"v2/{table}/{date}.parquet":     {"v2/campaigns.dataset.json", "campaigns/*.parquet"},
		"{date}/{table}.parquet":        {"campaigns.dataset.json", "*/campaigns.parquet"},
		"lake/t-{table}-{date}.parquet": {"lake/t-campaigns.dataset.json", "t-campaigns-*.parquet"},
	} {
		dir, rawURL := t.TempDir(), ""
		if rawURL = "file://" + dir; layout != "" {
			rawURL += "?key=" + layout
		}
		s := mustOpen(t, rawURL).(*Sink)
		if _, err := s.Put(t.Context(), describing("campaigns", campaigns("money"), failing(t))); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, want[0]))
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(text, &got); err != nil || got["files"] != want[1] || got["currency"] != "USD" ||
			got["about"] != "A <report>." {
			t.Errorf("%s: %s %v", layout, text, err)
		}
		if column := got["columns"].([]any)[1].(map[string]any); column["type"] != "DECIMAL(18,6)" ||
			column["unit"] != "money" || column["nullable"] != true {
			t.Errorf("%v", column)
		}
		if objects, err := s.List(t.Context(), "campaigns"); err != nil || len(objects) != 1 {
			t.Errorf("%s: listed %v %v, want the part alone", layout, objects, err)
		}
	}
}

func failing(t *testing.T) func(error) {
	return func(err error) { t.Errorf("warned: %v", err) }
}

// It is written when it is another text, by as many writers as there are, and stays alone
// otherwise. A part of a table that nobody describes has none.
func TestDatasetIsWrittenWhenItChanges(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "campaigns.dataset.json")
	stat := func() os.FileInfo {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	var wg sync.WaitGroup
	for range 8 {
		s := mustOpen(t, "file://"+dir)
		wg.Go(func() {
			p := describing("campaigns", campaigns("money"), failing(t))
			if _, err := s.Put(t.Context(), p); err != nil && !errors.Is(err, sinks.ErrConflict) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	put := func(schema *sinks.Schema) {
		t.Helper()
		if _, err := mustOpen(t, "file://"+dir).Put(t.Context(), describing("campaigns", schema, failing(t))); err !=
			nil {
			t.Fatal(err)
		}
	}
	put(campaigns("money"))
	if !stat().ModTime().Equal(old) {
		t.Error("the same text was written again")
	}
	put(campaigns("euros"))
	if text, err := os.ReadFile(path); err != nil || !bytes.Contains(text, []byte(`"unit": "euros"`)) {
		t.Errorf("%s %v", text, err)
	}
	put(nil)
	put(&sinks.Schema{Period: "day"})
	if _, err := mustOpen(t, "file://"+dir).Put(t.Context(), describing("others", &sinks.Schema{}, failing(t))); err !=
		nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
		t.Errorf("%v %v, want two folders and one file", entries, err)
	}
}

// What can't be described is there all the same, and somebody's own file stays. It is said once.
func TestDatasetFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "campaigns.dataset.json")
	if err := os.WriteFile(path, []byte(`{"mine": true}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var said []string
	s := mustOpen(t, "file://"+dir)
	for range 3 {
		if _, err := s.Put(t.Context(), describing("campaigns", campaigns("money"),
			func(err error) { said = append(said, err.Error()) })); err != nil {
			t.Fatal(err)
		}
	}
	if len(said) != 1 || !strings.Contains(said[0],
		"an object is there that reportferry didn't write; it stays; its rows are there all the same") {
		t.Errorf("said %q", said)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != `{"mine": true}` {
		t.Errorf("%s %v", text, err)
	}
}

// In a bucket it says what kind of text it is.
func TestDatasetInABucket(t *testing.T) {
	b := bucket.NewMemory()
	s := closing(t, newSink(b, "mem://", defaultKey))
	if _, err := s.Put(t.Context(), describing("campaigns", campaigns("money"), failing(t))); err != nil {
		t.Fatal(err)
	}
	if a, err := b.Blob().Attributes(t.Context(), "campaigns.dataset.json"); err != nil ||
		a.ContentType != "application/json" {
		t.Errorf("%+v %v", a, err)
	}
}

// That a table is of two meanings is said until it isn't, whatever is put meanwhile, and whoever
// else describes it at the same time. Somebody's own file stays, and what isn't described yet isn't
// by this.
func TestDatasetOfTwoMeanings(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "campaigns.dataset.json")
	s := mustOpen(t, "file://"+dir).(*Sink)
	says := func(when string, are bool) {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil || bytes.Contains(text, []byte(`"two_meanings": "a rebaseline isn't finished`)) != are {
			t.Errorf("%s: %s %v", when, text, err)
		}
	}
	mixed := func(are bool) {
		t.Helper()
		if err := s.Mixed(t.Context(), "campaigns", are); err != nil {
			t.Fatal(err)
		}
	}
	put := func(unit string) {
		t.Helper()
		p := describing("campaigns", campaigns(unit), failing(t))
		p.Partition = p.Partition.AddDays(len(unit))
		if _, err := mustOpen(t, "file://"+dir).Put(t.Context(), p); err != nil {
			t.Error(err)
		}
	}
	mixed(true)
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("a table that isn't there is described: %v", err)
	}
	put("money")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	says("at first", false)
	mixed(true)
	says("when a rebaseline begins", true)
	put("dollars")
	says("while it goes on", true)
	mixed(false)
	says("when it is done", false)
	put("money")
	if text, err := os.ReadFile(path); err != nil || !bytes.Equal(text, before) {
		t.Errorf("%s %v, want\n%s", text, err, before)
	}
	mixed(true)
	faster := 2
	if err := s.changeDataset(t.Context(), "campaigns.dataset.json", func(was dataset) dataset {
		if faster--; faster >= 0 {
			put(strings.Repeat("x", faster))
		}
		was.Mixed = ""
		return was
	}); err != nil {
		t.Error(err)
	}
	says("after others, who were faster", false)
	if err := os.WriteFile(path, []byte(`{"mine": true}`), 0o600); err != nil {
		t.Fatal(err)
	}
	mixed(false)
	if text, err := os.ReadFile(path); err != nil || string(text) != `{"mine": true}` {
		t.Errorf("%s %v", text, err)
	}
}
