package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/text/encoding/charmap"
)

// What a partner in Germany sends is told beside what it was taken for, and adds up to what a push
// then records.
func TestSpendReadText(t *testing.T) {
	t.Chdir(t.TempDir())
	check(t, os.WriteFile("reportferry.yml", []byte(`
service: embedded
ledger: file://./ledger
jobs:
  - name: partner_spend
    kind: spend
    zone: Europe/Berlin
    source: file://./in/*.csv
    rejects: file://./rejects
    wait_until_quiet: 0
    columns: {cost_id: Klick-ID, cost_amount: Kosten, tag: Kampagne, engaged_at: Zeit}
    constants: {cost_type: cpi, cost_currency: EUR}
    format: {encoding: windows-1252, decimal: comma, date: DD.MM.YYYY HH:mm}
`), 0o600))
	check(t, os.Mkdir("in", 0o700))
	for _, s := range []struct {
		name, args string
		code       int
	}{{"check", "spend check", 0}, {"push", "spend push", 0}, {"again", "spend check in/partner.csv", 0}} {
		t.Run(s.name, func(t *testing.T) {
			var out, err bytes.Buffer
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(10*365*24*time.Hour + 7*time.Hour)
				if s.name == "check" {
					text := "Klick-ID;Kampagne;Kosten;Zeit\r\n"
					for i := range 4 {
						text += fmt.Sprintf("click-number-%d;Frühling;%d,5;%s 0%d:15\r\n", i, i,
							time.Now().AddDate(0, 0, -i/2).Format("02.01.2006"), i)
					}
					data, err := charmap.Windows1252.NewEncoder().Bytes([]byte(text))
					check(t, err)
					check(t, os.WriteFile("in/partner.csv", data, 0o600))
					check(t, os.Chtimes("in/partner.csv", time.Now(), time.Now()))
				}
				if code := execute(t.Context(), strings.Fields(s.args), &out, &err); code != s.code {
					t.Errorf("exit code %d, want %d", code, s.code)
				}
			})
			golden(t, "spend-read-"+s.name, "$ reportferry "+wrapped(s.args)+steady(err.String()+out.String()))
		})
	}
}
