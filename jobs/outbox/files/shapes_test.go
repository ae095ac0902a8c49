package files

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// zipped is a ZIP archive of files, each a name and a text.
func zipped(t *testing.T, parts ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(parts); i += 2 {
		f, err := w.Create(parts[i])
		if err == nil {
			_, err = f.Write([]byte(parts[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// workbook is an XLSX file of sheets; the rows of each stand on lines, and their cells between
// commas.
func newWorkbook(t *testing.T, sheets ...string) []byte {
	t.Helper()
	list, links := "", ""
	parts := []string{"_rels/.rels",
		`<Relationships><Relationship Id="r" Type="x/officeDocument" Target="xl/workbook.xml"/></Relationships>`}
	for i, text := range sheets {
		list += fmt.Sprintf(`<sheet name="Sheet %d" id="s%d"/>`, i+1, i)
		links += fmt.Sprintf(`<Relationship Id="s%d" Type="x/worksheet" Target="sheet%d.xml"/>`, i, i)
		data := ""
		for _, row := range strings.Split(text, "\n") {
			data += "<row>"
			for _, cell := range strings.Split(row, ",") {
				data += `<c t="inlineStr"><is><t>` + cell + `</t></is></c>`
			}
			data += "</row>"
		}
		parts = append(parts, fmt.Sprintf("xl/sheet%d.xml", i),
			"<worksheet><sheetData>"+data+"</sheetData></worksheet>")
	}
	return zipped(t, append(parts, "xl/workbook.xml", "<workbook><sheets>"+list+"</sheets></workbook>",
		"xl/_rels/workbook.xml.rels", "<Relationships>"+links+"</Relationships>")...)
}

func packed(t *testing.T, data string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(data)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The row of names may stand below titles, after Excel's own line, on another sheet, and in
// archives; what is no file of records is named.
func TestShapes(t *testing.T) {
	const names, row = "id,amount,campaign\n", "a-1,1.25,x\n"
	good := func(data []byte) (got string) {
		rows, err := rowsOf(t, spendLike, data)
		if err != nil {
			return "error: " + err.Error()
		}
		return strings.Join(rows, "; ")
	}
	const one = "a-1|1.25|x"
	titles := "Report: Spend\n\"Date range\",2026-11-01 - 2026-11-24\n\n"
	lacks := `error: none of its columns id, campaign is "amount", which amount is taken from. Say which column it is with columns: {amount: NAME}, or give all rows one value with constants: {amount: VALUE}.`
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"titles": {[]byte(titles + names + row), one},
		"titles over semicolons": {[]byte(strings.ReplaceAll(titles, ",", ", ") + strings.ReplaceAll(names+row,
			",", ";")), one},
		"titles of many commas": {[]byte("a,b,c,d,e,f\n" + strings.ReplaceAll(names+row, ",", "\t")), one},
		"49 titles":             {[]byte(strings.Repeat("title\n", 49) + names + row), one},
		"50 titles": {[]byte(strings.Repeat("title\n", 50) + names + row),
			`error: none of its 1 columns is "id", which id is taken from; is the row of names missing?`},
		"a title with a quote":    {[]byte("The \"spend\" report\n" + names + row), one},
		"some names below titles": {[]byte(titles + "id,campaign\na-1,x\n"), lacks},
		"names in CRLF":           {[]byte(strings.ReplaceAll(titles+names+row, "\n", "\r\n")), one},
		"sep=;":                   {[]byte("sep=;\r\n" + strings.ReplaceAll(names+row, ",", ";")), one},
		`"sep=` + "\t" + `"`: {[]byte("\ufeff\"SEP=\t\"\n" + titles + strings.ReplaceAll(names+row, ",",
			"\t")), one},
		"sep=, and titles of ;": {[]byte("sep=,\n;;;;;;\n" + names + row), one},
		"a broken row below sep=": {[]byte("sep=,\n" + names + "a-1,\"1\"2,x\n"),
			"refused: line 3 has a quote in the wrong place"},
		"sep=|": {[]byte("sep=|\nid|amount|campaign\n"),
			"error: begins with sep=|; want a comma, a semicolon or a tab between its cells"},
		"a broken row below titles": {[]byte(titles + names + "a-1,\"1\"2,x\n"),
			"refused: line 5 has a quote in the wrong place"},
		"a row of Latin-1": {[]byte(titles + names + row + "a-1,1,\xe9\n"),
			one + "; refused: campaign is not UTF-8, first on line 6, column 7; if the file is Windows-1252, say so " +
				"by format: {encoding: windows-1252}"},
		"second sheet": {newWorkbook(t, "Spend of a partner", "id,amount,campaign\na-1,1.25,x"), one},
		"titles on a sheet": {newWorkbook(t,
			"Spend of a partner\nfrom,2026-11-01\nid,amount,campaign\na-1,1.25,x\nTotal,1.25"),
			one + "; skipped: is a row of totals"},
		"an empty cell on a sheet": {newWorkbook(t, "id,amount,campaign\na-1,,x\n,1.25,"), "a-1||x; |1.25|"},
		"two such sheets": {newWorkbook(t, "id,amount,campaign\na-1,1.25,x",
			"id,amount,campaign\na-2,1.25,x"),
			"error: has 2 sheets with the columns that the job wants; say which one counts by format: {sheet: NAME}"},
		"some names on a sheet": {newWorkbook(t, "Spend", "title\nid,campaign\na-1,x"), lacks},
		"a ZIP of one CSV":      {zipped(t, "spend.csv", names+row), one},
		"a ZIP of a Mac": {zipped(t, "in/", "", "in/spend.csv", names+row, "__MACOSX/in/._spend.csv", "x",
			"in/.DS_Store", "y"), one},
		"a ZIP of an XLSX": {zipped(t, "spend.xlsx",
			string(newWorkbook(t, "id,amount,campaign\na-1,1.25,x"))), one},
		"a ZIP in gzip":       {packed(t, string(zipped(t, "spend.csv", names+row))), one},
		"a ZIP of JSON lines": {zipped(t, "spend.json", `{"id":"a-1","amount":1.25,"campaign":"x"}`), one},
		"a ZIP of two": {zipped(t, "a.csv", names, "b.csv", names),
			"error: is a ZIP archive of 2 files, and one is read; unpack it"},
		"a ZIP of none":     {zipped(t), "error: is a ZIP archive without a file"},
		"a ZIP of a folder": {zipped(t, "in/", ""), "error: is a ZIP archive without a file"},
		"a ZIP in a ZIP": {zipped(t, "a.zip", string(zipped(t, "a.csv", names+row))),
			"error: is a ZIP archive in a ZIP archive; unpack it"},
		"a ZIP bomb": {zipped(t, "a.csv", names+strings.Repeat(row, 4<<20)),
			"error: expands to more than 200 times its size, which no file of records does"},
		"OpenDocument": {zipped(t, "mimetype", "application/vnd.oasis.opendocument.spreadsheet",
			"content.xml", "<x/>"), "error: is an OpenDocument file, such as ODS; save it as XLSX or CSV"},
		"XLSB": {zipped(t, "[Content_Types].xml", "<x/>", "xl/workbook.bin", ""),
			"error: is an XLSB file, Excel's binary form; save it as XLSX or CSV"},
		"Numbers": {zipped(t, "Index/Document.iwa", "x"),
			"error: is a file of Apple Numbers; export it as XLSX or CSV"},
		"HTML": {[]byte("<html><table>"),
			"error: is HTML or XML, as some pages give it the name of an Excel file; open it in a spreadsheet and " +
				"save it as XLSX or CSV"},
		"a JSON array": {[]byte(" [\n {\"id\": \"a,]-1\",\r\n\"amount\": 1.25, \"campaign\": " +
			"\"x\\\"[\"} ,\n{\"id\":\"b\",\"amount\":{\"a\":[1]}}, 3, {\"id\":\"c\",\"amount\":\"2\"}\n]\n\n"),
			`a,]-1|1.25|x"[; refused: amount is an object or a list; want a text or a number; refused: isn't a JSON object; c|2|`},
		"an array that is cut": {[]byte(`[{"id":"a-1","amount":1},{"id":"b`),
			"error: is a JSON array that ends before its last bracket; it was cut"},
		"an array and more": {[]byte(`[{"id":"a-1","amount":1}] {"id":"b"}`),
			"a-1|1|; refused: isn't a JSON object"},
		"an empty array": {[]byte("[]"), ""},
		"a long element": {[]byte(`[{"id":"` + strings.Repeat("x", 300<<10) + `"}]`),
			"error: row 1 is longer than 262144 bytes; is a quote or a line end missing?"},
		"the names again, below names": {[]byte(names + row + titles + names + row),
			one + "; skipped: is a note; refused: has 2 cells, the names are 3; skipped: repeats the names; " + one},
	} {
		if got := good(c.data); got != c.want {
			t.Errorf("%s: %q\nwant %q", name, got, c.want)
		}
	}
	declared := spendLike
	declared.Format = Format{Separator: ',', Sheet: "Sheet 2"}
	if _, err := rowsOf(t, declared, []byte("sep=;\nid;amount\n")); err == nil ||
		err.Error() != "begins with sep=;, and the job's format says separator: comma" {
		t.Error(err)
	}
	if got, err := rowsOf(t, declared, newWorkbook(t, "id,amount,campaign\na-1,1.25,x",
		"id,amount,campaign\na-2,1.25,x")); err != nil || fmt.Sprint(got) != "[a-2|1.25|x]" {
		t.Error(got, err)
	}
	optional := Mapping{Fields: []Field{{Name: "id", ID: true}, {Name: "amount", Number: true},
		{Name: "at", From: Found}}}
	if got, err := rowsOf(t, optional, newWorkbook(t, "id,at\nb,2026", "id,amount\na,1")); err != nil ||
		fmt.Sprint(got) != "[a|1|]" {
		t.Error(got, err)
	}
	for sheets, want := range map[string]Understanding{"x,y|name 1,b|name 2,c": {Kind: "XLSX", Sheet: "Sheet 2",
		Alike: 1}, "name 1,name 2|name 1,c": {Kind: "XLSX", Sheet: "Sheet 1"}} {
		var got Understanding
		score := Mapping{Score: func(row []string) int { return strings.Count(strings.Join(row, " "), "name") }}
		if err := Read(t.Context(), bytes.NewReader(newWorkbook(t, strings.Split(sheets, "|")...)), score, t.TempDir(),
			func(_ []string, u Understanding) { got = u }, func(*Row) error { return nil }); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", sheets, got, err, want)
		}
	}
	// Names that nobody has said are known by what they look like.
	looks := Mapping{Score: func(row []string) (n int) {
		for _, cell := range row {
			if len(cell) == 6 && strings.HasPrefix(cell, "name") {
				n++
			}
		}
		return n
	}}
	for data, want := range map[string]string{"a title\nname 1;x,y;name 3\n1;2;3\n": "[name 1 x,y name 3]",
		"a;b;c\n1;2;3\n": "[a b c]"} {
		var got []string
		if err := Read(t.Context(), strings.NewReader(data), looks, "",
			func(names []string, _ Understanding) { got = names }, func(
				*Row) error {
				return nil
			}); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%q: %q, %v", data, got, err)
		}
	}
}
