package main

import (
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/reportferry/reportferry/internal/slow"
)

// Every file of a config with parquet: {pages: v1} has data pages of that version, those of the
// tables of state too, and those without the key of the other.
func TestPagesOfEveryFile(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := startService(t, "--days", "30", "--apps", "1")
	for text, first := range map[string]bool{"service:": false, "parquet: {pages: v1}\nservice:": true} {
		p := newPlace(t, s, 3, 2, living)
		p.edit(t, "service:", text)
		if out, code := p.run("run"); code != 0 {
			t.Fatalf("exit code %d: %s", code, out)
		}
		for _, pattern := range []string{"out/installs/dt=*/part-0.parquet",
			"out/_reportferry_partitions/table=installs/dt=*/part-0.parquet"} {
			paths, err := filepath.Glob(filepath.Join(p.dir, pattern))
			check(t, err)
			if len(paths) == 0 {
				t.Fatalf("no files of %s", pattern)
			}
			for _, path := range paths {
				if got := pagesOf(t, path); got != first {
					t.Errorf("%s: pages of version 1: %t, want %t", path, got, first)
				}
			}
		}
	}
}

// pagesOf tells whether the first data page of a file is of version 1.
func pagesOf(t *testing.T, path string) bool {
	t.Helper()
	f, err := file.OpenParquetFile(path, false)
	check(t, err)
	defer func() { check(t, f.Close()) }()
	pages, err := f.RowGroup(0).GetColumnPageReader(0)
	check(t, err)
	for pages.Next() {
		if _, is := pages.Page().(*file.DataPageV1); is {
			return true
		}
		if _, is := pages.Page().(*file.DataPageV2); is {
			return false
		}
	}
	t.Fatalf("%s has no data page: %v", path, pages.Err())
	return false
}
