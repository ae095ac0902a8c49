package spend

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"

	"github.com/reportferry/reportferry/internal/slow"
)

// endless gives the same bytes again and again, size of them.
func endless(s string, size int64) io.Reader {
	return io.LimitReader(&again{s: s}, size)
}

type again struct {
	s  string
	at int
}

func (a *again) Read(p []byte) (n int, err error) {
	for n < len(p) {
		m := copy(p[n:], a.s[a.at:])
		n, a.at = n+m, (a.at+m)%len(a.s)
	}
	return n, nil
}

// noise doesn't compress.
type noise struct{}

func (noise) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(rand.Uint32())
	}
	return len(p), nil
}

func packed(t *testing.T, in io.Reader) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.Copy(w, in); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstdStream(t *testing.T, in io.Reader, o ...zstd.EOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, o...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(w, in); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func utf16of(s string, order binary.ByteOrder, mark bool) []byte {
	var b []byte
	if mark {
		s = "\ufeff" + s
	}
	for _, r := range s {
		b = append(b, 0, 0)
		order.PutUint16(b[len(b)-2:], uint16(r))
	}
	return b
}

// Files that are no files of spend end in an error that says why, and in little memory.
func TestHostile(t *testing.T) {
	slow.Test(t)
	const noText = "holds NUL bytes: it is UTF-16 without a mark, as format: {encoding: utf-16le} says, or no text " +
		"at all; " +
		"want CSV, JSON Lines, Parquet or XLSX, plain or under gzip or zstd"
	head := columnNames + "\n"
	usd := "usd"
	wide := []spendRow{{CostID: strings.Repeat("x", 5<<20), Currency: &usd}}
	good := parquetFile(t, []spendRow{{CostID: id(1), Currency: &usd}}, parquet.Compression(&parquet.Zstd))
	repeated := make([]spendRow, 40_000)
	for i := range repeated {
		repeated[i] = spendRow{CostID: id(i), Currency: &usd, Tag: strings.Repeat("a", 1000)}
	}
	pages := parquetFile(t, repeated, parquet.Compression(&parquet.Zstd), parquet.PageBufferSize(1<<30),
		parquet.MaxRowsPerRowGroup(1<<20))
	inside, err := os.ReadFile("testdata/hostile/offset.parquet") // of TestParquetDamaged
	if err != nil {
		t.Fatal(err)
	}
	footer := func(body ...byte) []byte {
		b := append([]byte("PAR1"), body...)
		return append(binary.LittleEndian.AppendUint32(b, uint32(len(body))), "PAR1"...)
	}
	for _, test := range []struct {
		name string
		data []byte
		want string // "" of the error: the file is read; what is refused then
		row  string
	}{
		{"nothing", nil, "is empty: not even names of columns", ""},
		{"a mark only", []byte("\ufeff"), "is empty: not even names of columns", ""},
		{"blank lines", []byte("\n\r\n\n"), "is empty: not even names of columns", ""},
		{"a cell of 10 MB", []byte(head + strings.Repeat("x", 10<<20) + ",cpi,usd,1,t\n"),
			"row 1 is longer than 262144 bytes; is a quote or a line end missing?", ""},
		{"a quoted cell of 10 MB", []byte(head + `"` + strings.Repeat("x\n", 5<<20) + `",cpi,usd,1,t`),
			"row 1 is longer than 262144 bytes; is a quote or a line end missing?", ""},
		{"a line of 10 MB", []byte(`{"cost_id":"` + strings.Repeat("x", 10<<20) + `"}`),
			"row 1 is longer than 262144 bytes; is a quote or a line end missing?", ""},
		{"a name of 10 MB", []byte(strings.Repeat("x", 10<<20)),
			"the row of names is longer than 262144 bytes; is a quote or a line end missing?", ""},
		{"a million names", []byte(strings.Repeat("c,", 100_000) + "\n"), "has 100001 columns; at most 1000", ""},
		{"a million long names", []byte(strings.Repeat("column,", 1_000_000) + "\n"),
			"the row of names is longer than 262144 bytes; is a quote or a line end missing?", ""},
		{"a million cells", []byte(head + strings.Repeat(",", 1_000_000) + "\n"),
			"row 1 is longer than 262144 bytes; is a quote or a line end missing?", ""},
		{"many cells", []byte(head + strings.Repeat(",", 200_000) + "\n"), "", "1: has 200001 cells, the names are 5"},
		{"many keys", []byte("{" + strings.Repeat(`"":1,`, 50_000) + `"":1}`), "", "1: cost_id is missing"},
		{"deep JSON", []byte(`{"a":` + strings.Repeat("[", 200_000)), "", "1: isn't a JSON object"},
		{"a quote that never closes", []byte(head + row(1, "1") + "\n\"" + row(2, "1") + "\n" + row(3, "1") + "\n"),
			"row 2: a quote opens on line 3 and isn't closed rightly; the rows after it can't be told apart", ""},
		{"a quote that closes a row later", []byte(head + `"` + row(1, "1") + "\n\"" + id(2) + "\",cpi,usd,1,t\n"),
			"row 1: a quote opens on line 2 and isn't closed rightly; the rows after it can't be told apart", ""},
		{"a quote that swallows a row", []byte(head + row(1, "1") + `,"` + "\n" + row(2, "1") + `",` + "\n"),
			"row 1, from line 2, has 7 cells, the names are 5; a quote may be missing, and the rows after it can't " +
				"be told apart", ""},
		{"a quote among the names", []byte("a\"b,c\n"), "the row of names has a quote in the wrong place", ""},
		{"NUL in a name", []byte("cost_id\x00,b\n1,2\n"), noText, ""},
		{"NUL far behind", []byte(head + strings.Repeat(row(1, "1")+"\n", 200) + "nul\x00in-the-middle,cpi,usd,1,t\n"),
			"", "201: cost_id holds the control character U+0000"},
		{"UTF-16, cut in the middle", utf16of("ab\nc", binary.LittleEndian, true)[:9],
			"line 2, column 1: the file ends in the middle of a character; it was cut, or isn't UTF-16", ""},
		{"half a character of UTF-16", []byte("\xfe\xff\x00a\xd8\x00\x00b"),
			"line 1, column 2: half a character; the file isn't UTF-16, or is damaged", ""},
		{"UTF-16 without a mark", utf16of(head+row(1, "1"), binary.LittleEndian, false), noText, ""},
		{"Latin-1", []byte(head + "caf\xe9-caf\xe9-caf\xe9,cpi,usd,1,t\n"), "",
			"1: cost_id is not UTF-8, first on line 2, column 4; if the file is Windows-1252, say so by format: " +
				"{encoding: windows-1252}"},
		{"carriage returns alone", []byte(strings.ReplaceAll(head+row(1, "1")+"\n", "\n", "\r")),
			`none of its columns cost_id, cost_type, cost_currency, cost_amount, (number 5), cpi, usd, 1, t is "tag", which tag is taken from. Say which column it is with columns: {tag: NAME}, or give all rows one value with constants: {tag: VALUE}. Lines must end in LF or CRLF; here a carriage return stands alone.`, ""},
		{"bars", []byte(strings.ReplaceAll(head+row(1, "1")+"\n", ",", "|")),
			`none of its 1 columns is "cost_id", which cost_id is taken from; is the row of names missing? Cells must be separated by commas, semicolons or tabs, and format: {separator} may say by which.`, ""},
		{"two separators", []byte("cost_id;cost_type,tag\n"),
			"has two kinds of separators as often as each other in its row of names; say which one counts by " +
				"format: {separator: comma}, or semicolon, or tab", ""},
		{"an XLS file", []byte("\xd0\xcf\x11\xe0"),
			"is an XLS file of an older Excel, or an XLSX file with a password; save it as XLSX or CSV", ""},
		{"no names", []byte(row(1, "1") + "\n"),
			`none of its 5 columns is "cost_id", which cost_id is taken from; is the row of names missing?`, ""},
		{"a name misspelled", []byte(strings.ReplaceAll(head, "cost_amount", "Cost_Amount") + row(1, "1")),
			`none of its columns cost_id, cost_type, cost_currency, Cost_Amount, tag is "cost_amount", which cost_amount is taken from; did you mean "Cost_Amount"?`, ""},
		{"a name twice", []byte("tag," + head), `two of its columns are "tag", which tag is taken from`, ""},
		{"gzip, cut", gzipped(t, []byte(head+row(1, "1")))[:20], "decompress: unexpected EOF", ""},
		{"gzip and more", append(gzipped(t, []byte(head)), "tail"...), "decompress: unexpected EOF", ""},
		{"a gzip bomb of one line", packed(t, endless("x", 128<<20)),
			"the row of names is longer than 262144 bytes; is a quote or a line end missing?", ""},
		{"a gzip bomb of lines", packed(t, endless(head, 128<<20)),
			"expands to more than 200 times its size, which no file of records does", ""},
		{"a gzip bomb of blank lines", packed(t, endless("\n", 128<<20)),
			"the row of names is longer than 262144 bytes; is a quote or a line end missing?", ""},
		{"a zstd bomb of JSON", zstdStream(t, endless(`{"a":"`+strings.Repeat("x", 9990)+"\"}\n", 128<<20)),
			"expands to more than 200 times its size, which no file of records does", ""},
		{"a zstd bomb that is Parquet", zstdStream(t, io.MultiReader(strings.NewReader("PAR1"),
			endless("\x00", 128<<20))),
			"copy a Parquet file: expands to more than 200 times its size, which no file of records does", ""},
		{"gzip in gzip", gzipped(t, gzipped(t, bytes.Repeat([]byte(head), 100))), noText, ""},
		{"a wide zstd window", zstdStream(t, io.LimitReader(noise{}, 4<<20), zstd.WithWindowSize(64<<20)),
			"decompress: window size exceeded", ""},
		{"Parquet, cut", good[:len(good)/2],
			"begins as a Parquet file and doesn't end as one; it was cut, or is encrypted", ""},
		{"Parquet, the first bytes", []byte("PAR1"), "is a Parquet file that was cut", ""},
		{"Parquet with a footer of 4 GB", append(append([]byte("PAR1"), "\xff\xff\xff\xff"...), "PAR1"...),
			"is a Parquet file that was cut", ""},
		{"Parquet with two thousand million columns", footer(0x15, 2, 0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 7),
			"has a Parquet footer that is damaged, or too large", ""},
		{"Parquet with a name of 2 GB", footer(0x15, 2, 0x19, 0x1c, 0x48, 0xff, 0xff, 0xff, 0xff, 7),
			"has a Parquet footer that is damaged, or too large", ""},
		{"Parquet with data in the middle of its dictionary", inside,
			"has a column whose data pages don't begin where it says", ""},
		{"Parquet with pages of 40 MB", pages, "has a page of more than 32 MiB", ""},
		{"Parquet with a cell of 5 MB", parquetFile(t, wide, parquet.DataPageStatistics(false)), "",
			"1: cost_id is longer than 262144 bytes"},
		{"Parquet with statistics of 5 MB", parquetFile(t, wide, parquet.DataPageStatistics(true)),
			"has a page whose header is longer than 64 KiB: a cell in it may be, too", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := heap()
			peak := watch(t)
			o := readAll(t, test.data, plain)
			if got := peak() - before; got > 128<<20 {
				t.Errorf("%d MiB of memory", got>>20)
			}
			if test.row != "" {
				if o.err != nil || len(o.refused) != 1 || o.refused[0] != test.row {
					t.Errorf("refused %.200q, error %v; want %s", o.refused, o.err, test.row)
				}
				return
			}
			if o.err == nil || o.err.Error() != test.want {
				t.Errorf("got %v, want %s", o.err, test.want)
			}
		})
	}
}

// A page that is larger than it says isn't given to the library.
func TestParquetPageBomb(t *testing.T) {
	usd := "usd"
	for name, codec := range map[string]parquet.WriterOption{
		"zstd": parquet.Compression(&parquet.Zstd), "gzip": parquet.Compression(&parquet.Gzip),
		"snappy": parquet.Compression(&parquet.Snappy),
	} {
		data := parquetFile(t, []spendRow{{CostID: id(1), Type: "cpi", Currency: &usd, Tag: strings.Repeat("a", 1000)}},
			codec)
		lied := 0
		for i := range data[:len(data)-64] {
			// A page's header: field 1 its type, fields 2 and 3 its sizes. The first size is set to
			// zero.
			if data[i] == 0x15 && data[i+2] == 0x15 && data[i+3] != 0 && data[i+3] < 0x80 {
				mutant := bytes.Clone(data)
				mutant[i+3] = 0
				o := readAll(t, mutant, plain)
				if o.err != nil && strings.Contains(o.err.Error(), "larger than it says") {
					lied++
				}
			}
		}
		if lied == 0 {
			t.Errorf("%s: no page that lied about its size was found out", name)
		}
	}
}

// No error of a file says what is in it: it may be a Cost ID.
func TestErrorsHoldNothing(t *testing.T) {
	const secret = "S3CRET-click-0001"
	for _, data := range []string{
		secret + ",cpi,usd,1,t\n", "{" + secret, `{"cost_id":"` + secret + "\n", columnNames + "\n" + secret + "\n",
		columnNames + "\n\"" + secret,
		columnNames + "\n" + secret + "\",cpi,usd,1,t", columnNames + "\ncpi," + secret + ",usd,1,t",
		columnNames + "\n" + goodID + ",cpi," + secret + ",1,t",
		columnNames + "\n" + goodID + ",cpi,usd," + secret + ",t",
		columnNames + "\n" + goodID + "," + secret + ",usd,1,t",
	} {
		o := readAll(t, []byte(data), plain)
		if o.err == nil && len(o.refused) == 0 {
			t.Errorf("%q is taken", data)
		}
		if said := strings.Join(o.refused, " "); strings.Contains(said, "S3CRET") || o.err != nil &&
			strings.Contains(o.err.Error(), "S3CRET") {
			t.Errorf("%q: %s %v", data, said, o.err)
		}
	}
}

// A reading that is called off ends, and its file isn't read to the end.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	rows := 0
	in := io.MultiReader(strings.NewReader(columnNames+"\n"), endless(row(1, "1")+"\n", 1<<40))
	err := read(ctx, in, newReader(plain, nil, time.UTC), t.TempDir(), func([]string) {}, func(*line) error {
		if rows++; rows == 5000 {
			cancel()
		}
		return nil
	})
	if err == nil || rows > 10_000 {
		t.Errorf("%d rows, %v", rows, err)
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

// watch samples the heap until its result is called, which gives the highest.
func watch(t *testing.T) func() uint64 {
	t.Helper()
	stop, done := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
			select {
			case <-tick.C:
			case <-stop:
				done <- most
				return
			}
		}
	}()
	return func() uint64 { close(stop); return <-done }
}
