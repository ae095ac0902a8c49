package push

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/parquet-go/parquet-go"

	"github.com/reportferry/reportferry/internal/dateform"
)

// lookedAt is what is found of a file, in one line: how it is written, and the column of each field
// that has one.
func lookedAt(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := openSpendFile(t.Context(), path, t.TempDir())
	if err != nil {
		return "error: " + err.Error()
	}
	fields, currency := f.columns(nil)
	said := []string{strings.Join(strings.Fields(strings.Join([]string{strings.ReplaceAll(f.Read.String(), ",", ""),
		f.Decimal, f.Thousands, f.Date, currency}, " ")), " ")}
	for _, x := range fields {
		switch {
		case x.Column != "":
			said = append(said, x.Name+"="+x.Column)
		case x.Wrong != "":
			said = append(said, x.Name+" not "+x.Wrong)
		}
		if len(x.Also) > 0 {
			said = append(said, "or "+strings.Join(x.Also, ", "))
		}
	}
	return strings.Join(said, "; ")
}

// Headers as partners write them, in three languages, whatever their capitals, blanks and accents
// are.
func TestFileHeaders(t *testing.T) {
	for _, c := range []struct{ header, row, want string }{
		{"cost_id,cost_type,cost_currency,cost_amount,tag,engaged_at",
			"click-000000001,cpi,EUR,1.2,a,2026-01-31T08:00:00Z",
			"cost_id=cost_id; cost_type=cost_type; cost_currency=cost_currency; cost_amount=cost_amount; tag=tag; " +
				"engaged_at=engaged_at"},
		{"Click ID,Campaign cost,Currency,Date/Time,Pricing Model,Label",
			"click-000000001,1.2,usd,2026-01-31 08:00:00,CPC,x",
			"cost_id=Click ID; cost_type=Pricing Model; cost_currency=Currency; cost_amount=Campaign cost; " +
				"tag=Label; engaged_at=Date/Time"},
		{"CLICK_ID,spend,curr,timestamp", "click-000000001,1.2,usd,1769846400",
			"cost_id=CLICK_ID; cost_currency=curr; cost_amount=spend; engaged_at=timestamp"},
		{"Impression-ID,Amount,ISO", "click-000000001,1.2,usd", "cost_id=Impression-ID; cost_amount=Amount"},
		{"Klick-ID,Kosten,Währung,Datum/Uhrzeit,Abrechnungsmodell,Kampagne",
			"click-000000001,1.2,EUR,2026-01-31 08:00:00,cpm,x",
			"cost_id=Klick-ID; cost_type=Abrechnungsmodell; cost_currency=Währung; cost_amount=Kosten; " +
				"engaged_at=Datum/Uhrzeit"},
		{"KLICK ID,Ausgaben,WAEHRUNG,Zeitpunkt,Schlagwort", "click-000000001,1.2,EUR,2026-01-31 08:00:00,x",
			"cost_id=KLICK ID; cost_currency=WAEHRUNG; cost_amount=Ausgaben; tag=Schlagwort; engaged_at=Zeitpunkt"},
		{"ID du clic,Dépenses,Devise,Date et heure,Libellé", "click-000000001,1.2,EUR,2026-01-31 08:00:00,x",
			"cost_id=ID du clic; cost_currency=Devise; cost_amount=Dépenses; tag=Libellé; engaged_at=Date et heure"},
		{"Identifiant de clic,Coût de la campagne,Monnaie,Horodatage", "click-000000001,1.2,EUR,2026-01-31 08:00:00",
			"cost_id=Identifiant de clic; cost_currency=Monnaie; cost_amount=Coût de la campagne; " +
				"engaged_at=Horodatage"},
		{"click_id,Spend (EUR)", "click-000000001,1.2", "EUR; cost_id=click_id; cost_amount=Spend (EUR)"},
		{"click_id,Kosten [€]", "click-000000001,1.2", "EUR; cost_id=click_id; cost_amount=Kosten [€]"},
		{"click_id,cost_in_usd", "click-000000001,1.2", "USD; cost_id=click_id; cost_amount=cost_in_usd"},
		{"click_id,Spend ($)", "click-000000001,1.2", "cost_id=click_id; cost_amount=Spend ($)"},
		// Two that fit are told of; the clearer one goes first. A column that holds something else
		// is none.
		{"click_id,spend,cost", "click-000000001,1.2,3", "cost_id=click_id; cost_amount=cost; or spend"},
		{"click_id,cost,spend", "click-000000001,none,3", "cost_id=click_id; cost_amount=spend"},
		{"click_id,cost,type", "7,none,app", "cost_id not click_id; cost_type not type; cost_amount not cost"},
		{"network,clicks", "a,1", ""},
	} {
		want := strings.TrimSuffix("CSV utf-8 comma point; "+c.want, "; ")
		if code, _, has := strings.Cut(c.want, "; "); has && len(code) == 3 {
			want = "CSV utf-8 comma point " + c.want
		}
		if got := lookedAt(t, c.header+"\n"+c.row+"\n"); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", c.header, got, want)
		}
	}
}

const testRows = "click-000000001;1,25;31.01.2026 08:00\nclick-000000002;1000,5;01.02.2026 09:30\n"

// How a file is written is told by the file; what isn't plain from it stays unsaid.
func TestFileForms(t *testing.T) {
	german := "Klick-ID;Kosten;Uhrzeit für alle\n" + testRows
	fields := "; cost_id=Klick-ID; cost_amount=Kosten"
	for name, c := range map[string]struct{ text, want string }{
		"utf-8":        {german, "CSV utf-8 semicolon comma" + fields},
		"mark":         {"\ufeff" + german, "CSV utf-8 semicolon comma" + fields},
		"windows-1252": {strings.ReplaceAll(german, "ü", "\xfc"), "CSV windows-1252 semicolon comma" + fields},
		"utf-16":       {inUTF16(german, false), "CSV utf-16le semicolon comma" + fields},
		"utf-16be":     {inUTF16(german, true), "CSV utf-16be semicolon comma" + fields},
		"gzip":         {packedFile(t, german), "CSV utf-8 semicolon comma" + fields},
		"tabs":         {strings.ReplaceAll(german, ";", "\t"), "CSV utf-8 tab comma" + fields},
		"times": {strings.ReplaceAll(german, "Uhrzeit für alle", "Datum"),
			"CSV utf-8 semicolon comma DD.MM.YYYY HH:mm" + fields + "; engaged_at=Datum"},
		"american": {"click_id,cost,time\nclick-000000001,\"1,000.25\",01/31/2026 08:00 PM\n",
			"CSV utf-8 comma point comma MM/DD/YYYY hh:mm A; cost_id=click_id; cost_amount=cost; engaged_at=time"},
		"signs": {"click_id\tcost\nclick-000000001\t€1.234,50\nclick-000000002\t0,25 €\n",
			"CSV utf-8 tab comma point EUR; cost_id=click_id; cost_amount=cost"},
		"dollars": {"click_id\tcost\nclick-000000001\t$1,234\nclick-000000002\t$0.25\n",
			"CSV utf-8 tab point comma; cost_id=click_id; cost_amount=cost"},
		"blanks": {"click_id;cost\nclick-000000001;1 234,50 zł\n",
			"CSV utf-8 semicolon comma space PLN; cost_id=click_id; cost_amount=cost"},
		"Swiss": {"click_id;cost\nclick-000000001;CHF 1’234.50\n",
			"CSV utf-8 semicolon point apostrophe CHF; cost_id=click_id; cost_amount=cost"},
		"millions": {"click_id;cost\nclick-000000001;1.234.567\nclick-000000002;1,5\n",
			"CSV utf-8 semicolon comma point; cost_id=click_id; cost_amount=cost"},
		"unclear": {"click_id;cost\nclick-000000001;1,250\n",
			"CSV utf-8 semicolon point; cost_id=click_id; cost_amount not cost"},
		"small hours": {"click_id,cost,time\nclick-000000001,1,1/31/2026 8:00:05 pm\n",
			"CSV utf-8 comma point M/D/YYYY h:mm:ss A; cost_id=click_id; cost_amount=cost; engaged_at=time"},
		"months": {"click_id;cost;time\nclick-000000001;1;Jan 31, 2026 08:00\n",
			"CSV utf-8 semicolon point MMM D, YYYY HH:mm; cost_id=click_id; cost_amount=cost; engaged_at=time"},
		"titles": {"Report: cost;x\n\nClick ID;Cost\nclick-000000001;1.5\nTotal;1.5\n",
			"CSV utf-8 semicolon point; cost_id=Click ID; cost_amount=Cost"},
		"sep": {"sep=;\nClick ID;Cost\nclick-000000001;1.5\n",
			"CSV utf-8 semicolon point; cost_id=Click ID; cost_amount=Cost"},
		"array": {`[{"clickId":"click-000000001","spend":1.25}]`,
			"JSON array utf-8 point; cost_id=clickId; cost_amount=spend"},
		"campaigns": {"click_id,cost\n" + strings.Repeat("campaign-00000001,1\n", 4),
			"CSV utf-8 comma point; cost_id not click_id; cost_amount=cost"},
		"either": {"click_id,cost,time\nclick-000000001,1.25,01/02/2026\n",
			"CSV utf-8 comma point; cost_id=click_id; cost_amount=cost; engaged_at not time"},
		"days": {"click_id,cost,time\nclick-000000001,1.25,2026-01-02\n",
			"CSV utf-8 comma point YYYY-MM-DD; cost_id=click_id; cost_amount=cost; engaged_at=time"},
		"quoted": {"click_id;note;cost\nclick-000000001;\"a,b,c\";1.25\n",
			"CSV utf-8 semicolon point; cost_id=click_id; cost_amount=cost"},
		"lines": {`{"clickId":"click-000000001","spend":1.25}` + "\n" +
			`{"currency":"EUR","clickId":"click-000000002","spend":2,"more":{"a":[1]}}` + "\n",
			"JSON Lines utf-8 point; cost_id=clickId; cost_currency=currency; cost_amount=spend"},
		"parquet": {parquetFile(t), "Parquet point; cost_id=click_id; cost_amount=spend; engaged_at=time"},
		"empty":   {" \n", "error: is empty: not even names of columns"},
		"NUL": {"a\x00b,c\n",
			"error: holds NUL bytes: it is UTF-16 without a mark, as format: {encoding: utf-16le} says, or no text " +
				"at all; want CSV, JSON Lines, Parquet or XLSX, plain or under gzip or zstd"},
		"no object": {"{\n", "error: it has no JSON object"},
		"cut": {"click_id,spend\n" + manyRows(20_000),
			"CSV utf-8 comma point; cost_id=click_id; cost_amount=spend"},
	} {
		if got := lookedAt(t, c.text); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

func manyRows(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "click-%09d,1.25\n", i)
	}
	return b.String()
}

// Sums of a period, by what is bought, with or without counts, are told from single clicks.
func TestFileSums(t *testing.T) {
	for names, want := range map[string]string{
		"Day,Campaign,Cost,Clicks": "Day and Campaign", "Clicks,Cost,Date": "Date",
		"Campaign name,Amount spent (EUR),Impressions": "Campaign name", "day,campaign,cost": "day and campaign",
		"click_id,date,cost": "", "campaign,click_id,cost": "", "cost": "", "clicks,cost": "",
	} {
		f := &spendFile{Names: strings.Split(names, ",")}
		if by, so := f.findSums(); by != want || so != (want != "") {
			t.Errorf("%s: sums by %q, %t; want %q", names, by, so, want)
		}
	}
}

// Every form is one that a config takes.
func TestDateForms(t *testing.T) {
	for _, form := range dateForms {
		if _, err := dateform.Layout(form); err != nil {
			t.Errorf("%s: %v", form, err)
		}
	}
}

func inUTF16(s string, big bool) string {
	var b bytes.Buffer
	for _, u := range utf16.Encode([]rune("\ufeff" + s)) {
		if big {
			b.Write([]byte{byte(u >> 8), byte(u)})
		} else {
			b.Write([]byte{byte(u), byte(u >> 8)})
		}
	}
	return b.String()
}

func packedFile(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func parquetFile(t *testing.T) string {
	t.Helper()
	type row struct {
		ID    string    `parquet:"click_id"`
		Spend float64   `parquet:"spend"`
		Time  time.Time `parquet:"time,timestamp"`
	}
	var b bytes.Buffer
	if err := parquet.Write(&b, []row{{"click-000000001", 1.25, time.Now()}}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
