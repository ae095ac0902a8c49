package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var serviceBlock = regexp.MustCompile(`(?s)service:\n.*?\nledger:`)

// What spend init finds in files, and the configs that it makes of them. A config of which all is
// mapped is one that pushes.
func TestSpendInit(t *testing.T) {
	dir := t.TempDir()
	sheet, err := os.ReadFile("../../jobs/spend/testdata/sheets/openpyxl.xlsx")
	check(t, err)
	t.Chdir(dir)
	check(t, os.WriteFile("partner.xlsx", sheet, 0o600))
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(10*365*24*time.Hour + 7*time.Hour) // a morning of 2009-12-29
		partner := spendFileOf(t, 1, 41)
		check(t, os.MkdirAll("in", 0o755))
		check(t, os.WriteFile("in/2009-12-29.csv",
			[]byte(strings.Replace(partner, "click_id,cost_currency,spend,click_time",
				"Click ID,Currency,Campaign cost,Date/Time", 1)), 0o600))
		check(t, os.WriteFile("partner.csv", []byte("Klick-ID;Kosten "+
			"(EUR);Datum;Abrechnungsart;Ausgaben\nclick-000000001;1,25;31.01.2026 08:00;Festpreis;2\n"), 0o600))
		for _, s := range []struct {
			name, args string
			code       int
		}{
			{"cost_type is missing (what is paid for); give it by --cost-type cpc, or cpi, cpe or cpm. The columns " +
				"are Click ID", "spend init in/2009-12-29.csv --out spend.yml", 2},
			{"init-file", "spend init in/2009-12-29.csv --out spend.yml --cost-type cpi --job nightly --key " +
				"ADJUST_TOKEN", 0},
			{"spend.yml is there already, and isn't written over", "spend init partner.csv --out spend.yml", 2},
			{"look at nothing.csv: ", "spend init nothing.csv", 2},
			{"init", "spend init partner.csv --cost-type=cpi", 0},
			{`none of its columns is "Click"; it has Klick-ID, Kosten (EUR), Datum, Abrechnungsart, Ausgaben`,
				"spend init partner.csv --column cost_id=Click", 2},
			{`column "Abrechnungsart" can't be cost_amount: of 1 cells 1 can't be sent; the first isn't a plain decimal`, "spend init partner.csv --column cost_amount=Abrechnungsart", 2},
			{"--column cost=x: want a field and its value", "spend init partner.csv --column cost=x", 2},
			{"--constant: tag is said twice", "spend init partner.csv --tag a --constant tag=b", 2},
			{"cost_amount is taken from column",
				"spend init partner.csv --column cost_amount=Ausgaben --constant cost_amount=1", 2},
			{`cost_type "cpa"; allowed: cpc, cpi, cpe, cpm`, "spend init partner.csv --cost-type cpa", 2},
			{"init-sheet", "spend init partner.xlsx", 0},
		} {
			var out, err bytes.Buffer
			if code := execute(t.Context(), strings.Fields(s.args), &out, &err); code != s.code {
				t.Errorf("%s: exit code %d, want %d: %s%s", s.args, code, s.code, &out, &err)
			}
			if said := out.String() + err.String(); s.code == 0 {
				golden(t, "spend-"+s.name, "$ reportferry "+wrapped(s.args)+said)
			} else if !strings.Contains(said, s.name) {
				t.Errorf("%s says %q", s.args, said)
			}
		}
		text, err := os.ReadFile("spend.yml")
		check(t, err)
		golden(t, "spend-init-config", string(text))

		said := serviceBlock.ReplaceAllString(string(text), "service: embedded\nledger:")
		check(t, os.WriteFile("spend.yml", []byte(said), 0o600))
		for _, args := range []string{"spend check --config spend.yml",
			"spend check --config spend.yml in/2009-12-29.csv", "spend push --config spend.yml in/2009-12-29.csv"} {
			var out bytes.Buffer
			if code := execute(t.Context(), strings.Fields(args), &out, &out); code != 0 {
				t.Errorf("%s: exit code %d: %s", args, code, &out)
			}
			if strings.Contains(args, "push") && !strings.Contains(out.String(), fmt.Sprintf("rows        %d\n", 40)) {
				t.Errorf("%s: %s", args, &out)
			}
		}
	})
}
