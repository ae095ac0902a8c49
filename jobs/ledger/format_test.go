package ledger

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// testdata/v1 is a ledger that an earlier version of the program wrote, before its packages were parted. What it says is
// read, and writing it again gives the same keys and bytes: ledgers outlive versions.
func TestAnOldLedgerIsRead(t *testing.T) {
	dir := t.TempDir()
	check(t, os.CopyFS(dir, os.DirFS("testdata/v1")))
	l, err := openURL(t.Context(), "file://"+dir)
	check(t, err)
	defer func() { check(t, l.Close()) }()
	table := openTable(t, l)
	var got []string
	for _, r := range table.Sorted() {
		got = append(got, r.Partition.String()[8:]+" "+string(r.State))
		r.After = 0 // that version had no such field: it was the number before
		check(t, sameFile(entryKey("installs", r.Partition, r.Seq), r))
	}
	if want := "[04 written 05 written 06 written 07 written 08 publishing 09 empty]"; want != fmt.Sprint(got) {
		t.Errorf("read %v", got)
	}
	if r, _ := table.Record(date("2026-01-08")); r.Seq != 2 || r.Rows != 8 || r.Receipts[0].Version != "17" || r.Segment != 1 {
		t.Errorf("a record: %+v", r)
	}
	shapes, err := table.Shapes(t.Context())
	check(t, err)
	for id, s := range shapes {
		check(t, sameFile("tables/installs/shapes/"+id+".json", s))
	}
	last, known, err := table.LastShape(t.Context())
	check(t, err)
	if !known || len(shapes) != 2 || len(last.Columns) != 3 || last.Columns[2].Event != "name Buy" {
		t.Errorf("shapes: %v, the last is %+v", shapes, last)
	}
	var folded []Record
	check(t, l.read(t.Context(), segmentKey("installs", 1), &folded))
	check(t, sameFile(segmentKey("installs", 1), folded))

	history, err := table.History(t.Context(), date("2026-01-03"), date("2026-01-04"))
	check(t, err)
	if len(history) != 1 || !history[0].Moved || history[0].Raw == nil || history[0].Control.Say() != "cost 211.12 by the service's total, 69.96 in the rows; missing in app_token abc123" {
		t.Errorf("history: %+v", history)
	}
	_, month, err := table.month(t.Context(), "2026-01")
	check(t, err)
	check(t, sameFile("tables/installs/history/2026-01/000003.json", month))

	past, err := l.Past(t.Context(), 10)
	check(t, err)
	if at := past.SuccessOf("other"); at == nil || !at.Equal(time.Date(2026, 1, 10, 4, 31, 0, 0, time.UTC)) || past.SuccessOf("installs") != nil {
		t.Errorf("successes: %v", past.Success)
	}
	if len(past.Runs) != 1 || past.Runs[0].Results[0].Failures[0].Error != "504" {
		t.Fatalf("runs: %+v", past.Runs)
	}
	check(t, sameFile(runKey(past.Runs[0].ID), past.Runs[0]))

	c, err := l.Claim(t.Context(), "installs", "2026-01-04", "run", time.Minute)
	check(t, err)
	if c.number != 8 {
		t.Errorf("a claim after number 7 has number %d", c.number)
	}
	check(t, c.Release(t.Context()))
}

// sameFile wants that content is written as the old ledger's file has it.
func sameFile(key string, content any) error {
	want, err := os.ReadFile(filepath.Join("testdata/v1", filepath.FromSlash(key)))
	if os.IsNotExist(err) {
		return nil // folded into the segment
	}
	if err != nil {
		return err
	}
	got, err := encodeObject(content)
	if err == nil && !bytes.Equal(got, want) {
		err = fmt.Errorf("%s is written otherwise now: %s", key, got)
	}
	return err
}
