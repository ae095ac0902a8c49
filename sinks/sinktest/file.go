package sinktest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"cloud.google.com/go/civil"
	"github.com/parquet-go/parquet-go"

	"github.com/reportferry/reportferry/sinks"
)

// Date returns the date of a text such as 2026-01-31.
func Date(text string) civil.Date {
	d, err := civil.ParseDate(text)
	if err != nil {
		panic(err)
	}
	return d
}

// InMemory is a part's file in memory.
type InMemory struct{ *bytes.Reader }

// Close implements io.Closer for sinks, and does nothing.
func (InMemory) Close() error { return nil }

// FilePart returns a part of the table installs with these rows, whose fields are its columns.
func FilePart[R any](day string, schema *sinks.Schema, rows []R, options ...parquet.WriterOption) sinks.Part {
	var b bytes.Buffer
	if err := parquet.Write(&b, rows, append(options, parquet.KeyValueMetadata(sinks.FingerprintKey, "f1"))...); err !=
		nil {
		panic(err)
	}
	return sinks.Part{
		Table: "installs", Partition: Date(day), Rows: int64(len(rows)), Size: int64(b.Len()), Run: "run",
		Schema: schema,
		Hash:   fmt.Sprintf("%x", sha256.Sum256(b.Bytes()))[:48],
		Open:   func() (io.ReadCloser, error) { return InMemory{bytes.NewReader(b.Bytes())}, nil },
	}
}

// Golden compares a text with testdata/{name}.golden. With update it writes the text there first.
func Golden(t testing.TB, name, got string, update bool) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if update {
		if err := os.WriteFile(file, []byte(got+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got+"\n" != string(want) {
		t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
	}
}
