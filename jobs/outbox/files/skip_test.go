package files

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

var spendLike = Mapping{Fields: []Field{{Name: "id", ID: true}, {Name: "amount", Number: true}, {Name: "campaign"}}}

// rowsOf is what came of each row: its values, "skipped: " and the reason, or "refused: " and the
// reason.
func rowsOf(t *testing.T, m Mapping, data []byte) (rows []string, err error) {
	t.Helper()
	err = Read(t.Context(), bytes.NewReader(data), m, t.TempDir(), func([]string, Understanding) {},
		func(l *Row) error {
			switch {
			case l.Skipped != "":
				rows = append(rows, "skipped: "+l.Skipped)
			case l.Refused != nil:
				rows = append(rows, "refused: "+l.Refused.Error())
			default:
				rows = append(rows, strings.Join(l.Values, "|"))
			}
			return nil
		})
	return rows, err
}

// Rows of totals, notes and empty rows are no records, wherever they stand. What may be a record
// that is written wrongly is one.
func TestSkipped(t *testing.T) {
	const total, note, empty = "skipped: is a row of totals", "skipped: is a note", "skipped: is empty"
	for _, c := range []struct{ row, want string }{
		{"a-1,1.25,summer", "a-1|1.25|summer"},
		{",,", empty}, {" ,\t,\u00a0", empty}, {"--,--,--", empty},
		{"id,amount,campaign", "skipped: repeats the names"},
		{"Total,7.00,", total}, {"TOTAL: 5 clicks,7.00,", total}, {"Grand total,7,", total}, {"total:,7,", total},
		{"Totals (2 rows),7,", total},
		{"Gesamt,7,", total}, {"Summe:,7,", total}, {"Total général,7,", total}, {"合計,7,", total}, {"Итого,7,", total},
		{",7,Total", "|7|Total"}, // the first cell that isn't absent is an amount
		{"--,,Total: Account", total},
		{"Total", total}, {"Total,7", total},
		{"total-1,7,summer", "total-1|7|summer"}, {"Totally,7,summer", "Totally|7|summer"},
		{"total:1,7,x", "total:1|7|x"}, {"sum_1,7,x", "sum_1|7|x"},
		{"© 2026 Example Corporation. All rights reserved.", note}, {"Generated on 2026-11-24,,", note},
		{`"Times are in UTC, amounts in EUR"`, note}, {"All figures are estimates, and may change", note},
		{"a-1", "refused: has 1 cells, the names are 3"}, {"a-1,,", "a-1||"},
		{"a-1,1.25", "refused: has 2 cells, the names are 3"},
		{"a 1,1.25", "refused: has 2 cells, the names are 3"}, {"a 1,1.25,", "a 1|1.25|"},
		{"a 1,,summer", "a 1||summer"},
		{",1.25,", "|1.25|"}, {",,summer sale", note}, {"a-1,1,2,3", "refused: has 4 cells, the names are 3"},
		{`Total "all",7`, `refused: line 2 has a quote in the wrong place`},
	} {
		got, err := rowsOf(t, spendLike, []byte("id,amount,campaign\n"+c.row+"\nb-2,1,y\n"))
		if err != nil || len(got) != 2 || got[0] != c.want || got[1] != "b-2|1|y" {
			t.Errorf("%q: %q, %v; want %q", c.row, got, err, c.want)
		}
	}
	// The ID isn't in the first column.
	other := "campaign,id,amount\n"
	for row, want := range map[string]string{
		"Total: Campaigns,--,7": total, "Total recall,a-1,7": "a-1|7|Total recall", "Totals,Total,7": total,
		"summer sale,a-1":  "refused: has 2 cells, the names are 3",
		"Total recall,a-1": "refused: has 2 cells, the names are 3",
		"Nov 1, 2026":      "refused: has 2 cells, the names are 3", "summer sale,,7": "|7|summer sale",
	} {
		if got, err := rowsOf(t, spendLike, []byte(other+row+"\n")); err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%q: %q, %v; want %q", row, got, err, want)
		}
	}
	// Of JSON the ID alone tells, and with a constant amount a row that has nothing but an ID is a
	// record.
	for text, want := range map[string]string{
		`{"id":"Total","amount":7,"campaign":"x"}`: total, `{"id":"","amount":7,"campaign":"x"}`: "|7|x", `{}`: "||",
		`{"campaign":"two words"}`: "||two words",
	} {
		if got, err := rowsOf(t, spendLike, []byte(text+"\n")); err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
	constant := spendLike
	constant.Constants = map[string]string{"amount": "1"}
	if got, err := rowsOf(t, constant, []byte("id,campaign\na 1,\n")); err != nil || fmt.Sprint(got) != "[a 1|1|]" {
		t.Errorf("a constant amount: %q, %v", got, err)
	}
}
