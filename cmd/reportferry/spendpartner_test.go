package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding/charmap"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/internal/telemetry/collector"
)

const partnerConfig = `
service: {base_url: %s, cost_url: %s, token: "${TEST_TOKEN}", spend: {token: "${TEST_KEY}", parameter: partner_key}}
ledger: file://./ledger
jobs:
  - name: partner_text
    kind: spend
    source: file://./in/*.csv
    columns: {cost_id: Klick-ID, cost_type: Kostenart, cost_currency: Währung, cost_amount: Kosten, tag: Kampagne, engaged_at: Zeit}
    format: {encoding: windows-1252, separator: semicolon, decimal: comma, date: "DD.MM.YYYY HH:mm"}
    rejects: file://./rejects
    wait_until_quiet: 0
    rate: 1000
  - name: partner_sheet
    kind: spend
    source: file://./in/*.xlsx
    columns: {cost_id: Klick-ID, cost_type: Kostenart, cost_currency: Währung, cost_amount: Kosten, tag: Kampagne}
    rejects: file://./rejects
    wait_until_quiet: 0
    rate: 1000
`

// What partners send, a text with semicolons and decimal commas in Windows-1252 and a sheet that
// LibreOffice wrote, is in the service's books as they wrote it: each record once, with its
// umlauts.
func TestPartnersFilesArrive(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	// The key is in the address.
	s := startService(t, "--apps", "2", "--days", "10", "--reading", "spend-auth=parameter,spend-parameters=query")
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "reportferry.yml"), fmt.Appendf(nil, partnerConfig, s.url, s.url), 0o600))
	p := &place{t: t, dir: dir, token: "secret-token-of-the-test", env: []string{"TEST_KEY=" + spendKey}, service: s}
	steps := collector.Start(t)
	p.env = append(p.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+steps.URL)
	check(t, os.Mkdir(filepath.Join(dir, "in"), 0o700))

	account, err := emulator.New(emutest.With(emulator.Options{Seed: 7, Apps: 2, Days: 10}))
	check(t, err)
	defer account.Close() //nolint:errcheck // it was only asked for a list
	text, want := "Klick-ID;Kostenart;Währung;Kosten;Kampagne;Zeit\r\n", []string{
		"click-000000000001 cpi eur 12.5 Müller & Söhne", `click-000000000002 cpc eur 0.25 a;b "c"`,
		"click-000000000003 cpm eur 1234.56 Größe ≥ 3",
	}
	now := time.Now().UTC()
	for e := range account.Engagements(now.AddDate(0, 0, -3), now.AddDate(0, 0, -1), 20) {
		i := len(want)
		text += fmt.Sprintf("%s;CPI;EUR;%d,%02d;Frühling „Süd“;%s\r\n", e.CostID, i, i%90+10,
			e.Time.Format("02.01.2006 15:04"))
		want = append(want, fmt.Sprintf("%s cpi eur %s Frühling „Süd“", e.CostID,
			strings.TrimRight(fmt.Sprintf("%d.%02d", i, i%90+10), "0")))
	}
	data, err := charmap.Windows1252.NewEncoder().Bytes([]byte(text))
	check(t, err)
	check(t, os.WriteFile(filepath.Join(dir, "in", "partner.csv"), data, 0o600))
	sheet, err := os.ReadFile("../../jobs/spend/testdata/sheets/libreoffice.xlsx")
	check(t, err)
	check(t, os.WriteFile(filepath.Join(dir, "in", "partner.xlsx"), sheet, 0o600))

	for range 2 { // the second run sends nothing
		out, code := p.run("run", "--log-level", "debug")
		if code != 0 {
			t.Fatalf("exit code %d: %s", code, out)
		}
		if strings.Contains(out, spendKey) || !strings.Contains(out, "partner_text") {
			t.Errorf("the key is in the log, or there is none: %s", out)
		}
	}
	if raw := steps.Raw(); strings.Contains(raw, spendKey) || !strings.Contains(raw, "partner_text") {
		t.Errorf("the key is in the trace, or there is none: %q", raw)
	}
	rows, err := csv.NewReader(bytes.NewReader(s.admin(t, http.MethodGet, "spend-records", nil))).ReadAll()
	check(t, err)
	var got []string
	for _, c := range rows[1:] {
		got = append(got, strings.Join(c[:5], " "))
		if c[7] != "1" {
			t.Errorf("%q came %s times", c, c[7])
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the service has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(want) < 40 {
		t.Errorf("%d records are few", len(want))
	}
}
