package spend

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"

	"github.com/reportferry/reportferry/jobs/outbox/files"
)

const columnNames = "cost_id,cost_type,cost_currency,cost_amount,tag"

// id is a Cost ID for row n.
func id(n int) string { return fmt.Sprintf("click-%012d", n) }

func record(n int, amount string) Cost {
	return Cost{Type: "cpi", Currency: "usd", Amount: amount, CostID: id(n), Tag: "t"}
}

func row(n int, amount string) string { return id(n) + ",cpi,usd," + amount + ",t" }

func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstandard(t testing.TB, data []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close() //nolint:errcheck // nothing is left in it
	return w.EncodeAll(data, nil)
}

// spendRow is a row of a Parquet file as a partner's warehouse exports it.
type spendRow struct {
	CostID   string    `parquet:"cost_id,dict"`
	Type     string    `parquet:"cost_type,dict"`
	Currency *string   `parquet:"cost_currency,optional"`
	Amount   int64     `parquet:"cost_amount,decimal(5:18)"`
	Tag      string    `parquet:"tag"`
	At       time.Time `parquet:"engaged_at,timestamp(microsecond)"`
	Many     []string  `parquet:"many"`
}

func parquetFile(t testing.TB, rows []spendRow, o ...parquet.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[spendRow](&b, o...)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The same rows in every format, under every compression, give the same records.
func TestFormats(t *testing.T) {
	at := time.Date(2026, 1, 31, 8, 30, 0, 250_000_000, time.UTC)
	usd := "USD"
	var csvText, lines strings.Builder
	var rows []spendRow
	var want []Cost
	csvText.WriteString("\ufeff" + columnNames + ",engaged_at\r\n")
	for i := range 500 {
		fmt.Fprintf(&csvText, "%s,cpi,usd,%d.5,\"a, \"\"b\"\"\",2026-01-31 08:30:00.25 UTC\n", id(i), i)
		fmt.Fprintf(&lines,
			`{"cost_id": "%s", "other": {"cost_amount": [1, "}"]}, "cost\u005ftype":"CPI","cost_currency":"usd","cost_amount":%d.50, "tag":"a, \"b\"","engaged_at":"2026-01-31T08:30:00.25Z", "gone": null}`+"\n\n", id(i), i)
		rows = append(rows, spendRow{id(i), "cpi", &usd, int64(i*100000 + 50000), `a, "b"`, at, []string{"x", "y"}})
		want = append(want, Cost{"cpi", "usd", fmt.Sprintf("%d.5", i), id(i), `a, "b"`, at})
	}
	plain := map[string][]byte{
		"csv": []byte(csvText.String()), "jsonl": []byte(lines.String()),
		"parquet snappy":  parquetFile(t, rows, parquet.Compression(&parquet.Snappy), parquet.MaxRowsPerRowGroup(120)),
		"parquet zstd":    parquetFile(t, rows, parquet.Compression(&parquet.Zstd), parquet.PageBufferSize(256)),
		"parquet gzip v1": parquetFile(t, rows, parquet.Compression(&parquet.Gzip), parquet.DataPageVersion(1)),
		"parquet plain":   parquetFile(t, rows),
	}
	for name, data := range plain {
		for packed, data := range map[string][]byte{"plain": data, "gzip": gzipped(t, data), "zstd": zstandard(t, data),
			"two gzip members": append(gzipped(t, data[:100]), gzipped(t, data[100:])...)} {
			o := readAll(t, data, timed)
			if o.err != nil || len(o.refused) > 0 {
				t.Errorf("%s, %s: %v %v", name, packed, o.err, o.refused)
			}
			for i := range o.records {
				if r := o.records[i]; r.Engaged.Equal(at) {
					o.records[i].Engaged = at
				}
			}
			if !reflect.DeepEqual(o.records, want) {
				t.Errorf("%s, %s: %d records, not those of the file", name, packed, len(o.records))
			}
		}
	}
}

// Values that Parquet types in its own ways come out as people write them.
func TestParquetValues(t *testing.T) {
	type typed struct {
		ID     [16]byte `parquet:"cost_id,uuid"`
		Type   string   `parquet:"cost_type,enum"`
		Amount float64  `parquet:"cost_amount"`
		Tag    int32    `parquet:"tag"`
		At     int64    `parquet:"engaged_at,timestamp(millisecond:local)"`
		Small  int32    `parquet:"small,decimal(2:9)"`
		Wide   [17]byte `parquet:"wide,decimal(3:40)"`
		Day    int32    `parquet:"day,date"`
		Yes    bool     `parquet:"yes"`
		Big    uint64   `parquet:"big"`
		Single float32  `parquet:"single"`
		None   *int64   `parquet:"none,optional"`
	}
	minus := [17]byte{}
	for i := range minus {
		minus[i] = 0xff // -1
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[typed](&b)
	if _, err := w.Write([]typed{{[16]byte{0xab, 1}, "cpm", 0.1, -7, 1769848200250, -5, minus, 20484, true, 1<<64 - 1,
		0.3, nil}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	m := mapping(timed.Columns, map[string]string{"cost_currency": "usd"}, files.Format{})
	o := readAll(t, b.Bytes(), m)
	want := Cost{"cpm", "usd", "0.1", "ab010000-0000-0000-0000-000000000000", "-7",
		time.Date(2026, 1, 31, 8, 30, 0, 250_000_000, time.UTC)}
	if o.err != nil || len(o.records) != 1 || o.records[0] != want {
		t.Errorf("got %+v, want %+v", o, want)
	}
	m.Columns = map[string]string{"cost_id": "tag"}
	o = readAll(t, b.Bytes(), m)
	cells := []string{"ab010000-0000-0000-0000-000000000000", "cpm", "0.1", "-7", "2026-01-31T08:30:00.25", "-0.05",
		"-0.001", "2026-01-31", "true",
		"18446744073709551615", "0.3", ""}
	if len(o.cells) != 1 || !reflect.DeepEqual(o.cells[0], cells) {
		t.Errorf("cells %q", o.cells)
	}
}

// A row that can't be right doesn't take its neighbours along, and its original cells are kept.
func TestRefusedRows(t *testing.T) {
	data := columnNames + "\n" + row(1, "1") + "\n" + // 1
		"\n" + // no row
		id(2) + ",cpi,usd\n" + // 2
		row(3, "x") + "\r\n" + // 3
		id(4) + ",cpi,usd,1,a\"b\n" + // 4
		row(5, "5") + ",more\n" + // 5
		row(6, "6") + "\r" + row(7, "7") + "\n" + // 6
		id(8) + ",cpi,usd,1,\"two\nlines\"\n" + // 7
		"\"" + id(9) + "\"x,cpi,usd,1,t\n" + // 8
		row(10, "10") // 9
	o := readAll(t, []byte(data), plain)
	want := []string{
		"2: has 3 cells, the names are 5",
		"3: cost_amount isn't a plain decimal number such as 1.25",
		"4: line 6 has a quote in the wrong place",
		"5: has 6 cells, the names are 5",
		"6: has 9 cells, the names are 5; a carriage return stands alone in it, where lines must end in LF or CRLF",
		"7: tag holds the control character U+000A",
		"8: line 11 has a quote in the wrong place",
	}
	if o.err != nil || !reflect.DeepEqual(o.refused, want) {
		t.Errorf("refused %q, %v", o.refused, o.err)
	}
	if !reflect.DeepEqual(o.records, []Cost{record(1, "1"), record(10, "10")}) {
		t.Errorf("records %+v", o.records)
	}
	if !reflect.DeepEqual(o.cells[1], []string{id(3), "cpi", "usd", "x", "t"}) ||
		!reflect.DeepEqual(o.header, strings.Split(columnNames, ",")) {
		t.Errorf("cells %q of %q", o.cells[1], o.header)
	}
	for i, want := range map[int]string{2: id(4) + ",cpi,usd,1,a\"b", 6: "\"" + id(9) + "\"x,cpi,usd,1,t"} {
		if !reflect.DeepEqual(o.cells[i], []string{want}) {
			t.Errorf("cells %q of a row that can't be cut, want %q", o.cells[i], want)
		}
	}

	object := func(n int, rest string) string {
		return fmt.Sprintf(`{"cost_id":"%s","cost_type":"cpi","cost_currency":"usd","tag":"t",%s}`, id(n), rest)
	}
	data = object(1, `"cost_amount":1`) + "\n" +
		"[1]\n" + // 2
		object(3, `"cost_amount":1,"cost_amount":2`) + "\n" +
		object(4, `"cost_amount":{"a":1}`) + "\n" +
		object(5, `"cost_amount":null`) + "\n" +
		object(6, `"cost_amount":1e-3`) + "\n" +
		object(7, `"cost_amount":true`) + "\n" +
		object(8, `"cost_amount":1`) + object(9, `"cost_amount":1`) + "\n" +
		`{"cost_id":"lone \ud800 surrogate"}` + "\n" +
		`{"cost_id":` + "\n" + // 10
		object(11, `"cost_amount":"1.10"`)
	o = readAll(t, []byte(data), plain)
	want = []string{
		"2: isn't a JSON object", "3: cost_amount stands twice",
		"4: cost_amount is an object or a list; want a text or a number",
		"5: cost_amount is missing", "6: cost_amount isn't a plain decimal number such as 1.25",
		"7: cost_amount isn't a plain decimal number such as 1.25",
		"8: isn't a JSON object", "9: cost_id holds U+FFFD, which stands for a character that was lost",
		"10: isn't a JSON object",
	}
	if o.err != nil || !reflect.DeepEqual(o.refused, want) {
		t.Errorf("refused %q, %v", o.refused, o.err)
	}
	if !reflect.DeepEqual(o.records, []Cost{record(1, "1"), record(11, "1.1")}) ||
		!reflect.DeepEqual(o.cells[0], []string{"[1]"}) {
		t.Errorf("records %+v, cells %q", o.records, o.cells)
	}
}

// A Parquet file may have IDs as DOUBLE, of which fifteen digits are right.
func TestRoundedIDs(t *testing.T) {
	type row struct {
		ID     float64 `parquet:"cost_id"`
		Type   string  `parquet:"cost_type"`
		Code   string  `parquet:"cost_currency"`
		Amount float64 `parquet:"cost_amount"`
		Tag    string  `parquet:"tag"`
	}
	var b bytes.Buffer
	if err := parquet.Write(&b, []row{{120217112345678912, "cpi", "usd", 1, "t"},
		{123456789012345, "cpi", "usd", 1.5, "t"}}); err != nil {
		t.Fatal(err)
	}
	o := readAll(t, b.Bytes(), plain)
	if len(o.records) != 1 || o.records[0].CostID != "123456789012345" || len(o.refused) != 1 ||
		o.refused[0] != "1: cost_id is a number that a spreadsheet or a program has rounded; export the column as "+
			"text" || o.err != nil {
		t.Errorf("%+v", o)
	}
}
