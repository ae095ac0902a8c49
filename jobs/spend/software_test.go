package spend

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/reportferry/reportferry/jobs/outbox/files"
)

// The files of testdata/sheets hold the same table, as openpyxl 3.1 (once with days counted from
// 1904), XlsxWriter 3.2 and LibreOffice 7.4 write it: numbers and days as numbers, texts once in
// the file and once among the shared strings.
func TestSheetsOfRealSoftware(t *testing.T) {
	at := func(month time.Month, day, hour, minute, second int) time.Time {
		return time.Date(2026, month, day, hour, minute, second, 0, time.UTC)
	}
	want := []Cost{
		{Type: "cpi", Currency: "eur", Amount: "12.5", CostID: "click-000000000001", Tag: "Müller & Söhne",
			Engaged: at(1, 31, 8, 30, 0)},
		{Type: "cpc", Currency: "eur", Amount: "0.25", CostID: "click-000000000002", Tag: `a;b "c"`,
			Engaged: at(2, 1, 0, 0, 0)},
		{Type: "cpm", Currency: "eur", Amount: "1234.56", CostID: "click-000000000003", Tag: "Größe ≥ 3",
			Engaged: at(2, 28, 23, 59, 59)},
	}
	columns := map[string]string{
		"cost_id": "Klick-ID", "cost_type": "Kostenart", "cost_currency": "Währung", "cost_amount": "Kosten",
		"tag": "Kampagne", "engaged_at": "Zeit",
	}
	names, err := filepath.Glob("testdata/sheets/*.xlsx")
	if err != nil || len(names) != 4 {
		t.Fatalf("%d files, want 4: %v", len(names), err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, decimal := range []rune{0, ',', '.'} { // a number in a cell has no separator that could be mistaken
			o := readIn(t, data, mapping(columns, nil, files.Format{Decimal: decimal, Zone: time.UTC}), time.UTC)
			if o.err != nil || len(o.refused) > 0 || fmt.Sprint(o.records) != fmt.Sprint(want) {
				t.Errorf("%s: %+v,\nwant %+v; refused %q; %v", name, o.records, want, o.refused, o.err)
			}
		}
	}
}
