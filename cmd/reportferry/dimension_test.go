package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/reportferry/reportferry/internal/slow"
)

const strangeDimension = `service: embedded
ledger: file://./ledger
jobs:
  - name: creatives
    kind: report
    sinks: [file://./out]
    start: -3d
    lookback: 0
    currency: USD
    dimensions: [day, network, creative_id]
    metrics: [installs, waus]
    filters: {creative_id__not_in: [unknown]}
`

// A dimension that the service knows and the catalogue doesn't fills a column of texts, and the
// warning says so. One that the service doesn't know either is refused by check and by run, also
// when only a filter names it.
func TestDimensionBeyondTheCatalogue(t *testing.T) {
	slow.Test(t)
	t.Chdir(t.TempDir())
	t.Setenv("REPORTFERRY_CONFIG", "")
	write := func(before, after string) {
		t.Helper()
		text := strings.Replace(strangeDimension, before, after, 1)
		if before != after && text == strangeDimension {
			t.Fatalf("the config has no %q", before)
		}
		check(t, os.WriteFile("reportferry.yml", []byte(text), 0o600))
	}
	says := func(code int, want, args string) {
		t.Helper()
		if got, out, errs := inProcess(t, args); got != code || !strings.Contains(unfolded(out+errs), want) {
			t.Errorf("%s: exit code %d, want %d with %q:\n%s%s", args, got, code, want, errs, out)
		}
	}
	write("", "")
	says(0, "the catalogue doesn't know creative_id; the service is asked for it", "plan")
	says(0, "creatives: ok, the service takes its 3 dimensions and 2 metrics", "check")
	says(0, "the catalogue doesn't know creative_id", "run")
	says(0, "all is up to date", "run")
	says(0, "no gaps", "status")
	says(0, "3 parts, as recorded", "check")

	names, err := filepath.Glob("out/creatives/*/*.parquet")
	check(t, err)
	if len(names) != 3 {
		t.Fatalf("parts: %q", names)
	}
	type row struct {
		Creative string `parquet:"creative_id"`
		Installs int64  `parquet:"installs"`
	}
	f, err := os.Open(names[0])
	check(t, err)
	defer f.Close() //nolint:errcheck // it was only read
	info, err := f.Stat()
	check(t, err)
	file, err := parquet.OpenFile(f, info.Size())
	check(t, err)
	column, found := file.Schema().Lookup("creative_id")
	if !found || column.Node.Type().String() != "STRING" || !column.Node.Required() {
		t.Errorf("the column creative_id is %v", column.Node)
	}
	rows, err := parquet.ReadFile[row](names[0])
	check(t, err)
	seen := map[string]bool{}
	for _, r := range rows {
		seen[r.Creative] = true
	}
	if len(seen) < 5 || seen["unknown"] || seen[""] {
		t.Errorf("creatives: %v", seen)
	}

	write("network, creative_id", "network, creative_id, adgroup_shade")
	says(2, "Unsupported dimension: adgroup_shade", "check")
	says(2, "dimensions was", "run")
	check(t, os.RemoveAll("ledger"))
	says(2, "that this ledger didn't put there", "run")
	check(t, os.RemoveAll("out"))
	says(1, "Unsupported dimension: adgroup_shade", "run")
	write("{creative_id__not_in: [unknown]}", "{adgroup_shade__in: [partner_34]}")
	says(2, "Unsupported dimension: adgroup_shade", "check")
	write("{creative_id__not_in: [unknown]}", "{shiny__gt: 5}")
	says(2, "the service refuses the metric shiny", "check")
	write("{creative_id__not_in: [unknown]}\n", "{creative_id__not_in: [unknown]}\n    types: {creative_id: string}\n")
	if code, out, errs := inProcess(t, "plan"); code != 0 || strings.Contains(out+errs, "catalogue") {
		t.Errorf("exit code %d: %s%s", code, errs, out)
	}
}
