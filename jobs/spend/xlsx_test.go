package spend

import (
	"archive/zip"
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs/outbox/files"
)

// Parts of an XLSX file as Excel has them, but for what no reader needs.
const (
	bookXML = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?><workbook xmlns:r="r"><workbookPr/><sheets>` +
		`<sheet name="Spend" sheetId="1" r:id="rId1"/><sheet name="Other" sheetId="2" r:id="rId9"/></sheets></workbook>`
	linksXML = `<Relationships><Relationship Id="rId1" Type="t/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId9" Type="t/worksheet" Target="/xl/worksheets/sheet2.xml"/>` +
		`<Relationship Id="rId2" Type="t/styles" Target="styles.xml"/><Relationship Id="rId3" Type="t/sharedStrings" Target="sharedStrings.xml"/></Relationships>`
	stylesXML = `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="dd\.mm\.yyyy\ hh:mm"/><numFmt numFmtId="165" formatCode="#,##0.00\ &quot;EUR&quot;"/><numFmt numFmtId="166" formatCode="[$-409]General"/></numFmts>` +
		`<cellStyleXfs><xf numFmtId="22"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="22"/><xf numFmtId="166"/></cellXfs></styleSheet>`
	namesXML = `<row r="2"><c r="A2" t="s"><v>0</v></c><c r="B2" t="inlineStr"><is><t>cost_type</t></is></c><c r="C2" t="str"><v>cost_currency</v></c>` +
		`<c r="D2" t="inlineStr"><is><t>cost_amount</t></is></c><c r="F2" t="inlineStr"><is><t>tag</t></is></c><c r="G2" t="inlineStr"><is><t>engaged_at</t></is></c></row>`
)

// xlsx makes a file of one sheet's rows and the shared strings after the first; more replaces or
// adds parts.
func xlsx(t testing.TB, rows, shared string, more map[string]string) []byte {
	t.Helper()
	parts := map[string]string{
		"_rels/.rels":     `<Relationships><Relationship Id="a" Type="t/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
		"xl/workbook.xml": bookXML, "xl/_rels/workbook.xml.rels": linksXML, "xl/styles.xml": stylesXML,
		"xl/sharedStrings.xml": `<sst><si><t>cost_id</t></si>` + shared + `</sst>`,
		"xl/worksheets/sheet1.xml": `<worksheet><dimension ref="A1:XFD1048576"/><sheetData><row r="1"/>` + namesXML +
			rows + `</sheetData><mergeCells><mergeCell ref="A3:A4"/></mergeCells></worksheet>`,
		"xl/worksheets/sheet2.xml": `<worksheet><sheetData/></worksheet>`,
	}
	maps.Copy(parts, more)
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(parts[name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// sheetRow is row n with an amount's and a time's cell.
func sheetRow(n int, amount, at string) string {
	return fmt.Sprintf(
		`<row r="%d"><c t="inlineStr"><is><t>%s</t></is></c><c t="inlineStr"><is><t>cpi</t></is></c><c t="inlineStr"><is><r><t>u</t></r><r><t>sd</t></r><rPh><t>no</t></rPh></is></c>%s<c r="F%d" t="inlineStr"><is><t>t</t></is></c>%s</row>`,
		n+10, id(n), amount, n+10, at)
}

// Cells are taken as they are stored: numbers with their digits, days by their count, formulas by
// their last value.
func TestSheet(t *testing.T) {
	zone := time.FixedZone("", 3600)
	at := time.Date(2026, 1, 31, 8, 30, 0, 0, zone).UTC() // 46053.354166666664
	const when = `<c s="1"><v>46053.354166666664</v></c>`
	rows := []struct{ amount, at, want string }{
		{`<c s="2"><v>1234.5</v></c>`, when, "1234.5"},
		{`<c><v>0.30000000000000004</v></c>`, `<c s="3"><v>46053.354166666664</v></c>`, "0.3"},
		{`<c><v>1.2E-3</v></c>`, `<c t="d"><v>2026-01-31T08:30:00</v></c>`, "0.0012"},
		{`<c t="str"><f>1+1</f><v>2,5</v></c>`, `<c t="inlineStr"><is><t>31.01.2026 08:30</t></is></c>`, "2.5"},
		{`<c s="4"><f>SUM(A1:A2)</f><v>17</v></c>`, `<c><v>1769844600</v></c>`, "17"},
		{`<c t="inlineStr"><is><t>1.25</t></is></c>`, when,
			"cost_amount has a point, and the job's format says decimal: comma"},
		{`<c s="1"><v>46047</v></c>`, when,
			"cost_amount is a date; the spreadsheet may have made it of something else"},
		{`<c t="e"><v>#N/A</v></c>`, when, "cost_amount is an error of the spreadsheet, such as #N/A"},
		{`<c><f>A1</f></c>`, when, "cost_amount is a formula whose value isn't stored; open the file in a " +
			"spreadsheet and save it"},
		{`<c/>`, when, "cost_amount is missing"},
		{`<c><v>1</v></c>`, `<c s="1"><v>60</v></c>`, "engaged_at is no day that a spreadsheet knows"},
		{`<c><v>1</v></c>`, `<c t="inlineStr"><is><t>2026-01-31 08:30:00</t></is></c>`,
			"engaged_at isn't written as DD.MM.YYYY HH:mm, which is the job's format: {date}"},
	}
	var data strings.Builder
	var want []Cost
	var refused []string
	for i, r := range rows {
		data.WriteString(sheetRow(i, r.amount, r.at) + `<row/><row r="99"><c s="1"/></row>`)
		if strings.Contains(r.want, " ") {
			refused = append(refused, fmt.Sprintf("%d: %s", i+1, r.want))
			continue
		}
		c := record(i, r.want)
		c.Engaged = at
		want = append(want, c)
	}
	m := mapping(nil, nil, files.Format{Decimal: ',', Dates: "DD.MM.YYYY HH:mm", Zone: zone, Sheet: "Spend"})
	file := xlsx(t, data.String(), "", nil)
	for _, packed := range [][]byte{file, gzipped(t, file)} {
		o := readIn(t, packed, m, zone)
		if o.err != nil || !reflect.DeepEqual(o.records, want) || !reflect.DeepEqual(o.refused, refused) {
			t.Errorf("%+v,\nwant %+v;\n%q,\nwant %q; %v", o.records, want, o.refused, refused, o.err)
		}
	}
	m.Format.Sheet = "Other"
	if o := readAll(t, file, m); o.err == nil ||
		o.err.Error() != "has a sheet that is empty: not even names of columns" {
		t.Errorf("the other sheet: %v", o.err)
	}
	m = mapping(nil, map[string]string{"tag": "x"}, files.Format{})
	long := xlsx(t,
		`<row><c><v>12345678901234567</v></c><c t="inlineStr"><is><t>cpi</t></is></c></row><row><c s="2"><v>123456789012</v></c></row>`, "", nil)
	if o := readAll(t, long, m); len(o.refused) != 2 || !strings.Contains(o.refused[0], "more than 15 digits") ||
		!strings.Contains(o.refused[1], "displayed in a way of its own") {
		t.Errorf("numbers as Cost IDs: %q, %v", o.refused, o.err)
	}
}

// readIn is readAll with times of a zone.
func readIn(t testing.TB, data []byte, m files.Mapping, zone *time.Location) (o outcome) {
	t.Helper()
	c := newReader(m, nil, zone)
	o.err = read(t.Context(), bytes.NewReader(data), c, t.TempDir(), func([]string) {}, func(l *line) error {
		if l.refused == nil {
			o.records = append(o.records, l.record)
		} else {
			o.refused = append(o.refused, fmt.Sprintf("%d: %v", l.row, l.refused))
		}
		return nil
	})
	return o
}

// XLSX files that are made to harm end in an error that says why, and in little memory.
func TestHostileSheets(t *testing.T) {
	slow.Test(t)
	const sheet = "xl/worksheets/sheet1.xml"
	many := strings.Repeat(`<c/>`, 2_000_000)
	wide := sheetRow(1, `<c r="XFD3"><v>1</v></c>`, "")
	books := map[string]string{}
	for i := range 11_000 {
		books[fmt.Sprint("xl/worksheets/many", i)] = ""
	}
	for _, test := range []struct {
		name string
		data []byte
		want string
	}{
		{"a zip of something else", xlsx(t, "", "", map[string]string{"_rels/.rels": "<Relationships/>"}),
			"no XLSX file"},
		{"no zip", []byte("PK\x03\x04 and no more"), "can't be read as one"},
		{"a part that expands", xlsx(t, strings.Repeat(`<row/>`, 12<<20), "", nil),
			"expands to more than 200 times its size"},
		{"a text of 100 MB", xlsx(t, "", "<si><t>"+strings.Repeat("x", 100<<20)+"</t></si>", nil), "longer than"},
		{"a row of two million cells", xlsx(t, "<row>"+many+"</row>", "", nil), "longer than"},
		{"texts of 80 MB", xlsx(t, "", strings.Repeat("<si><t>"+noisy(4096)+"</t></si>", 20<<10), nil),
			"save the sheet as CSV"},
		{"a cell far to the right", xlsx(t, wide, "", nil), "beyond column 1000"},
		{"rows in each other", xlsx(t, strings.Repeat("<row>", 500_000), "", nil), "in each other"},
		{"11,000 sheets", xlsx(t, "", "", books), "more than 10000 parts"},
		{"XML entities", xlsx(t, "", "",
			map[string]string{sheet: `<!DOCTYPE a [<!ENTITY b "xxxxxxxxxx"><!ENTITY c "&b;&b;">]><worksheet><sheetData><row><c t="str"><v>&c;</v></c></row></sheetData></worksheet>`}), "invalid character entity &c;"},
		{"a directive of 100 MB", xlsx(t, "", "", map[string]string{sheet: "<!" + strings.Repeat("x", 100<<20) + ">"}),
			"longer than"},
		{"a text that isn't there", xlsx(t, `<row><c t="s"><v>7</v></c></row>`, "", nil), "isn't among those"},
		{"cells in disorder", xlsx(t, `<row><c r="B1"><v>1</v></c><c r="A1"><v>1</v></c></row>`, "", nil),
			"that aren't in the order"},
		{"an archive in it", xlsx(t, "", "", map[string]string{sheet: string(xlsx(t, "", "", nil))}),
			"its part " + sheet},
		{"a sheet that ends early", xlsx(t, "", "",
			map[string]string{sheet: "<worksheet><sheetData>" + namesXML + "<row><c>"}), "its part " + sheet},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := heap()
			peak := watch(t)
			o := readAll(t, test.data, plain)
			if got := peak() - before; got > 128<<20 {
				t.Errorf("%d MiB of memory", got>>20)
			}
			if o.err == nil || !strings.Contains(o.err.Error(), test.want) || len(o.records) > 0 {
				t.Errorf("got %v and %d records, want %q", o.err, len(o.records), test.want)
			}
		})
	}
	changed := xlsx(t, sheetRow(1, `<c><v>1</v></c>`, ""), "", nil)
	for i := range changed { // no byte of a stored amount may change unseen
		mutant := bytes.Clone(changed)
		mutant[i] ^= 1
		if o := readAll(t, mutant, plain); o.err == nil && len(o.records) == 1 && o.records[0] != record(1, "1") {
			t.Fatalf("byte %d: %+v", i, o.records)
		}
	}
}

// noisy is a text of n characters that compresses as records do.
func noisy(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%x", uint64(i+1)*0x9E3779B97F4A7C15)
	}
	return b.String()[:n]
}

// FuzzXLSX changes a sheet, its texts or a byte of the zip: the end is records or an error, never a
// panic.
func FuzzXLSX(f *testing.F) {
	f.Add(sheetRow(1, `<c><v>1.5</v></c>`, `<c s="1"><v>46053.35</v></c>`), "<si><t>x</t></si>", uint16(0), byte(0))
	f.Add(`<row r="9"><c r="A9" t="s"><v>1</v></c><c r="D9" t="e"/><c t="b"><v>1</v></c></row>`,
		"<si><r><t>x</t></r></si>", uint16(700), byte(3))
	f.Fuzz(func(t *testing.T, rows, shared string, at uint16, flip byte) {
		data := xlsx(t, rows, shared, nil)
		data[4+int(at)%(len(data)-4)] ^= flip
		_, _ = fuzzed(t, data)
	})
}
