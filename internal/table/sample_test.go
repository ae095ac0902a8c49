//go:build !fuzz

package table

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/slow"
)

var sample = flag.String("sample", "", "folder to leave money.parquet in, for readers outside of Go")

// A file of negative and positive money in many row groups, whose statistics let a reader skip most
// of them: arrow-go holds them against the values here, and other readers are asked with filters on
// the kept file.
func TestSampleOfMoney(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	columns := []Column{
		{Name: "day", Source: "day", Type: catalog.Day, Dimension: true},
		{Name: "money", Source: "money", Type: catalog.Decimal},
		{Name: "maybe", Source: "maybe", Type: catalog.Decimal},
	}
	var csv strings.Builder
	csv.WriteString("day,money,maybe\n")
	const rows = 300_000
	for i := range rows {
		money := fmt.Sprintf("%d.%06d", i*7-rows*3, i%1_000_000) // ascending: each row group holds a range of its own
		maybe := money
		switch {
		case i%3 == 0:
			maybe = ""
		case i%1000 == 1:
			maybe = "-12.345678"
		case i == 200_000:
			maybe = "999999999999.999999"
		case i == 100_000:
			maybe = "-999999999999.999999"
		}
		fmt.Fprintf(&csv, "2026-01-01,%s,%s\n", money, maybe)
	}
	conv, err := New(Options{
		Columns: columns, Partitions: []civil.Date{{Year: 2026, Month: 1, Day: 1}}, Dir: t.TempDir(),
		Budget: NewBudget(1 << 20),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer conv.Abort()
	if err := conv.Read(t.Context(), strings.NewReader(csv.String())); err != nil {
		t.Fatal(err)
	}
	parts, err := conv.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if r := readPart(t, parts[0], columns); r.rowGroups < 5 || len(r.rows) != rows {
		t.Errorf("%d row groups of %d rows: too few to skip any", r.rowGroups, len(r.rows))
	}
	if *sample == "" {
		return
	}
	data, err := os.ReadFile(parts[0].Path)
	if err == nil {
		err = os.MkdirAll(*sample, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(*sample, "money.parquet"), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
