package see

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/blobsink"
)

// What a person pastes reaches DuckDB as the SQL that was meant, whatever a folder is called.
func TestShellEscapes(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for folder, want := range map[string]string{
		"out": "FROM read_parquet('out/days/dt=*/part-0.parquet',\n  hive_partitioning=true, " +
			"union_by_name=true)",
		"it's `date`": "FROM read_parquet('it''s `date`/days/dt=*/part-0.parquet',\n  hive_partitioning=true, " +
			"union_by_name=true)",
		`$HOME "a" \b, h`: "FROM read_parquet('$HOME \"a\" \\b, h/days/dt=*/part-0.parquet',\n  " +
			"hive_partitioning=true, union_by_name=true)",
	} {
		at, command := readFiles(filepath.Join(dir, folder) + "/days/dt=*/part-0.parquet")
		if at != folder+"/days" {
			t.Errorf("%s: it is in %s", folder, at)
		}
		line, found := strings.CutPrefix(command, "duckdb -c ")
		got, err := exec.Command("sh", "-c", "printf %s "+line).Output()
		if err != nil || !found || string(got) != want {
			t.Errorf("%s: %s %v, want %s", folder, got, err, want)
		}
	}
}

func TestReadCommand(t *testing.T) {
	t.Chdir(t.TempDir())
	open := func(rawURL string) sinks.Sink {
		sink, err := blobsink.Open(t.Context(), rawURL)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = sink.Close() }) // nothing was put
		return sink
	}
	for _, c := range []struct {
		target           ledger.Target
		table, at, reads string
	}{
		{ledger.Target{Sink: open("file://./a/b?key={table}/{date}.parquet")}, "days", "a/b/days",
			"'a/b/days/*.parquet'"},
		{ledger.Target{Sink: open("s3://bucket/p?region=eu-west-1")}, "days", "s3://bucket/p/days",
			"'s3://bucket/p/days/dt=*/part-0.parquet',\n  hive_partitioning=true, union_by_name=true)\"\n(DuckDB " +
				"needs"},
		{ledger.Target{Name: "bigquery://my-project/adjust"}, "days", "my-project:adjust.days",
			"bq head -n 10 my-project:adjust.days"},
		{ledger.Target{Name: "other://x"}, "days", "other://x", ""},
	} {
		at, command := readCommand(c.target, c.table)
		if at != c.at || !strings.Contains(command, c.reads) {
			t.Errorf("%s: %s, %s", c.at, at, command)
		}
	}
}
